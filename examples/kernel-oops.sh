#!/bin/sh
# Explains the call traces in a kernel's log: "func+0x12/0x40" becomes "func (dir/file.c:12)".
#
#     dmesg | kernel-oops.sh VMLINUX      the kernel with debug data, such as /usr/lib/debug/boot/vmlinux-*
#     dmesg | kernel-oops.sh MOUNT        where gsymfs is mounted, for logs that tell build ids
#
# Everything else is copied. VMLINUX is converted once, to ~/.cache, under its build id.
set -eu
if [ $# != 1 ] || [ "$1" = --help ]; then
	echo "usage: dmesg | $0 VMLINUX | MOUNT" >&2
	exit 2
fi
if [ -d "$1" ]; then
	exec gsym filter --mount="$1"
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kernel-oops
gsym=$cache/$(readelf -n -- "$1" | awk '/Build ID:/ { print $3; exit }').gsym
if [ ! -s "$gsym" ]; then
	mkdir -p "$cache"
	gsym convert --quiet -o "$gsym" "$1"
fi
exec gsym filter "$gsym"

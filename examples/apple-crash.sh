#!/bin/sh
# Symbolicates a crash report of macOS or iOS on Linux, and names the images whose symbols it lacks.
#
#     apple-crash.sh MOUNT < program.crash
#
# MOUNT is where gsymfs is mounted, over the .dSYM bundles or binaries; they are found by the UUIDs in the report. The
# report goes to standard output, what is missing to standard error. The exit status is 1 if MOUNT knows no image of it.
set -eu
if [ $# != 1 ] || [ ! -e "$1/log" ]; then
	echo "usage: $0 MOUNT < program.crash" >&2
	exit 2
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
cat >"$report"

# What is written to the file log is read back explained, from the same descriptor.
exec 3<>"$1/log"
cat "$report" >&3
cat <&3

# "0x104a78000 - 0x104a83fff name arm64 <4a1b...> /path": images are directories called by their UUIDs.
# In JSON, as of macOS 12 and iOS 15, they have "uuid" : "4a1b...".
{
	sed -n 's/^ *0x[0-9a-f]* - *0x[0-9a-f]* *+*\([^ ]*\) .*<\([0-9A-Fa-f-]*\)>.*/\2 \1/p' "$report"
	tr ',{}' '[\n*]' <"$report" | sed -n 's/^ *"uuid" *: *"\([0-9A-Fa-f-]*\)" *$/\1 an image/p'
} | {
	status=1
	while read -r uuid name; do
		if [ -e "$1/$uuid/status" ]; then
			status=0
		else
			printf '%s: no symbols of %s, UUID %s\n' "$0" "$name" "$uuid" >&2
		fi
	done
	exit $status
}

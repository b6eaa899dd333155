#!/bin/sh
# Prints the function, file and line of each address of a program, read from standard input, one a line.
#
#     addresses.sh MOUNT PROGRAM < addresses
#
# MOUNT is where gsymfs is mounted. PROGRAM is a file, whose build id counts, or the name of one that MOUNT has.
# An address that no function covers gets "??"; then the exit status is 1.
set -u
[ $# = 2 ] || { echo "usage: $0 MOUNT PROGRAM < addresses" >&2; exit 2; }

if [ -f "$2" ]; then
	image=$1/$(readelf -n -- "$2" | awk '/Build ID:/ { print $3; exit }')
else
	image=$1/by-name/$2
	[ ! -d "$image" ] || [ -f "$image/status" ] || { echo "$0: several builds of $2: name one by its id or file" >&2; exit 1; }
fi
[ -f "$image/status" ] || { echo "$0: no image of $2 below $1" >&2; exit 1; }

status=0
while read -r address || [ -n "$address" ]; do
	# The first line is the innermost frame; those of callers it was inlined into follow.
	answer=$(cat "$image/$address" 2>/dev/null) || { answer='??'; status=1; }
	printf '%s: %s\n' "$address" "$answer"
done
exit $status

# For thousands of addresses, write them to the file q and read the answers, an empty line behind each:
#     exec 3<>"$image/q"; cat addresses >&3; cat <&3

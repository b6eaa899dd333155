#!/bin/sh
# Prints the largest functions of an image: size in bytes, name, file and line.
#
#     largest-functions.sh MOUNT/ID [COUNT]
#
# The columns of functions.tsv are address, size, name, file, line and the name as it is stored.
set -u
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
	echo "usage: $0 MOUNT/ID [COUNT]" >&2
	exit 2
fi
[ -r "$1/functions.tsv" ] || { echo "$0: cannot read $1/functions.tsv" >&2; exit 1; }
tab=$(printf '\t')
sort -t "$tab" -k 2,2nr -k 3,3 "$1/functions.tsv" | head -n "${2:-10}" |
	awk -F '\t' '{ printf "%8d  %s  %s:%d\n", $2, $3, $4, $5 }'

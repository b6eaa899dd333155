#!/bin/sh
# Makes a static library of which only the public functions can be seen from outside, as of the shared one: our
# short names (record_decode) must not collide with those of a program.
#
#     archive.sh OUT AR OBJCOPY COMPILER [ARGUMENT...] -- LIBRARY...
set -eu
out=$1 ar=$2 objcopy=$3
shift 3
link=
while [ "$1" != -- ]; do
	link="$link $1"
	shift
done
shift
rm -f "$out"
# shellcheck disable=SC2086 # words of a command
$link -nostdlib -r -o "$out.o" -Wl,--whole-archive "$@" -Wl,--no-whole-archive
"$objcopy" --localize-hidden "$out.o"
"$ar" rcs "$out" "$out.o"
rm -f "$out.o"

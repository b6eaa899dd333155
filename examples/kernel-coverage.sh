#!/bin/sh
# Prints how many points of code coverage each source file of a kernel has, and how many of them were reached.
#
#     kernel-coverage.sh MOUNT VMLINUX < PCs        what KCOV recorded: hexadecimal addresses, one a line
#     kernel-coverage.sh --points VMLINUX           all points, one a line
#
# MOUNT is where gsymfs is mounted. Points are the return addresses of calls of __sanitizer_cov_trace_pc(). A program that
# was not built for KCOV gets one for each basic block and after each call. x86 only. Needs objdump and readelf.
set -eu
[ $# = 2 ] || { echo "usage: $0 MOUNT VMLINUX < PCs | $0 --points VMLINUX" >&2; exit 2; }
[ -f "$2" ] || { echo "$0: no file $2" >&2; exit 1; }

# A jump ends a block, and its target begins one; what follows a call is its return address. objdump writes
# "ADDRESS:<tab>INSTRUCTION", and "ADDRESS <NAME>:" where a function begins.
points()
{
	LC_ALL=C objdump -d --no-show-raw-insn -- "$1" | LC_ALL=C awk -F '\t' '
		/^[0-9a-f]+ <.*>:$/ { split($0, word, " "); sub(/^0+/, "", word[1]); point[word[1]]; next }
		NF < 2 { next }
		{ at = $1; gsub(/[ :]/, "", at) }
		traced { kcov[at]; traced = 0 }
		ended { point[at]; ended = 0 }
		$2 ~ /^(bnd )?(call|j)/ {
			ended = 1
			traced = $2 ~ /call.*<__sanitizer_cov_trace_pc>/
			if ($2 !~ /call/ && match($2, / [0-9a-f]+ </)) point[substr($2, RSTART + 1, RLENGTH - 3)]
		}
		END {
			for (at in kcov) { print "0x" at; found = 1 }
			if (!found) for (at in point) print "0x" at
		}' | LC_ALL=C sort
}

if [ "$1" = --points ]; then
	points "$2"
	exit
fi
image=$1/$(readelf -n -- "$2" | awk '/Build ID:/ { print $3; exit }')
[ -f "$image/status" ] || { echo "$0: no image of $2 below $1" >&2; exit 1; }
points=$(mktemp)
trap 'rm -f "$points"' EXIT
points "$2" >"$points"

# A return address may be that of the next function: the byte before it belongs to the call.
ask=$image/q.tsv
if grep -q __sanitizer_cov_trace_pc "$image/functions.tsv"; then
	ask=$image/ra/q.tsv
fi
exec 3<>"$ask"
cat "$points" >&3
# The innermost frame of each answer (depth 0) counts: an inlined function's points belong to its own file.
{ cat && cat <&3; } | awk -F '\t' '
	NF < 5 { address = tolower($1); sub(/^(0x)?0*/, "0x", address); reached[address]; next }
	$2 == 0 { points[$5]++; if ($1 in reached) covered[$5]++ }
	END { for (file in points) printf "%7d %7d  %s\n", points[file], covered[file], file }' | sort -k 3

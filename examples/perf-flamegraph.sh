#!/bin/sh
# Draws where a program spends its time: turns a recording of perf into a flame graph, inlined calls included.
#
#     perf record --call-graph dwarf program
#     perf-flamegraph.sh MOUNT [perf.data] > graph.svg
#
# MOUNT is where gsymfs is mounted, over the programs and libraries that were recorded or their debug files.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
	echo "usage: $0 MOUNT [perf.data] > graph.svg" >&2
	exit 2
fi
here=$(dirname -- "$0")
data=${2:-perf.data}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

perf buildid-list -i "$data" >"$scratch/ids"
perf script --no-inline -i "$data" -F comm,ip,sym,dso >"$scratch/script"
python3 "$here/perf-fold.py" "$1" "$scratch/ids" <"$scratch/script" >"$scratch/folded"
python3 "$here/flamegraph.py" "$(basename -- "$data")" <"$scratch/folded"

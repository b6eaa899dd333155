#!/bin/sh
# Draws where a program spends its time: turns a recording of perf into a flame graph, inlined calls included.
#
#     perf record --call-graph dwarf program
#     perf-flamegraph.sh MOUNT [perf.data [before.data]] > graph.svg
#
# MOUNT is where gsymfs is mounted, over the programs and libraries that were recorded or their debug files. With
# before.data the graph compares: what takes a larger share than in that recording is red, what takes a smaller one blue.
set -eu
if [ $# -lt 1 ] || [ $# -gt 3 ] || [ "$1" = --help ]; then
	echo "usage: $0 MOUNT [perf.data [before.data]] > graph.svg" >&2
	exit 2
fi
here=$(dirname -- "$0")
mount=$1
data=${2:-perf.data}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fold() {
	perf buildid-list -i "$1" >"$scratch/ids"
	perf script --no-inline --show-mmap-events --show-task-events -F comm,pid,tid,time,event,ip,sym,dso \
		-i "$1" >"$scratch/script"
	python3 "$here/perf-fold.py" "$mount" "$scratch/ids" <"$scratch/script"
}

fold "$data" >"$scratch/now"
if [ $# -eq 3 ]; then
	fold "$3" >"$scratch/before"
	set -- --before="$scratch/before" "$(basename -- "$data") against $(basename -- "$3")"
else
	set -- "$(basename -- "$data")"
fi
python3 "$here/flamegraph.py" "$@" <"$scratch/now"

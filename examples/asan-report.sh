#!/bin/sh
# Runs a program built with a sanitizer and explains its report, with no symbolizer on the machine where it runs.
#
#     asan-report.sh MOUNT PROGRAM [ARGUMENT...]
#
# MOUNT is where gsymfs is mounted. Standard error passes through; the exit status is the program's.
set -u
if [ $# -lt 2 ] || [ ! -e "$1/log" ]; then
	echo "usage: $0 MOUNT PROGRAM [ARGUMENT...]" >&2
	exit 2
fi
mount=$1
shift
report=$(mktemp)
trap 'rm -f "$report"' EXIT

off=symbolize=0
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}$off UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}$off \
	"$@" 2>"$report"
status=$?

# clang's runtime prints the build id behind each frame, older ones of gcc do not: "#0 0x55d0c1a0  (/bin/prog+0x11a0)".
# shellcheck disable=SC2016 # $0 and the like are awk's
add_ids='
function id_of(file,    command, line, id) {
	if (file in ids)
		return ids[file]
	gsub(/\047/, "\047\\\047\047", file)
	command = "readelf -n -- \047" file "\047 2>/dev/null"
	while ((command | getline line) > 0)
		if (line ~ /Build ID:/)
			id = substr(line, index(line, "Build ID:") + 10)
	close(command)
	return ids[file] = id
}
/^ *#[0-9]+ 0x[0-9a-f]+ +\(.*\+0x[0-9a-f]+\)$/ {
	file = $0
	sub(/^[^(]*\(/, "", file)
	sub(/\+0x[0-9a-f]+\)$/, "", file)
	if (id_of(file) != "")
		$0 = $0 " (BuildId: " id_of(file) ")"
}
{ print }'
exec 3<>"$mount/log"
awk "$add_ids" "$report" >&3
cat <&3 >&2
exit $status

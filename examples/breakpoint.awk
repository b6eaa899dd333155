#!/usr/bin/awk -f
# Prints the addresses where a source line begins: where a debugger or uprobe would stop for file:line.
#
#     awk -v at=program.c:57 -f breakpoint.awk MOUNT/ID/lines.tsv
#
# The file may be a path or the end of one. A line has several addresses where it was inlined or unrolled.
# The exit status is 1 if the line has no code.
BEGIN {
	FS = "\t"
	line = at
	sub(/.*:/, "", line)
	file = substr(at, 1, length(at) - length(line) - 1)
	if (file == "" || line !~ /^[0-9]+$/) {
		print "usage: awk -v at=FILE:LINE -f breakpoint.awk MOUNT/ID/lines.tsv" > "/dev/stderr"
		wrong = 2
		exit
	}
}
function is_wanted(path) {
	return path == file || substr(path, length(path) - length(file)) == "/" file
}
$4 == line && is_wanted($3) { print $1; found = 1 }
END { exit wrong ? wrong : !found }

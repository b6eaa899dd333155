#include "fs/tree/readme.h"

static const char text[] =
	"This directory answers symbol lookups. ID is a build ID or UUID, or its first 8 digits (readelf -n "
	"FILE).\n"
	"\n"
	"cat ID/0x1170                    function, file and line of an address; 0x1170.json and .tsv for "
	"programs\n"
	"cat ID/base/0x55d0f000/0x55d10170   the same of a process, with the address where the file was "
	"loaded\n"
	"cat ID/sym/main+0x10             a place in a function; ID/off/, ID/rva/, ID/ra/: other kinds of "
	"addresses\n"
	"ls by-name/FILE; ls by-path/     images by the name and by the path of their file\n"
	"exec 3<>ID/q; echo 0x1170 >&3; cat <&3    many addresses through one file; 'ID 0x1170' through q\n"
	"exec 3<>log; cat crash.txt >&3; cat <&3   a program's log with its frames explained\n"
	"dmesg | gsym filter --mount=. --by-name   a kernel's, which has no ids\n"
	"cat ID/functions.tsv             all functions; also lines.tsv, files.tsv\n"
	"cat ID/status; cat status metrics   the state of an image, of the daemon; gsymfs(1) has the "
	"details\n";

struct content *readme_make(void)
{
	return content_new(text, sizeof(text) - 1);
}

/*
 * map_line.h - a line that tells what is mapped where in memory:
 *
 *	55a6236dd000-55a6236de000 r-xp 00001000 fe:00 11199062    /usr/bin/example
 *	    0000007f'51c00000-0000007f'51c00fff r-x         0      1000  /system/lib64/libx.so (BuildId: 0123)
 *	x 4711 0.1: PERF_RECORD_MMAP2 4711/4711: [0x7f51c0000000(0x1000) @ 0x1000 fe:00 1 2]: r-xp /bin/x
 *
 * The first is of /proc/PID/maps.
 * The second is of Android's tombstones, where the end is the last byte, and the third of
 * "perf script --show-mmap-events", where a build id may be in place of the device.
 */
#ifndef LOG_MAPS_MAP_LINE_H
#define LOG_MAPS_MAP_LINE_H

#include "log/line/text_scan.h"

struct map_line {
	uint64_t start, end; /* end exclusive */
	uint64_t offset;     /* in the file */
	uint64_t process;    /* is_event */
	bool executable;
	bool is_event;         /* of one of several processes, which perf recorded */
	struct text_scan path; /* not of a file if it does not begin with '/' */
	struct text_scan id;   /* empty: none */
};

/* False if the line is none of these. */
bool map_line_parse(struct text_scan line, struct map_line *ret);

#endif

/*
 * segment.h - cutting a GSYM file into several, each of which stands alone: llvm-gsymutil --segment-size.
 *
 * Functions go into segments in their order. A segment is complete once its header, tables and records have
 * reached the size asked for, so it may pass that by a function. Functions that overlap stay together, and an
 * address is always answered by the last segment that does not begin behind it.
 */
#ifndef CONVERT_CLI_CONVERT_SEGMENT_H
#define CONVERT_CLI_CONVERT_SEGMENT_H

#include "gsym/gsym.h"
#include "convert/cli/convert/segment_files.h"

struct segment_options {
	uint64_t size;
	const char *path;  /* segments are called PATH-0x<address of the first function> */
	const char *input; /* must not be replaced by a segment */
	uint16_t version;  /* to write; 0: that of the file */
};

/*
 * Adds the segments of @reader to @files. -EFBIG, naming the function and what it needs, when a function does
 * not fit a segment of that size even alone; else what reading and writing say.
 */
int segment(const struct gsym_reader *reader, const struct segment_options *options,
	    struct segment_files *files, struct gsym_diag *diag);

#endif

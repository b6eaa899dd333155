/*
 * segment.h - cuts a GSYM file into several self-contained ones, as llvm-gsymutil --segment-size does.
 *
 * Functions go into segments in their order. A segment is complete once its header, tables and records have
 * reached the requested size, so it may exceed that by a function. Functions that overlap stay together, and
 * an address belongs to the last segment that does not begin after it.
 */
#ifndef CLI_CONVERT_SEGMENT_H
#define CLI_CONVERT_SEGMENT_H

#include "gsym/gsym.h"
#include "cli/convert/segment_files.h"

struct segment_options {
	uint64_t size;
	const char *path;  /* segments are named PATH-0x<address of the first function> */
	const char *input; /* no segment may replace it */
	uint16_t version;  /* to write; 0: that of the file */
};

/*
 * Adds the segments of @reader to @files. -EFBIG if a function does not fit a segment of that size even
 * alone, with the function and the size it needs in @diag; else the errors of reading and writing.
 */
int segment(const struct gsym_reader *reader, const struct segment_options *options,
	    struct segment_files *files, struct gsym_diag *diag);

#endif

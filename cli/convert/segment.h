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
#include "gsym/base/vec.h"

/* ---- Files ---- */

struct segment_file {
	char *path;
	char *temp; /* the new file; once that is in place, the replaced one; NULL: none */
	bool placed;
};

/* Zero-initialised is empty. */
struct segment_files {
	VEC(struct segment_file) files;
	uint64_t bytes; /* of all of them */
};

/* Removes files that were not published, and those that published files replaced. */
void segment_files_deinit(struct segment_files *s);

/*
 * Finishes a writer into a temporary file next to its destination.
 *
 * @s:      the file is added to it
 * @path:   the destination, neither a special file nor @input
 * @input:  of the conversion
 * @writer: with the functions
 *
 * 0, -ENOMEM, -EINVAL for such a destination, or the errno of creating or writing the file.
 */
int segment_files_add(struct segment_files *s, const char *path, const char *input,
		      struct gsym_writer *writer, struct gsym_diag *diag);

/* A short description of the files, at least one, for a message; to be freed. NULL without memory. */
char *segment_files_name(const struct segment_files *s);

/* Gives all files their names; after a failure none has its name. */
int segment_files_publish(struct segment_files *s, struct gsym_diag *diag);

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

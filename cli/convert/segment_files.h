/*
 * segment_files.h - a set of output files that are published all together or not at all.
 *
 * Each is written under a temporary name in its directory. At the end they are renamed one after the other; a
 * file that is replaced is kept until the last rename succeeded, and restored if one fails.
 */
#ifndef CLI_CONVERT_SEGMENT_FILES_H
#define CLI_CONVERT_SEGMENT_FILES_H

#include "gsym/base/vec.h"
#include "gsym/gsym.h"

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

#endif

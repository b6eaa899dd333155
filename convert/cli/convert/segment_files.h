/*
 * segment_files.h - output files that appear all of them or none.
 *
 * Each is written under a temporary name beside its own. At the end they are put in place one after the
 * other; a file that was in such a place is kept until the last of them is there, and comes back if one
 * cannot be put.
 */
#ifndef CONVERT_CLI_CONVERT_SEGMENT_FILES_H
#define CONVERT_CLI_CONVERT_SEGMENT_FILES_H

#include "gsym/base/vec.h"
#include "gsym/gsym.h"

struct segment_file {
	char *path;
	char *temp; /* the new file; once that is in place, the one that was there; NULL = none */
	bool placed;
};

/* Zero-initialised is empty. */
struct segment_files {
	VEC(struct segment_file) files;
	uint64_t bytes; /* of all of them */
};

/* Removes the files that were not published, and what published ones replaced. */
void segment_files_deinit(struct segment_files *s);

/*
 * Finishes @writer into a file that is to become @path. It must not be a special file, nor be @input, which
 * may not be replaced by a part of itself.
 */
int segment_files_add(struct segment_files *s, const char *path, const char *input,
		      struct gsym_writer *writer, struct gsym_diag *diag);

/* What the files are called, shortly, for a message; to be freed. There is one at least. NULL without memory.
 */
char *segment_files_name(const struct segment_files *s);

/* Gives all files their names. After a failure none has it. */
int segment_files_publish(struct segment_files *s, struct gsym_diag *diag);

#endif

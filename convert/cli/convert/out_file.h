/*
 * out_file.h - an output file that is published complete or not at all.
 *
 * It is written under a temporary name in the same directory and renamed once it is complete.
 */
#ifndef CONVERT_CLI_CONVERT_OUT_FILE_H
#define CONVERT_CLI_CONVERT_OUT_FILE_H

#include "gsym/gsym.h"

#include <stdbool.h>

struct out_file {
	const char *path; /* borrowed from the caller */
	char *target;     /* the file that @path links to; NULL: none */
	char *temp;       /* NULL if the file is written in place */
	int fd;
};

/*
 * Opens a file that is to become @path, or what that is a symbolic link to, as /dev/stdout may be. What is no
 * regular file, or has no name any more, is written in place.
 */
int out_file_open(const char *path, struct out_file *ret, struct gsym_diag *diag);

/* Gives the file its name and closes it. After a failure the temporary file is removed. */
int out_file_publish(struct out_file *out, struct gsym_diag *diag);

/* Whether @input and @output are the same file, so that the output would replace the input. */
bool out_file_replaces(const char *input, const char *output);

/* Removes what was written. Harmless after out_file_publish(). */
void out_file_discard(struct out_file *out);

#endif

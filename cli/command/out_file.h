/*
 * out_file.h - an output file that is published complete or not at all.
 *
 * It is written under a temporary name in the same directory and renamed once it is complete.
 */
#ifndef CLI_COMMAND_OUT_FILE_H
#define CLI_COMMAND_OUT_FILE_H

#include "gsym/gsym.h"

#include <stdbool.h>

struct out_file {
	const char *path; /* borrowed from the caller */
	char *temp;       /* NULL if @path is written in place */
	int fd;
};

/*
 * Opens a file that is to become @path; a symbolic link is replaced, wherever it leads. What else exists and
 * is no regular file is written in place, and so is what /dev/stdout, /dev/fd/N and the like name.
 */
int out_file_open(const char *path, struct out_file *ret, struct gsym_diag *diag);

/* Gives the file its name and closes it. After a failure the temporary file is removed. */
int out_file_publish(struct out_file *out, struct gsym_diag *diag);

/* Whether @input and @output are the same file, so that the output would replace the input. */
bool out_file_replaces(const char *input, const char *output);

/* Removes what was written. Harmless after out_file_publish(). */
void out_file_discard(struct out_file *out);

#endif

/*
 * convert.h - from an object file to GSYM.
 *
 * This is all that programs know of the converter. Everything in a file is hostile: a damaged unit, section
 * or symbol is skipped and counted in the summary, and only a file without any function fails as a whole.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "convert/record/convert_types.h"

/*
 * Converts the object file @path and writes GSYM to @out_fd. The same input and options give the same bytes
 * for any number of threads. -ENODATA when the file holds no function at all, -ENOEXEC when it is no object
 * file that can be read.
 */
int convert_file(const char *path, const struct convert_options *options, int out_fd,
		 struct convert_summary *ret, struct gsym_diag *diag);

/* The same from memory to memory that the caller frees. @name is only used in messages. */
int convert_memory(const void *data, size_t size, const char *name, const struct convert_options *options,
		   void **ret_gsym, size_t *ret_size, struct convert_summary *ret, struct gsym_diag *diag);

#endif

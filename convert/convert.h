/*
 * convert.h - from an object file to GSYM.
 *
 * This is all that programs know of the converter. Everything in a file is hostile: a damaged unit, section
 * or symbol is skipped and counted in the summary, and only a file without any function fails as a whole.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "work/types/convert_types.h"

/*
 * Converts an object file. The same input and options give the same bytes for any number of threads.
 *
 * @path:    of the object file
 * @options: of the conversion, see convert_types.h
 * @out_fd:  GSYM is written to it from offset 0
 * @ret:     counts and warnings; convert_summary_deinit() frees it
 *
 * 0; -ENODATA when the file holds no function at all, -ENOEXEC when it is no object file that can be read,
 * -EBADMSG when it is damaged, -EINVAL when options exclude one another or the list of call sites is wrong,
 * -EOVERFLOW when GSYM of that version cannot hold it, -ECANCELED, -ENOMEM, or the errno of opening, reading
 * or writing.
 */
int convert_file(const char *path, const struct convert_options *options, int out_fd,
		 struct convert_summary *ret, struct gsym_diag *diag);

/*
 * The same from memory to memory.
 *
 * @data, @size:         the object file, bytes
 * @name:                for messages
 * @options:             as above
 * @ret_gsym, @ret_size: the GSYM file, bytes; the caller frees it
 * @ret:                 as above
 */
int convert_memory(const void *data, size_t size, const char *name, const struct convert_options *options,
		   void **ret_gsym, size_t *ret_size, struct convert_summary *ret, struct gsym_diag *diag);

#endif

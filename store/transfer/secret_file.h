/* secret_file.h - files of tokens and keys, and what it means for a store that one cannot be used. */
#ifndef STORE_TRANSFER_SECRET_FILE_H
#define STORE_TRANSFER_SECRET_FILE_H

#include <stddef.h>

/*
 * Reads all of a file, which may be a pipe, as a string. 0; -EFBIG if it has @size bytes or more; or the
 * errno of open(2) or read(2). The caller clears @ret, also after an error.
 */
int secret_file_read(const char *path, char *ret, size_t size);

/*
 * What @err, for which a secret cannot be used, is as an error of struct store_reply: -EACCES if there is
 * none, or none that could be used; others are a fault of this machine, and say nothing of the store. Pure.
 */
int secret_errno(int err);

#endif

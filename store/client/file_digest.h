/* file_digest.h - the digest of a whole file, by which hosts know that theirs are equal. */
#ifndef STORE_CLIENT_FILE_DIGEST_H
#define STORE_CLIENT_FILE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "store/client/store_key.h"

/*
 * BLAKE2b-256 of the first @size bytes of @fd, read with pread(2) in blocks.
 *
 * @more: asked before each block of a megabyte, may rest; false ends it with -ECANCELED; or NULL
 * @user: passed to @more
 *
 * 0; -ESTALE if the file is shorter; -ELIBACC if libsodium cannot be loaded; or the errno of reading.
 */
int file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user,
		uint8_t ret[static STORE_DIGEST]);

#endif

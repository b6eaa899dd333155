/*
 * file_print.h - what tells the content of a file from any other: text that means the same on all hosts.
 *
 * "b" and the 64 hex digits of the BLAKE2b-256 of a file of at most 16 MiB, which takes less time than to
 * convert it; "s" and the 32 hex digits of the sampled hash of a larger one. A sampled hash can be forged by
 * whoever writes the file, so that large files have one only if root or the user of this process owns them,
 * and no other user may write them.
 */
#ifndef STORE_CLIENT_FILE_PRINT_H
#define STORE_CLIENT_FILE_PRINT_H

#include <stdint.h>

enum { FILE_PRINT_SIZE = 66, FILE_PRINT_WHOLE_MAX = 16 << 20 /* bytes of a file that is hashed whole */ };

/*
 * Of the file of @size bytes in @fd. 0; -EPERM: others may have forged it; -ESTALE: it has another size;
 * -ELIBACC; or the errno of reading, with EIO for EPERM.
 */
int file_print(int fd, uint64_t size, char ret[static FILE_PRINT_SIZE]);

#endif

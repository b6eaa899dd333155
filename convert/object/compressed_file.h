/*
 * compressed_file.h - files that are compressed as a whole, as distributions do with kernel modules.
 */
#ifndef CONVERT_OBJECT_COMPRESSED_FILE_H
#define CONVERT_OBJECT_COMPRESSED_FILE_H

#include "gsym/base/bytes.h"

/* What compressed @file: "xz", "zstd", "gzip" or "bzip2", by its first bytes; NULL if it is none of these. */
const char *compressed_file_format(struct span file);

/*
 * Inflates @file.
 *
 * @file:  the compressed bytes
 * @probe: called with the first inflated bytes, before all others are inflated; false: they are not wanted.
 *         May be NULL.
 * @most:  bytes
 * @ret:   an anonymous mapping, the caller's, who unmaps it
 *
 * 0, -ENOTSUP if that format is not read, -ENOEXEC if @probe does not want it, -EBADMSG if it is damaged,
 * -EFBIG if it is larger than @most, -E2BIG if it takes more than compressed_file_memory(), or -ENOMEM.
 */
int compressed_file_inflate(struct span file, bool (*probe)(struct span first), uint64_t most,
			    struct span *ret);

/* MiB that the dictionary of @file may take while it is decompressed; 0: any. */
unsigned compressed_file_memory(struct span file);

/* The most bytes that a compressed file of @size bytes may have: more is a decompression bomb. */
uint64_t compressed_file_most(uint64_t size);

#endif

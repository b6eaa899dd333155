/* sample.h - a file's content told from others by a look at some of it: files may have gigabytes and be far
 * away. */
#ifndef CONVERT_CACHE_SAMPLE_H
#define CONVERT_CACHE_SAMPLE_H

#include <stdint.h>
#include <xxhash.h>

/*
 * A fingerprint of the size, the beginning, the end and pages between. Who wrote the file can make another
 * with the same one, so it says something of files only whose writers are trusted. 0, or a negative errno.
 */
int sample_file(int fd, uint64_t size, XXH128_hash_t *ret);

#endif

/*
 * sampled_hash.h - tells versions of a file apart by hashing samples of it. Files may have gigabytes and be
 * on remote file systems.
 */
#ifndef WORK_CACHE_SAMPLED_HASH_H
#define WORK_CACHE_SAMPLED_HASH_H

#include <stdint.h>
#include <xxhash.h>

/*
 * XXH3 of the size, the beginning, the end and evenly spaced pages between. Not collision resistant: the
 * writer of a file can craft another with the same hash, so it is for files of trusted writers only. 0 or a
 * negative errno.
 */
int sampled_hash(int fd, uint64_t size, XXH128_hash_t *ret);

#endif

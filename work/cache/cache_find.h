/*
 * cache_find.h - the id of a file, known from its state, as a worker reported it before.
 *
 * The id of a file is the content of a symbolic link whose name has the hash of what identifies the file, so
 * that the cost does not depend on how many entries the cache has.
 */
#ifndef WORK_CACHE_CACHE_FIND_H
#define WORK_CACHE_CACHE_FIND_H

#include "work/cache/cache.h"

/*
 * The id of the file in @input, whose id is ignored: 0, or -ENOENT if it is not known for that state of the
 * file.
 */
int cache_find(const struct cache *cache, const struct cache_input *input, char ret_id[ID_TEXT_SIZE]);

/*
 * Remembers the id in @input, in place of what was known of the file. For a file with one image: of several
 * the last one is known. Where links cannot be made, none is.
 */
void cache_remember(const struct cache *cache, const struct cache_input *input);

#endif

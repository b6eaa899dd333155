/*
 * cache_entry.h - the files of the cache: their names, and how they are opened.
 */
#ifndef WORK_CACHE_CACHE_ENTRY_H
#define WORK_CACHE_CACHE_ENTRY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "work/cache/cache_key.h"

enum { CACHE_NAME_SIZE = CACHE_KEY_SIZE + 8 }; /* of a file: the key with a suffix and a NUL */

/* One of the two keys of a converted file. @alone: see cache_publish(). */
void cache_entry_key(char text[CACHE_KEY_SIZE], const struct cache_key *key, bool alone);

/* The name of the converted file of that key. */
void cache_entry_name(char name[CACHE_NAME_SIZE], const struct cache_key *key, bool alone);

void cache_file_name(char name[CACHE_NAME_SIZE], const char *key, const char *suffix);

/*
 * In the mode of a file, see cache_mark(): there it goes with the file, and costs no other. On files this bit
 * means nothing to Linux.
 */
enum { CACHE_PENDING = S_ISVTX };

/*
 * Opens the file @name in the directory @dir, without following a symbolic link. A descriptor; -ENOENT also
 * if @dir is negative, which is none; -EMEDIUMTYPE if it is not a regular file; or another negative errno.
 */
int cache_entry_open(int dir, const char *name);

#endif

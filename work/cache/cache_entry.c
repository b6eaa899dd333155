/*
 * The files of the cache: their names, and how they are opened.
 */
#include "work/cache/cache_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "work/cache/cache_dir.h"
#include "gsym/base/fault.h"

void cache_entry_key(char text[CACHE_KEY_SIZE], const struct cache_key *key, bool alone)
{
	memcpy(text, key->text, CACHE_KEY_SIZE);
	if (alone)
		strcpy(text + strlen(text) - CONTENT_DIGITS, key->alone);
}

void cache_file_name(char name[CACHE_NAME_SIZE], const char *key, const char *suffix)
{
	snprintf(name, CACHE_NAME_SIZE, "%s%s", key, suffix);
}

void cache_entry_name(char name[CACHE_NAME_SIZE], const struct cache_key *key, bool alone)
{
	char text[CACHE_KEY_SIZE];
	cache_entry_key(text, key, alone);
	cache_file_name(name, text, CACHE_GSYM_SUFFIX);
}

int cache_entry_open(int dir, const char *name)
{
	struct stat st;
	if (dir < 0)
		return -ENOENT;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return system_error(errno);
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? system_error(errno) : fd;
}

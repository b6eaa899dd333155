#include "index_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "../gsym/base/vec.h"

enum { NAME_SIZE = 40 };

static void file_name(char name[NAME_SIZE], const char *source)
{
	snprintf(name, NAME_SIZE, "index-%016llx", (unsigned long long)XXH3_64bits(source, strlen(source)));
}

static int read_file(int dir, const char *name, void **ret_data, size_t *ret_size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	struct stat st;
	char *data = fstat(fd, &st) || !S_ISREG(st.st_mode) ? NULL : malloc((size_t)st.st_size + 1);
	size_t n = 0;
	ssize_t got = 1;
	while (data && n < (size_t)st.st_size && got > 0) {
		got = read(fd, data + n, (size_t)st.st_size - n);
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!data)
		return -ENOMEM;
	*ret_data = data;
	*ret_size = n;
	return 0;
}

void index_load(struct index *index, const struct cache *cache, const char *source)
{
	CLEANUP(freep) void *data = NULL;
	size_t size = 0;
	char name[NAME_SIZE];
	file_name(name, source);
	if (read_file(cache->dir, name, &data, &size))
		return;
	if (index_decode(index, (struct span){data, size}))
		log_warning(cache->log,
			    "cache: '%s' is damaged or of another version: looking at all files again", name);
}

void index_save(const struct index *index, struct cache *cache, const char *source)
{
	CLEANUP(freep) void *data = NULL;
	size_t size = 0;
	char name[NAME_SIZE];
	struct gsym_diag diag = {"no memory"};
	file_name(name, source);
	if (index_encode(index, &data, &size) || cache_write_file(cache, name, data, size, &diag))
		log_warning(cache->log, "%s: the next mount will look at all files again", diag.text);
}

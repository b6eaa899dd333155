#include "fs/scan/index_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "work/cache/cache_dir.h"
#include "work/cache/cache_temp.h"

enum { NAME_SIZE = 40 };

static void file_name(char name[NAME_SIZE], const char *source)
{
	snprintf(name, NAME_SIZE, CACHE_INDEX_PREFIX "%016llx",
		 (unsigned long long)XXH3_64bits(source, strlen(source)));
}

/* The whole file, if its beginning and its size are those of an index: nothing is allocated for another. */
static int read_index(int fd, uint8_t **ret_data, size_t *ret_size)
{
	uint8_t header[INDEX_HEADER_SIZE];
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	int err = read_all(fd, header, sizeof(header), 0);
	if (!err)
		err = index_check_header((struct span){header, sizeof(header)}, (uint64_t)st.st_size);
	if (err)
		return err;
	CLEANUP(freep) uint8_t *data = malloc((size_t)st.st_size);
	if (!data)
		return -ENOMEM;
	memcpy(data, header, sizeof(header));
	err = read_all(fd, data + sizeof(header), (size_t)st.st_size - sizeof(header), sizeof(header));
	if (err)
		return err;
	*ret_size = (size_t)st.st_size;
	*ret_data = TAKE(data);
	return 0;
}

static int load(struct index *index, int fd)
{
	CLEANUP(freep) uint8_t *data = NULL;
	size_t size = 0;
	int err = read_index(fd, &data, &size);
	return err ? err : index_decode(index, (struct span){data, size});
}

void index_load(struct index *index, unsigned root, const struct cache *cache, const char *source)
{
	struct index part = {0};
	char name[NAME_SIZE];
	file_name(name, source);
	int fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return;
	int err = fd < 0 ? -errno : load(&part, fd);
	if (fd >= 0)
		close(fd);
	if (!err)
		index_merge(index, &part, root);
	if (err == -EBADMSG)
		log_warning(cache->log,
			    "cache: '%s': corrupt or of another version; all files will be identified again",
			    name);
	else if (err)
		log_warning(cache->log, "cache: '%s': cannot read: %s; all files will be identified again",
			    name, strerror(-err));
}

void index_save(const struct index *index, unsigned root, struct cache *cache, const char *source)
{
	CLEANUP(freep) void *data = NULL;
	size_t size = 0;
	char name[NAME_SIZE];
	struct gsym_diag diag = {"no memory"};
	file_name(name, source);
	if (index_encode(index, root, &data, &size) || cache_write_file(cache, name, data, size, &diag))
		log_warning(cache->log, "%s; the next mount will identify all files again", diag.text);
}

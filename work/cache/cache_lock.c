#include "work/cache/cache_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const char name[] = ".lock";

int cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret)
{
	/* Offsets are positive; two entries with one byte wait for one another. */
	uint64_t byte = XXH3_64bits(key->text, strlen(key->text)) >> 2;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
	int fd = openat(cache->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	*ret = fd;
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	bool is_taken = errno == EAGAIN || errno == EACCES;
	close(fd);
	*ret = -1;
	return is_taken ? -EAGAIN : 0;
}

#include "gsym/base/file_io.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gsym/base/fault.h"
#include "gsym/base/vec.h"

enum { COPY_BLOCK = 256 << 10 };

/* A server that fails while a file of ours is read on it is not the server that a caller speaks with. */
static int file_error(void)
{
	int err = system_error(errno);
	return fault_of(err) == FAULT_NETWORK ? -EIO : err;
}

int read_all(int fd, void *to, size_t size, off_t off)
{
	for (char *at = to; size > 0;) {
		ssize_t n = pread(fd, at, size, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? file_error() : -EBADMSG;
		at += n;
		off += n;
		size -= (size_t)n;
	}
	return 0;
}

int write_all(int fd, const void *from, size_t size, off_t off)
{
	for (const char *at = from; size > 0;) {
		ssize_t n = pwrite(fd, at, size, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? file_error() : -EIO;
		at += n;
		off += n;
		size -= (size_t)n;
	}
	return 0;
}

int read_blocks(int fd, uint64_t size, int (*take)(void *user, const void *bytes, size_t n, uint64_t off),
		void *user)
{
	CLEANUP(freep) void *block = malloc(COPY_BLOCK);
	int err = block ? 0 : -ENOMEM;
	for (uint64_t off = 0; off < size && !err; off += COPY_BLOCK) {
		size_t n = size - off < COPY_BLOCK ? (size_t)(size - off) : COPY_BLOCK;
		err = read_all(fd, block, n, (off_t)off);
		if (!err)
			err = take(user, block, n, off);
	}
	return err;
}

static int copy_block(void *to, const void *bytes, size_t n, uint64_t off)
{
	return write_all(*(const int *)to, bytes, n, (off_t)off);
}

int copy_all(int from, int to, uint64_t size)
{
	return read_blocks(from, size, copy_block, &to);
}

void *file_map(int fd, uint64_t size, int flags)
{
	if (size <= PTRDIFF_MAX)
		return mmap(NULL, (size_t)size, PROT_READ, flags, fd, 0);
	errno = ENOMEM;
	return MAP_FAILED;
}

int file_stat(int fd, struct stat *ret)
{
#ifdef FILE_STAT_IS_FSTAT
	return (int)syscall(SYS_fstat, fd, ret);
#else
	return fstat(fd, ret);
#endif
}

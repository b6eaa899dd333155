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

int copy_all(int from, int to, uint64_t size)
{
	CLEANUP(freep) char *block = malloc(COPY_BLOCK);
	if (!block)
		return -ENOMEM;
	for (uint64_t off = 0; off < size;) {
		size_t n = size - off < COPY_BLOCK ? (size_t)(size - off) : COPY_BLOCK;
		int err = read_all(from, block, n, (off_t)off);
		if (!err)
			err = write_all(to, block, n, (off_t)off);
		if (err)
			return err;
		off += n;
	}
	return 0;
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

#include "store/transfer/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "gsym/base/fault.h"

static int read_text(int fd, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got;
	while (n < size && (got = read(fd, ret + n, size - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return system_error(errno);
		n += got > 0 ? (size_t)got : 0;
	}
	if (n == size)
		return -EFBIG;
	ret[n] = 0;
	return 0;
}

int secret_file_read(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return system_error(errno);
	int err = read_text(fd, ret, size);
	close(fd);
	return err;
}

int secret_errno(int err)
{
	if (!err)
		return 0;
	switch (fault_of(err)) {
	case FAULT_FILE:
	case FAULT_LIMIT:
	case FAULT_ABSENT:
	case FAULT_DENIED: return -EACCES;
	case FAULT_MACHINE: return err == -EAGAIN ? -EIO : err; /* -EAGAIN: another host has the lease */
	default: return -EIO;
	}
}

#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int openat2_beneath(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd;
	do /* EAGAIN: a rename somewhere below while the kernel looked */
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return fd < 0 ? -errno : (int)fd;
}

int open_beneath(int dir, const char *path, int flags)
{
	int fd = openat2_beneath(dir, path, flags, RESOLVE_NO_SYMLINKS);
	if (fd != -ENOSYS)
		return fd;
	/*
	 * Linux before 5.6: the last component is guarded, a directory swapped for a link at this moment is
	 * not.
	 */
	fd = openat(dir, path, flags | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int stat_link_beneath(int dir, const char *path, struct stat *ret)
{
	int fd = openat2_beneath(dir, path, O_PATH, RESOLVE_NO_XDEV);
	if (fd < 0)
		return fd;
	int err = fstat(fd, ret) ? -errno : 0;
	close(fd);
	return err;
}

static bool has_dotdot(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == 0 || at[2] == '/'))
			return true;
	return false;
}

int open_inside(int dir, const char *path, int flags)
{
	int fd = openat2_beneath(dir, path, flags, RESOLVE_NO_XDEV);
	if (fd != -EXDEV || has_dotdot(path))
		return fd;
	return openat2_beneath(dir, path, flags, RESOLVE_NO_SYMLINKS);
}

#include "neighbour.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"

bool path_open_to_all(const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	for (const char *at = path; *at;) {
		size_t n = (size_t)(at - path) + strcspn(at + 1, "/") + 1;
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (stat(part, &st) || !(st.st_mode & S_IXOTH))
			return false;
		at = path + n;
	}
	return true;
}

bool readable_like(const struct stat *st, bool reachable, const struct source *source)
{
	bool others = reachable && (st->st_mode & S_IROTH);
	bool group = others || (st->st_gid == source->gid && (st->st_mode & S_IRGRP));
	bool owner = others || (st->st_uid == source->uid && (st->st_mode & S_IRUSR));
	return (others || !(source->mode & S_IROTH)) && (group || !(source->mode & S_IRGRP)) &&
	       (owner || !(source->mode & S_IRUSR));
}

/* What is left of @path below @dir; NULL when it does not lie there. */
static const char *below(const char *dir, const char *path)
{
	size_t n = strlen(dir);
	while (n && dir[n - 1] == '/')
		n--;
	if (strncmp(dir, path, n) != 0 || path[n] != '/')
		return NULL;
	path += n;
	while (*path == '/')
		path++;
	return *path ? path : NULL;
}

static int open_below(const char *dir, const char *rest, int flags)
{
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	int fd = open_inside(root, rest, flags);
	close(root);
	return fd;
}

/* Opens the file below the first directory that has it. */
static int open_any(const struct neighbourhood *hood, const char *path, int flags, struct stat *ret)
{
	int err = -EXDEV;
	if (below(hood->mountpoint, path))
		return err;
	for (const char *const *dir = hood->dirs; *dir; dir++) {
		const char *rest = below(*dir, path);
		if (!rest)
			continue;
		int fd = open_below(*dir, rest, flags);
		if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
			return fd;
		err = fd < 0 ? fd : -ENOENT;
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* Asked of the path the kernel found in the end: the name may have led through symbolic links. */
static bool reachable(int fd)
{
	char link[32], path[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path));
	if (n <= 0 || (size_t)n >= sizeof(path))
		return false;
	path[n] = 0;
	*strrchr(path, '/') = 0;
	return path_open_to_all(path);
}

int neighbour_open(const struct neighbourhood *hood, const struct source *source, const char *path, struct stat *ret)
{
	int fd = open_any(hood, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, ret);
	if (fd < 0 || readable_like(ret, reachable(fd), source))
		return fd;
	close(fd);
	return -EPERM;
}

int neighbour_stat(const struct neighbourhood *hood, const char *path, struct stat *ret)
{
	int fd = open_any(hood, path, O_PATH, ret);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

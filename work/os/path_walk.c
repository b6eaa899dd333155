#include "work/os/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/base/fault.h"

enum { DEPTH_MAX = 128, LINKS_MAX = 40 /* of the kernel */ };

struct path_walk {
	int flags;
	uint64_t resolve;
	/* From the caller's to the present one: ".." goes back to what was entered, wherever it is. */
	int dirs[DEPTH_MAX];
	unsigned depth; /* index of the present one */
	unsigned links; /* followed */
	struct statx first;
	char rest[PATH_MAX]; /* what is still to be walked */
};

/* Takes the next component from the path. False: there is none. */
static bool take_component(struct path_walk *w, char name[static NAME_MAX + 2])
{
	const char *at = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(at, "/"), kept = n > NAME_MAX ? NAME_MAX + 1 : n; /* such a name fails */
	memcpy(name, at, kept);
	name[kept] = 0;
	memmove(w->rest, at + n, strlen(at + n) + 1);
	return n > 0;
}

/* Puts the text of a link before the rest of the path. 0 or a negative errno. */
static int follow_link(struct path_walk *w, int link)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text));
	if (n < 0)
		return system_error(errno);
	size_t rest = strlen(w->rest);
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t)n + rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n, w->rest, rest + 1);
	memcpy(w->rest, text, (size_t)n);
	return text[0] == '/' ? -EXDEV : 0;
}

/* Looks at what is open, without a request to a file system on another host or in another process. */
static int look_at(int fd, struct statx *st)
{
	const int flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	return statx(fd, "", flags, STATX_TYPE, st) ? system_error(errno) : 0;
}

/* Enters the directory that was opened. 0 or a negative errno; @fd is taken over if it is 0. */
static int enter(struct path_walk *w, int fd)
{
	if (w->depth + 1 == DEPTH_MAX)
		return -ENAMETOOLONG;
	w->dirs[++w->depth] = fd;
	return 0;
}

static int leave(struct path_walk *w)
{
	if (!w->depth)
		return -EXDEV;
	close(w->dirs[w->depth--]);
	return 0;
}

/* Opens the last component for the caller. @seen: it, by O_PATH. */
static int open_last(const struct path_walk *w, const char *name, int seen, bool is_link)
{
	const int as_it_is = O_PATH | O_NOFOLLOW;
	if (is_link && (w->flags & as_it_is) != as_it_is)
		return -ELOOP;
	int fd = w->flags & O_PATH && !(w->flags & O_DIRECTORY)
			 ? fcntl(seen, F_DUPFD_CLOEXEC, 0)
			 : openat(w->dirs[w->depth], name, w->flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? system_error(errno) : fd;
}

/* Walks one component. 0 to go on, or a negative errno; the last one is opened to @ret. */
static int step(struct path_walk *w, const char *name, int *ret)
{
	struct statx st;
	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return leave(w);
	int fd = openat(w->dirs[w->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 ? system_error(errno) : look_at(fd, &st);
	bool crosses = !err && (st.stx_dev_major != w->first.stx_dev_major ||
				st.stx_dev_minor != w->first.stx_dev_minor);
	bool is_last = !w->rest[0], is_link = !err && S_ISLNK(st.stx_mode);
	bool follows = is_link && !(w->resolve & RESOLVE_NO_SYMLINKS) && !(is_last && w->flags & O_NOFOLLOW);
	if (!err && crosses && w->resolve & RESOLVE_NO_XDEV)
		err = -EXDEV;
	else if (!err && follows)
		err = follow_link(w, fd);
	else if (!err && is_last)
		err = (*ret = open_last(w, name, fd, is_link)) < 0 ? *ret : 0;
	else if (!err && !S_ISDIR(st.stx_mode))
		err = is_link ? -ELOOP : -ENOTDIR;
	else if (!err && (err = enter(w, fd)) == 0)
		return 0;
	if (fd >= 0)
		close(fd);
	return err;
}

int path_walk(int dir, const char *path, int flags, uint64_t resolve)
{
	struct path_walk w = {.flags = flags, .resolve = resolve, .dirs = {dir}};
	char name[NAME_MAX + 2];
	int err = look_at(dir, &w.first), fd = -1;
	if (!err && (*path == '/' || !*path || strlen(path) >= sizeof(w.rest)))
		err = *path == '/' ? -EXDEV : *path ? -ENAMETOOLONG : -ENOENT;
	if (!err)
		strcpy(w.rest, path);
	while (!err && fd < 0 && take_component(&w, name))
		err = step(&w, name, &fd);
	/* It ends with a directory that was entered. */
	if (!err && fd < 0)
		fd = openat(w.dirs[w.depth], ".", flags | O_CLOEXEC);
	if (!err && fd < 0)
		err = system_error(errno);
	while (w.depth)
		leave(&w);
	return err ? err : fd;
}

#include "work/run/neighbour.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/os/acl.h"
#include "work/os/beneath.h"
#include "work/types/packed_name.h"
#include "gsym/base/fault.h"

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

bool readable_like(const struct stat *st, bool reachable, const struct file_state *source)
{
	bool same_group = st->st_gid == source->gid, same_owner = st->st_uid == source->uid;
	bool group = reachable && (st->st_mode & S_IRGRP), others = reachable && (st->st_mode & S_IROTH);
	/* A user who is "other" to the source may be in any class of the file, and a group may have fewer
	 * permissions than others. */
	bool for_others = others && (group || same_group);
	bool for_group = group && (others || same_group);
	bool for_owner = (others && group) || (same_owner && (st->st_mode & S_IRUSR));
	return (for_others || !(source->mode & S_IROTH)) && (for_group || !(source->mode & S_IRGRP)) &&
	       (for_owner || !(source->mode & S_IRUSR));
}

/* @path relative to @dir; NULL if it is not below @dir. */
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

static int open_below(const char *dir, const char *rest, dev_t avoid)
{
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return system_error(errno);
	int fd = open_path_inside(root, rest, avoid);
	close(root);
	return fd;
}

/* @fd, and what is known of it, if it is a regular file; else it is closed. */
static int regular(int fd, struct stat *ret)
{
	int err = fstat(fd, ret) ? system_error(errno) : S_ISREG(ret->st_mode) ? 0 : -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Opens any regular file with O_PATH. */
static int open_anywhere(const char *path, struct stat *ret)
{
	if (*path != '/')
		return -EXDEV;
	int fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? system_error(errno) : regular(fd, ret);
}

/* Opens the file with O_PATH below the first directory of the search path that has it. */
static int open_any(const struct search_path *search, const char *path, dev_t avoid, struct stat *ret)
{
	int err = -EXDEV;
	if (search->mountpoint && below(search->mountpoint, path))
		return err;
	for (const char *const *dir = search->dirs; *dir; dir++) {
		const char *rest = below(*dir, path);
		if (!rest)
			continue;
		int fd = open_below(*dir, rest, avoid);
		if (fd >= 0)
			fd = regular(fd, ret);
		if (fd >= 0)
			return fd;
		/* A symbolic link that leads outside may be replaced by a file later: not -EXDEV. */
		err = fd != -EXDEV ? fd : -ENOENT;
	}
	return err;
}

static int find_neighbour(const struct search_path *search, const char *path, dev_t avoid,
			  struct neighbour *ret)
{
	if (search->all)
		return open_anywhere(path, &ret->st);
	int fd = open_any(search, path, avoid, &ret->st);
	if (fd < 0)
		return fd;
	ret->open_to_all = file_open_to_all(fd, &ret->st, avoid);
	ret->st.st_mode = acl_reduced(fd, ret->st.st_mode);
	return fd;
}

/* Opens the directory of @path with O_PATH: a descriptor, or a negative number if there is none. */
static int open_parent(const struct search_path *search, const char *path, dev_t avoid)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd = -ENOENT;
	if (snprintf(parent, sizeof(parent), "%.*s/.", (int)(slash - path), path) >= PATH_MAX)
		return fd;
	if (search->all)
		return open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *const *dir = search->dirs; *dir && fd < 0; dir++)
		if (below(*dir, parent))
			fd = open_below(*dir, below(*dir, parent), avoid);
	return fd;
}

/*
 * The ending of the compressed file in place of @path, or NULL. Few are there, and most directories that are
 * searched do not exist: find_neighbour() for each would take four times as long as for the file alone.
 */
static const char *ending_at(const struct search_path *search, const char *path, dev_t avoid)
{
	char name[NAME_MAX + 1];
	const char *found = NULL;
	int dir = open_parent(search, path, avoid);
	for (size_t i = 0; dir >= 0 && i < PACKED_ENDINGS && !found; i++) {
		int n = snprintf(name, sizeof(name), "%s%s", strrchr(path, '/') + 1, packed_endings[i]);
		if (n <= NAME_MAX && entry_device(dir, name))
			found = packed_endings[i];
	}
	if (dir >= 0)
		close(dir);
	return found;
}

static bool is_package(const char *path)
{
	size_t n = strlen(path);
	return n > 4 && strcmp(path + n - 4, ".dwp") == 0;
}

/* What @name asks for, see PACKED: the file, or else a compressed one. */
static int find_named(const struct search_path *search, const char *name, struct neighbour *ret)
{
	bool packed = !strncmp(name, PACKED, sizeof(PACKED) - 1);
	const char *path = packed ? name + sizeof(PACKED) - 1 : name;
	char other[PATH_MAX];
	if (search->package && is_package(path))
		path = search->package;
	*ret = (struct neighbour){.path = path, .ending = ""};
	dev_t avoid = search->mountpoint ? entry_device(AT_FDCWD, search->mountpoint) : 0;
	int fd = find_neighbour(search, path, avoid, ret);
	const char *ending = packed && fd == -ENOENT ? ending_at(search, path, avoid) : NULL;
	if (!ending || snprintf(other, sizeof(other), "%s%s", path, ending) >= PATH_MAX)
		return fd;
	ret->ending = ending;
	return find_neighbour(search, other, avoid, ret);
}

int reopen(int fd)
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int opened = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return opened < 0 ? system_error(errno) : opened;
}

/* A rule of the kernel or of a policy, EPERM, is as good as permissions. */
static int refused(int err)
{
	return err == -EPERM ? -EACCES : err;
}

int neighbour_open(const struct search_path *search, const struct file_state *source, const char *name,
		   struct neighbour *ret)
{
	int place = find_named(search, name, ret);
	if (place < 0)
		return refused(place);
	bool allowed = search->all || readable_like(&ret->st, ret->open_to_all, source);
	int fd = allowed ? refused(reopen(place)) : -EPERM;
	close(place);
	return fd;
}

int neighbour_try(const struct search_path *search, const char *name)
{
	struct neighbour file;
	int place = find_named(search, name, &file), fd = place < 0 ? place : reopen(place);
	if (place >= 0)
		close(place);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? refused(fd) : 0;
}

int neighbour_stat(const struct search_path *search, const char *name, struct neighbour *ret)
{
	int fd = find_named(search, name, ret);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

uint64_t search_path_fingerprint(const struct search_path *search)
{
	uint64_t sum = search->all;
	for (const char *const *dir = search->dirs; *dir; dir++)
		sum = XXH3_64bits_withSeed(*dir, strlen(*dir), sum);
	if (search->package)
		sum = XXH3_64bits_withSeed(search->package, strlen(search->package), ~sum);
	return search->servers ? ~sum : sum;
}

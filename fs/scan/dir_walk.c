/*
 * Depth first with a stack of paths, so that the depth of a tree costs no descriptors. Directories reached
 * through symbolic links are not entered: they are met by their own path if they are below the root at all.
 */
#include "fs/scan/dir_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsym/base/fault.h"
#include "gsym/base/vec.h"
#include "work/os/beneath.h"

enum {
	/* Entries after which the end of the daemon is noticed. */
	STOP_EVERY = 32,
};

struct pending {
	char *path; /* "" = the root */
	bool open_to_all;
	dev_t local; /* once it is open, see local_device() */
};

struct walker {
	int root;
	const struct walk_visitor *visitor;
	VEC(struct pending) stack;
	int trouble; /* first error that may hide files */
	size_t n_met;
};

static bool stopped(const struct walk_visitor *v)
{
	struct pollfd fd = {.fd = v->stop_fd, .events = POLLIN};
	return poll(&fd, 1, 0) > 0;
}

static int join(char path[PATH_MAX], const char *dir, const char *name)
{
	size_t dir_size = strlen(dir), name_size = strlen(name), slash = dir_size != 0;
	if (dir_size + slash + name_size >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, dir, dir_size);
	path[dir_size] = '/';
	memcpy(path + dir_size + slash, name, name_size + 1);
	return 0;
}

static int push(struct walker *w, const char *path, bool open_to_all)
{
	char *copy = strdup(path);
	if (!copy || vec_push(&w->stack, (struct pending){copy, open_to_all, 0})) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static int meet_link(struct walker *w, const char *path, int dir, const char *name)
{
	const struct walk_visitor *v = w->visitor;
	struct stat target;
	/* Dangling links, and links that lead outside, are common and no error. */
	if (stat_link_beneath(w->root, path, &target) || !S_ISREG(target.st_mode))
		return v->away ? v->away(v->user, path, dir, name) : 0;
	return v->link(v->user, path, &target);
}

/* Permission errors have the lowest priority: such files could not be served anyway. */
static void remember_trouble(struct walker *w, int err)
{
	if (!w->trouble || fault_of(w->trouble) == FAULT_DENIED)
		w->trouble = err;
}

static void tell(const struct walker *w, const char *path, const char *failed, int err, const char *use)
{
	char reason[256];
	snprintf(reason, sizeof(reason), "%s%s", failed, strerror(-err));
	w->visitor->tell(w->visitor->user, path, reason, use);
}

/* One that was removed meanwhile is no trouble, nor is the mount itself: EXDEV. Any other may still exist. */
static void note_entry_trouble(struct walker *w, const char *path, int err)
{
	if (fault_of(err) == FAULT_ABSENT)
		return;
	tell(w, path, "cannot stat: ", err, "skipped until the next scan");
	remember_trouble(w, err);
}

static int meet(struct walker *w, int dir, const struct pending *from, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	if (join(path, from->path, name)) {
		w->visitor->tell(w->visitor->user, from->path, "the path of a file in it is too long",
				 "it is skipped");
		return 0;
	}
	int err = entry_stat(dir, name, w->visitor->avoid, from->local, &st);
	if (err) {
		note_entry_trouble(w, path, err);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return push(w, path, from->open_to_all && (st.st_mode & S_IXOTH));
	if (S_ISREG(st.st_mode))
		return w->visitor->file(w->visitor->user, path, &st, from->open_to_all);
	return S_ISLNK(st.st_mode) ? meet_link(w, path, dir, name) : 0;
}

/* A directory that is gone or not permitted hides no file that could be served; other errors may. */
static void note_trouble(struct walker *w, const char *path, int err)
{
	if (fault_of(err) == FAULT_ABSENT)
		return;
	tell(w, path, "cannot read the directory: ", err, "skipped");
	if (fault_of(err) != FAULT_DENIED)
		remember_trouble(w, err);
}

static int list(struct walker *w, DIR *d, const struct pending *from)
{
	int err = 0;
	while (!err) {
		errno = 0;
		struct dirent *e = readdir(d);
		if (!e) {
			if (errno)
				note_trouble(w, from->path, -errno);
			break;
		}
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		bool stop = w->n_met++ % STOP_EVERY == 0 && stopped(w->visitor);
		err = stop ? -ECANCELED : meet(w, dirfd(d), from, e->d_name);
		if (!err && w->visitor->between)
			w->visitor->between(w->visitor->user);
	}
	return err;
}

/* @lists: the directory, not only itself, is visited. */
static int enter(struct walker *w, const struct pending *from, bool lists)
{
	int fd = open_beneath(w->root, *from->path ? from->path : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0) {
		note_trouble(w, from->path, fd);
		return 0;
	}
	/* Of the open descriptor: the name may have been another directory's when it was listed. */
	const struct pending opened = {from->path, from->open_to_all && dir_open_to_all(fd),
				       local_device(fd)};
	int err = w->visitor->dir(w->visitor->user, from->path, fd, opened.open_to_all);
	DIR *d = err || !lists ? NULL : fdopendir(fd);
	if (!d) {
		close(fd);
		return err < 0 ? err : err > 0 || !lists ? 0 : -ENOMEM;
	}
	err = list(w, d, &opened);
	closedir(d);
	return err;
}

/* All that is pending, after @err. */
static int finish(struct walker *w, int err, bool lists)
{
	while (!err && w->stack.n > 0) {
		struct pending top = w->stack.v[--w->stack.n];
		err = enter(w, &top, lists);
		free(top.path);
	}
	for (size_t i = 0; i < w->stack.n; i++)
		free(w->stack.v[i].path);
	vec_free(&w->stack);
	return err ? err : w->trouble;
}

int walk(int root, bool open_to_all, const struct walk_visitor *visitor)
{
	struct walker w = {.root = root, .visitor = visitor};
	return finish(&w, push(&w, "", open_to_all), true);
}

static int visit_entry(struct walker *w, int dir, const char *path, const char *name, bool open_to_all,
		       bool lists)
{
	char copy[PATH_MAX];
	if (strlen(path) >= sizeof(copy))
		return 0;
	strcpy(copy, path);
	const struct pending from = {copy, open_to_all, local_device(dir)};
	return finish(w, meet(w, dir, &from, name), lists);
}

int walk_entry(int root, int dir, const char *path, const char *name, bool open_to_all,
	       const struct walk_visitor *visitor)
{
	struct walker w = {.root = root, .visitor = visitor};
	return visit_entry(&w, dir, path, name, open_to_all, true);
}

int walk_entry_alone(int root, int dir, const char *path, const char *name, bool open_to_all,
		     const struct walk_visitor *visitor)
{
	struct walker w = {.root = root, .visitor = visitor};
	return visit_entry(&w, dir, path, name, open_to_all, false);
}

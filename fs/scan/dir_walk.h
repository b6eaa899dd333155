/*
 * dir_walk.h - one walk over a directory tree.
 */
#ifndef FS_SCAN_DIR_WALK_H
#define FS_SCAN_DIR_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "convert/os/log.h"

/* What a walk meets. Paths are below the root and valid during the call only. */
struct walk_visitor {
	/*
	 * A directory, open, that is about to be listed; @path is "" for the root. Whatever is met until the
	 * next call is in it, and before another that is not below it all below it is met. @open_to_all as
	 * for files: of the way to what is in it. Negative ends the walk.
	 */
	int (*dir)(void *user, const char *path, int fd, bool open_to_all);
	/*
	 * A regular file. @open_to_all: everybody may search the directories that lead to it. Negative ends
	 * the walk.
	 */
	int (*file)(void *user, const char *path, const struct stat *st, bool open_to_all);
	/* A symbolic link to a regular file below the root, which @st describes. */
	int (*link)(void *user, const char *path, const struct stat *st);
	void *user;
	dev_t avoid; /* a file system not to enter, 0 = none */
	int stop_fd; /* readable: end the walk */
	const struct log *log;
};

/*
 * Walks over everything below @root, an open directory. @open_to_all says whether everybody may search the
 * way to it. 0 when all there is was seen; -EIO and the like when something could not be read, so that what
 * is missing need not be gone; -ECANCELED; or what a visitor returned.
 */
int walk(int root, bool open_to_all, const struct walk_visitor *visitor);

#endif

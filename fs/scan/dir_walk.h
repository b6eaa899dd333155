/*
 * dir_walk.h - depth-first traversal of a directory tree.
 */
#ifndef FS_SCAN_DIR_WALK_H
#define FS_SCAN_DIR_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

/* Callbacks of a walk. Paths are below the root and valid during the call only. */
struct walk_visitor {
	/*
	 * An open directory that is about to be listed; @path is "" for the root. Entries visited until the
	 * next call are in it; all directories below it follow before any other. @open_to_all: every user may
	 * search it and all above it. A negative return value ends the walk; a positive one leaves out what
	 * is in it.
	 */
	int (*dir)(void *user, const char *path, int fd, bool open_to_all);
	/*
	 * A regular file. @open_to_all: every user may search the directories that lead to it. A negative
	 * return value ends the walk.
	 */
	int (*file)(void *user, const char *path, const struct stat *st, bool open_to_all);
	/* A symbolic link to a regular file below the root, which @st describes. */
	int (*link)(void *user, const char *path, const struct stat *st);
	/*
	 * A symbolic link to anything else, or to nothing: @name in the open directory @dir. NULL: not
	 * wanted.
	 */
	int (*away)(void *user, const char *path, int dir, const char *name);
	/* Called between two entries of a directory; NULL: not wanted. */
	void (*between)(void *user);
	/* Told of each @path that cannot be looked at, for @reason, and is skipped; @use says until when. */
	void (*tell)(void *user, const char *path, const char *reason, const char *use);
	void *user;
	dev_t avoid; /* a file system not to enter, 0 = none */
	int stop_fd; /* readable: end the walk */
};

/*
 * Visits everything below @root, an open directory. @open_to_all: every user may search @root and all above
 * it. 0 if the walk was complete; the errno of the first entry that could not be read, so that files not
 * visited may still exist; -ECANCELED; or what a visitor returned.
 */
int walk(int root, bool open_to_all, const struct walk_visitor *visitor);

/*
 * Visits one entry of a directory: all below it if it is a directory itself.
 * @root: the directory of the walk
 * @dir, @path: the directory with the entry, open, and below @root
 * @name: the entry
 * @open_to_all: every user can reach @dir
 * As walk(); 0 also if it is not there.
 */
int walk_entry(int root, int dir, const char *path, const char *name, bool open_to_all,
	       const struct walk_visitor *visitor);

/* Likewise, but of a directory visits itself alone: nothing in it is listed. */
int walk_entry_alone(int root, int dir, const char *path, const char *name, bool open_to_all,
		     const struct walk_visitor *visitor);

#endif

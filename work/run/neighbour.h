/*
 * neighbour.h - files that an object file refers to: its debug file, what dwz shared, .dwo and .dwp files.
 *
 * Their names come from untrusted files. A neighbour is opened only below SOURCE or a directory of debug
 * files, and only if every user who may read answers about the object file may read the neighbour as well:
 * its content becomes part of those answers. A command that converts for the user who runs it opens all that
 * this user can.
 */
#ifndef WORK_RUN_NEIGHBOUR_H
#define WORK_RUN_NEIGHBOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "work/cache/file_state.h"

/* Where neighbours are searched. Absolute paths, all borrowed. */
struct search_path {
	const char *const *dirs; /* the directories of debug files and the sources, NULL-terminated */
	size_t n_sources;        /* the last of them are sources */
	const char *mountpoint;  /* never searched: reading below our own mount would deadlock; or NULL */
	bool all;                /* any file that the process can read, for answers that only its user sees */
	uint64_t servers;        /* of debuginfod, see debuginfod.h; 0: none */
	const char *package;     /* taken for any DWARF package, NAME.dwp; NULL: that of the name */
};

/* What decides who may read a neighbour, and whether it has changed. */
struct neighbour {
	struct stat st;
	const char *path;   /* that was asked for, borrowed */
	const char *ending; /* static; follows the path in the file's name, see packed_name.h */
	bool open_to_all;   /* every user may search its directories: only its own permissions matter */
};

/*
 * Opens @name, an absolute path that may have PACKED before it (packed_name.h), for a conversion of the file
 * @source and fills @ret. A descriptor; -EPERM, with @ret filled, if some user who may read @source may not
 * read it; -EACCES if this process may not, or may not look for it; -EXDEV if the path itself is outside
 * those directories; or the errno of opening, also if a symbolic link leads outside.
 */
int neighbour_open(const struct search_path *search, const struct file_state *source, const char *name,
		   struct neighbour *ret);

/*
 * Opens for reading what @fd refers to, which may be an O_PATH descriptor or one received from another
 * process. It must be known to be a regular file. A descriptor or a negative errno.
 */
int reopen(int fd);

/* Tries if this process may read the file: 0, -EACCES or the errno of opening it. */
int neighbour_try(const struct search_path *search, const char *name);

/* The current state of the file. Checks no permissions on behalf of users. 0 or a negative errno. */
int neighbour_stat(const struct search_path *search, const char *name, struct neighbour *ret);

/* A hash of the search path, part of cache keys: with another search path other neighbours may be found. */
uint64_t search_path_fingerprint(const struct search_path *search);

/* Whether every user may search all directories of an absolute path, including the last. */
bool path_open_to_all(const char *path);

/*
 * Whether every user who may read @source may also read the file of @st. @reachable: every user may search
 * the directories that lead to it. Pure.
 */
bool readable_like(const struct stat *st, bool reachable, const struct file_state *source);

#endif

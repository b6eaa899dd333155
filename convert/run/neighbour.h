/*
 * neighbour.h - files that an object file refers to: its debug file, what dwz shared, .dwo and .dwp files.
 *
 * Their names come from hostile files. A neighbour is opened only below SOURCE or a directory of debug files,
 * and only if everybody who may read answers about the object file may read the neighbour as well: what is in
 * it becomes part of those answers. A command that converts for the user who runs it opens what that user
 * can.
 */
#ifndef CONVERT_RUN_NEIGHBOUR_H
#define CONVERT_RUN_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "convert/cache/file_state.h"

/* Where neighbours may be. Absolute paths, all borrowed. */
struct neighbourhood {
	const char *const *dirs; /* SOURCE and the directories of debug files; NULL ends them */
	const char *mountpoint;  /* never looked into: the daemon would wait for itself; NULL: nowhere */
	bool all;         /* not just there: any file that we can read, for answers that we alone read */
	uint64_t servers; /* of debuginfod, see debuginfod.h; 0: none is asked */
};

/* What a neighbour is, as far as it matters who may read it and whether it has changed. */
struct neighbour {
	struct stat st;
	bool open_to_all; /* everybody can get at it, and needs only the permission of the file itself */
};

/*
 * Opens @path for a conversion of the file @source: a descriptor, with what it is in @ret. -EPERM, with the
 * same, when not everybody concerned may read it, or we may not; -EXDEV when the path itself leads outside
 * those directories; or the errno of opening, also for what a link leads to outside.
 */
int neighbour_open(const struct neighbourhood *hood, const struct file_state *source, const char *path,
		   struct neighbour *ret);

/*
 * What was opened for its path, or by somebody else, to read: another descriptor. It must be known to be a
 * regular file.
 */
int reopen(int fd);

/* What the file @path is now: 0, or the errno. For no conversion in particular. */
int neighbour_stat(const struct neighbourhood *hood, const char *path, struct neighbour *ret);

/*
 * A fingerprint of those directories, and of whether all files are meant and servers are asked: another
 * neighbourhood, other files.
 */
uint64_t neighbourhood_fingerprint(const struct neighbourhood *hood);

/* Whether everybody may search all directories of an absolute path, the last one included. */
bool path_open_to_all(const char *path);

/* Whether who may read @source may also read a file of @st; @reachable: everybody can get at that file. Pure.
 */
bool readable_like(const struct stat *st, bool reachable, const struct file_state *source);

#endif

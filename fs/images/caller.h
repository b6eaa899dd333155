/*
 * caller.h - credentials of the process that opened a file which answers for all images.
 *
 * The kernel checks the permissions of the file that is opened. The files in the root may be opened by every
 * user, so access to each image is checked here, against the credentials of the opener.
 */
#ifndef FS_IMAGES_CALLER_H
#define FS_IMAGES_CALLER_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fs/images/images.h"

struct caller {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary ones */
	int n_groups;
};

/* The credentials of the requesting process; without supplementary groups if they cannot be determined. */
struct caller caller_of(fuse_req_t req);
void caller_deinit(struct caller *caller);

/* Whether they are root's, or those of the daemon's own user. */
bool caller_sees_all(const struct caller *caller);

/*
 * Whether they may search @dir and all directories above it, and with @listed read @dir. @caller NULL:
 * whether every user may.
 */
bool caller_reaches(const struct caller *caller, const struct path_tree *paths, uint32_t dir, bool listed);

/* Whether they may read what mirrors the permissions of @source. */
bool caller_may_read(const struct caller *caller, const struct source *source);

#endif

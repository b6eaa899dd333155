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

/* Whether they may read what mirrors the permissions of @source. */
bool caller_may_read(const struct caller *caller, const struct source *source);

#endif

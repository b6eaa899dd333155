/*
 * caller.h - who opened a file that answers for all images.
 *
 * The kernel judges by the permissions of the file that is opened. The files in the root may be opened by
 * everybody, so what they say of an image is judged here, by who opened them, as for any other file.
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

/* Those who made the request. Supplementary groups that cannot be found out are none. */
struct caller caller_of(fuse_req_t req);
void caller_deinit(struct caller *caller);

/* Whether they may read what mirrors the permissions of @source. */
bool caller_may_read(const struct caller *caller, const struct source *source);

#endif

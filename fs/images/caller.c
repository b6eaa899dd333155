#include "fs/images/caller.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUPS_MAX = 65536 }; /* as many as Linux allows */

static void ask_groups(fuse_req_t req, struct caller *caller)
{
	int n = fuse_req_getgroups(req, 0, NULL);
	if (n <= 0 || n > GROUPS_MAX)
		return;
	gid_t *groups = calloc((size_t)n, sizeof(*groups));
	int found = groups ? fuse_req_getgroups(req, n, groups) : 0;
	if (found <= 0) {
		free(groups);
		return;
	}
	caller->groups = groups;
	caller->n_groups = found < n ? found : n;
}

struct caller caller_of(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller caller = {.uid = ctx->uid, .gid = ctx->gid};
	if (caller.uid != 0)
		ask_groups(req, &caller);
	return caller;
}

void caller_deinit(struct caller *caller)
{
	free(caller->groups);
	caller->groups = NULL;
}

static bool in_group(const struct caller *caller, gid_t gid)
{
	if (caller->gid == gid)
		return true;
	for (int i = 0; i < caller->n_groups; i++)
		if (caller->groups[i] == gid)
			return true;
	return false;
}

/* The bits of @mode for them, as those for others. */
static mode_t granted(const struct caller *caller, uid_t uid, gid_t gid, mode_t mode)
{
	if (!caller)
		return mode & mode >> 3 & mode >> 6;
	if (caller->uid == uid)
		return mode >> 6;
	return in_group(caller, gid) ? mode >> 3 : mode;
}

bool caller_may_read(const struct caller *caller, const struct source *source)
{
	return caller->uid == 0 || granted(caller, source->uid, source->gid, source->mode) & S_IROTH;
}

bool caller_sees_all(const struct caller *caller)
{
	return caller->uid == 0 || caller->uid == geteuid();
}

bool caller_reaches(const struct caller *caller, const struct path_tree *paths, uint32_t dir, bool listed)
{
	mode_t needed = listed ? S_IXOTH | S_IROTH : S_IXOTH;
	for (const struct path_dir *at = path_tree_dir(paths, dir); at;
	     at = path_tree_dir(paths, at->parent)) {
		if ((granted(caller, at->attr.uid, at->attr.gid, at->attr.mode) & needed) != needed)
			return false;
		if (at->parent == PATH_NONE)
			return true;
		needed = S_IXOTH;
	}
	return false;
}

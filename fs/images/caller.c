#include "fs/images/caller.h"

#include <stdlib.h>
#include <sys/stat.h>

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

bool caller_may_read(const struct caller *caller, const struct source *source)
{
	if (caller->uid == 0)
		return true;
	if (caller->uid == source->uid)
		return source->mode & S_IRUSR;
	if (in_group(caller, source->gid))
		return source->mode & S_IRGRP;
	return source->mode & S_IROTH;
}

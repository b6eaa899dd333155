/*
 * Lookups. Each function either fills an entry, or says what must be waited for; one place replies.
 */
#include "fs/tree/ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "fs/images/why_id.h"
#include "fs/images/inode_numbers.h"
#include "fs/scan/remote.h"
#include "fs/sys/metrics.h"
#include "fs/tree/tree.h"
#include "fs/tree/attr.h"
#include "fs/tree/entry.h"
#include "fs/tree/fixed.h"
#include "fs/tree/stream_size.h"

/* ---- In the root directory ---- */

/* In SOURCE, or on the servers that are asked for what is not there. */
static int find_image(struct call *call, const struct request *request, struct image **ret)
	REQUIRES(&tree_of(call)->images->lock)
{
	return remote_find_image(tree_of(call)->remote, tree_of(call)->images, request, ret, &call->wait);
}

static int find_id(struct call *call, const struct request *request, struct fuse_entry_param *ret)
	REQUIRES(&tree_of(call)->images->lock)
{
	struct image *image;
	int err = find_image(call, request, &image);
	/* Of an id that servers may have, only the last lookup tells. */
	if (err && err != -EAGAIN && strlen(request->id) == 2 && !request->alias &&
	    (images_has_prefix(tree_of(call)->images, request->id) || remote_asks(tree_of(call)->remote))) {
		*ret = entry_build_id(tree_of(call), request->id);
		return 0;
	}
	if (err)
		return err;
	bool exact = strcmp(image->id, request->id) == 0 && !request->alias;
	*ret = exact ? entry_image(tree_of(call), image)
		     : entry_alias(tree_of(call), image, (struct alias){0});
	return 0;
}

static int in_root(struct call *call, struct fuse_entry_param *ret)
{
	const struct fixed_node *node = fixed_find(NULL, call->name);
	struct request request;
	if (node)
		return fixed_lookup(call, NULL, node, ret);
	name_parse(PLACE_ROOT, NULL, call->name, &request);
	if (request.kind == REQUEST_BATCH) {
		*ret = entry_batch(tree_of(call), NULL, &request);
		return 0;
	}
	if (request.kind != REQUEST_ID)
		return -ENOENT;
	mutex_lock(&tree_of(call)->images->lock);
	int err = find_id(call, &request, ret);
	mutex_unlock(&tree_of(call)->images->lock);
	return err;
}

/* ---- In why ---- */

/* A file made for this lookup: why there is no image of that id, or what it is. */
static int in_why(struct call *call, struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	struct request request;
	struct stat st;
	uint64_t ino = 0;
	name_parse(PLACE_ROOT, NULL, call->name, &request);
	bool is_id = request.kind == REQUEST_ID;
	if (!is_id)
		snprintf(request.id, sizeof(request.id), "%s", call->name);
	struct content *content = why_id_make(tree->images, &request, is_id);
	if (!content)
		return -ENOMEM;
	uint64_t size = content->size;
	int err = nodes_add_snapshot(&tree->nodes, INO_WHY, NODE_ALL_READ, 0, content, &ino);
	if (err)
		return err;
	attr_snapshot(tree, INO_WHY, NODE_ALL_READ, size, &st);
	*ret = entry_make(tree, &st, fixed_generation(tree), 0, TIMEOUT_FIXED);
	ret->ino = ino;
	return 0;
}

/* ---- In xx, as .build-id has it ---- */

/* The whole rest of an id, with or without the suffix ".debug". */
static int in_build_id(struct call *call, struct fuse_entry_param *ret)
{
	static const char suffix[] = ".debug";
	char id[NAME_BYTES_MAX + 3];
	struct request request;
	struct image *image;
	int n = snprintf(id, sizeof(id), "%02x%s", (unsigned)(call->ino - INO_BUILD_ID), call->name);
	size_t bare = (size_t)n - (sizeof(suffix) - 1);
	if ((size_t)n > sizeof(suffix) + 1 && strcmp(id + bare, suffix) == 0)
		id[bare] = 0;
	name_parse(PLACE_ROOT, NULL, id, &request);
	if (request.kind != REQUEST_ID || request.alias)
		return -ENOENT;
	mutex_lock(&tree_of(call)->images->lock);
	int err = find_image(call, &request, &image);
	if (!err && strcmp(image->id, request.id) != 0)
		err = -ENOENT;
	if (!err)
		*ret = entry_alias(tree_of(call), image, (struct alias){.up = 1});
	mutex_unlock(&tree_of(call)->images->lock);
	return err;
}

/* ---- In by-name ---- */

/* A name that is not there, or that the caller may not know of: the kernel must not keep that for others. */
static int hide(int err, struct fuse_entry_param *ret)
{
	if (err != -ENOENT)
		return err;
	*ret = entry_none(0);
	return 0;
}

static int find_basename(struct images *images, struct call *call, const struct caller *caller,
			 struct fuse_entry_param *ret) REQUIRES(&images->lock)
{
	const struct basename *name = images_find_basename(images, call->name);
	if (!name || !basename_is_visible(images, name, caller, false))
		return images_await_name(images, &call->wait);
	*ret = entry_basename(tree_of(call), name);
	return 0;
}

static int find_member(struct images *images, struct call *call, const struct caller *caller,
		       struct fuse_entry_param *ret) REQUIRES(&images->lock)
{
	const struct basename *name = basename_at(images, call->ino);
	const struct image *image = images_find(images, call->name);
	const struct name_member *member = name && image ? images_find_member(images, name, image) : NULL;
	if (!member || !name_member_is_visible(images, member, caller, false))
		return images_await_name(images, &call->wait);
	*ret = entry_name_link(tree_of(call), member);
	return 0;
}

static int in_names(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = tree_of(call)->images;
	struct caller caller = caller_of(call->req);
	mutex_lock(&images->lock);
	int err = call->ino == INO_BY_NAME ? find_basename(images, call, &caller, ret)
					   : find_member(images, call, &caller, ret);
	mutex_unlock(&images->lock);
	caller_deinit(&caller);
	return hide(err, ret);
}

/* ---- In by-path ---- */

static int in_path_dir(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = tree_of(call)->images;
	int err = 0;
	mutex_lock(&images->lock);
	const struct path_dir *in = path_dir_by_key(&images->paths, ino_a(call->ino));
	uint32_t number = in ? in->number : PATH_NONE;
	const struct path_dir *dir = in ? images_find_directory(images, number, call->name) : NULL;
	const struct path_file *file = dir || !in ? NULL : path_tree_find(&images->paths, number, call->name);
	if (dir)
		*ret = entry_path_dir(tree_of(call), dir);
	else if (path_file_alive(&images->paths, file))
		*ret = entry_path_file(tree_of(call), file);
	else
		err = images_await_path(images, &call->wait);
	mutex_unlock(&images->lock);
	return err;
}

static int in_path_fat(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = tree_of(call)->images;
	const struct path_tree *paths = &images->paths;
	int err = -ENOENT;
	mutex_lock(&images->lock);
	const struct path_file *at = path_file_alive(paths, path_file_at(images, call->ino));
	for (; at && err; at = path_file_alive(paths, path_file_next(paths, at))) {
		const struct image *image = slots_get(&images->all, at->image);
		if (strcmp(image->id, call->name) != 0)
			continue;
		*ret = entry_path_member(tree_of(call), at);
		err = 0;
	}
	if (err && !images->scanned) /* its members are added one by one */
		err = images_await(images, "", &call->wait);
	mutex_unlock(&images->lock);
	return err;
}

/* ---- In the directory of an image ---- */

static void count_lookup(const struct call *call, int err, bool known)
{
	struct metrics *metrics = tree_of(call)->metrics;
	enum lookup_result result = err && err != -ENOENT ? LOOKUP_ERROR
				    : !err && known       ? LOOKUP_FOUND
							  : LOOKUP_UNKNOWN;
	if (err == -EAGAIN)
		return;
	if (result != LOOKUP_ERROR)
		metrics_add_lookup(metrics, call->tier, monotonic_us() - call->began);
	metric_add(&metrics->lookups[result], 1);
}

/* A directory, or the q in it, whose load address is in no number that could be computed. */
static int loaded_entry(struct call *call, struct revision *rev, const struct request *request,
			struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	struct node_id id = {.ino = 0};
	struct stat st;
	revision_pin(rev);
	int err = nodes_add(&tree->nodes, rev, request, NULL, &id);
	if (err)
		return err;
	if (request->kind == REQUEST_BATCH)
		attr_batch(rev, id.ino, &st);
	else
		attr_image(&rev->source, id.ino, &st);
	*ret = entry_make(tree, &st, id.generation, TIMEOUT_FIXED, TIMEOUT_FIXED);
	return 0;
}

static int context_entry(struct call *call, struct revision *rev, const struct request *request,
			 struct fuse_entry_param *ret)
{
	if (request->context.space == SPACE_RUNTIME && !request->context.wants_load)
		return loaded_entry(call, rev, request, ret);
	*ret = request->kind == REQUEST_BATCH ? entry_batch(tree_of(call), rev, request)
					      : entry_context(tree_of(call), rev, &request->context);
	return 0;
}

static int in_context(struct call *call, struct revision *rev, const struct context *context,
		      struct fuse_entry_param *ret)
{
	struct request request;
	bool known = true;
	int err;
	name_parse(PLACE_IMAGE, context, call->name, &request);
	switch (request.kind) {
	case REQUEST_BATCH:
	case REQUEST_CONTEXT: return context_entry(call, rev, &request, ret);
	case REQUEST_SYMBOL:
	case REQUEST_ADDRESS: err = answer_entry(call, rev, &request, ret, &known); break;
	default: return -ENOENT;
	}
	count_lookup(call, err, known);
	return err;
}

static int in_revision(struct call *call, struct revision *rev, struct fuse_entry_param *ret)
{
	const struct context none = {0};
	const struct fixed_node *node = fixed_find(rev, call->name);
	return node ? fixed_lookup(call, rev, node, ret) : in_context(call, rev, &none, ret);
}

/*
 * In by-name/<basename>: the id of an image, or what the only one has. Another file of that name may come,
 * and other users may know of more: the kernel must not keep such a name.
 */
static int in_name(struct call *call, struct fuse_entry_param *ret)
{
	unsigned inside = NAMED_CONTEXTS;
	int err = in_names(call, ret);
	if (err || ret->ino)
		return err;
	struct caller caller = caller_of(call->req);
	struct revision *rev = images_only_revision(tree_of(call)->images, call->ino, &caller, false);
	caller_deinit(&caller);
	if (!rev)
		return err;
	while (inside && strcmp(named_contexts[inside - 1].name, call->name) != 0)
		inside--;
	if (inside)
		*ret = entry_context_link(tree_of(call), rev, inside - 1);
	else
		err = in_revision(call, rev, ret);
	if (!err)
		ret->entry_timeout = 0;
	return hide(err, ret);
}

static int in_image(struct call *call, struct fuse_entry_param *ret)
{
	struct revision *rev = images_revision(tree_of(call)->images, call->ino);
	return rev ? in_revision(call, rev, ret) : -ESTALE;
}

static int in_fixed_context(struct call *call, struct fuse_entry_param *ret)
{
	const struct context context = context_of(ino_code(call->ino));
	struct revision *rev = images_current(tree_of(call)->images, call->ino);
	return rev ? in_context(call, rev, &context, ret) : -ESTALE;
}

static int in_loaded_context(struct call *call, struct fuse_entry_param *ret)
{
	struct node node;
	if (!nodes_get(&tree_of(call)->nodes, call->ino, &node))
		return -ESTALE;
	content_put(node.content);
	if (node.is == NODE_IS_CONTEXT && revision_is_stale(node.revision))
		return -ESTALE;
	return node.is == NODE_IS_CONTEXT ? in_context(call, node.revision, &node.context, ret) : -ENOTDIR;
}

/* ---- All of it ---- */

static int find(struct call *call, struct fuse_entry_param *ret)
{
	if (strcmp(call->name, ".") == 0)
		return handle_itself(call, ret);
	if (strcmp(call->name, "..") == 0)
		return handle_parent(call, ret);
	if (strlen(call->name) > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	if (call->ino == INO_ROOT)
		return in_root(call, ret);
	if (call->ino == INO_BY_NAME)
		return in_names(call, ret);
	if (call->ino == INO_WHY)
		return in_why(call, ret);
	if (ino_is_build_id(call->ino))
		return in_build_id(call, ret);
	switch (ino_kind(call->ino)) {
	case NODE_IMAGE: return in_image(call, ret);
	case NODE_CONTEXT: return in_fixed_context(call, ret);
	case NODE_ADDRESS: return in_loaded_context(call, ret);
	case NODE_NAME: return in_name(call, ret);
	case NODE_PATH_DIR: return in_path_dir(call, ret);
	case NODE_PATH_FAT: return in_path_fat(call, ret);
	default: return -ENOTDIR;
	}
}

int lookup_attempt(struct call *call)
{
	struct fuse_entry_param entry;
	int err = find(call, &entry);
	if (err == -ENOENT) {
		bool is_id = call->ino == INO_ROOT || ino_is_build_id(call->ino);
		entry = entry_none(is_id ? TIMEOUT_IMAGE : TIMEOUT_NEGATIVE);
		err = 0;
	}
	if (err)
		return err;
	stream_size_told(tree_of(call), &entry.attr);
	/* The kernel has given up on an interrupted lookup: it does not count, and will not be forgotten. */
	if (fuse_reply_entry(call->req, &entry) == -ENOENT && ino_kind(entry.ino) == NODE_ADDRESS)
		nodes_forget(&tree_of(call)->nodes, entry.ino, 1);
	return 0;
}

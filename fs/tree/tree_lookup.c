/*
 * Lookups. Each function either fills an entry, or says what must be waited for; one place replies.
 */
#include "fs/tree/tree_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/answer/answer.h"
#include "fs/tree/attr.h"
#include "fs/images/link.h"
#include "fs/images/basename.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "fs/answer/tsv_file.h"

/* ---- Entries ---- */

struct fuse_entry_param entry_by_name(const struct gsymfs *fs)
{
	struct stat st;
	attr_own_dir(fs, INO_BY_NAME, &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_image(const struct gsymfs *fs, struct revision *rev)
{
	struct stat st;
	rev->exposed = true;
	attr_image(rev, ino_make(NODE_IMAGE, rev->number, 0), &st);
	/* During the first scan the kernel is not told of a better source: see notify.h. */
	return entry_make(fs, &st, fs->images.scanned ? TIMEOUT_FIXED : TIMEOUT_LISTING, TIMEOUT_FIXED);
}

/* A link that was given out, as long as it leads to something: what it says never changes. */
static struct fuse_entry_param entry_link(const struct gsymfs *fs, uint64_t ino, double timeout)
{
	struct stat st;
	char text[LINK_TEXT_SIZE];
	attr_link(fs, ino, (size_t)link_text(&fs->images, ino, text), &st);
	return entry_make(fs, &st, timeout, TIMEOUT_FIXED);
}

static struct fuse_entry_param entry_alias(const struct gsymfs *fs, const struct image *image)
{
	return entry_link(fs, ino_make(NODE_ALIAS, image->number, 0), TIMEOUT_ALIAS);
}

struct fuse_entry_param entry_basename(const struct gsymfs *fs, const struct basename *name)
{
	struct stat st;
	attr_own_dir(fs, ino_make(NODE_NAME, name->number, 0), &st);
	return entry_make(fs, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_name_link(const struct gsymfs *fs, const struct basename *name,
					const struct image *image)
{
	return entry_link(fs, ino_make(NODE_NAME_LINK, name->number, image->number), TIMEOUT_LISTING);
}

struct fuse_entry_param entry_image_file(const struct gsymfs *fs, const struct revision *rev,
					 enum image_file file, uint64_t size)
{
	struct stat st;
	attr_image_file(rev, ino_make(NODE_IMAGE_FILE, rev->number, file), size, &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, image_file_is_fixed(file) ? TIMEOUT_FIXED : 0);
}

struct fuse_entry_param entry_path_dir(const struct gsymfs *fs, const struct path_dir *dir)
{
	struct stat st;
	attr_path_dir(&dir->attr, ino_make(NODE_PATH_DIR, dir->number, 0), &st);
	return entry_make(fs, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_by_path(const struct gsymfs *fs)
{
	const struct path_attr closed = {geteuid(), getegid(), 0500, fs->mounted_at};
	const struct path_dir *source = path_tree_dir(&fs->images.paths, 0);
	return entry_path_dir(fs, source ? source : &(struct path_dir){.attr = closed});
}

static struct fuse_entry_param path_link(const struct gsymfs *fs, const struct path_file *file,
					 enum node_kind kind)
{
	return entry_link(fs, ino_make(kind, file->number, 0), TIMEOUT_LISTING);
}

struct fuse_entry_param entry_path_member(const struct gsymfs *fs, const struct path_file *file)
{
	return path_link(fs, file, NODE_PATH_MEMBER);
}

struct fuse_entry_param entry_path_file(const struct gsymfs *fs, const struct path_file *first)
{
	struct stat st;
	if (!path_file_is_fat(&fs->images.paths, first))
		return path_link(fs, path_file_alive(&fs->images.paths, first), NODE_PATH_LINK);
	attr_own_dir(fs, ino_make(NODE_PATH_FAT, first->number, 0), &st);
	return entry_make(fs, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

/* ---- In the root directory ---- */

/* xx of .build-id's xx/yyyy: there if an image may be in it. */
static struct fuse_entry_param entry_build_id(const struct gsymfs *fs, const char *digits)
{
	struct stat st;
	attr_own_dir(fs, INO_BUILD_ID + strtoul(digits, NULL, 16), &st);
	return entry_make(fs, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

static int find_id(struct call *call, const struct request *request, struct fuse_entry_param *ret)
{
	struct image *image;
	int err = images_lookup(&call->fs->images, request, &image, &call->wait);
	if (err && err != -EAGAIN && strlen(request->id) == 2 && !request->alias &&
	    images_has_prefix(&call->fs->images, request->id)) {
		*ret = entry_build_id(call->fs, request->id);
		return 0;
	}
	if (err)
		return err;
	bool exact = strcmp(image->id, request->id) == 0 && !request->alias;
	*ret = exact ? entry_image(call->fs, image->revision) : entry_alias(call->fs, image);
	return 0;
}

static int in_root(struct call *call, struct fuse_entry_param *ret)
{
	struct request request;
	name_parse(PLACE_ROOT, NULL, call->name, &request);
	if (request.kind == REQUEST_BY_NAME) {
		*ret = entry_by_name(call->fs);
		return 0;
	}
	if (request.kind == REQUEST_METRICS) {
		*ret = entry_metrics(call->fs);
		return 0;
	}
	if (request.kind == REQUEST_LOG) {
		*ret = entry_log(call->fs);
		return 0;
	}
	if (request.kind == REQUEST_BATCH) {
		*ret = entry_batch(call->fs, NULL, &request);
		return 0;
	}
	if (request.kind == REQUEST_BY_PATH) {
		pthread_mutex_lock(&call->fs->images.lock);
		*ret = entry_by_path(call->fs);
		pthread_mutex_unlock(&call->fs->images.lock);
		return 0;
	}
	if (request.kind != REQUEST_ID)
		return -ENOENT;
	pthread_mutex_lock(&call->fs->images.lock);
	int err = find_id(call, &request, ret);
	pthread_mutex_unlock(&call->fs->images.lock);
	return err;
}

/* ---- In xx, as .build-id has it ---- */

/* The whole rest of an id, with ".debug" behind it or not. */
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
	pthread_mutex_lock(&call->fs->images.lock);
	int err = images_lookup(&call->fs->images, &request, &image, &call->wait);
	if (!err && strcmp(image->id, request.id) != 0)
		err = -ENOENT;
	if (!err)
		*ret = entry_link(call->fs, ino_make(NODE_ALIAS, image->number, 1), TIMEOUT_ALIAS);
	pthread_mutex_unlock(&call->fs->images.lock);
	return err;
}

/* ---- In by-name ---- */

/* Until a scan is done nobody knows that a name does not exist. */
static int absent(struct call *call)
{
	struct images *images = &call->fs->images;
	return images->scanned ? images->absent : images_await(images, "", &call->wait);
}

static int in_by_name(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = &call->fs->images;
	pthread_mutex_lock(&images->lock);
	const struct basename *name = images_find_basename(images, call->name);
	int err = name && name->alive ? 0 : absent(call);
	if (!err)
		*ret = entry_basename(call->fs, name);
	pthread_mutex_unlock(&images->lock);
	return err;
}

static int in_basename(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = &call->fs->images;
	uint32_t number = ino_a(call->ino);
	pthread_mutex_lock(&images->lock);
	const struct basename *name = number < images->names.n ? images->names.v[number] : NULL;
	const struct image *image = images_find(images, call->name);
	int err = name && image && images_find_member(images, name, image) ? 0 : absent(call);
	if (!err)
		*ret = entry_name_link(call->fs, name, image);
	pthread_mutex_unlock(&images->lock);
	return err;
}

/* ---- In by-path ---- */

static int in_path_dir(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = &call->fs->images;
	uint32_t number = ino_a(call->ino);
	int err = 0;
	pthread_mutex_lock(&images->lock);
	const struct path_dir *dir = path_tree_find_dir(&images->paths, number, call->name);
	const struct path_file *file = dir ? NULL : path_tree_find(&images->paths, number, call->name);
	if (dir)
		*ret = entry_path_dir(call->fs, dir);
	else if (path_file_alive(&images->paths, file))
		*ret = entry_path_file(call->fs, file);
	else
		err = absent(call);
	pthread_mutex_unlock(&images->lock);
	return err;
}

static int in_path_fat(struct call *call, struct fuse_entry_param *ret)
{
	struct images *images = &call->fs->images;
	const struct path_tree *paths = &images->paths;
	int err = -ENOENT;
	pthread_mutex_lock(&images->lock);
	const struct path_file *at = path_file_alive(paths, path_tree_file(paths, ino_a(call->ino)));
	for (; at && err; at = path_file_alive(paths, path_file_next(paths, at))) {
		if (strcmp(images->all.v[at->image]->id, call->name) != 0)
			continue;
		*ret = entry_path_member(call->fs, at);
		err = 0;
	}
	pthread_mutex_unlock(&images->lock);
	return err;
}

/* ---- In the directory of an image ---- */

static int status_entry(struct call *call, struct revision *rev, enum image_file file,
			struct fuse_entry_param *ret)
{
	struct content *status = status_make(call->fs, rev, file == IMAGE_INFO);
	if (!status)
		return -ENOMEM;
	*ret = entry_image_file(call->fs, rev, file, status->size);
	content_put(status);
	return 0;
}

static int gsym_entry(struct call *call, struct revision *rev, struct fuse_entry_param *ret)
{
	struct handle *handle;
	int err = revision_use(&call->fs->images, rev, &handle, &call->wait);
	if (err)
		return err;
	*ret = entry_image_file(call->fs, rev, IMAGE_GSYM, handle->gsym.size);
	handle_put(handle);
	return 0;
}

static int table_entry(struct call *call, struct revision *rev, enum listing_kind kind,
		       struct fuse_entry_param *ret)
{
	struct images *images = &call->fs->images;
	struct handle *handle;
	const struct tsv_index *index;
	int err = revision_use(images, rev, &handle, &call->wait);
	if (err)
		return err;
	err = tsv_file_measured(call, rev, handle, kind, &index);
	uint64_t size = err ? 0 : index->size;
	handle_put(handle);
	if (err)
		return err;
	pthread_mutex_lock(&images->lock);
	rev->table_sizes[kind] = size;
	pthread_mutex_unlock(&images->lock);
	*ret = entry_image_file(call->fs, rev, IMAGE_TABLE + kind, size);
	return 0;
}

static void count_lookup(struct gsymfs *fs, int err, bool known)
{
	enum lookup_result result = err && err != -ENOENT ? LOOKUP_ERROR
				    : !err && known       ? LOOKUP_FOUND
							  : LOOKUP_UNKNOWN;
	if (err != -EAGAIN)
		metric_add(&fs->metrics.lookups[result], 1);
}

static int address_entry(struct call *call, struct revision *rev, const struct request *request,
			 struct fuse_entry_param *ret, bool *ret_known)
{
	struct gsymfs *fs = call->fs;
	struct handle *handle;
	struct content *content;
	int err = revision_use(&fs->images, rev, &handle, &call->wait);
	if (err)
		return err;
	err = answer_make(call, rev, handle, request, &content, ret_known);
	handle_put(handle);
	if (err)
		return err;
	uint64_t size = content->size;
	uint64_t ino = nodes_add(&fs->nodes, rev, request, content);
	if (!ino)
		return -ENOMEM;
	struct stat st;
	attr_image_file(rev, ino, size, &st);
	*ret = entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
	return 0;
}

struct fuse_entry_param entry_context(const struct gsymfs *fs, const struct revision *rev,
				      const struct context *context)
{
	struct stat st;
	attr_image(rev, ino_make(NODE_CONTEXT, rev->number, context_code(context)), &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_metrics(const struct gsymfs *fs)
{
	struct stat st;
	attr_metrics(fs, INO_METRICS, &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_log(const struct gsymfs *fs)
{
	struct stat st;
	attr_root_batch(fs, INO_LOG, &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_batch(const struct gsymfs *fs, const struct revision *rev,
				    const struct request *request)
{
	struct stat st;
	if (rev)
		attr_batch(rev, ino_make(NODE_BATCH, rev->number, batch_code(request)), &st);
	else
		attr_root_batch(fs, INO_BATCH + batch_code(request), &st);
	return entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

/* A directory, or the q in it, whose load address is in no number that could be computed. */
static int loaded_entry(struct call *call, struct revision *rev, const struct request *request,
			struct fuse_entry_param *ret)
{
	struct gsymfs *fs = call->fs;
	struct stat st;
	uint64_t ino = nodes_add(&fs->nodes, rev, request, NULL);
	if (!ino)
		return -ENOMEM;
	if (request->kind == REQUEST_BATCH)
		attr_batch(rev, ino, &st);
	else
		attr_image(rev, ino, &st);
	*ret = entry_make(fs, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
	return 0;
}

static int context_entry(struct call *call, struct revision *rev, const struct request *request,
			 struct fuse_entry_param *ret)
{
	if (request->context.space == SPACE_RUNTIME && !request->context.wants_load)
		return loaded_entry(call, rev, request, ret);
	*ret = request->kind == REQUEST_BATCH ? entry_batch(call->fs, rev, request)
					      : entry_context(call->fs, rev, &request->context);
	return 0;
}

static int in_image(struct call *call, struct revision *rev, const struct context *context,
		    struct fuse_entry_param *ret)
{
	struct request request;
	bool known = true;
	int err;
	if (!rev)
		return -ESTALE;
	name_parse(PLACE_IMAGE, context, call->name, &request);
	switch (request.kind) {
	case REQUEST_BATCH:
	case REQUEST_CONTEXT: return context_entry(call, rev, &request, ret);
	case REQUEST_STATUS: return status_entry(call, rev, IMAGE_STATUS, ret);
	case REQUEST_INFO: return status_entry(call, rev, IMAGE_INFO, ret);
	case REQUEST_GSYM: return gsym_entry(call, rev, ret);
	case REQUEST_TABLE: return table_entry(call, rev, request.listing, ret);
	case REQUEST_SYMBOL:
	case REQUEST_ADDRESS: err = address_entry(call, rev, &request, ret, &known); break;
	default: return -ENOENT;
	}
	count_lookup(call->fs, err, known);
	return err;
}

static int in_fixed_context(struct call *call, struct fuse_entry_param *ret)
{
	const struct context context = context_of(ino_kind(call->ino) == NODE_CONTEXT ? ino_b(call->ino) : 0);
	return in_image(call, images_revision(&call->fs->images, ino_a(call->ino)), &context, ret);
}

static int in_loaded_context(struct call *call, struct fuse_entry_param *ret)
{
	struct node node;
	if (!nodes_get(&call->fs->nodes, call->ino, &node))
		return -ESTALE;
	content_put(node.content);
	return node.is == NODE_IS_CONTEXT ? in_image(call, node.revision, &node.context, ret) : -ENOTDIR;
}

/* ---- "." and "..", which only those ask for who came by a file handle and not by a path ---- */

/* With images.lock. The first file of a chain stands for the directory of all of them. */
static uint64_t path_parent(const struct path_tree *paths, uint64_t ino)
{
	if (ino_kind(ino) == NODE_PATH_DIR) {
		const struct path_dir *dir = path_tree_dir(paths, ino_a(ino));
		return dir && dir->parent != PATH_NONE ? ino_make(NODE_PATH_DIR, dir->parent, 0) : INO_ROOT;
	}
	const struct path_file *file = path_tree_file(paths, ino_a(ino));
	if (!file)
		return 0;
	if (ino_kind(ino) == NODE_PATH_MEMBER)
		return ino_make(NODE_PATH_FAT, path_tree_find(paths, file->dir, file->name)->number, 0);
	return ino_make(NODE_PATH_DIR, file->dir, 0);
}

static uint64_t parent_in_paths(struct images *images, uint64_t ino)
{
	pthread_mutex_lock(&images->lock);
	uint64_t parent = path_parent(&images->paths, ino);
	pthread_mutex_unlock(&images->lock);
	return parent;
}

static uint64_t parent_of(struct gsymfs *fs, uint64_t ino)
{
	struct node node;
	switch (ino_kind(ino)) {
	case NODE_NAME: return INO_BY_NAME;
	case NODE_NAME_LINK: return ino_make(NODE_NAME, ino_a(ino), 0);
	case NODE_PATH_DIR:
	case NODE_PATH_LINK:
	case NODE_PATH_FAT:
	case NODE_PATH_MEMBER: return parent_in_paths(&fs->images, ino);
	case NODE_CONTEXT:
	case NODE_BATCH:
	case NODE_IMAGE_FILE: return ino_make(NODE_IMAGE, ino_a(ino), 0);
	case NODE_ADDRESS:
		if (!nodes_get(&fs->nodes, ino, &node))
			return 0;
		content_put(node.content);
		return ino_make(NODE_IMAGE, node.revision->number, 0);
	default: return INO_ROOT;
	}
}

static int by_number(struct call *call, uint64_t ino, struct fuse_entry_param *ret)
{
	struct stat st;
	double timeout;
	int err = ino ? node_attr(call->fs, ino, &st, &timeout) : -ESTALE;
	if (err)
		return err;
	*ret = entry_make(call->fs, &st, TIMEOUT_FIXED, timeout);
	if (ino_kind(ino) == NODE_ADDRESS && !nodes_remember(&call->fs->nodes, ino))
		return -ESTALE;
	return 0;
}

/* ---- All of it ---- */

static int find(struct call *call, struct fuse_entry_param *ret)
{
	if (strcmp(call->name, ".") == 0)
		return by_number(call, call->ino, ret);
	if (strcmp(call->name, "..") == 0)
		return by_number(call, parent_of(call->fs, call->ino), ret);
	if (strlen(call->name) > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	if (call->ino == INO_ROOT)
		return in_root(call, ret);
	if (call->ino == INO_BY_NAME)
		return in_by_name(call, ret);
	if (ino_is_build_id(call->ino))
		return in_build_id(call, ret);
	switch (ino_kind(call->ino)) {
	case NODE_IMAGE:
	case NODE_CONTEXT: return in_fixed_context(call, ret);
	case NODE_ADDRESS: return in_loaded_context(call, ret);
	case NODE_NAME: return in_basename(call, ret);
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
		entry = entry_none();
		err = 0;
	}
	if (err)
		return err;
	/* The kernel has given up on an interrupted lookup: it does not count, and will not be forgotten. */
	if (fuse_reply_entry(call->req, &entry) == -ENOENT && ino_kind(entry.ino) == NODE_ADDRESS)
		nodes_forget(&call->fs->nodes, entry.ino, 1);
	return 0;
}

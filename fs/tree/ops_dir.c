/*
 * Listings. They say what is known, and never start or wait for anything.
 *
 * A position in a listing is the number of an image, name or member plus the fixed entries before; numbers
 * are never reused, so a listing goes on at the right place however the tables grew meanwhile.
 */
#include "fs/tree/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/images/basename.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"
#include "fs/tree/entry.h"
#include "fs/tree/fixed.h"
#include "fs/tree/stream_size.h"

struct listing {
	struct tree *tree;
	fuse_req_t req;
	fuse_ino_t ino;
	struct caller caller; /* in by-name */
	bool plus; /* with attributes; each entry then counts as looked up, which only address files would
		      care about */
	bool full;
	int err; /* a negative errno: of a directory that was replaced before its listing began */
	char *data;
	size_t size, used;
};

/* Adds an entry that is followed by position @next; false when there is no room for it. */
static bool add(struct listing *l, const char *name, const struct fuse_entry_param *e, uint64_t next)
{
	char *at = l->data + l->used;
	size_t room = l->size - l->used;
	if (l->plus)
		stream_size_told(l->tree, &e->attr);
	size_t n = l->plus ? fuse_add_direntry_plus(l->req, at, room, name, e, (off_t)next)
			   : fuse_add_direntry(l->req, at, room, name, &e->attr, (off_t)next);
	l->full = n > room;
	if (!l->full)
		l->used += n;
	return !l->full;
}

enum {
	POSITION_DOT,
	POSITION_DOT_DOT,
	POSITION_FIRST, /* of what is not a dot */
};

/*
 * The number, among those that are listed from position @first on, of what is at position @off: 0 before
 * them, UINT32_MAX, at which there is nothing, for all that a number cannot hold. A position comes back from
 * the client, which may have kept it for long, or invented it: it has 64 bits, whatever size_t has.
 */
static uint32_t position_number(uint64_t off, uint64_t first)
{
	if (off < first)
		return 0;
	return off - first < UINT32_MAX ? (uint32_t)(off - first) : UINT32_MAX;
}

/* "." and "..": what counts of them is the name. */
static void add_dots(struct listing *l, uint64_t off)
{
	struct stat st;
	attr_own_dir(l->tree, l->ino, &st);
	struct fuse_entry_param e = entry_make(l->tree, &st, 0, 0, 0);
	if (off <= POSITION_DOT && !add(l, ".", &e, POSITION_DOT + 1))
		return;
	if (off <= POSITION_DOT_DOT)
		add(l, "..", &e, POSITION_DOT_DOT + 1);
}

/* Adds what an image has: in by-name for some users only, so that the kernel must not keep the name. */
static bool add_of_image(struct listing *l, const char *name, struct fuse_entry_param *e, uint64_t next)
{
	if (ino_kind(l->ino) == NODE_NAME)
		e->entry_timeout = 0;
	return add(l, name, e, next);
}

/* ---- Directories ---- */

/* Entries with fixed names, from position POSITION_FIRST. */
static void list_fixed(struct listing *l, struct revision *dir, uint64_t off)
{
	const char *name;
	struct fuse_entry_param e;
	size_t i = position_number(off, POSITION_FIRST);
	for (int err; !l->full && (err = fixed_list(l->tree, dir, i, &name, &e)) != -ERANGE; i++)
		if (!err)
			add_of_image(l, name, &e, POSITION_FIRST + i + 1);
}

static void list_root(struct listing *l, uint64_t off)
{
	struct images *images = l->tree->images;
	const uint64_t first = POSITION_FIRST + fixed_count(false);
	list_fixed(l, NULL, off);
	mutex_lock(&images->lock);
	struct image *image;
	for (uint32_t i = position_number(off, first); !l->full && (image = slots_from(&images->all, &i));
	     i++) {
		if (!image_is_there(image))
			continue;
		struct fuse_entry_param e = entry_image(l->tree, image);
		add(l, image->id, &e, first + i + 1);
	}
	mutex_unlock(&images->lock);
}

static void list_by_name(struct listing *l, uint64_t off)
{
	struct images *images = l->tree->images;
	mutex_lock(&images->lock);
	const struct basename *name;
	for (uint32_t i = position_number(off, POSITION_FIRST);
	     !l->full && (name = slots_from(&images->names, &i)); i++) {
		if (!basename_is_visible(images, name, &l->caller, true))
			continue;
		struct fuse_entry_param e = entry_basename(l->tree, name);
		add(l, name->name, &e, POSITION_FIRST + i + 1);
	}
	mutex_unlock(&images->lock);
}

/*
 * A child of a directory in by-path, in one of two numberings, see struct path_dir. A file that has become a
 * directory is known as both until the walk that found it is over.
 */
static void add_path(struct listing *l, uint32_t child, uint64_t next)
{
	const struct path_tree *paths = &l->tree->images->paths;
	const struct path_dir *dir = child & 1 ? NULL : path_tree_dir(paths, child / 2);
	const struct path_file *file = child & 1 ? path_tree_file(paths, child / 2) : NULL;
	if (dir && dir->alive) {
		struct fuse_entry_param e = entry_path_dir(l->tree, dir);
		add(l, dir->name, &e, next);
	} else if (path_file_alive(paths, file) && !path_tree_find_dir(paths, file->dir, file->name)) {
		struct fuse_entry_param e = entry_path_file(l->tree, file);
		add(l, file->name, &e, next);
	}
}

static void list_path_dir(struct listing *l, uint64_t off)
{
	struct images *images = l->tree->images;
	mutex_lock(&images->lock);
	const struct path_dir *dir = path_dir_by_key(&images->paths, ino_a(l->ino));
	size_t i = dir ? path_dir_from(dir, position_number(off, POSITION_FIRST)) : 0;
	for (; dir && i < dir->children.n && !l->full; i++)
		add_path(l, dir->children.v[i].child,
			 POSITION_FIRST + (uint64_t)dir->children.v[i].position + 1);
	mutex_unlock(&images->lock);
}

/* The images of a file that has several: a position is that in its chain. */
static void list_path_fat(struct listing *l, uint64_t off)
{
	struct images *images = l->tree->images;
	uint64_t next = POSITION_FIRST;
	mutex_lock(&images->lock);
	const struct path_file *file = path_file_at(images, l->ino);
	for (; file && !l->full; file = path_file_next(&images->paths, file)) {
		if (next++ < off || !file->pass)
			continue;
		struct fuse_entry_param e = entry_path_member(l->tree, file);
		const struct image *image = slots_get(&images->all, file->image);
		add(l, image->id, &e, next);
	}
	mutex_unlock(&images->lock);
}

/* Lists what an image has, from position POSITION_FIRST. In by-name directories are links. */
static void list_content(struct listing *l, struct revision *rev, uint64_t off)
{
	const uint64_t first = POSITION_FIRST + fixed_count(true);
	const bool in_name = ino_kind(l->ino) == NODE_NAME;
	list_fixed(l, rev, off);
	for (unsigned i = position_number(off, first); i < NAMED_CONTEXTS && !l->full; i++) {
		struct fuse_entry_param e = in_name ? entry_context_link(l->tree, rev, i)
						    : entry_context(l->tree, rev, &named_contexts[i].context);
		add_of_image(l, named_contexts[i].name, &e, first + i + 1);
	}
}

static void list_image(struct listing *l, uint64_t off)
{
	struct revision *rev = images_revision(l->tree->images, l->ino);
	if (rev)
		list_content(l, rev, off);
	else
		l->err = off <= POSITION_FIRST ? -ESTALE : 0;
}

static void list_members(struct listing *l, uint64_t off)
{
	struct images *images = l->tree->images;
	const uint64_t first = POSITION_FIRST + fixed_count(true) + NAMED_CONTEXTS;
	mutex_lock(&images->lock);
	const struct basename *name = basename_at(images, l->ino);
	for (size_t i = 0; name && i < name->members.n && !l->full; i++) {
		const struct name_member *m = name->members.v[i];
		if (first + m->position < off || !name_member_is_visible(images, m, &l->caller, true))
			continue;
		struct fuse_entry_param e = entry_name_link(l->tree, m);
		add(l, m->image->id, &e, first + m->position + 1);
	}
	mutex_unlock(&images->lock);
}

/* The images of a name, after what the image has if it is the only one. */
static void list_basename(struct listing *l, uint64_t off)
{
	struct revision *only = images_only_revision(l->tree->images, l->ino, &l->caller, true);
	if (only)
		list_content(l, only, off);
	if (!l->full)
		list_members(l, off);
}

/* ---- All of it ---- */

static void list(struct listing *l, uint64_t off)
{
	add_dots(l, off);
	if (l->full)
		return;
	if (l->ino == INO_ROOT)
		list_root(l, off);
	else if (l->ino == INO_BY_NAME)
		list_by_name(l, off);
	else if (ino_kind(l->ino) == NODE_NAME)
		list_basename(l, off);
	else if (ino_kind(l->ino) == NODE_IMAGE)
		list_image(l, off);
	else if (ino_kind(l->ino) == NODE_PATH_DIR)
		list_path_dir(l, off);
	else if (ino_kind(l->ino) == NODE_PATH_FAT)
		list_path_fat(l, off);
}

static void reply_listing(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct listing l = {
		.tree = fuse_req_userdata(req),
		.req = req,
		.ino = ino,
		.plus = plus,
		.data = malloc(size),
		.size = size,
	};
	if (!l.data) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (ino == INO_BY_NAME || ino_kind(ino) == NODE_NAME)
		l.caller = caller_of(req);
	list(&l, off < 0 ? 0 : (uint64_t)off);
	if (l.err)
		fuse_reply_err(req, -l.err);
	else
		fuse_reply_buf(req, l.data, l.used);
	caller_deinit(&l.caller);
	free(l.data);
}

static bool is_replaced(struct tree *tree, fuse_ino_t ino)
{
	struct node node;
	if (ino_is_of_image(ino))
		return !images_current(tree->images, ino);
	if (ino_kind(ino) != NODE_ADDRESS || !nodes_get(&tree->nodes, ino, &node))
		return false;
	content_put(node.content);
	return node.revision && revision_is_stale(node.revision);
}

void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	/* The kernel may have kept the number; for ESTALE it looks the path up again. */
	if (is_replaced(fuse_req_userdata(req), ino))
		fuse_reply_err(req, ESTALE);
	else
		fuse_reply_open(req, info);
}

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info)
{
	(void)info;
	reply_listing(req, ino, size, off, false);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *info)
{
	(void)info;
	reply_listing(req, ino, size, off, true);
}

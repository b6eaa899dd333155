/*
 * The table of fixed nodes.
 *
 * A row of the root has the inode number INO_FIXED + its index, a row of an image that of the image with the
 * kind NODE_IMAGE_FILE and the code index, unless it says otherwise. The order of rows is the order of
 * listings. Inode numbers mean the same to daemons of one version, so a row may be inserted anywhere but
 * before by-name (INO_BY_NAME) and why (INO_WHY).
 *
 * Which kind of row a new file takes; stat(2) and cp see its size with all of them:
 *	MADE      some kilobytes in microseconds, the same for all: made for stat, and again for open
 *	SNAPSHOT  the same in the root if it changes: made for each lookup, so the size fits for NFS, too
 *	SLICED    in the root, takes longer or depends on the user: a snapshot that only he may read
 *	TABLE     of a converted image, too large for memory: measured once, rendered where it is read
 * What is written to (q, log) or maps a file (image.gsym) has functions of its own. CONTRIBUTING.md lists the
 * tests and documents.
 */
#include "fs/tree/fixed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/answer/draft.h"
#include "fs/answer/answer_files.h"
#include "fs/answer/tsv_file.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"
#include "fs/tree/entry.h"
#include "fs/tree/root_files.h"

/* A fixed node in its directory: of an image's revision, or the root (NULL). */
struct fixed_place {
	const struct fixed_node *node;
	struct revision *dir;
	uint64_t ino;
};

struct fixed_node {
	const char *name;
	double entry_timeout, attr_timeout; /* seconds */
	/* Fills attributes without waiting: 0, -ENOMEM. */
	int (*attr)(struct tree *tree, const struct fixed_place *at, struct stat *ret);
	/*
	 * NULL: always listed. Else fills attributes for a listing: 0; 1 when the size is not known, so that
	 * the entry comes without attributes; -ENOENT when it is not to be listed.
	 */
	int (*list)(struct tree *tree, const struct fixed_place *at, struct stat *ret);
	/*
	 * NULL: nothing. Else makes what attributes depend on: 0, -EAGAIN with call->wait filled, an errno.
	 */
	int (*prepare)(struct call *call, const struct fixed_place *at);
	/* NULL: a directory, or opened by its number (q). Else answers an OPEN. */
	int (*open)(struct call *call, const struct fixed_place *at);
	make_content *make; /* for each stat, listing and open of attr_made() and open_made(); else NULL */
	unsigned table;     /* enum listing_kind of a table */
	uint64_t ino;       /* the number, in an image without that of the revision; 0: by the index */
	bool is_stream;     /* written to, then read */
	bool is_snapshot;   /* made for each lookup, as a file of its own: by make() or as a */
	const struct draft_kind *draft; /* or NULL */
};

/* ---- Small files, made for each open file ---- */

static int attr_made(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	struct content *content = at->node->make(tree, at->dir, NULL);
	if (!content)
		return -ENOMEM;
	if (at->dir)
		attr_image_file(at->dir, at->ino, content->size, ret);
	else
		attr_root_file(tree, at->ino, content->size, ret);
	content_put(content);
	return 0;
}

static int open_made(struct call *call, const struct fixed_place *at)
{
	return open_reply_content(call, at->node->make(tree_of(call), at->dir, NULL));
}

static struct content *make_status(struct tree *tree, struct revision *dir, const struct caller *caller)
{
	(void)caller;
	return tree->content->status(tree->answers, dir, false);
}

static struct content *make_info(struct tree *tree, struct revision *dir, const struct caller *caller)
{
	(void)caller;
	return tree->content->status(tree->answers, dir, true);
}

/* ---- Snapshots: files of the root, made for each lookup ---- */

/* Of the row, which only listings have: a lookup gives a snapshot its own number and size. */
static int attr_of_snapshot(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	attr_root_file(tree, at->ino, 0, ret);
	return 0;
}

static int list_snapshot(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	attr_of_snapshot(tree, at, ret);
	return 1;
}

static int make_snapshot(struct call *call, const struct fixed_node *node, struct content **ret)
{
	struct tree *tree = tree_of(call);
	if (node->draft)
		return draft_content(call, tree->answers, node->draft, ret);
	struct caller caller = caller_of(call->req);
	*ret = node->make(tree, NULL, &caller);
	caller_deinit(&caller);
	return *ret ? 0 : -ENOMEM;
}

/*
 * The kernel knows each by a number of its own, @ino, or 0 for a new one; programs see the same one, as for a
 * file that changes.
 */
static int look_up_snapshot(struct call *call, const struct fixed_place *at, uint64_t ino,
			    struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	const uid_t reader = at->node->draft ? fuse_req_ctx(call->req)->uid : NODE_ALL_READ;
	struct content *content;
	struct stat st;
	int err = make_snapshot(call, at->node, &content);
	if (err)
		return err;
	uint64_t size = content->size;
	err = nodes_add_snapshot(&tree->nodes, at->ino, reader, ino, content, &ino);
	if (err)
		return err;
	attr_snapshot(tree, at->ino, reader, size, &st);
	*ret = entry_make(tree, &st, fixed_generation(tree), at->node->entry_timeout, at->node->attr_timeout);
	ret->ino = ino;
	return 0;
}

/* ---- Directories of the root ---- */

static int attr_of_directory(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	attr_own_dir(tree, at->ino, ret);
	return 0;
}

static int attr_of_by_path(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	(void)at;
	mutex_lock(&tree->images->lock);
	attr_by_path(tree, ret);
	mutex_unlock(&tree->images->lock);
	return 0;
}

/* ---- q and log ---- */

static int attr_of_stream(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	if (at->dir)
		attr_batch(at->dir, at->ino, ret);
	else
		attr_root_batch(tree, at->ino, ret);
	return 0;
}

static int open_log(struct call *call, const struct fixed_place *at)
{
	(void)at;
	return open_reply_stream(call,
				 tree_of(call)->content->log(tree_of(call)->answers, caller_of(call->req)));
}

/* ---- image.gsym ---- */

/* Its size, or the size it had when it was open last, or will have when it is opened from the cache. */
static int attr_of_gsym(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	struct images *images = tree->images;
	mutex_lock(&images->lock);
	uint64_t size = at->dir->gsym_size;
	mutex_unlock(&images->lock);
	if (size == 0 && !cache_has(tree->cache, &at->dir->key, &size))
		size = 0;
	attr_image_file(at->dir, at->ino, size, ret);
	return 0;
}

/* Listed once opening it converts nothing. */
static int list_gsym(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	struct images *images = tree->images;
	mutex_lock(&images->lock);
	uint64_t size = at->dir->state == STATE_READY ? at->dir->handle->gsym.size : 0;
	mutex_unlock(&images->lock);
	if (!size && !cache_has(tree->cache, &at->dir->key, &size))
		return -ENOENT;
	attr_image_file(at->dir, at->ino, size, ret);
	return 0;
}

static bool is_ready(struct images *images, const struct revision *rev)
{
	mutex_lock(&images->lock);
	bool ready = rev->state == STATE_READY;
	mutex_unlock(&images->lock);
	return ready;
}

/* The size of one that is closed, if it is in the cache. */
static bool peek_gsym(struct tree *tree, struct revision *rev)
{
	struct images *images = tree->images;
	uint64_t size;
	if (is_ready(images, rev) || !cache_has(tree->cache, &rev->key, &size))
		return false;
	mutex_lock(&images->lock);
	rev->gsym_size = size;
	mutex_unlock(&images->lock);
	return true;
}

/* Who walks over the whole tree, as servers do, must not open every file of the cache. */
static int prepare_gsym(struct call *call, const struct fixed_place *at)
{
	struct tree *tree = tree_of(call);
	struct handle *handle;
	if (peek_gsym(tree, at->dir))
		return 0;
	int err = revision_use(tree->images, at->dir, &handle, &call->wait);
	if (!err)
		handle_put(handle);
	return err;
}

static int open_gsym(struct call *call, const struct fixed_place *at)
{
	struct handle *handle;
	int err = revision_use(tree_of(call)->images, at->dir, &handle, &call->wait);
	return err ? err : open_reply_kept(call, (struct open_file){.handle = handle});
}

/* ---- functions.tsv, lines.tsv, files.tsv ---- */

/* Its size, or the size it had when it was measured. */
static int attr_of_table(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	struct images *images = tree->images;
	mutex_lock(&images->lock);
	uint64_t size = at->dir->table_sizes[at->node->table];
	mutex_unlock(&images->lock);
	attr_image_file(at->dir, at->ino, size, ret);
	return 0;
}

/*
 * Listed while the image is open: measuring needs it, and a walk over the whole tree must not open every file
 * of the cache. An unmeasured table comes without attributes; a lookup measures it.
 */
static int list_table(struct tree *tree, const struct fixed_place *at, struct stat *ret)
{
	if (!is_ready(tree->images, at->dir))
		return -ENOENT;
	attr_of_table(tree, at, ret);
	return ret->st_size == 0;
}

/* Opens the image and measures the table: 0 with a reference to the image in @ret, for the caller to put. */
static int measure(struct call *call, const struct fixed_place *at, struct handle **ret)
{
	struct tree *tree = tree_of(call);
	struct images *images = tree->images;
	const struct tsv_index *index;
	int err = revision_use(images, at->dir, ret, &call->wait);
	if (err)
		return err;
	err = tsv_file_measured(tree->answers, at->dir, *ret, at->node->table, &call->wait, &index);
	if (err) {
		handle_put(*ret);
		return err;
	}
	mutex_lock(&images->lock);
	at->dir->table_sizes[at->node->table] = index->size;
	mutex_unlock(&images->lock);
	return 0;
}

static int prepare_table(struct call *call, const struct fixed_place *at)
{
	struct handle *handle;
	int err = measure(call, at, &handle);
	if (!err)
		handle_put(handle);
	return err;
}

static int open_table(struct call *call, const struct fixed_place *at)
{
	struct handle *handle;
	int err = measure(call, at, &handle);
	if (err)
		return err;
	struct tsv_file *file = tsv_file_new(tree_of(call)->answers, fuse_req_ctx(call->req)->uid, at->dir,
					     handle, at->node->table);
	return file ? open_reply_kept(call, (struct open_file){.table = file}) : -ENOMEM;
}

/* ---- The table ---- */

#define MADE(maker) .attr = attr_made, .open = open_made, .make = maker
#define TABLE(kind) \
	.attr = attr_of_table, .list = list_table, .prepare = prepare_table, .open = open_table, .table = kind
/* Time-outs of the name and of the attributes. */
#define NEVER_CHANGES TIMEOUT_FIXED, TIMEOUT_FIXED
#define CHANGES       TIMEOUT_FIXED, 0
/* Every lookup makes another file, which does not change. */
#define EACH_TIME          0, TIMEOUT_FIXED
#define SNAPSHOT(function) EACH_TIME, AS_SNAPSHOT, .make = function
#define SLICED(kind)       EACH_TIME, AS_SNAPSHOT, .draft = &kind
#define AS_SNAPSHOT        .attr = attr_of_snapshot, .list = list_snapshot, .is_snapshot = true

/* clang-format off */
static const struct fixed_node root_nodes[] = {
	{"by-name", TIMEOUT_FIXED, TIMEOUT_LISTING, .attr = attr_of_directory},
	{"why", NEVER_CHANGES, .attr = attr_of_directory},
	{"q", NEVER_CHANGES, .attr = attr_of_stream, .is_stream = true, .ino = INO_BATCH},
	{"log", NEVER_CHANGES, .attr = attr_of_stream, .is_stream = true, .open = open_log},
	{"metrics", SNAPSHOT(root_metrics)},
	{"status", SNAPSHOT(root_status)},
	{"images.tsv", SLICED(images_table)},
	{"README", NEVER_CHANGES, MADE(root_readme)},
	{"by-path", TIMEOUT_LISTING, TIMEOUT_LISTING, .attr = attr_of_by_path, .ino = INO_BY_PATH},
};

static const struct fixed_node image_nodes[] = {
	{"status", CHANGES, MADE(make_status)},
	{"info.json", CHANGES, MADE(make_info)},
	{"q", NEVER_CHANGES, .attr = attr_of_stream, .is_stream = true, .ino = INO_MAKE(NODE_BATCH, 0, 0)},
	{"image.gsym", NEVER_CHANGES, .attr = attr_of_gsym, .list = list_gsym, .prepare = prepare_gsym,
	 .open = open_gsym},
	{"functions.tsv", NEVER_CHANGES, TABLE(LISTING_FUNCTIONS)},
	{"lines.tsv", NEVER_CHANGES, TABLE(LISTING_LINES)},
	{"files.tsv", NEVER_CHANGES, TABLE(LISTING_FILES)},
};
/* clang-format on */

static_assert(INO_BY_NAME == INO_FIXED && INO_WHY == INO_FIXED + 1, "the first rows");
static_assert(ARRAY_SIZE(root_nodes) <= INO_BATCH - INO_FIXED, "numbers of the root's nodes");

static const struct fixed_node *rows(struct revision *dir)
{
	return dir ? image_nodes : root_nodes;
}

size_t fixed_count(bool in_image)
{
	return in_image ? ARRAY_SIZE(image_nodes) : ARRAY_SIZE(root_nodes);
}

static struct fixed_place place_of(struct revision *dir, const struct fixed_node *node)
{
	size_t index = (size_t)(node - rows(dir));
	uint64_t ino = node->ino;
	if (dir)
		ino = rev_ino(dir, ino ? ino_kind(ino) : NODE_IMAGE_FILE,
			      ino ? ino_code(ino) : (uint32_t)index);
	else if (!ino)
		ino = INO_FIXED + index;
	return (struct fixed_place){node, dir, ino};
}

/* The node @ino, by its index; false when there is none. */
static bool find_ino(struct tree *tree, uint64_t ino, struct fixed_place *ret)
{
	bool in_image = ino_kind(ino) == NODE_IMAGE_FILE;
	struct revision *dir = in_image ? images_revision(tree->images, ino) : NULL;
	uint64_t index = in_image ? ino_code(ino) : ino - INO_FIXED;
	if ((in_image && !dir) || ino < INO_FIXED || index >= fixed_count(dir != NULL))
		return false;
	*ret = place_of(dir, &rows(dir)[index]);
	return ret->ino == ino;
}

/* ---- What follows from it ---- */

const struct fixed_node *fixed_find(struct revision *dir, const char *name)
{
	const struct fixed_node *node = rows(dir);
	for (size_t i = 0; i < fixed_count(dir != NULL); i++, node++)
		if (node->name[0] == name[0] && strcmp(node->name, name) == 0) /* most names are numbers */
			return node;
	return NULL;
}

/* @ino: of a snapshot, see look_up_snapshot(). */
static int look_up(struct call *call, const struct fixed_place *at, uint64_t ino,
		   struct fuse_entry_param *ret)
{
	const struct fixed_node *node = at->node;
	struct stat st;
	if (node->is_snapshot)
		return look_up_snapshot(call, at, ino, ret);
	int err = node->prepare ? node->prepare(call, at) : 0;
	if (!err)
		err = node->attr(tree_of(call), at, &st);
	if (!err)
		*ret = entry_make(tree_of(call), &st,
				  at->dir ? at->dir->stamp : fixed_generation(tree_of(call)),
				  node->entry_timeout, node->attr_timeout);
	return err;
}

int fixed_lookup(struct call *call, struct revision *dir, const struct fixed_node *node,
		 struct fuse_entry_param *ret)
{
	const struct fixed_place at = place_of(dir, node);
	return look_up(call, &at, 0, ret);
}

int fixed_itself(struct call *call, struct fuse_entry_param *ret)
{
	struct fixed_place at;
	uint64_t ino = ino_kind(call->ino) == NODE_ADDRESS ? ino_of_snapshot(call->ino) : call->ino;
	bool is_there = find_ino(tree_of(call), ino, &at) && (ino == call->ino || at.node->is_snapshot);
	return is_there ? look_up(call, &at, call->ino, ret) : -ESTALE;
}

int fixed_list(struct tree *tree, struct revision *dir, size_t index, const char **ret_name,
	       struct fuse_entry_param *ret)
{
	if (index >= fixed_count(dir != NULL))
		return -ERANGE;
	const struct fixed_node *node = &rows(dir)[index];
	const struct fixed_place at = place_of(dir, node);
	struct stat st;
	int unknown_size = (node->list ? node->list : node->attr)(tree, &at, &st);
	if (unknown_size < 0)
		return -ENOENT;
	*ret_name = node->name;
	*ret = entry_make(tree, &st, dir ? dir->stamp : fixed_generation(tree), node->entry_timeout,
			  node->attr_timeout);
	if (unknown_size)
		ret->ino = 0;
	return 0;
}

int fixed_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout)
{
	struct fixed_place at;
	if (!find_ino(tree, ino, &at))
		return -ESTALE;
	*ret_timeout = at.node->attr_timeout;
	return at.node->attr(tree, &at, ret);
}

int fixed_open(struct call *call, uint64_t ino)
{
	struct fixed_place at;
	bool writes = (call->info.flags & O_ACCMODE) != O_RDONLY || call->info.flags & O_TRUNC;
	if (!find_ino(tree_of(call), ino, &at) || (at.dir && revision_is_expired(at.dir)))
		return -ESTALE;
	if (writes && !at.node->is_stream)
		return -EROFS;
	if (at.node->is_stream && (call->info.flags & O_ACCMODE) == O_RDONLY)
		return open_reply_usage(call);
	return at.node->open ? at.node->open(call, &at) : -EISDIR;
}

bool fixed_is_stream(struct tree *tree, uint64_t ino)
{
	struct fixed_place at;
	return find_ino(tree, ino, &at) && at.node->is_stream;
}

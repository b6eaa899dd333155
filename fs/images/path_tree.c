#include "fs/images/path_tree.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fs/name/node.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

void path_tree_deinit(struct path_tree *tree)
{
	for (size_t i = 0; i < tree->dirs.n; i++) {
		vec_free(&tree->dirs.v[i]->children);
		free(tree->dirs.v[i]->name);
		free(tree->dirs.v[i]);
	}
	struct path_file *file;
	for (uint32_t i = 0; (file = slots_from(&tree->files, &i)); i++)
		free(file);
	slots_deinit(&tree->files);
	vec_free(&tree->dirs);
	table_deinit(&tree->by_dir);
	table_deinit(&tree->by_file);
}

/* The hash of a path: no number is in it, see node.h. */
static uint64_t hash_of(const struct path_tree *tree, uint32_t dir, const char *name)
{
	uint64_t seed = dir == PATH_NONE ? 0 : tree->dirs.v[dir]->table.hash;
	return XXH3_64bits_withSeed(name, strlen(name), seed);
}

static struct path_file *file_at(const struct path_tree *tree, uint32_t number)
{
	return slots_get(&tree->files, number);
}

/* ---- Finding ---- */

const struct path_dir *path_tree_dir(const struct path_tree *tree, uint32_t number)
{
	return number < tree->dirs.n ? tree->dirs.v[number] : NULL;
}

const struct path_file *path_tree_file(const struct path_tree *tree, uint32_t number)
{
	return file_at(tree, number);
}

static struct path_dir *find_dir(const struct path_tree *tree, uint32_t parent, const char *name)
{
	return TABLE_FIND(struct path_dir, dir, &tree->by_dir, hash_of(tree, parent, name),
			  dir->parent == parent && strcmp(dir->name, name) == 0);
}

const struct path_dir *path_tree_find_dir(const struct path_tree *tree, uint32_t parent, const char *name)
{
	const struct path_dir *dir = find_dir(tree, parent, name);
	return dir && dir->alive ? dir : NULL;
}

const struct path_dir *path_tree_find_any_dir(const struct path_tree *tree, uint32_t parent, const char *name)
{
	return find_dir(tree, parent, name);
}

static struct path_file *find_file(const struct path_tree *tree, uint32_t dir, const char *name)
{
	return TABLE_FIND(struct path_file, file, &tree->by_file, hash_of(tree, dir, name),
			  file->dir == dir && strcmp(file->name, name) == 0);
}

const struct path_file *path_tree_find(const struct path_tree *tree, uint32_t dir, const char *name)
{
	return find_file(tree, dir, name);
}

static struct path_file *next_of(const struct path_tree *tree, const struct path_file *file)
{
	return file->next ? file_at(tree, file->next - 1) : NULL;
}

const struct path_file *path_file_next(const struct path_tree *tree, const struct path_file *file)
{
	return next_of(tree, file);
}

const struct path_file *path_file_alive(const struct path_tree *tree, const struct path_file *file)
{
	while (file && !file->pass)
		file = next_of(tree, file);
	return file;
}

bool path_file_is_fat(const struct path_tree *tree, const struct path_file *first)
{
	const struct path_file *one = path_file_alive(tree, first);
	return one && path_file_alive(tree, next_of(tree, one));
}

/* ---- Keys ---- */

uint32_t path_dir_key(const struct path_dir *dir)
{
	return dir->parent == PATH_NONE ? 0 : inode_key(dir->table.hash, dir->odd, dir->number);
}

const struct path_dir *path_dir_by_key(const struct path_tree *tree, uint32_t key)
{
	if (!key || key & INODE_KEY_ODD) {
		const struct path_dir *dir = path_tree_dir(tree, key & ~INODE_KEY_ODD);
		return dir && (!key || dir->odd) ? dir : NULL;
	}
	struct table_link *l = table_first_end(&tree->by_dir, key, INODE_KEY_BITS);
	for (; l; l = table_next_end(l, key, INODE_KEY_BITS))
		if (!TABLE_ENTRY(l, struct path_dir)->odd)
			return TABLE_ENTRY(l, struct path_dir);
	return NULL;
}

uint64_t path_file_hash(const struct path_tree *tree, const struct path_file *file)
{
	return find_file(tree, file->dir, file->name)->table.hash;
}

uint32_t path_file_key(const struct path_tree *tree, const struct path_file *file)
{
	const struct path_file *first = find_file(tree, file->dir, file->name);
	return inode_key(first->table.hash, first->odd, first->number);
}

const struct path_file *path_file_by_key(const struct path_tree *tree, uint32_t key)
{
	if (key & INODE_KEY_ODD) {
		const struct path_file *file = file_at(tree, key & ~INODE_KEY_ODD);
		return file && file->odd ? file : NULL;
	}
	struct table_link *l = table_first_end(&tree->by_file, key, INODE_KEY_BITS);
	for (; l; l = table_next_end(l, key, INODE_KEY_BITS))
		if (!TABLE_ENTRY(l, struct path_file)->odd)
			return TABLE_ENTRY(l, struct path_file);
	return NULL;
}

/* ---- Coming and going ---- */

/* An entry of the directory appears: with the first one, so does the directory itself in its parent. */
static void appear_in(struct path_tree *tree, uint32_t number)
{
	while (number != PATH_NONE && tree->dirs.v[number]->alive++ == 0)
		number = tree->dirs.v[number]->parent;
}

static void vanish_from(struct path_tree *tree, uint32_t number)
{
	invariant(number == PATH_NONE || tree->dirs.v[number]->alive > 0);
	while (number != PATH_NONE && --tree->dirs.v[number]->alive == 0)
		number = tree->dirs.v[number]->parent;
}

static void count(const struct path_tree *tree, const struct path_file *file, bool appears)
{
	if (tree->counted)
		tree->counted(tree->user, file->image, appears);
}

static void appear(struct path_tree *tree, struct path_file *file, uint32_t pass)
{
	if (!file->pass) {
		appear_in(tree, file->dir);
		count(tree, file, true);
	}
	file->pass = pass;
}

static void vanish(struct path_tree *tree, struct path_file *file)
{
	if (file->pass) {
		vanish_from(tree, file->dir);
		count(tree, file, false);
	}
	file->pass = 0;
}

void path_tree_forget(struct path_tree *tree, const struct path_file *file)
{
	vanish(tree, file_at(tree, file->number));
}

void path_tree_sweep(struct path_tree *tree, uint32_t pass)
{
	struct path_file *file;
	for (uint32_t i = 0; (file = slots_from(&tree->files, &i)); i++)
		if (file->pass != pass)
			vanish(tree, file);
}

/* ---- Adding ---- */

static int reserve_child(struct path_tree *tree, uint32_t dir)
{
	return dir == PATH_NONE ? 0 : vec_reserve(&tree->dirs.v[dir]->children, 1);
}

/* There is room for it. Its position. */
static uint32_t push_child(struct path_tree *tree, uint32_t number, uint32_t child)
{
	if (number == PATH_NONE)
		return 0;
	struct path_dir *dir = tree->dirs.v[number];
	dir->children.v[dir->children.n++] = (struct path_child){child, dir->next_position};
	return dir->next_position++;
}

static struct path_dir *add_dir(struct path_tree *tree, uint32_t parent, const char *name)
{
	struct path_dir *dir = calloc(1, sizeof(*dir));
	if (!dir)
		return NULL;
	dir->number = (uint32_t)tree->dirs.n;
	dir->parent = parent;
	dir->depth = parent == PATH_NONE ? 0 : tree->dirs.v[parent]->depth + 1;
	dir->name = strdup(name);
	uint64_t hash = hash_of(tree, parent, name);
	dir->odd = inode_key_is_taken(&tree->by_dir, hash);
	if (!dir->name || reserve_child(tree, parent) || vec_reserve(&tree->dirs, 1) ||
	    table_add(&tree->by_dir, &dir->table, hash)) {
		free(dir->name);
		free(dir);
		return NULL;
	}
	tree->dirs.v[tree->dirs.n++] = dir;
	push_child(tree, parent, dir->number * 2);
	return dir;
}

int path_tree_enter(struct path_tree *tree, uint32_t parent, const char *name, const struct path_attr *attr,
		    uint32_t *ret)
{
	bool is_source = parent == PATH_NONE && !*name;
	*ret = PATH_NONE;
	if (!is_source && (parent == PATH_NONE || tree->dirs.v[parent]->depth >= PATH_DEPTH_MAX))
		return 0;
	struct path_dir *dir = find_dir(tree, parent, name);
	if (!dir)
		dir = add_dir(tree, parent, name);
	if (!dir)
		return -ENOMEM;
	dir->attr = *attr;
	*ret = dir->number;
	return 0;
}

void path_tree_set_attr(struct path_tree *tree, uint32_t number, const struct path_attr *attr)
{
	tree->dirs.v[number]->attr = *attr;
}

/* Appends the file, which is gone so far, to its chain, after @last; NULL: it is the first. */
static struct path_file *add_file(struct path_tree *tree, struct path_file *last, uint32_t dir,
				  const char *name, uint32_t image)
{
	struct path_file *file = calloc(1, sizeof(*file));
	if (!file || (!last && reserve_child(tree, dir)) || slots_add(&tree->files, file, &file->number)) {
		free(file);
		return NULL;
	}
	file->name = name;
	file->dir = dir;
	file->image = image;
	uint64_t hash = hash_of(tree, dir, name);
	file->odd = !last && inode_key_is_taken(&tree->by_file, hash);
	if (!last && table_add(&tree->by_file, &file->table, hash)) {
		slots_remove(&tree->files, file->number);
		free(file);
		return NULL;
	}
	if (last)
		last->next = file->number + 1;
	else
		file->position = push_child(tree, dir, file->number * 2 + 1);
	return file;
}

int path_tree_reserve(struct path_tree *tree, size_t n)
{
	return table_reserve(&tree->by_file, n);
}

/* Likewise, and adds it to the files of that name with that image. NULL without memory. */
static struct path_file *add_seen(struct path_tree *tree, struct path_file *end, uint32_t dir,
				  const char *name, uint32_t image, uint32_t *like)
{
	struct path_file *file = add_file(tree, end, dir, name, image);
	if (!file)
		return NULL;
	file->like = *like;
	*like = file->number + 1;
	return file;
}

int path_tree_add_first(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image, uint32_t pass,
			uint32_t *like)
{
	if (dir == PATH_NONE)
		return 0;
	invariant(!*like);
	struct path_file *file = add_seen(tree, NULL, dir, name, image, like);
	if (!file)
		return -ENOMEM;
	appear(tree, file, pass);
	return 0;
}

static void drop_others(struct path_tree *tree, struct path_file *first, uint32_t pass)
{
	for (struct path_file *file = first; file; file = next_of(tree, file))
		if (file->pass != pass)
			vanish(tree, file);
}

int path_tree_add(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image, uint32_t pass,
		  bool last, uint32_t *like)
{
	if (dir == PATH_NONE)
		return 0;
	struct path_file *first = find_file(tree, dir, name), *file = first, *end = NULL;
	for (; file && file->image != image; file = next_of(tree, file))
		end = file;
	if (!file)
		file = add_seen(tree, end, dir, name, image, like);
	if (!file)
		return -ENOMEM;
	appear(tree, file, pass);
	if (last)
		drop_others(tree, first ? first : file, pass);
	return 0;
}

/* ---- Removing ---- */

size_t path_dir_from(const struct path_dir *dir, uint32_t position)
{
	return PARTITION_POINT(0, dir->children.n, mid, dir->children.v[mid].position < position);
}

static void compact(struct path_dir *dir)
{
	size_t kept = 0;
	for (size_t i = 0; i < dir->children.n; i++)
		if (dir->children.v[i].child != PATH_NONE)
			dir->children.v[kept++] = dir->children.v[i];
	dir->children.n = kept;
	dir->dropped = 0;
}

/* The child at @position is @child from now on. */
static void set_child(struct path_tree *tree, uint32_t number, uint32_t position, uint32_t child)
{
	struct path_dir *dir = tree->dirs.v[number];
	struct path_child *at = &dir->children.v[path_dir_from(dir, position)];
	invariant(at->position == position);
	at->child = child;
	dir->dropped += child == PATH_NONE;
	if (dir->dropped > dir->children.n / 2)
		compact(dir);
}

static void remove_from_chain(struct path_tree *tree, struct path_file *file)
{
	struct path_file *at = find_file(tree, file->dir, file->name), *next = next_of(tree, file);
	if (at != file) {
		while (next_of(tree, at) != file)
			at = next_of(tree, at);
		at->next = file->next;
		return;
	}
	table_remove(&tree->by_file, &file->table);
	set_child(tree, file->dir, file->position, next ? next->number * 2 + 1 : PATH_NONE);
	if (next) {
		next->position = file->position;
		next->odd = file->odd;
		table_add(&tree->by_file, &next->table,
			  hash_of(tree, file->dir, file->name)); /* there is room */
	}
}

void path_tree_remove(struct path_tree *tree, const struct path_file *gone, uint32_t *like)
{
	struct path_file *file = file_at(tree, gone->number);
	invariant(!file->pass);
	while (*like && *like != file->number + 1)
		like = &file_at(tree, *like - 1)->like;
	invariant(*like);
	*like = file->like;
	remove_from_chain(tree, file);
	slots_remove(&tree->files, file->number);
	free(file);
}

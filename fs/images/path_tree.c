#include "fs/images/path_tree.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "gsym/base/invariant.h"

void path_tree_deinit(struct path_tree *tree)
{
	for (size_t i = 0; i < tree->dirs.n; i++) {
		vec_free(&tree->dirs.v[i]->children);
		free(tree->dirs.v[i]->name);
		free(tree->dirs.v[i]);
	}
	for (size_t i = 0; i < tree->pages.n; i++)
		free(tree->pages.v[i]);
	vec_free(&tree->dirs);
	vec_free(&tree->pages);
	table_deinit(&tree->by_dir);
	table_deinit(&tree->by_file);
}

static uint64_t hash_of(uint32_t dir, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), dir);
}

static struct path_file *file_at(const struct path_tree *tree, uint32_t number)
{
	return &tree->pages.v[number / PATH_FILES_PAGE][number % PATH_FILES_PAGE];
}

/* ---- Finding ---- */

const struct path_dir *path_tree_dir(const struct path_tree *tree, uint32_t number)
{
	return number < tree->dirs.n ? tree->dirs.v[number] : NULL;
}

const struct path_file *path_tree_file(const struct path_tree *tree, uint32_t number)
{
	return number < tree->n_files ? file_at(tree, number) : NULL;
}

static struct path_dir *find_dir(const struct path_tree *tree, uint32_t parent, const char *name)
{
	uint64_t hash = hash_of(parent, name);
	for (struct table_link *l = table_first(&tree->by_dir, hash); l; l = table_next(l, hash)) {
		struct path_dir *dir = TABLE_ENTRY(l, struct path_dir);
		if (dir->parent == parent && strcmp(dir->name, name) == 0)
			return dir;
	}
	return NULL;
}

const struct path_dir *path_tree_find_dir(const struct path_tree *tree, uint32_t parent, const char *name)
{
	const struct path_dir *dir = find_dir(tree, parent, name);
	return dir && dir->alive ? dir : NULL;
}

static struct path_file *find_file(const struct path_tree *tree, uint32_t dir, const char *name)
{
	uint64_t hash = hash_of(dir, name);
	for (struct table_link *l = table_first(&tree->by_file, hash); l; l = table_next(l, hash)) {
		struct path_file *file = TABLE_ENTRY(l, struct path_file);
		if (file->dir == dir && strcmp(file->name, name) == 0)
			return file;
	}
	return NULL;
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
	for (uint32_t i = 0; i < tree->n_files; i++)
		if (file_at(tree, i)->pass != pass)
			vanish(tree, file_at(tree, i));
}

/* ---- Adding ---- */

static int reserve_child(struct path_tree *tree, uint32_t dir)
{
	return dir == PATH_NONE ? 0 : vec_reserve(&tree->dirs.v[dir]->children, 1);
}

/* There is room for it. */
static void push_child(struct path_tree *tree, uint32_t dir, uint32_t child)
{
	if (dir != PATH_NONE)
		tree->dirs.v[dir]->children.v[tree->dirs.v[dir]->children.n++] = child;
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
	if (!dir->name || reserve_child(tree, parent) || vec_reserve(&tree->dirs, 1) ||
	    table_add(&tree->by_dir, &dir->table, hash_of(parent, name))) {
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

/* One that is gone so far, at the end of no chain. */
static struct path_file *new_file(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image)
{
	if (tree->n_files == tree->pages.n * PATH_FILES_PAGE) {
		struct path_file *page = calloc(PATH_FILES_PAGE, sizeof(*page));
		if (!page || vec_push(&tree->pages, page)) {
			free(page);
			return NULL;
		}
	}
	struct path_file *file = file_at(tree, (uint32_t)tree->n_files);
	*file = (struct path_file){
		.name = name, .number = (uint32_t)tree->n_files, .dir = dir, .image = image};
	return file;
}

/* Appends the file to its chain, after @last; NULL: it is the first. */
static struct path_file *add_file(struct path_tree *tree, struct path_file *last, uint32_t dir,
				  const char *name, uint32_t image)
{
	struct path_file *file = new_file(tree, dir, name, image);
	if (!file || (!last && (reserve_child(tree, dir) ||
				table_add(&tree->by_file, &file->table, hash_of(dir, name)))))
		return NULL;
	tree->n_files++;
	if (last)
		last->next = file->number + 1;
	else
		push_child(tree, dir, file->number * 2 + 1);
	return file;
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
	if (!file) {
		file = add_file(tree, end, dir, name, image);
		if (!file)
			return -ENOMEM;
		file->like = *like;
		*like = file->number + 1;
	}
	appear(tree, file, pass);
	if (last)
		drop_others(tree, first ? first : file, pass);
	return 0;
}

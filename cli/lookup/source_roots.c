#include "cli/lookup/source_roots.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Directories of a root behind which join() looks, which reads all files for each: more than a
	   path of a build has. */
	CUTS_MAX = 64,
};

/* Files whose paths begin alike, absolute or relative. */
struct source_tree {
	const char
		*dir; /* of a file, whose first @size bytes are the directory of all; NULL: there is none */
	size_t size;
	uint32_t files;
};

/* Returns the tree that a file in @dir is of: 0 absolute, 1 relative, -1 none of a program. */
static int tree_of(const char *dir, const char *base)
{
	if (*base == '<' || strncmp(dir, "/usr/", 5) == 0)
		return -1;
	return *dir != '/';
}

/* The first bytes of @root that are a directory of @dir, too. */
static size_t shared_directory(const char *root, size_t size, const char *dir)
{
	size_t n = 0, last = 0;
	for (; n < size && dir[n] == root[n]; n++)
		last = root[n] == '/' ? n : last;
	bool whole = (n == size || root[n] == '/') && (!dir[n] || dir[n] == '/');
	return whole ? n : last;
}

static void find_trees(const struct gsym_reader *reader, struct source_tree trees[static SOURCE_ROOTS])
{
	const char *dir, *base;
	for (uint32_t i = 1; i < gsym_reader_info(reader)->num_files; i++) {
		if (gsym_reader_file(reader, i, &dir, &base) || tree_of(dir, base) < 0)
			continue;
		struct source_tree *tree = &trees[tree_of(dir, base)];
		tree->size = tree->dir ? shared_directory(tree->dir, tree->size, dir) : strlen(dir);
		tree->dir = tree->dir ? tree->dir : dir;
		tree->files++;
	}
}

/* Returns whether @tree has a file in the directory of @size bytes at @below, or further below. */
static bool has_directory(const struct gsym_reader *reader, const struct source_tree *tree, const char *below,
			  size_t size)
{
	const char *dir, *base;
	for (uint32_t i = 1; i < gsym_reader_info(reader)->num_files; i++) {
		if (gsym_reader_file(reader, i, &dir, &base) ||
		    tree_of(dir, base) != tree_of(tree->dir, "") ||
		    strncmp(dir, tree->dir, tree->size) != 0 || (tree->size && dir[tree->size] != '/'))
			continue;
		dir += tree->size + (tree->size != 0);
		if (strncmp(dir, below, size) == 0 && (!dir[size] || dir[size] == '/'))
			return true;
	}
	return false;
}

/* Cuts the directory of @part where what follows is a directory of @whole. */
static void join(const struct gsym_reader *reader, struct source_tree *part, const struct source_tree *whole)
{
	size_t cuts = 0;
	for (size_t at = 1; at < part->size && cuts < CUTS_MAX; at++) {
		if (part->dir[at] != '/')
			continue;
		cuts++;
		if (has_directory(reader, whole, part->dir + at + 1, part->size - at - 1)) {
			part->size = at;
			return;
		}
	}
}

int source_roots_find(const struct gsym_reader *reader, char *ret[static SOURCE_ROOTS])
{
	struct source_tree trees[SOURCE_ROOTS] = {{NULL}};
	find_trees(reader, trees);
	bool most = trees[1].files > trees[0].files;
	if (trees[!most].dir)
		join(reader, &trees[!most], &trees[most]);
	for (size_t i = 0; i < SOURCE_ROOTS; i++) {
		if (trees[i].size > 1 && !(ret[i] = strndup(trees[i].dir, trees[i].size)))
			return -ENOMEM;
	}
	return 0;
}

void path_strip_settle(struct path_strip *strip, enum strip otherwise)
{
	struct option_list *dirs = &strip->dirs;
	size_t n = 0;
	strip->roots = dirs->n ? STRIP_NONE : otherwise;
	for (size_t i = 0; i < dirs->n; i++) {
		if (strcmp(dirs->v[i], "auto") == 0)
			strip->roots = STRIP_ROOTS;
		else if (strcmp(dirs->v[i], "none") != 0)
			dirs->v[n++] = dirs->v[i];
	}
	dirs->n = n;
}

bool path_strip_applies(const struct path_strip *strip)
{
	return strip->dirs.n || strip->roots == STRIP_ROOTS;
}

/* NULL if @dir is not in @root. */
static const char *below(const char *root, const char *dir)
{
	size_t size = strlen(root);
	while (size && root[size - 1] == '/')
		size--;
	if (strncmp(dir, root, size) != 0 || (dir[size] && dir[size] != '/'))
		return NULL;
	return dir + size + (dir[size] == '/');
}

const char *path_strip_dir(const struct path_strip *strip, char *const roots[static SOURCE_ROOTS],
			   const char *dir)
{
	const char *rest = NULL;
	for (size_t i = 0; i < strip->dirs.n && !rest; i++)
		rest = below(strip->dirs.v[i], dir);
	for (size_t i = 0; i < SOURCE_ROOTS && !rest; i++)
		rest = roots[i] ? below(roots[i], dir) : NULL;
	return rest ? rest : dir;
}

void path_strip_answer(const struct path_strip *strip, char *const roots[static SOURCE_ROOTS],
		       struct gsym_answer *answer)
{
	for (size_t i = 0; i < answer->n_frames; i++)
		answer->frames[i].dir = path_strip_dir(strip, roots, answer->frames[i].dir);
}

/* The tree by-path: what comes, goes and comes back, and what keeps its number meanwhile. */
#include "fs/images/path_tree.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

#include <errno.h>

static const struct path_attr attr = {.mode = 0555};

static uint32_t enter(struct path_tree *tree, uint32_t parent, const char *name)
{
	uint32_t number;
	assert_int_equal(path_tree_enter(tree, parent, name, &attr, &number), 0);
	return number;
}

static void add(struct path_tree *tree, uint32_t dir, const char *name, uint32_t image, uint32_t pass,
		bool last)
{
	uint32_t like = 0;
	assert_int_equal(path_tree_add(tree, dir, name, image, pass, last, &like), 0);
}

/* The one image of a file; -1: none, -2: several. */
static int image(const struct path_tree *tree, uint32_t dir, const char *name)
{
	const struct path_file *first = path_tree_find(tree, dir, name), *file = path_file_alive(tree, first);
	return !file ? -1 : path_file_is_fat(tree, first) ? -2 : (int)file->image;
}

TEST(directories)
{
	struct path_tree tree = {.user = NULL};
	uint32_t top = enter(&tree, PATH_NONE, ""), a = enter(&tree, top, "a"), b = enter(&tree, a, "b");
	assert_int_equal(top, 0);
	assert_null(path_tree_find_dir(&tree, top, "a")); /* nothing in it */
	add(&tree, b, "file", 7, 1, true);
	assert_int_equal(path_tree_find_dir(&tree, top, "a")->number, a);
	assert_int_equal(path_tree_find_dir(&tree, a, "b")->depth, 2);
	assert_null(path_tree_find_dir(&tree, top, "b"));
	add(&tree, a, "file", 8, 2, true);
	path_tree_sweep(&tree, 2);
	assert_null(path_tree_find_dir(&tree, a, "b"));
	assert_non_null(path_tree_find_dir(&tree, top, "a"));
	path_tree_sweep(&tree, 3);
	assert_null(path_tree_find_dir(&tree, top, "a"));
	assert_int_equal(path_tree_dir(&tree, top)->alive, 0);
	assert_int_equal(enter(&tree, top, "a"), a);
	add(&tree, a, "file", 8, 4, true);
	assert_non_null(path_tree_find_dir(&tree, top, "a"));
	assert_int_equal(path_tree_dir(&tree, a)->children.n, 2);
	assert_int_equal(image(&tree, b, "file"), -1);
	assert_null(path_tree_dir(&tree, 3));
	assert_null(path_tree_file(&tree, 2));
	path_tree_deinit(&tree);
}

TEST(images_of_a_file)
{
	struct path_tree tree = {.user = NULL};
	uint32_t top = enter(&tree, PATH_NONE, "");
	add(&tree, top, "f", 1, 1, false);
	add(&tree, top, "f", 2, 1, true);
	assert_int_equal(image(&tree, top, "f"), -2);
	assert_int_equal(path_tree_dir(&tree, top)->children.n, 1);
	/* In the middle of the next scan it has both still; at the end of the file only what was seen. */
	add(&tree, top, "f", 2, 2, false);
	assert_int_equal(image(&tree, top, "f"), -2);
	add(&tree, top, "f", 2, 2, true);
	assert_int_equal(image(&tree, top, "f"), 2);
	uint32_t number = path_file_alive(&tree, path_tree_find(&tree, top, "f"))->number;
	add(&tree, top, "f", 3, 3, true);
	assert_int_equal(image(&tree, top, "f"), 3);
	add(&tree, top, "f", 2, 4, true);
	assert_int_equal(image(&tree, top, "f"), 2);
	assert_int_equal(path_file_alive(&tree, path_tree_find(&tree, top, "f"))->number, number);
	path_tree_sweep(&tree, 4);
	assert_int_equal(path_tree_dir(&tree, top)->alive, 1);
	path_tree_deinit(&tree);
}

TEST(many)
{
	static char names[5000][8];
	struct path_tree tree = {.user = NULL};
	uint32_t top = enter(&tree, PATH_NONE, "");
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		add(&tree, top, names[i], i, 1, true);
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(image(&tree, top, names[i]), (int)i);
	assert_int_equal(path_tree_dir(&tree, top)->alive, 5000);
	path_tree_deinit(&tree);
}

/* Files that come, go and are removed, while the tree has one at a time. */
TEST(removed)
{
	struct path_tree tree = {.user = NULL};
	uint32_t top = enter(&tree, PATH_NONE, ""), like = 0, pass = 0;
	assert_int_equal(path_tree_add(&tree, top, "first", 1, ++pass, true, &like), 0);
	for (unsigned i = 0; i < 1000; i++) {
		const char *name = i % 2 ? "a" : "b";
		uint32_t other = 0;
		assert_int_equal(path_tree_add(&tree, top, name, 2 + i, ++pass, false, &other), 0);
		assert_int_equal(path_tree_add(&tree, top, name, 1, pass, true, &like), 0);
		assert_int_equal(image(&tree, top, name), -2);
		const struct path_file *file = path_tree_find(&tree, top, name);
		path_tree_forget(&tree, file);
		path_tree_remove(&tree, file, &other);
		assert_int_equal(other, 0);
		assert_int_equal(image(&tree, top, name), 1);
		file = path_tree_find(&tree, top, name);
		assert_int_equal(
			tree.dirs.v[top]->children.v[path_dir_from(tree.dirs.v[top], file->position)].child,
			file->number * 2 + 1);
		path_tree_forget(&tree, file);
		path_tree_remove(&tree, file, &like);
		assert_null(path_tree_find(&tree, top, name));
	}
	assert_int_equal(tree.files.n, 1);
	assert_true(tree.dirs.v[top]->children.n < 8);
	assert_int_equal(path_tree_dir(&tree, top)->alive, 1);
	assert_int_equal(image(&tree, top, "first"), 1);
	path_tree_deinit(&tree);
}

/* A file whose name is new is added without a search, and found like others. */
TEST(first_of_name)
{
	struct path_tree tree = {.user = NULL};
	uint32_t top = enter(&tree, PATH_NONE, ""), like = 0;
	assert_int_equal(path_tree_reserve(&tree, 1000), 0);
	size_t room = tree.by_file.n_buckets;
	assert_true(room >= 1000);
	assert_int_equal(path_tree_add_first(&tree, top, "new", 1, 1, &like), 0);
	assert_int_equal(like, path_tree_find(&tree, top, "new")->number + 1);
	assert_int_equal(image(&tree, top, "new"), 1);
	add(&tree, top, "new", 2, 1, false);
	assert_int_equal(image(&tree, top, "new"), -2);
	uint32_t none = 0;
	assert_int_equal(path_tree_add_first(&tree, PATH_NONE, "x", 1, 1, &none), 0);
	assert_int_equal(none, 0);
	assert_int_equal(tree.by_file.n_buckets, room);
	path_tree_deinit(&tree);
}

TEST(too_deep)
{
	struct path_tree tree = {.user = NULL};
	uint32_t at = enter(&tree, PATH_NONE, "");
	for (unsigned i = 0; i < PATH_DEPTH_MAX; i++)
		at = enter(&tree, at, "d");
	assert_int_not_equal(at, PATH_NONE);
	assert_int_equal(enter(&tree, at, "d"), PATH_NONE);
	assert_int_equal(enter(&tree, PATH_NONE, "d"), PATH_NONE);
	add(&tree, PATH_NONE, "f", 1, 1, true);
	assert_int_equal(tree.files.n, 0);
	path_tree_deinit(&tree);
}

/* Each allocation fails once: what was there stays, nothing is half there, and a second attempt succeeds. */
TEST(without_memory)
{
	const long before = live;
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct path_tree tree = {.user = NULL};
		uint32_t number = PATH_NONE, like = 0, top = enter(&tree, PATH_NONE, "");
		add(&tree, top, "old", 1, 1, true);
		allowed = n;
		int err = path_tree_enter(&tree, top, "dir", &attr, &number);
		if (!err)
			err = path_tree_add(&tree, number, "new", 2, 1, true, &like);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(image(&tree, top, "old"), 1);
		if (failed)
			assert_null(path_tree_find_dir(&tree, top, "dir"));
		add(&tree, enter(&tree, top, "dir"), "new", 2, 1, true);
		assert_int_equal(image(&tree, path_tree_find_dir(&tree, top, "dir")->number, "new"), 2);
		path_tree_deinit(&tree);
		assert_int_equal(live, before);
	}
}

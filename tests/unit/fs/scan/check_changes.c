/* Paths that have changed: each once, and of too many of them that a walk is cheaper. */
#include "fs/scan/changes.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

enum {
	PATHS_MAX = 10000,
	MOVED_MAX = 64,
};

static void add_many(struct changes *changes, int first, int n)
{
	char name[16];
	for (int i = first; i < first + n; i++) {
		snprintf(name, sizeof(name), "%05d", i);
		changes_add(changes, "d", name);
	}
}

TEST(sorted_once)
{
	struct changes changes = {.all = false};
	assert_false(changes_any(&changes));
	changes_sort(&changes);
	changes_add(&changes, "", "b");
	assert_true(changes_any(&changes));
	changes_add(&changes, "a/c", "d");
	changes_add(&changes, "", "b");
	changes_add(&changes, "a", "c");
	changes_add(&changes, "a/c", "d");
	assert_int_equal(changes.paths.n, 5);
	changes_sort(&changes);
	assert_int_equal(changes.paths.n, 3);
	assert_string_equal(changes.paths.v[0], "a/c");
	assert_string_equal(changes.paths.v[1], "a/c/d");
	assert_string_equal(changes.paths.v[2], "b");
	changes_clear(&changes);
	assert_false(changes_any(&changes));
	assert_int_equal(changes.paths.n, 0);
}

TEST(any_of_them)
{
	assert_true(changes_any(&(struct changes){.all = true}));
	assert_true(changes_any(&(struct changes){.neighbours = true}));
	assert_true(changes_any(&(struct changes){.evicted = true}));
}

TEST(moved)
{
	struct changes changes = {.all = false};
	char name[16];
	for (int i = 0; i < MOVED_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		changes_add_moved(&changes, "d", name);
	}
	assert_false(changes.all);
	assert_int_equal(changes.moved.n, MOVED_MAX);
	assert_int_equal(changes.paths.n, MOVED_MAX);
	assert_string_equal(changes.moved.v[MOVED_MAX - 1], "d/63");
	assert_string_equal(changes.paths.v[MOVED_MAX - 1], "d/63");
	changes_add_moved(&changes, "d", "one more");
	assert_true(changes.all);
	assert_int_equal(changes.moved.n + changes.paths.n, 0);
	changes_add_moved(&changes, "d", "and another");
	changes_add(&changes, "d", "and another");
	assert_int_equal(changes.moved.n + changes.paths.n, 0);
	changes_clear(&changes);
	assert_false(changes.all);
}

TEST(too_many)
{
	struct changes changes = {.all = false};
	add_many(&changes, 0, PATHS_MAX);
	assert_false(changes.all);
	assert_int_equal(changes.paths.n, PATHS_MAX);
	add_many(&changes, PATHS_MAX, 1);
	assert_true(changes.all);
	assert_int_equal(changes.paths.n, 0);
	changes_clear(&changes);
}

/* The same ones again and again are not many. */
TEST(again_and_again)
{
	struct changes changes = {.all = false};
	for (int round = 0; round < 10; round++)
		add_many(&changes, 0, PATHS_MAX / 2);
	assert_false(changes.all);
	changes_sort(&changes);
	assert_int_equal(changes.paths.n, PATHS_MAX / 2);
	changes_clear(&changes);
	/* One more would fill it again soon. */
	for (int round = 0; round < 2; round++)
		add_many(&changes, 0, PATHS_MAX / 2 + 1);
	assert_true(changes.all);
	changes_clear(&changes);
}

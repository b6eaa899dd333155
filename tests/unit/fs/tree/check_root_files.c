/* The file status of the root: every state and line, what each caller may know, and memory that fails. */
#include "fs/scan/scan_state.h"
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/images/caller.h"
#include "fs/tree/root_files.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

/* ---- The file ---- */

static const struct caller owner = {.uid = OWNER, .gid = GROUP};

static void says_to(const struct caller *caller, const char *text)
{
	struct content *content = root_status(&t.tree, NULL, caller);
	assert_non_null(content);
	char *copy = strndup(content->data, content->size);
	content_put(content);
	assert_string_equal(copy, text);
	free(copy);
}

static void says(const char *text)
{
	says_to(&owner, text);
}

/* What is said of files before and after the lines that a case is about. */
#define WORKER   "worker\tstarts\nsandbox\tnone\n"
#define NO_FILES "skipped\t0\ntruncated\t0\nnot_entered\t0\n"

static int set_up(void **state)
{
	tree_set_up(state);
	return 0;
}

TEST(states)
{
	static const struct {
		bool scanned;
		int absent;
		bool hashing;
		const char *text;
	} rows[] = {
		{false, -ENOENT, false, "state\tscanning\n" WORKER NO_FILES},
		{false, -EIO, true, "state\tscanning\n" WORKER NO_FILES},
		{true, -EIO, false, "state\tincomplete\n" WORKER NO_FILES},
		{true, -EIO, true, "state\tincomplete\n" WORKER NO_FILES},
		{true, -ENOENT, true, "state\thashing\n" WORKER NO_FILES},
		{true, -ENOENT, false, "state\tcomplete\n" WORKER NO_FILES},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		mutex_lock(&t.f->images.lock);
		t.f->images.scanned = rows[i].scanned;
		t.f->images.absent = rows[i].absent;
		t.f->images.hashing = rows[i].hashing;
		mutex_unlock(&t.f->images.lock);
		says(rows[i].text);
	}
}

TEST(sources)
{
	const struct scan_root roots[] = {{.path = (char *)"/src"}, {.path = (char *)"/other\tone"}};
	t.tree.roots = roots;
	t.tree.n_roots = 1;
	says("state\tscanning\n" WORKER "source\t/src\n" NO_FILES);
	t.tree.n_roots = 2;
	says("state\tscanning\n" WORKER "source\t/src\nsource\t/other\\tone\n" NO_FILES);
}

/* ---- Files that cannot be used ---- */

static const struct skipped_cause damaged = {"not an ELF file", FILE_SKIPPED};
static const struct skipped_cause cut = {"cut short", FILE_TRUNCATED};

/* What is in a directory that not all may search is named to root and the daemon's own user alone. */
TEST(files)
{
	const struct caller root = {.uid = 0}, own = {.uid = geteuid()},
			    other = {.uid = geteuid() + 1, .gid = GROUP};
	const char *all = "state\tscanning\n" WORKER "skipped\t2\n"
			  "skipped_file\t/src/a/damaged: not an ELF file\n"
			  "skipped_file\t/src/b/secret: not an ELF file\n"
			  "truncated\t1\n"
			  "truncated_file\t/src/c: cut short\n"
			  "not_entered\t0\n";
	skipped_add(&t.skipped, "b/secret", &damaged, false, 1);
	skipped_add(&t.skipped, "a/damaged", &damaged, true, 1);
	skipped_add(&t.skipped, "c", &cut, true, 1);
	says_to(&root, all);
	says_to(&own, all);
	says_to(&other, "state\tscanning\n" WORKER "skipped\t2\n"
			"skipped_file\t/src/a/damaged: not an ELF file\n"
			"skipped_more\t1\n"
			"truncated\t1\n"
			"truncated_file\t/src/c: cut short\n"
			"not_entered\t0\n");
}

static unsigned lines_with(const char *text, const char *key)
{
	unsigned n = 0;
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
		n += strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '\t';
	return n;
}

TEST(many_files)
{
	for (unsigned i = 0; i < SKIPPED_LISTED + 3; i++) {
		char path[16];
		snprintf(path, sizeof(path), "%u", i);
		skipped_add(&t.skipped, path, &cut, true, 1);
		struct content *content = root_status(&t.tree, NULL, &owner);
		char *text = strndup(content->data, content->size), more[64];
		content_put(content);
		unsigned listed = i < SKIPPED_LISTED ? i + 1 : SKIPPED_LISTED;
		assert_int_equal(lines_with(text, "truncated_file"), listed);
		snprintf(more, sizeof(more), "truncated\t%u\n", i + 1);
		assert_non_null(strstr(text, more));
		snprintf(more, sizeof(more), "truncated_more\t%u\n", i + 1 - listed);
		assert_true((strstr(text, more) != NULL) == (i >= SKIPPED_LISTED));
		assert_int_equal(lines_with(text, "truncated_more"), i >= SKIPPED_LISTED);
		free(text);
	}
}

/* Each allocation fails in turn: there is no file then, and never part of one. */
TEST(without_memory)
{
	const struct scan_root roots[] = {{.path = (char *)"/src"}};
	struct content *whole, *content;
	char long_reason[600] = {0};
	const struct skipped_cause cause = {long_reason, FILE_SKIPPED};
	memset(long_reason, 'x', sizeof(long_reason) - 1);
	t.tree.roots = roots;
	t.tree.n_roots = 1;
	skipped_add(&t.skipped, "a", &damaged, true, 1);
	skipped_add(&t.skipped, "b", &cause, true, 1);
	skipped_add(&t.skipped, "c", &cut, true, 1);
	whole = root_status(&t.tree, NULL, &owner);
	assert_non_null(whole);
	long n = 0;
	do {
		long before = live;
		allowed = n++;
		content = root_status(&t.tree, NULL, &owner);
		allowed = -1;
		assert_int_equal(live, before + (content != NULL));
	} while (!content);
	assert_true(n > 10);
	assert_int_equal(content->size, whole->size);
	assert_memory_equal(content->data, whole->data, whole->size);
	content_put(content);
	content_put(whole);
}

EACH_TEST(set_up, tree_tear_down)

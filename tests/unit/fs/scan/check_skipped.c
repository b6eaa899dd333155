/* Files that are skipped: which are listed, for whom, and until when. */
#include "fs/scan/skipped.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { FILES = 300 };

/* Says nothing: what is logged is counted. */
static const struct log quiet = {.most = (enum log_level) - 1};

static long allowed = -1; /* copies of text until one fails; negative: none does */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return allowed >= 0 && allowed-- == 0 ? NULL : __real_strdup(text);
}

static void add(struct skipped *s, const char *path, const char *reason, bool open_to_all, uint32_t pass)
{
	const struct skipped_cause cause = {reason, FILE_SKIPPED};
	skipped_tell(s, LINE_UNUSABLE, path, reason, "skipped until it changes");
	skipped_add(s, path, &cause, open_to_all, pass);
}

static size_t count(struct skipped *s, bool sees_all)
{
	struct skipped_list list;
	assert_int_equal(skipped_show(s, FILE_SKIPPED, sees_all, &list), 0);
	size_t n = list.n;
	skipped_list_deinit(&list);
	return n;
}

TEST(lists_the_first)
{
	struct skipped s;
	struct skipped_list list;
	char path[32];
	skipped_init(&s, &quiet);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "d/%03u", i * 7 % FILES);
		add(&s, path, "damaged", i % 2, 1);
	}
	assert_int_equal(skipped_show(&s, FILE_SKIPPED, true, &list), 0);
	assert_int_equal(list.all, FILES);
	assert_int_equal(list.n, SKIPPED_LISTED);
	for (unsigned i = 0; i < list.n; i++) {
		snprintf(path, sizeof(path), "d/%03u", i);
		assert_string_equal(list.v[i].path, path);
		assert_string_equal(list.v[i].reason, "damaged");
	}
	skipped_list_deinit(&list);
	assert_int_equal(s.lines[LINE_UNUSABLE].told + s.lines[LINE_UNUSABLE].untold, FILES);
	assert_true(s.lines[LINE_UNUSABLE].told < 100);
	skipped_deinit(&s);
}

TEST(forgets)
{
	struct skipped s;
	skipped_init(&s, &quiet);
	add(&s, "a", "damaged", true, 1);
	add(&s, "d/b", "damaged", false, 1);
	add(&s, "d/c", "damaged", true, 1);
	add(&s, "dd", "damaged", true, 1);
	assert_int_equal(count(&s, true), 4);
	assert_int_equal(count(&s, false), 3);
	add(&s, "a", "truncated", true, 2);
	skipped_forget(&s, "a", false, 2); /* seen */
	assert_int_equal(count(&s, true), 4);
	skipped_forget(&s, "d", false, 2); /* no file */
	assert_int_equal(count(&s, true), 4);
	skipped_forget(&s, "d", true, 2);
	assert_int_equal(count(&s, true), 2);
	skipped_remove(&s, "none");
	skipped_sweep(&s, 2);
	assert_int_equal(count(&s, true), 1);
	skipped_remove(&s, "a");
	assert_int_equal(count(&s, true), 0);
	skipped_deinit(&s);
}

/* Files that are used as far as they go are a list of their own. */
TEST(tells_kinds_apart)
{
	struct skipped s;
	struct skipped_list list;
	const struct skipped_cause cause = {"may be truncated", FILE_TRUNCATED};
	skipped_init(&s, &quiet);
	add(&s, "a", "damaged", true, 1);
	add(&s, "b", "damaged", true, 1);
	skipped_add(&s, "b", &cause, true, 1); /* changed */
	assert_int_equal(count(&s, true), 1);
	assert_int_equal(skipped_show(&s, FILE_TRUNCATED, true, &list), 0);
	assert_int_equal(list.all, 1);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].path, "b");
	assert_string_equal(list.v[0].reason, cause.reason);
	skipped_list_deinit(&list);
	skipped_deinit(&s);
}

/* A list that is not whole is none. */
TEST(without_memory)
{
	enum { COPIES = 4 /* of two files */ };
	struct skipped s;
	struct skipped_list list;
	skipped_init(&s, &quiet);
	add(&s, "a", "damaged", true, 1);
	add(&s, "b", "damaged", true, 1);
	for (long n = 0; n < COPIES; n++) {
		allowed = n;
		int err = skipped_show(&s, FILE_SKIPPED, true, &list);
		assert_true(allowed < 0);
		assert_int_equal(err, -ENOMEM);
	}
	allowed = -1;
	assert_int_equal(count(&s, true), 2);
	skipped_deinit(&s);
}

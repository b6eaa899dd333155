/* Call sites listed in a file, put into records: with each allocation failing, too. Linked with --wrap. */

#include "tests/unit/convert/record/pool_text.h"

#include "convert/finish/callsites.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>

/* A function by two lists, one by one, and one that the input has not. */
static const char list[] = "functions:\n"
			   "- {name: work, callsites: [{return_offset: 3, match_regex: [one, two]}]}\n"
			   "- {name: main, callsites: [{return_offset: 2, match_regex: []}]}\n"
			   "- {name: work, callsites: [{return_offset: 1, match_regex: [three]}]}\n";
static const char missing[] = "functions: [{name: work, callsites: []}, {name: none, callsites: []}]";

struct fixture {
	struct callsites_file *file;
	struct pool pool;
	struct arena arena;
	struct func_record records[2];
	struct gsym_callsite site;
	uint64_t pattern;
};

static void fixture_init(struct fixture *f, const char *text)
{
	*f = (struct fixture){.file = NULL};
	assert_int_equal(callsites_file_parse(text, strlen(text), "list", &f->file, NULL), 0);
	assert_int_equal(pool_init(&f->pool), 0);
	f->site = (struct gsym_callsite){.return_off = 3, .n_patterns = 1};
	f->pattern = pool_text(&f->pool, "from DWARF");
	f->records[0] = (struct func_record){.start = 16,
					     .end = 32,
					     .name = pool_text(&f->pool, "work"),
					     .callsites = &f->site,
					     .n_callsites = 1,
					     .patterns = &f->pattern,
					     .n_patterns = 1};
	f->records[1] = (struct func_record){.start = 32, .end = 40, .name = pool_text(&f->pool, "main")};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	for (const char *c = letters; f->pool.strings.n < f->pool.strings.cap; c++) {
		uint32_t number; /* a further string needs memory */
		struct pool_string one = pool_string_of(c, 1);
		assert_true(*c && !pool_add_string(&f->pool, &one, &number));
	}
}

static void fixture_deinit(struct fixture *f)
{
	callsites_file_free(f->file);
	pool_deinit(&f->pool);
	arena_free(&f->arena);
}

static int apply(struct fixture *f, bool append, struct gsym_diag *diag)
{
	record_vec records = {.v = f->records, .n = 2, .cap = 2};
	struct listed_place *places = NULL;
	int err = callsites_locate(f->file, &records, &f->pool, &places);
	if (!err)
		err = callsites_apply(f->file, places, &records, &f->pool, append, &f->arena, diag);
	free(places);
	return err;
}

static void assert_sites(const struct func_record *r, size_t n, const uint64_t *offs)
{
	assert_int_equal(r->n_callsites, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(r->callsites[i].return_off, offs[i]);
}

/* What is listed replaces what DWARF said of the same call, unless it is appended. */
static void check_result(const struct fixture *f, bool append)
{
	if (append)
		assert_sites(&f->records[0], 3, (const uint64_t[]){3, 3, 1});
	else
		assert_sites(&f->records[0], 2, (const uint64_t[]){3, 1});
	assert_sites(&f->records[1], 1, (const uint64_t[]){2});
	assert_int_equal(f->records[0].n_patterns, append ? 4 : 3);
	assert_int_equal(f->records[1].n_patterns, 0);
}

/* Fails each allocation of apply() in turn: -ENOMEM, and at last @err. */
static void every_allocation(const char *text, bool append, int err)
{
	struct fixture f;
	int found = -ENOMEM, rounds = 0;
	for (; found == -ENOMEM; rounds++) {
		const long before = live;
		struct gsym_diag diag = {""};
		fixture_init(&f, text);
		allowed = rounds;
		found = apply(&f, append, &diag);
		const bool failed = end_allocations();
		assert_int_equal(found, failed ? -ENOMEM : err);
		if (!found)
			check_result(&f, append);
		fixture_deinit(&f);
		assert_int_equal(live, before);
	}
	assert_true(rounds > 3);
}

TEST(every_allocation_may_fail)
{
	every_allocation(list, false, 0);
	every_allocation(list, true, 0);
	every_allocation(missing, false, -EINVAL);
}

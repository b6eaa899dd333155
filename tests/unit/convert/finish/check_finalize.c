/* Which of several functions at one place stays, and under which name. */

#include "tests/unit/convert/record/pool_text.h"

#include "convert/finish/finalize.h"
#include "convert/record/name_match.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

struct fixture {
	struct pool pool;
	struct arena arena;
	struct warnings warnings;
	record_vec records;
	struct convert_options options;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	return f ? pool_init(&f->pool) : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	pool_deinit(&f->pool);
	arena_free(&f->arena);
	vec_free(&f->records);
	free(f);
	return 0;
}

/* A function of 16 bytes at 0x1000 with rows on @line and the line after it; 0: without. */
static void add(struct fixture *f, enum record_kind kind, const char *name, uint32_t line)
{
	struct func_record r = {.start = 0x1000,
				.end = 0x1010,
				.kind = kind,
				.name = pool_text(&f->pool, name),
				.bare = NO_STRING};
	r.linkage = kind == RECORD_SYMBOL || !strncmp(name, "_Z", 2);
	if (line) {
		r.rows = arena_array(&f->arena, 2, sizeof(*r.rows));
		assert_non_null(r.rows);
		r.rows[0] = (struct gsym_row){0, 1, line};
		r.rows[1] = (struct gsym_row){8, 1, line + 1};
		r.n_rows = 2;
	}
	assert_int_equal(vec_push(&f->records, r), 0);
}

static void finalize(struct fixture *f)
{
	assert_int_equal(finalize_records(&f->records, &f->pool, &f->options, &f->arena, &f->warnings), 0);
}

static void assert_record(struct fixture *f, size_t i, const char *name, uint32_t line)
{
	const struct func_record *r = &f->records.v[i];
	const struct pool_string *s = &f->pool.strings.v[r->name];
	assert_int_equal(s->size, strlen(name));
	assert_memory_equal(s->text, name, s->size);
	assert_int_equal(r->n_rows ? r->rows[0].line : 0, line);
}

/* An alias: the entry has the name of one symbol, and the other is shown. */
TEST_OF(alias_has_the_symbols_name, struct fixture, f)
{
	add(f, RECORD_DWARF, "__GI_getenv", 10);
	add(f, RECORD_SYMBOL, "__GI_getenv", 0);
	add(f, RECORD_SYMBOL, "getenv", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "getenv", 10);
}

/* gold: entries of two functions, with lines of their own. Name and lines come from one of them. */
TEST_OF(folded_entries_are_not_mixed, struct fixture, f)
{
	add(f, RECORD_DWARF, "before", 10);
	add(f, RECORD_DWARF, "hidden", 20);
	add(f, RECORD_SYMBOL, "hidden", 0);
	add(f, RECORD_SYMBOL, "before", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "before", 10);
}

/* Neither has the symbol that would be shown: each keeps its own name, and the first one stays. */
TEST_OF(folded_entries_keep_their_names, struct fixture, f)
{
	add(f, RECORD_DWARF, "one", 10);
	add(f, RECORD_DWARF, "two", 20);
	add(f, RECORD_SYMBOL, "one.isra.0", 0);
	add(f, RECORD_SYMBOL, "three", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "one.isra.0", 10);
}

/* Assembly: several entries for one body with the same lines are aliases. */
TEST_OF(equal_lines_are_aliases, struct fixture, f)
{
	add(f, RECORD_DWARF, "__compat", 10);
	add(f, RECORD_DWARF, "__GI___compat", 10);
	add(f, RECORD_SYMBOL, "query@V1", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "query@V1", 10);
}

/* Names of a PDB file: symbols have others, and do not replace a function without lines. */
TEST_OF(spelled_names_stay, struct fixture, f)
{
	add(f, RECORD_DWARF, "ns::f", 0);
	f->records.v[0].spelled = true;
	add(f, RECORD_SYMBOL, "?f@ns@@YAXXZ", 0);
	f->records.v[1].end -= 4;
	add(f, RECORD_SYMBOL, "?g@ns@@YAXXZ", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "ns::f", 0);
}

/* Of several that were folded the chosen one stays, whatever the symbol and the number of lines. */
TEST_OF(chosen_function_represents, struct fixture, f)
{
	add(f, RECORD_DWARF, "f", 10);
	add(f, RECORD_DWARF, "g", 20);
	f->records.v[0].spelled = f->records.v[1].spelled = f->records.v[0].represents = true;
	f->records.v[0].n_rows = 1;
	add(f, RECORD_SYMBOL, "g", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "f", 10);
}

/* Merged: a body whose lines are believed because a clone's symbol is there; copies are one. */
TEST_OF(merged_bodies_need_a_symbol, struct fixture, f)
{
	f->options.merged = true;
	add(f, RECORD_DWARF, "_ZN1A4findEv", 10);
	add(f, RECORD_FOLDED, "_ZN1B4findEv", 20);
	add(f, RECORD_FOLDED, "_ZN1B4findEv", 20);
	add(f, RECORD_FOLDED, "helper", 30);
	add(f, RECORD_FOLDED, "helper", 40);
	add(f, RECORD_FOLDED, "elsewhere", 50);
	add(f, RECORD_SYMBOL, "_ZN1A4findEv", 0);
	add(f, RECORD_SYMBOL, "_ZN1B4findEv.isra.0", 0);
	add(f, RECORD_SYMBOL, "_ZL6helperv", 0);
	finalize(f);
	assert_int_equal(f->records.n, 1);
	assert_record(f, 0, "_ZN1A4findEv", 10);
	assert_int_equal(f->records.v[0].n_merged, 3);
}

TEST_OF(own_symbols, struct fixture, f)
{
	static const struct {
		const char *symbol, *name;
		bool own;
	} cases[] = {
		{"foo", "foo", true},
		{"foo.part.0", "foo", true},
		{"foo@V1", "foo", true},
		{"foobar", "foo", false},
		{"foo", "foobar", false},
		{"_ZL3fooi", "foo", true},
		{"_ZN2ns3fooEv", "foo", true},
		{"_ZN2ns4fooxEv", "foo", false},
		{"_ZN2ns3fo", "foo", false},
		{"3foo", "foo", false},
		{"_ZZ1fvENKUlvE_clEv", "operator()", true},
		{"_ZN1A3runEv", "operator()", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct func_record r = {.name = pool_text(&f->pool, cases[i].name), .bare = NO_STRING};
		assert_int_equal(symbol_matches(pool_text(&f->pool, cases[i].symbol), &r, &f->pool),
				 cases[i].own);
	}
}

/* Each allocation fails once: that is an error, and no label stays that a function covers. */
TEST(without_memory)
{
	bool failed = true;
	long rounds = 0;
	for (; failed; rounds++) {
		const long before = live;
		void *of_round;
		assert_int_equal(setup(&of_round), 0);
		struct fixture *f = of_round;
		f->options.merged = true;
		add(f, RECORD_DWARF, "one", 10);
		add(f, RECORD_DWARF, "two", 20);
		add(f, RECORD_SYMBOL, "one", 0);
		add(f, RECORD_SYMBOL, "three", 0);
		add(f, RECORD_LABEL, "label", 0);
		f->records.v[4].start += 4;
		allowed = rounds;
		int err = finalize_records(&f->records, &f->pool, &f->options, &f->arena, &f->warnings);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!failed)
			assert_int_equal(f->records.n, 1);
		assert_int_equal(teardown(&of_round), 0);
		assert_int_equal(live, before);
	}
	assert_true(rounds > 2);
}

EACH_TEST(setup, teardown)

/* From names as answers show them to functions: overloads, clones, languages, folded functions, limits and
 * damage. */
#include "tests/unit/gsym/sample.h"

#include "gsym/render/namesakes.h"

#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>

static const char *const names[] = {
	"_Z4worki",                               /* work(int) */
	"_Z4workd",                               /* work(double) */
	"_Z4worki.cold",                          /* a part: not found as "work" */
	"_ZNK2ns1S1mEi",                          /* ns::S::m(int) const */
	"_ZN2ns1SC1Ev",                           /* ns::S::S() */
	"_ZN2ns1SC2Ev",                           /* another body of it */
	"_ZN2ns1SplERKS0_",                       /* an operator */
	"_ZN2ns1ScviEv",                          /* a conversion */
	"_Z3mapIiET_S0_",                         /* int map<int>(int) */
	"_ZZ4workiENKUlvE_clEv",                  /* work(int)::'lambda'()::operator()() const */
	"_Z4worki@plt",                           /* work(int)@plt */
	"_ZN4core3fmt5write17h0123456789abcdefE", /* core::fmt::write */
	"_ZN1h17hello_and_goodbyeEv",             /* looks like Rust's, but is not */
	"_D3std5stdio7writelnFAyaZv",             /* std.stdio.writeln(immutable(char)[]) */
	"main",                                   /* shown as it is stored */
	"odd\tname",                              /* shown as odd\x09name */
	"_Znonsense",
	"text::name(int) const", /* stored as people write it */
	"versioned@V_1",
	"versioned@@V_2",
	"stub@plt",
	"_stdcall@12",
	"@V_1",
	"tag_@typeInfo(a.B).tag.?", /* Zig's, no version */
};

/* A function of 16 bytes for each of the names. */
static struct gsym_reader *open_names(void **ret_data)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], 0x1000);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		sample_func(&s, i * 16, 16, names[i], 0);
	return sample_open(&s, ret_data);
}

static struct name_table *make(const struct gsym_reader *r)
{
	struct shown_builder b = {.shown = {{0}}};
	assert_int_equal(shown_builder_run(&b, r), 0);
	struct name_table *table = TAKE(b.names.table);
	shown_builder_deinit(&b);
	return table;
}

/* The functions called @name in @form: bit i is number i. */
static unsigned find(const struct gsym_reader *r, const struct name_table *table, enum shown_form form,
		     const char *name)
{
	struct shown_search user = {.shown = {{0}}};
	struct name_search search;
	struct name_hit hit;
	unsigned found = 0, last = 0;
	shown_search_begin(&search, &user, r, table, form, name, strlen(name));
	while (name_search_next(&search, &hit)) {
		assert_true(!found || hit.index > last);
		found |= 1u << hit.index;
		last = hit.index;
	}
	shown_search_deinit(&user);
	return found;
}

TEST(both_forms)
{
	static const struct {
		const char *name;
		unsigned whole, bare;
	} cases[] = {
		{"work(int)", 1 << 0, 0},
		{"work(double)", 1 << 1, 0},
		{"work", 0, 1 << 0 | 1 << 1},
		{"work(int) (.cold)", 1 << 2, 0},
		{"ns::S::m(int) const", 1 << 3, 0},
		{"ns::S::m", 0, 1 << 3},
		{"ns::S::m(int)", 0, 0},
		{"ns::S::S()", 1 << 4 | 1 << 5, 0},
		{"ns::S::S", 0, 1 << 4 | 1 << 5},
		{"ns::S::operator+(ns::S const&)", 1 << 6, 0},
		{"ns::S::operator+", 0, 1 << 6},
		{"ns::S::operator int()", 1 << 7, 0},
		{"ns::S::operator int", 0, 1 << 7},
		{"int map<int>(int)", 1 << 8, 0},
		{"map<int>", 0, 1 << 8},
		{"work(int)::'lambda'()::operator()() const", 1 << 9, 0},
		{"work(int)::'lambda'()::operator()", 0, 1 << 9},
		{"work(int)@plt", 1 << 10, 0},
		{"work@plt", 0, 1 << 10},
		{"core::fmt::write", 1 << 11, 0},
		{"h::hello_and_goodbye", 0, 1 << 12},
		{"std.stdio.writeln(immutable(char)[])", 1 << 13, 0},
		{"std.stdio.writeln", 0, 1 << 13},
		{"main", 0, 0},
		{"odd\\x09name", 1 << 15, 0},
		{"odd\tname", 0, 0},
		{"text::name(int) const", 0, 0},
		{"text::name", 0, 1 << 17},
		{"versioned", 0, 1 << 18 | 1 << 19},
		{"versioned@V_1", 0, 0},
		{"stub", 0, 0},
		{"_stdcall", 0, 0},
		{"tag_", 0, 0},
		{"_Z4worki", 0, 0},
		{"_Znonsense", 0, 0},
		{"", 0, 0},
	};
	void *data;
	struct gsym_reader *r = open_names(&data);
	struct name_table *table = make(r);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(find(r, table, SHOWN_WHOLE, cases[i].name), cases[i].whole);
		assert_int_equal(find(r, table, SHOWN_BARE, cases[i].name), cases[i].bare);
	}
	name_table_free(table);
	gsym_reader_close(r);
	free(data);
}

TEST(folded_functions)
{
	struct sample s;
	void *data;
	sample_init(&s, sample_kinds[0], 0x1000);
	struct gsym_func merged = {.start = 0x1000, .size = 16, .name = sample_string(&s, "_Z6foldedi")};
	struct gsym_func holder = {.start = 0x1000,
				   .size = 16,
				   .name = sample_string(&s, "holder"),
				   .merged = &merged,
				   .n_merged = 1};
	assert_int_equal(gsym_writer_add(s.writer, &holder, NULL), 0);
	struct gsym_reader *r = sample_open(&s, &data);
	struct name_table *table = make(r);
	struct shown_search user = {.shown = {{0}}};
	struct name_search search;
	struct name_hit hit;
	shown_search_begin(&search, &user, r, table, SHOWN_BARE, "folded", 6);
	assert_true(name_search_next(&search, &hit));
	assert_int_equal(hit.index, 0);
	assert_int_equal(hit.which, 1);
	assert_false(name_search_next(&search, &hit));
	shown_search_deinit(&user);
	name_table_free(table);
	gsym_reader_close(r);
	free(data);
}

/* Parameters of thousands of bytes, and a short name without. */
TEST(long_parameters)
{
	char stored[300] = "_Z5short200";
	size_t at = strlen(stored);
	struct sample s;
	void *data;
	memset(stored + at, 'x', 200);
	strcpy(stored + at + 200, "S_S_S_S_S_S_");
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 16, stored, 0);
	struct gsym_reader *r = sample_open(&s, &data);
	struct name_table *table = make(r);
	assert_int_equal(find(r, table, SHOWN_BARE, "short"), 1);
	assert_int_equal(find(r, table, SHOWN_WHOLE, "short"), 0);
	name_table_free(table);
	gsym_reader_close(r);
	free(data);
}

/* Names of 255 bytes are found, longer ones not: no file can be called so. */
TEST(long_names)
{
	char stored[300], shown[300];
	struct sample s;
	void *data;
	sample_init(&s, sample_kinds[0], 0x1000);
	for (unsigned i = 0; i < 2; i++) {
		unsigned n = 253 + i; /* with "()" 255 and 256 */
		int at = snprintf(stored, sizeof(stored), "_Z%u", n);
		memset(stored + at, 'a', n);
		memcpy(stored + at + n, "v", 2);
		sample_func(&s, i * 16, 16, stored, 0);
	}
	struct gsym_reader *r = sample_open(&s, &data);
	struct name_table *table = make(r);
	memset(shown, 'a', sizeof(shown));
	memcpy(shown + 253, "()", 3);
	assert_int_equal(find(r, table, SHOWN_WHOLE, shown), 1);
	memcpy(shown + 253, "a()", 4);
	assert_int_equal(find(r, table, SHOWN_WHOLE, shown), 0);
	shown[254] = 0;
	assert_int_equal(find(r, table, SHOWN_BARE, shown), 2);
	name_table_free(table);
	gsym_reader_close(r);
	free(data);
}

static bool count_down(void *user)
{
	unsigned *left = user;
	return *left == 0 || (*left)-- == 0;
}

/* What is beyond the limit is not found, and what is before it is. */
TEST(limits)
{
	void *data;
	unsigned left = 2;
	struct gsym_reader *r = open_names(&data);
	struct shown_builder b = {.shown = {{count_down, &left}}};
	assert_int_equal(shown_builder_run(&b, r), 0);
	assert_int_equal(left, 0);
	assert_int_equal(find(r, b.names.table, SHOWN_BARE, "work"), 1 << 0 | 1 << 1);
	assert_int_equal(find(r, b.names.table, SHOWN_BARE, "ns::S::m"), 0);
	assert_int_equal(find(r, b.names.table, SHOWN_WHOLE, "odd\\x09name"), 1 << 15); /* costs nothing */
	struct shown_search user = {.shown = {{count_down, &left}}};
	struct name_search search;
	struct name_hit hit;
	shown_search_begin(&search, &user, r, b.names.table, SHOWN_BARE, "work", 4);
	assert_false(name_search_next(&search, &hit));
	left = 1;
	shown_search_begin(&search, &user, r, b.names.table, SHOWN_BARE, "work", 4);
	assert_true(name_search_next(&search, &hit));
	assert_false(name_search_next(&search, &hit));
	shown_search_deinit(&user);
	shown_builder_deinit(&b);
	gsym_reader_close(r);
	free(data);
}

/* A file damaged anywhere is indexed and searched without reading past it. */
TEST(damaged_files)
{
	struct sample s;
	void *data;
	size_t size;
	sample_init(&s, sample_kinds[0], 0);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		sample_func(&s, i * 16, 16, names[i], 0);
	sample_finish(&s, &data, &size);
	uint8_t *bytes = malloc(size);
	for (size_t i = 0; i < size; i++) {
		struct gsym_reader *r;
		memcpy(bytes, data, size);
		bytes[i] ^= 0xff;
		if (gsym_reader_open_memory(bytes, size, &r, NULL))
			continue;
		if (r->info.num_addresses <= 32) {
			struct name_table *table = make(r);
			find(r, table, SHOWN_BARE, "work");
			find(r, table, SHOWN_WHOLE, "work(int)");
			name_table_free(table);
		}
		gsym_reader_close(r);
	}
	free(bytes);
	free(data);
}

/* Counts those that are visited. */
static int visit(void *user, const struct name_hit *hit)
{
	(void)hit;
	++*(unsigned *)user;
	return 0;
}

/* Makes the table and visits the functions of the name. */
static int build_and_visit(const struct gsym_reader *r, const char *name, unsigned *ret)
{
	struct shown_builder b = {.shown = {{0}}};
	struct shown_search state = {.shown = {{0}}};
	int n = shown_builder_run(&b, r);
	if (!n)
		n = namesakes_visit(r, b.names.table, &state, name, strlen(name), visit, ret);
	shown_search_deinit(&state);
	shown_builder_deinit(&b);
	return n;
}

/*
 * A name that could not be made for lack of memory may be the one that is looked for: that is an error, and
 * not a name that no function has. Each allocation fails once.
 */
TEST(without_memory)
{
	static const char *const wanted[] = {"work", "odd\\x09name", "versioned", "text::name",
					     "ns::S::m(int) const"};
	static const char *const stored[] = {
		"_Z4worki", "odd\tname",     "versioned@V_1", "text::name(int) const",
		"_Z4workd", "_ZNK2ns1S1mEi", "main"};
	struct sample s;
	void *data;
	sample_init(&s, sample_kinds[0], 0x1000);
	for (unsigned i = 0; i < ARRAY_SIZE(stored); i++)
		sample_func(&s, i * 16, 16, stored[i], 0);
	struct gsym_reader *r = sample_open(&s, &data);
	unsigned n = 0;
	assert_int_equal(build_and_visit(r, "main", &n), 1); /* what the reader keeps is made now */
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const long before = live;
		bool failed = true;
		long rounds = 0;
		for (; failed; rounds++) {
			allowed = rounds;
			n = 0;
			int err = build_and_visit(r, wanted[i], &n);
			failed = end_allocations();
			assert_int_equal(err, failed ? -ENOMEM : i == 0 ? 2 : 1);
			assert_true(failed || (int)n == err);
			assert_int_equal(live, before);
		}
		assert_true(rounds > 5);
	}
	gsym_reader_close(r);
	free(data);
}

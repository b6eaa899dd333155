/* Symbols as functions: which are used, where those without size end, and which only bound others. */

#include "tests/unit/convert/record/pool_text.h"

#include "convert/build/symtab.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SYMBOLS_MAX = 4 };

#define FUNC   SYMBOL_FUNC
#define NOTYPE SYMBOL_NOTYPE
#define STUB   SYMBOL_STUB

static const struct object_section code = {
	.name = ".text", .addr = 0x1000, .size = 0x1000, .allocated = true, .code = true};

/* What became of the symbols: "name 1000-1010 il", where i: the end is inferred, l: a label, m: a marker. */
static const char *prepared(struct object_file *object, bool match_llvm)
{
	static char text[1024];
	symbol_vec found = {0};
	int size = 0;
	uint64_t reach = 0;
	assert_int_equal(symtab_prepare(object, match_llvm, &found), 0);
	*text = 0;
	for (size_t i = 0; i < found.n; i++) {
		const struct code_symbol *s = &found.v[i];
		const char *flags[] = {s->inferred ? "i" : "", s->label ? "l" : "", s->marker ? "m" : ""};
		size += snprintf(text + size, sizeof(text) - (size_t)size,
				 "%s%s %" PRIx64 "-%" PRIx64 "%s%s%s%s", i ? ", " : "", s->name, s->addr,
				 s->end, s->inferred || s->label ? " " : "", flags[0], flags[1], flags[2]);
		reach = s->end > reach ? s->end : reach;
		assert_int_equal(s->reach, reach);
		assert_string_equal(object->symbols.v[s->order].name, s->name);
	}
	vec_free(&found);
	return text;
}

struct row {
	struct symbol symbols[SYMBOLS_MAX]; /* up to one without a name */
	const char *want;
	struct range functions[2]; /* up to an empty one */
};

static void check_rows(const struct row *rows, size_t n, const struct object_section *sections,
		       size_t n_sections)
{
	for (size_t k = 0; k < n; k++) {
		struct object_file object = {0};
		for (size_t i = 0; i < n_sections; i++)
			assert_int_equal(vec_push(&object.sections, sections[i]), 0);
		for (size_t i = 0; i < SYMBOLS_MAX && rows[k].symbols[i].name; i++)
			assert_int_equal(vec_push(&object.symbols, rows[k].symbols[i]), 0);
		for (size_t i = 0; i < 2 && rows[k].functions[i].hi; i++)
			assert_int_equal(vec_push(&object.functions, rows[k].functions[i]), 0);
		assert_string_equal(prepared(&object, false), rows[k].want);
		vec_free(&object.sections);
		vec_free(&object.symbols);
		vec_free(&object.functions);
	}
}

TEST(ends)
{
	static const struct row rows[] = {
		{{{0}}, ""},
		{{{0x1000, 0x10, "f", FUNC}}, "f 1000-1010"},
		{{{0x1000, 0, "f", FUNC}}, "f 1000-2000 i"},
		{{{0x1000, 0, "f", FUNC}, {0x1020, 0, "g", FUNC}}, "f 1000-1020 i, g 1020-2000 i"},
		{{{0x1020, 0, "g", FUNC}, {0x1000, 0, "f", FUNC}}, "f 1000-1020 i, g 1020-2000 i"},
		{{{0x1fff, 0, "f", FUNC}, {0x2000, 0, "g", FUNC}}, "f 1fff-2000 i, g 2000-2000 i"},
		{{{0x1f00, 0, "f", FUNC}, {0x2100, 0, "g", FUNC}}, "f 1f00-2000 i, g 2100-2100 i"},
		/* Not in a section: up to the next one. */
		{{{0x0f00, 0, "f", FUNC}, {0x0f80, 0x10, "g", FUNC}}, "f f00-f80 i, g f80-f90"},
		{{{UINT64_MAX - 4, 4, "f", FUNC}}, "f fffffffffffffffb-ffffffffffffffff"},
		{{{UINT64_MAX - 4, 5, "f", FUNC}}, "f fffffffffffffffb-ffffffffffffffff"},
		/* In a function with a size, and where it ends. */
		{{{0x1000, 0x20, "f", FUNC}, {0x101f, 0, "in", FUNC}}, "f 1000-1020"},
		{{{0x1000, 0x20, "f", FUNC}, {0x1020, 0, "g", FUNC}}, "f 1000-1020, g 1020-2000 i"},
		{{{0x1000, 0x20, "f", FUNC}, {0x1000, 0, "in", FUNC}}, "f 1000-1020"},
		{{{0x1000, 0x20, "f", FUNC}, {0x1008, 8, "g", FUNC}, {0x1018, 0, "in", FUNC}},
		 "f 1000-1020, g 1008-1010"},
		/* Of one place: by their ends, then as in the table. */
		{{{0x1000, 0x20, "f", FUNC}, {0x1000, 0x10, "g", FUNC}, {0x1000, 0x10, "h", FUNC}},
		 "g 1000-1010, h 1000-1010, f 1000-1020"},
		{{{0x1000, 4, "e", FUNC}, {0x1010, 0x20, "f", FUNC}, {0x1010, 0x10, "g", FUNC}},
		 "e 1000-1004, g 1010-1020, f 1010-1030"},
		{{{0x1000, 0, "f", FUNC}, {0x1000, 0, "g", FUNC}}, "f 1000-2000 i, g 1000-2000 i"},
	};
	check_rows(rows, ARRAY_SIZE(rows), &code, 1);
}

TEST(labels)
{
	static const struct row rows[] = {
		{{{0x1000, 0, "a", NOTYPE}, {0x1010, 0, "b", NOTYPE}}, "a 1000-1010 il, b 1010-2000 il"},
		{{{0x1000, 0x10, "f", FUNC}, {0x100f, 0, "a", NOTYPE}, {0x1010, 0, "b", NOTYPE}},
		 "f 1000-1010, b 1010-2000 il"},
		{{{0x1000, 0x10, "f", FUNC}, {0x1008, 0x10, "a", NOTYPE}}, "f 1000-1010"},
		{{{0x1000, 0x10, "a", NOTYPE}, {0x1000, 0x10, "f", FUNC}}, "f 1000-1010"},
		{{{0x1000, 0, "a", NOTYPE}, {0x1000, 0, "f", FUNC}}, "f 1000-2000 i"},
		/* In a label with a size it ends with that at the latest. */
		{{{0x1000, 0x20, "a", NOTYPE}, {0x1008, 0, "b", NOTYPE}}, "a 1000-1020 l, b 1008-1020 il"},
		{{{0x1000, 0x20, "a", NOTYPE}, {0x1008, 0, "b", NOTYPE}, {0x1010, 0, "c", NOTYPE}},
		 "a 1000-1020 l, b 1008-1010 il, c 1010-1020 il"},
		{{{0x1000, 0x20, "a", NOTYPE}, {0x1020, 0, "b", NOTYPE}}, "a 1000-1020 l, b 1020-2000 il"},
		{{{0x1000, 0x20, "a", NOTYPE}, {0x1008, 8, "b", NOTYPE}, {0x1010, 0, "c", NOTYPE}},
		 "a 1000-1020 l, b 1008-1010 l, c 1010-1020 il"},
		{{{0x1000, 8, "a", NOTYPE}, {0x1004, 0x1c, "b", NOTYPE}, {0x1010, 0, "c", NOTYPE}},
		 "a 1000-1008 l, b 1004-1020 l, c 1010-1020 il"},
		/* A stub has a size, and a function may begin in it. */
		{{{0x1000, 0x10, "f@plt", STUB}, {0x1008, 8, "g", FUNC}}, "f@plt 1000-1010 l, g 1008-1010"},
	};
	check_rows(rows, ARRAY_SIZE(rows), &code, 1);
}

/* Of labels at one place: each is better than those before it in the list, wherever it is in the table. */
TEST(better_labels)
{
	static const struct symbol ranked[] = {
		{0x1000, 0, "table_end", NOTYPE},        {0x1000, 0, "list_start", NOTYPE},
		{0x1000, 0, "_text", NOTYPE, true},      {0x1000, 0, "plain", NOTYPE},
		{0x1000, 0, "shared", NOTYPE, true},     {0x1000, 8, "sized_begin", NOTYPE},
		{0x1000, 8, "all_text_x", NOTYPE, true}, {0x1000, 8, "sized", NOTYPE},
		{0x1000, 8, "both", NOTYPE, true},       {0x1000, 8, "f@plt", STUB},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ranked); i++)
		for (size_t k = 0; k < ARRAY_SIZE(ranked); k++) {
			const struct symbol *better = &ranked[i > k ? i : k];
			struct object_file object = {0};
			symbol_vec found = {0};
			assert_int_equal(vec_push(&object.symbols, ranked[i]), 0);
			assert_int_equal(vec_push(&object.symbols, ranked[k]), 0);
			assert_int_equal(symtab_prepare(&object, false, &found), 0);
			assert_int_equal(found.n, 1);
			assert_string_equal(found.v[0].name, better->name);
			assert_int_equal(found.v[0].marker, better == &ranked[0]);
			assert_int_equal(found.v[0].order, i == k || better == &ranked[k]);
			vec_free(&object.symbols);
			vec_free(&found);
		}
}

TEST(names)
{
	static const struct {
		const char *name;
		bool unsized_label, sized_label, function; /* whether it is used as such */
	} rows[] = {
		{"$a", false, false, false},
		{"$d", false, false, false},
		{"$t", false, false, false},
		{"$x", false, false, false},
		{"$d.12", false, false, false},
		{"$xrv64i2p1", false, false, false},
		{"$", true, true, true},
		{"$b", true, true, true},
		{"$dollar", true, true, true},
		{"$arv", true, true, true},
		{"$xs", true, true, true},
		{"__kvm_nvhe_$x", false, true, true},
		{"__kvm_nvhe_$d.1", false, true, true},
		{"__kvm_nvhe_$b", true, true, true},
		{"a$x", true, true, true},
		{".L", false, false, true},
		{".L0 ", false, false, true},
		{".l", true, true, true},
		{"L0", true, true, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int kind = 0; kind < 3; kind++) {
			bool want = kind == 0   ? rows[i].unsized_label
				    : kind == 1 ? rows[i].sized_label
						: rows[i].function;
			struct object_file object = {0};
			symbol_vec found = {0};
			assert_int_equal(
				vec_push(&object.symbols, ((struct symbol){0x1000, kind ? 8 : 0, rows[i].name,
									   kind == 2 ? FUNC : NOTYPE})),
				0);
			assert_int_equal(symtab_prepare(&object, false, &found), 0);
			assert_int_equal(found.n, want);
			vec_free(&object.symbols);
			vec_free(&found);
		}
}

/* Names that say "end" do so only of labels without a size. */
TEST(names_of_ends)
{
	static const struct {
		const char *name;
		bool end;
	} rows[] = {
		{"_etext", true},   {"etext", true},     {"__etext", true},    {"__stop_x", true},
		{"code_end", true}, {"code_stop", true}, {"_end", true},       {"end", false},
		{"stop", false},    {"__stop", true},    {"code_ends", false}, {"___etext", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int kind = 0; kind < 3; kind++) {
			struct object_file object = {0};
			symbol_vec found = {0};
			assert_int_equal(vec_push(&object.symbols,
						  ((struct symbol){0x1000, kind == 1 ? 8 : 0, rows[i].name,
								   kind == 2 ? FUNC : NOTYPE})),
					 0);
			assert_int_equal(symtab_prepare(&object, false, &found), 0);
			assert_int_equal(found.n, 1);
			assert_int_equal(found.v[0].marker, rows[i].end && kind == 0);
			vec_free(&object.symbols);
			vec_free(&found);
		}
}

/* A function without a name ends what is before it, and so does a label that is not used. */
TEST(bounds)
{
	static const struct row rows[] = {
		{{{0x1000, 0, "f", FUNC}}, "f 1000-1010 i", {{0x1010, 0x1020}}},
		{{{0x1000, 0, "f", FUNC}, {0x1010, 0, "g", FUNC}},
		 "f 1000-1010 i, g 1010-1018 i",
		 {{0x1000, 0x1018}, {0x1020, 0x1030}}},
		{{{0x1030, 0, "f", FUNC}}, "f 1030-2000 i", {{0x1000, 0x1010}, {0x1020, 0x1030}}},
		{{{0x1004, 0, "a", NOTYPE}, {0x1018, 0, "b", NOTYPE}},
		 "a 1004-1010 il, b 1018-1020 il",
		 {{0x1000, 0x1010}, {0x1020, 0x1030}}},
		{{{0x1000, 0x20, "f", FUNC}}, "f 1000-1020", {{0x1000, 0x1010}}},
		{{{0x1000, 0, "f", FUNC}, {0x1010, 0, "__start_x", NOTYPE}, {0x1020, 0, "__stop_x", NOTYPE}},
		 "f 1000-1010 i"},
	};
	check_rows(rows, ARRAY_SIZE(rows), &code, 1);
}

/* Only sections of code with a size that can be end a function. */
TEST(sections_of_code)
{
	static const struct object_section sections[] = {
		{.name = ".b", .addr = 0x3000, .size = 0x100, .code = true},
		{.name = ".a", .addr = 0x1000, .size = 0x100, .code = true},
		{.name = ".data", .addr = 0x1080, .size = 0x10},
		{.name = ".empty", .addr = 0x2000, .code = true},
		{.name = ".endless", .addr = 0x4000, .size = UINT64_MAX, .code = true},
	};
	static const struct row rows[] = {
		{{{0x1010, 0, "f", FUNC}}, "f 1010-1100 i"},
		{{{0x3010, 0, "f", FUNC}}, "f 3010-3100 i"},
		{{{0x1088, 0, "f", FUNC}, {0x3000, 0, "g", FUNC}}, "f 1088-1100 i, g 3000-3100 i"},
		{{{0x2000, 0, "f", FUNC}}, "f 2000-2000 i"},
		{{{0x4000, 0, "f", FUNC}}, "f 4000-4000 i"},
	};
	check_rows(rows, ARRAY_SIZE(rows), sections, ARRAY_SIZE(sections));
}

/* Code of a PDB file that was moved is in none of its sections. */
TEST(code_without_sections)
{
	struct range moved[] = {{0x1000, 0x1800}};
	for (int has_section = 0; has_section < 2; has_section++) {
		struct object_file object = {.text = {.v = moved, .n = 1}};
		if (has_section)
			assert_int_equal(vec_push(&object.sections, code), 0);
		assert_int_equal(vec_push(&object.symbols, ((struct symbol){0x1010, 0, "f", FUNC})), 0);
		assert_string_equal(prepared(&object, false),
				    has_section ? "f 1010-2000 i" : "f 1010-1800 i");
		vec_free(&object.sections);
		vec_free(&object.symbols);
	}
}

TEST(as_llvm)
{
	struct object_file object = {0};
	assert_int_equal(vec_push(&object.sections, code), 0);
	assert_int_equal(vec_push(&object.symbols, ((struct symbol){0x1010, 0, "in", FUNC})), 0);
	assert_int_equal(vec_push(&object.symbols, ((struct symbol){0x1000, 0x20, "f", FUNC})), 0);
	assert_int_equal(vec_push(&object.symbols, ((struct symbol){0x1100, 0x20, "label", NOTYPE})), 0);
	assert_int_equal(vec_push(&object.symbols, ((struct symbol){0x1200, 0, "g", FUNC})), 0);
	assert_string_equal(prepared(&object, true), "f 1000-1020, in 1010-1010 i, g 1200-1200 i");
	vec_free(&object.sections);
	vec_free(&object.symbols);
}

TEST(records)
{
	struct code_symbol symbols[] = {
		{.addr = 0x1000, .end = 0x1010, .name = "f"},
		{.addr = 0x2000, .end = 0x2000 + (uint64_t)UINT32_MAX, .name = "large", .label = true},
		{.addr = 0x3000,
		 .end = 0x3000 + (uint64_t)UINT32_MAX + 1,
		 .name = "larger",
		 .inferred = true},
		{.addr = 0x4000, .end = 0x4000, .name = "x_end", .label = true, .marker = true},
		{.addr = 0x5000, .end = 0x5010, .name = "exceeds"},
	};
	const symbol_vec all = {.v = symbols, .n = ARRAY_SIZE(symbols)};
	struct pool pool;
	record_vec made = {0};
	assert_int_equal(pool_init(&pool), 0);
	pool.text_left = strlen("f"
				"large"
				"larger"
				"x_end");
	assert_int_equal(symtab_add_records(&all, &pool, &made), 0);
	assert_int_equal(made.n, all.n);
	for (size_t i = 0; i < made.n; i++) {
		const struct func_record *r = &made.v[i];
		bool large = i == 2, exceeds = i == 4;
		assert_int_equal(r->start, symbols[i].addr);
		assert_int_equal(r->end, large ? symbols[i].addr : symbols[i].end);
		assert_int_equal(r->kind, symbols[i].label ? RECORD_LABEL : RECORD_SYMBOL);
		assert_int_equal(r->bare, NO_STRING);
		assert_true(r->linkage);
		assert_int_equal(r->marker, symbols[i].marker);
		assert_int_equal(r->inferred, symbols[i].inferred);
		assert_int_equal(r->name, exceeds ? NO_STRING : pool_text(&pool, symbols[i].name));
	}
	pool_deinit(&pool);
	vec_free(&made);
}

/* Nothing is left of what was begun. */
TEST(every_allocation_may_fail)
{
	static const struct symbol symbols[] = {
		{0x1000, 0, "a_start", NOTYPE}, {0x1008, 8, "f", FUNC},        {0x1010, 0, "a_end", NOTYPE},
		{0x1018, 0, "b", NOTYPE},       {0x1020, 0, "_etext", NOTYPE}, {0x1000, 0, "_stext", NOTYPE}};
	struct object_file object = {0};
	assert_int_equal(vec_push(&object.sections, code), 0);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		assert_int_equal(vec_push(&object.symbols, symbols[i]), 0);
	for (int kind = 0; kind < 4; kind++) { /* as it is; as LLVM; code of a PDB file; alone with labels */
		bool failed = true;
		object.sections.n = kind != 2;
		object.symbols.n = kind == 3 ? 1 : ARRAY_SIZE(symbols);
		object.text = kind == 2 ? (range_vec){.v = &(struct range){0x1000, 0x2000}, .n = 1}
					: (range_vec){0};
		for (long n = 0; failed; n++) {
			symbol_vec found = {0};
			long before = live;
			allowed = n;
			int err = symtab_prepare(&object, kind == 1, &found);
			failed = end_allocations();
			assert_int_equal(err, failed ? -ENOMEM : 0);
			vec_free(&found);
			assert_int_equal(live, before);
		}
	}
	vec_free(&object.sections);
	vec_free(&object.symbols);
}

TEST(every_allocation_of_records_may_fail)
{
	struct code_symbol symbols[] = {{.addr = 0x1000, .end = 0x1010, .name = "f"}};
	const symbol_vec all = {.v = symbols, .n = ARRAY_SIZE(symbols)};
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct pool pool;
		record_vec made = {0};
		assert_int_equal(pool_init(&pool), 0);
		pool.strings.cap = pool.strings.n; /* the next one needs memory */
		allowed = n;
		int err = symtab_add_records(&all, &pool, &made);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(made.n, !failed);
		vec_free(&made);
		pool_deinit(&pool);
	}
}

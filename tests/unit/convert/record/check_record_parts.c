/* What readers of all formats share: pooled strings and files, sets of ranges, names, defects, faults. */

#include "work/types/go_id.h"
#include "work/types/convert_types.h"
#include "work/types/machine_fault.h"
#include "convert/record/name_match.h"
#include "convert/record/warning.h"
#include "work/types/packed_name.h"
#include "convert/record/pool.h"
#include "gsym/base/sort.h"
#include "convert/record/range.h"
#include "work/types/valid_name.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pools ---- */

enum { MANY = 5000 /* more than the first tables hold */ };

TEST(strings_are_one)
{
	struct pool pool;
	uint32_t number;
	static char texts[MANY][16];
	assert_int_equal(pool_init(&pool), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < MANY; i++) {
			int size = snprintf(texts[i], sizeof(texts[i]), "text %u", i);
			struct pool_string s = pool_string_of(texts[i], (size_t)size);
			assert_int_equal(pool_add_string(&pool, &s, &number), 0);
			assert_int_equal(number, i + 1);
		}
	struct pool_string empty = pool_string_of("", 0), part = pool_string_of("text 12", 6);
	assert_int_equal(pool_add_string(&pool, &empty, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(pool_add_string(&pool, &part, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(pool.strings.n, MANY + 1);
	assert_false(pool.exceeded);
	pool_deinit(&pool);
}

/* Strings with the same hash are told apart. */
TEST(hashes_collide)
{
	struct pool pool;
	uint32_t number;
	assert_int_equal(pool_init(&pool), 0);
	static const char *const texts[] = {"one", "two", "thr", "long"};
	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(texts); i++) {
		const char *text = texts[i % ARRAY_SIZE(texts)];
		struct pool_string s = {text, 7, (uint32_t)strlen(text)};
		assert_int_equal(pool_add_string(&pool, &s, &number), 0);
		assert_int_equal(number, i % ARRAY_SIZE(texts) + 1);
	}
	pool_deinit(&pool);
}

TEST(text_is_limited)
{
	struct pool pool;
	uint32_t number;
	assert_int_equal(pool_init(&pool), 0);
	pool.text_left = 7;
	struct pool_string four = pool_string_of("four", 4), another = pool_string_of("more", 4),
			   three = pool_string_of("abc", 3), one = pool_string_of("x", 1),
			   none = pool_string_of("", 0);
	assert_int_equal(pool_add_string(&pool, &four, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(pool_add_string(&pool, &four, &number), 0); /* costs nothing again */
	assert_int_equal(number, 1);
	assert_false(pool.exceeded);
	assert_int_equal(pool_add_string(&pool, &another, &number), 0);
	assert_int_equal(number, 0);
	assert_true(pool.exceeded);
	pool.exceeded = false;
	assert_int_equal(pool_add_string(&pool, &three, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(pool_add_string(&pool, &none, &number), 0);
	assert_false(pool.exceeded);
	assert_int_equal(pool_add_string(&pool, &one, &number), 0);
	assert_int_equal(number, 0);
	assert_true(pool.exceeded);
	assert_int_equal(pool.strings.n, 3);
	pool_deinit(&pool);
}

TEST(files_are_one)
{
	struct pool pool;
	uint32_t number;
	assert_int_equal(pool_init(&pool), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < MANY; i++) {
			assert_int_equal(
				pool_add_file(&pool, (struct pool_file){i % 50, i / 50 + 1}, &number), 0);
			assert_int_equal(number, i + 1);
		}
	assert_int_equal(pool_add_file(&pool, (struct pool_file){0, 0}, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(pool.files.n, MANY + 1);
	assert_int_equal(pool.files.v[51].dir, 0);
	assert_int_equal(pool.files.v[51].base, 2);
	pool_deinit(&pool);
}

/* ---- Ranges ---- */

TEST(ranges_are_joined)
{
	struct range v[] = {{50, 60}, {10, 20}, {20, 25}, {5, 5}, {55, 57},
			    {30, 40}, {41, 42}, {12, 14}, {9, 3}, {58, 70}};
	static const struct range want[] = {{10, 25}, {30, 40}, {41, 42}, {50, 70}};
	range_vec set = {.v = v, .n = ARRAY_SIZE(v)};
	ranges_normalize(&set);
	assert_int_equal(set.n, ARRAY_SIZE(want));
	assert_memory_equal(set.v, want, sizeof(want));
	for (uint64_t addr = 0; addr < 80; addr++) {
		const struct range *inside = NULL;
		for (size_t i = 0; i < set.n; i++)
			if (addr >= want[i].lo && addr < want[i].hi)
				inside = &set.v[i];
		assert_ptr_equal(ranges_find(&set, addr), inside);
	}
	struct range sorted[] = {{1, 2}, {2, 3}, {3, 3}, {4, 5}};
	assert_int_equal(ranges_join(sorted, 4), 2);
	assert_int_equal(sorted[0].hi, 3);
	assert_int_equal(sorted[1].lo, 4);
	assert_int_equal(ranges_join(NULL, 0), 0);
	struct range all[] = {{0, UINT64_MAX}};
	assert_int_equal(ranges_join(all, 1), 1);
	assert_null(ranges_find(&(range_vec){.v = all, .n = 1}, UINT64_MAX));
	assert_null(ranges_find(&(range_vec){0}, 0));
}

/* ---- Sorting ---- */

TEST(sorting_is_stable)
{
	static struct keyed v[MANY];
	uint64_t x = 1;
	for (unsigned bits = 0; bits < 64; bits += 7) {
		for (uint32_t i = 0; i < MANY; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			v[i] = (struct keyed){(x >> 55) << (bits < 55 ? bits : 55) | 0x5a, i};
		}
		assert_int_equal(radix_sort(v, MANY), 0);
		for (uint32_t i = 1; i < MANY; i++)
			assert_true(v[i - 1].key < v[i].key ||
				    (v[i - 1].key == v[i].key && v[i - 1].index < v[i].index));
	}
	struct keyed two[] = {{UINT64_MAX, 1}, {0, 2}};
	assert_int_equal(radix_sort(two, 2), 0);
	assert_int_equal(two[0].index, 2);
	assert_int_equal(two[1].index, 1);
	assert_int_equal(radix_sort(NULL, 0), 0);
}

/* ---- Names ---- */

static bool matches(const char *symbol, const char *name)
{
	struct pool_string s = pool_string_of(symbol, strlen(symbol)), n = pool_string_of(name, strlen(name));
	return name_matches(&s, &n);
}

TEST(names_match)
{
	static const struct {
		const char *symbol, *name;
		bool same;
	} cases[] = {
		{"work", "work", true},
		{"work.isra.0", "work", true},
		{"work@GLIBC_2.2.5", "work", true},
		{"work@@V", "work", true},
		{"working", "work", false},
		{"wor", "work", false},
		{"", "work", false},
		{"Work", "work", false},
		{"rework", "work", false},
		{"_Z4workv", "work", true},
		{"_ZN2ns4workEv", "work", true},
		{"_ZN2ns5worksEv", "work", false},
		{"_ZN2ns3workEv", "work", false},
		{"_ZN2ns4word", "work", false},
		{"_R4work0", "work", true},
		{"$s4main4workyyF", "work", true},
		{"$S4main4workyyF", "work", true},
		{"_X4work", "work", false},
		{"$t4work", "work", false},
		{"_Z4work", "work", true},
		{"_Z4wor", "work", false},
		{"_Z", "work", false},
		{"_Z1", "1", false},
		{"_Z11fv", "f", true},
		{"_ZZ4mainENKUlvE_clEv", "operator()", true},
		{"_ZZ4mainENKUlvE_clv", "operator()", false},
		{"_ZN1Xcl", "operator()", false},
		{"_ZN10operator()", "operator()", false},
		{"_Z14twelve_chars_v", "twelve_chars_v", true},
		{"_Z4twelve_chars_v", "twelve_chars_v", false},
		{"?work@ns@@YAXXZ", "work", true},
		{"?work@ns@@YAXXZ", "ns", false},
		{"?works@ns@@YAXXZ", "work", false},
		{"?work", "work", false},
		{"??$work@H@@YAXH@Z", "work", true},
		{"??0S@ns@@QEAA@XZ", "S", true},
		{"??0?$S@H@@QEAA@XZ", "S", true},
		{"??0S@@QEAA@XZ", "~S", false},
		{"??1S@@QEAA@XZ", "~S", true},
		{"??1S@@QEAA@XZ", "S", false},
		{"??1?$S@H@@QEAA@XZ", "~S", true},
		{"??_GS@@UEAAPEAXI@Z", "S", false},
		{"??1", "~", false},
		{"?", "", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (matches(cases[i].symbol, cases[i].name) != cases[i].same)
			fail_msg("%s, %s", cases[i].symbol, cases[i].name);
	/* A symbol that is too long is not searched, only compared. */
	for (size_t size = 4096; size <= 4097; size++) {
		char *symbol = calloc(1, size + 1);
		memset(symbol, 'x', size);
		memcpy(symbol, "_Z4work", 7);
		assert_int_equal(matches(symbol, "work"), size == 4096);
		assert_true(matches(symbol, symbol));
		free(symbol);
	}
}

TEST(bare_names_match)
{
	struct pool pool;
	uint32_t symbol, name, bare;
	assert_int_equal(pool_init(&pool), 0);
	struct pool_string s = pool_string_of("_ZN2ns4workEv", 13), n = pool_string_of("ns::work", 8),
			   b = pool_string_of("work", 4);
	assert_int_equal(pool_add_string(&pool, &s, &symbol), 0);
	assert_int_equal(pool_add_string(&pool, &n, &name), 0);
	assert_int_equal(pool_add_string(&pool, &b, &bare), 0);
	assert_true(symbol_matches(symbol, &(struct func_record){.name = name, .bare = bare}, &pool));
	assert_false(symbol_matches(symbol, &(struct func_record){.name = name, .bare = NO_STRING}, &pool));
	assert_true(symbol_matches(symbol, &(struct func_record){.name = bare, .bare = NO_STRING}, &pool));
	assert_true(string_is_mangled(&pool, symbol));
	assert_false(string_is_mangled(&pool, name));
	assert_false(string_is_mangled(&pool, 0));
	pool_deinit(&pool);
}

TEST(names_of_images)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "/", "a\n", "\x1b[2J", "\x7f", "a\x1f"};
	static const char *const good[] = {"a", "...", ".a", "a b", "libc.so.6", "\xc3\xa4", "~", " "};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(image_name_valid(bad[i]));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(image_name_valid(good[i]));
}

#define PART "abcdefghij0123456_-Z"

TEST(ids_of_go)
{
	static const struct {
		const char *text;
		bool id;
	} cases[] = {
		{PART "/" PART, true},
		{PART "_" PART, true},
		{PART "%2F" PART, true},
		{PART "%2f" PART "/" PART, true},
		{PART "/" PART "/" PART "/" PART, true},
		{PART "/" PART "/" PART "/" PART "/" PART, false},
		{PART, false},
		{PART "/", false},
		{PART "/" PART "/", false},
		{PART "/" PART "x", false},
		{PART "%2" PART, false},
		{PART "%3F" PART, false},
		{PART "?2F" PART, false},
		{PART "%2E" PART, false},
		{PART "/abcdefghij012345678", false},
		{PART "/abcdefghij012345678.", false},
		{"redacted", false},
		{"", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[GO_ID_SIZE] = "", text[200] = "";
		strcpy(text, cases[i].text);
		bool parsed = go_id_parse(text, strlen(text), id);
		assert_int_equal(parsed, cases[i].id);
		if (parsed) {
			assert_true(go_id_is_valid(id));
			assert_null(strchr(id, '%'));
			assert_int_equal(strlen(id) % 21, 20);
		}
		if (strlen(text) < GO_ID_SIZE) {
			bool slashes = strcmp(text, id) == 0;
			assert_int_equal(go_id_is_valid(text), !*text || (parsed && slashes));
		}
	}
	for (int c = 0; c < 256; c++) {
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			      c == '-' || c == '_';
		assert_int_equal(go_id_has((char)c), letter);
	}
	char endless[GO_ID_SIZE];
	memset(endless, 'x', sizeof(endless));
	assert_false(go_id_is_valid(endless));
}

TEST(packed_names)
{
	assert_int_equal(unpacked_size("a.debug.xz"), 7);
	assert_int_equal(unpacked_size("a.debug.zst"), 7);
	assert_int_equal(unpacked_size("a.debug.gz"), 7);
	assert_int_equal(unpacked_size("a.gz.xz"), 4);
	assert_int_equal(unpacked_size("a.xzz"), 5);
	assert_int_equal(unpacked_size(".xz"), 3);
	assert_int_equal(unpacked_size("x.xz"), 1);
	assert_int_equal(unpacked_size(""), 0);
}

/* ---- Defects and faults ---- */

TEST(first_defects)
{
	static struct warnings all, later, earlier;
	struct convert_summary summary = {0};
	earlier.order = 3;
	later.order = 4;
	warning_count(&later, WARN_STRING, ".debug_str", 0x10);
	warning_count(&later, WARN_STRING, ".debug_str", 0x20);
	warning_count(&later, WARN_OVERLAP, NULL, 0x1000);
	warning_count(&earlier, WARN_STRING, ".debug_line_str", 0x30);
	warnings_merge(&all, &later);
	assert_int_equal(all.kind[WARN_STRING].off, 0x10);
	warnings_merge(&all, &earlier);
	warnings_merge(&all, &(struct warnings){0});
	warnings_merge(&all, &later);
	assert_int_equal(warnings_report(&all, &summary), 0);
	assert_int_equal(summary.n_warnings, 2);
	assert_string_equal(summary.warnings[0].kind, "functions overlap");
	assert_string_equal(summary.warnings[0].first, "0x1000");
	assert_int_equal(summary.warnings[0].count, 2);
	assert_string_equal(summary.warnings[1].kind, "string ignored: offset outside its section");
	assert_string_equal(summary.warnings[1].first, ".debug_line_str+0x30");
	assert_int_equal(summary.warnings[1].count, 5);
	convert_summary_deinit(&summary);
	assert_null(summary.warnings);
	assert_int_equal(summary.n_warnings, 0);
	convert_summary_deinit(&summary);
}

TEST(every_kind_has_a_text)
{
	static struct warnings all;
	struct convert_summary summary = {0};
	for (int i = 0; i < WARN_COUNT; i++)
		warning_count(&all, (enum warning)i, NULL, 0);
	assert_int_equal(warnings_report(&all, &summary), 0);
	assert_int_equal(summary.n_warnings, WARN_COUNT);
	for (size_t i = 1; i < summary.n_warnings; i++)
		assert_true(strcmp(summary.warnings[i - 1].kind, summary.warnings[i].kind) < 0);
	convert_summary_deinit(&summary);
}

TEST(faults_of_the_machine)
{
	static const int machine[] = {-ENOMEM,  -EIO,    -EMFILE,  -ENFILE, -EINTR,
				      -ENOBUFS, -EPROTO, -EUCLEAN, -EDOM,   -ETIMEDOUT};
	static const int file[] = {0,       -ENOENT, -EACCES, -EBADMSG, -ENOTDIR,
				   -EINVAL, -EFBIG,  -ELOOP,  -ESTALE,  -EAGAIN};
	for (size_t i = 0; i < ARRAY_SIZE(machine); i++) {
		struct machine_fault fault = {0};
		const struct convert_opener opener = {.fault = &fault}, without = {.fault = NULL};
		for (size_t k = 0; k < ARRAY_SIZE(file); k++)
			assert_int_equal(machine_fault_note(&opener, file[k]), file[k]);
		for (size_t k = 0; k < ARRAY_SIZE(machine); k++)
			if (machine[k] != -ENOMEM)
				assert_int_equal(memory_fault_note(&opener, machine[k]), machine[k]);
		assert_int_equal(fault.err, 0);
		assert_int_equal(machine_fault_note(&without, machine[i]), machine[i]);
		assert_int_equal(machine_fault_note(NULL, machine[i]), machine[i]);
		assert_int_equal(machine_fault_note(&opener, machine[i]), machine[i]);
		assert_int_equal(fault.err, machine[i]);
		assert_int_equal(machine_fault_note(&opener, -EIO), -EIO);
		assert_int_equal(memory_fault_note(&opener, -ENOMEM), -ENOMEM);
		assert_int_equal(fault.err, machine[i]); /* the first */
	}
}

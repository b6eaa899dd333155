/* Sections by name and by address, what a file lacks, and how sections and segments are reported. */
#include "convert/object/object_file.h"
#include "convert/object/object_open.h"
#include "convert/object/source_format.h"

#include "gsym/base/diag.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

static uint8_t bytes[4096];

/* ---- By name ---- */

TEST(names)
{
	static const struct {
		const char *section, *name;
		bool same;
	} table[] = {
		{".debug_info", ".debug_info", true},
		{".zdebug_info", ".debug_info", true},
		{".debug_info", ".zdebug_info", false},
		{".zdebug_line", ".debug_info", false},
		{".debug_infos", ".debug_info", false},
		{".debug_inf", ".debug_info", false},
		{"xzdebug_info", ".debug_info", false},
		{".xdebug_info", ".debug_info", false},
		{".ztext", ".text", false},
		{".zdebug", ".debug", false},
		{".zdebug_", ".debug_", true},
		{"", ".debug_info", false},
		{"", "", true},
		{".z", ".debug_info", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct object_section s = {.name = table[i].section, .raw = {bytes, 1}};
		struct object_file o = {.sections = {&s, 1, 1}};
		assert_ptr_equal(object_section(&o, table[i].name), table[i].same ? &s : NULL);
		s.raw.size = 0;
		assert_null(object_section(&o, table[i].name));
		s = (struct object_section){.name = table[i].section, .raw = {bytes, 1}, .grouped = true};
		assert_null(object_section(&o, table[i].name));
	}
}

TEST(next_of_name)
{
	struct object_section s[] = {{.name = "a", .raw = {bytes, 1}},
				     {.name = "b", .raw = {bytes, 1}},
				     {.name = "a", .raw = {bytes, 1}},
				     {.name = "a", .raw = {bytes, 0}},
				     {.name = "a", .raw = {bytes, 1}}};
	struct object_file o = {.sections = {s, 5, 5}};
	assert_ptr_equal(object_next_section(&o, "a", NULL), s);
	assert_ptr_equal(object_next_section(&o, "a", s), s + 2);
	assert_ptr_equal(object_next_section(&o, "a", s + 2), s + 4);
	assert_null(object_next_section(&o, "a", s + 4));
	assert_null(object_next_section(&o, "b", s + 1));
	assert_ptr_equal(object_section(&o, "b"), s + 1);
	o.sections.n = 4; /* the one after the last is none */
	assert_null(object_next_section(&o, "a", s + 2));
}

/* What a file has of @section when it is added. */
static struct object_section added_section(const struct object_section *section)
{
	struct object_file o = {0};
	assert_int_equal(object_add_section(&o, section), 0);
	assert_int_equal(o.sections.n, 1);
	struct object_section added = o.sections.v[0];
	vec_free(&o.sections);
	return added;
}

TEST(zdebug)
{
	uint8_t raw[14] = "ZLIB\0\0\0\0\1\2\3\4x";
	struct object_section s = {.name = ".zdebug_info", .raw = {raw, 13}};
	struct object_section added = added_section(&s);
	assert_int_equal(added.full_size, 0x01020304);
	assert_int_equal(added.compression, COMPRESSION_ZLIB);
	assert_ptr_equal(added.raw.data, raw + 12);
	assert_int_equal(added.raw.size, 1);
	s.compression = COMPRESSION_ZSTD; /* by the section's flags: the bytes are no header */
	added = added_section(&s);
	assert_int_equal(added.compression, COMPRESSION_ZSTD);
	assert_ptr_equal(added.raw.data, raw);
	s = (struct object_section){.name = ".zdebug_line", .raw = {raw, 12}};
	added = added_section(&s);
	assert_int_equal(added.compression, COMPRESSION_ZLIB);
	assert_int_equal(added.raw.size, 0);
	for (int k = 0; k < 3; k++) {
		s = (struct object_section){.name = k == 1 ? ".debug_info" : ".zdebug_info",
					    .raw = {raw, k == 0 ? 11 : 13}};
		raw[3] = k == 2 ? 'X' : 'B';
		added = added_section(&s);
		assert_int_equal(added.compression, COMPRESSION_NONE);
		assert_ptr_equal(added.raw.data, raw);
	}
}

/* ---- By address ---- */

static void assert_at(const struct object_file *o, uint64_t addr, const uint8_t *data, size_t size)
{
	struct span s = object_bytes_at(o, addr);
	assert_ptr_equal(s.data, data);
	assert_int_equal(s.size, size);
}

TEST(bytes_of_sections)
{
	struct object_section s[] = {
		{.addr = 100, .size = 20, .raw = {bytes, 10}, .allocated = true},
		{.addr = 100, .size = 90, .raw = {bytes + 500, 90}},
		{.addr = 105, .size = 50, .raw = {bytes + 20, 50}, .allocated = true},
		{.addr = 200,
		 .size = 9,
		 .raw = {bytes, 9},
		 .allocated = true,
		 .compression = COMPRESSION_ZLIB},
		{.addr = UINT64_MAX - 3, .size = 4, .raw = {bytes + 90, 4}, .allocated = true},
	};
	struct object_segment segment = {0, 0, 4096};
	struct object_file o = {
		.sections = {s, 5, 5}, .segments = {&segment, 1, 1}, .map = bytes, .map_size = 4096};
	assert_at(&o, 99, NULL, 0);
	assert_at(&o, 100, bytes, 10);
	assert_at(&o, 109, bytes + 9, 1);
	assert_at(&o, 110, bytes + 25, 45);
	assert_at(&o, 154, bytes + 69, 1);
	assert_at(&o, 155, NULL, 0);
	assert_at(&o, 200, NULL, 0);
	assert_at(&o, UINT64_MAX - 3, bytes + 90, 4);
	assert_at(&o, UINT64_MAX, bytes + 93, 1);
	o.sections.n = 4;
	assert_at(&o, UINT64_MAX, NULL, 0);
}

/* Without sections they are those of segments, as far as the file has them. */
TEST(bytes_of_segments)
{
	struct object_segment v[] = {
		{100, 1000, 50}, {4000, 1020, 200}, {4096, 3000, 10}, {5000, 4000, 10}, {0, 5000, 4}};
	struct object_file o = {.segments = {v, 5, 5}, .map = bytes, .map_size = 4096};
	assert_at(&o, 999, NULL, 0);
	assert_at(&o, 1000, bytes + 100, 50);
	assert_at(&o, 1049, bytes + 149, 1);
	assert_at(&o, 1050, bytes + 4030, 66);
	assert_at(&o, 1115, bytes + 4095, 1);
	assert_at(&o, 1116, NULL, 0);
	assert_at(&o, 3000, NULL, 0);
	assert_at(&o, 4000, NULL, 0);
	assert_at(&o, 5003, bytes + 3, 1);
	assert_at(&o, 5004, NULL, 0);
	o.segments.n = 4;
	assert_at(&o, 5003, NULL, 0);
}

TEST(code)
{
	static const struct {
		bool code;
		uint64_t addr, size;
		bool added;
	} table[] = {{true, 10, 5, true},
		     {false, 10, 5, false},
		     {true, 10, 0, false},
		     {true, UINT64_MAX - 5, 5, true},
		     {true, UINT64_MAX - 5, 6, false}};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct object_file o = {0};
		struct object_section s = {
			.code = table[i].code, .addr = table[i].addr, .size = table[i].size};
		assert_int_equal(object_add_section(&o, &s), 0);
		assert_int_equal(o.text.n, table[i].added);
		if (o.text.n) {
			assert_true(o.text.v[0].lo == s.addr && o.text.v[0].hi == s.addr + s.size);
		}
		vec_free(&o.text);
		vec_free(&o.sections);
		for (int fit = 0; fit <= table[i].added; fit++) {
			struct object_file failed = {0};
			allowed = fit;
			assert_int_equal(object_add_section(&failed, &s), -ENOMEM);
			vec_free(&failed.text);
			allowed = -1;
		}
	}
	for (int k = 0; k < 4; k++) {
		struct object_section s[] = {{.code = false, .raw = {bytes, 1}},
					     {.code = k & 1, .raw = {bytes, k & 2 ? 1 : 0}}};
		struct object_file o = {.sections = {s, 2, 2}};
		assert_int_equal(object_has_code(&o), k == 3);
		o.sections.n = 1;
		assert_false(object_has_code(&o));
	}
}

/* ---- What is not there ---- */

TEST(lost_bytes)
{
	struct object_file o = {.map_size = 1000};
	struct gsym_diag diag = {""};
	object_expect(&o, "a", 1, 0, 1000);
	object_expect(&o, "a", 1, 1000, 0);
	object_expect(&o, "a", 1, 5000, 0);
	assert_null(o.lost.what);
	object_expect(&o, "b", 2, 1, 1000);
	assert_string_equal(o.lost.what, "b");
	assert_int_equal(o.lost.number, 2);
	assert_int_equal(o.lost.off, 1);
	assert_int_equal(o.lost.end, 1001);
	object_expect(&o, "c", 3, 5000, 1);
	assert_string_equal(o.lost.what, "b");
	assert_int_equal(lost_bytes_tell(&o.lost, 1000, -EBADMSG, &diag), -EBADMSG);
	assert_string_equal(
		diag.text,
		"may be truncated: b 2 at offset 0x1 to 0x3e9, end of file at 0x3e8: copy it again");
	o.lost = (struct lost_bytes){0};
	object_expect(&o, "d", 0, 16, UINT64_MAX);
	assert_true(o.lost.end == UINT64_MAX);
	assert_int_equal(lost_bytes_tell(&o.lost, 1000, -1, &diag), -1);
	assert_string_equal(diag.text,
			    "may be truncated: d at offset 0x10 to 0xffffffffffffffff, end of file at "
			    "0x3e8: copy it again");
}

/* ---- What formats do ---- */

static unsigned called;

static bool has_symbols(struct object_file *o)
{
	return o->relocatable;
}

static int load_symbols(struct object_file *o, struct object_file *const *sources, size_t n)
{
	(void)o;
	called++;
	return sources && n ? -ENOMEM : 1;
}

static int load_plt(struct object_file *o, const struct object_file *symtab)
{
	called++;
	return o == symtab ? 2 : 3;
}

static int relocate(struct object_file *o, struct object_section *s, uint64_t *skipped)
{
	(void)o;
	(void)s;
	++*skipped;
	return -ENOMEM;
}

TEST(by_format)
{
	static const struct source_format none, all = {.has_symbols = has_symbols,
						       .load_symbols = load_symbols,
						       .load_plt = load_plt,
						       .relocate = relocate};
	struct symbol symbols[3];
	struct outside_label outside[2];
	struct object_file o = {.format = &none, .relocatable = true}, *sources[] = {&o};
	struct object_section s = {0};
	uint64_t skipped = 5;
	assert_false(object_has_symbols(&o));
	assert_int_equal(object_load_symbols(&o, sources, 1), 0);
	assert_int_equal(object_load_plt(&o, NULL), 0);
	assert_int_equal(section_relocate(&o, &s, &skipped), 0);
	assert_int_equal(skipped, 5);
	assert_int_equal(called, 0);
	o.format = &all;
	assert_true(object_has_symbols(&o));
	o.relocatable = false;
	assert_false(object_has_symbols(&o));
	assert_int_equal(object_load_symbols(&o, sources, 1), -ENOMEM);
	assert_int_equal(object_load_symbols(&o, sources, 0), 1);
	assert_int_equal(object_load_plt(&o, &o), 2);
	assert_int_equal(object_load_plt(&o, NULL), 3);
	assert_int_equal(section_relocate(&o, &s, &skipped), -ENOMEM);
	assert_int_equal(skipped, 6);
	o.symbols.v = symbols;
	o.symbols.n = 3;
	o.outside.v = outside;
	o.outside.n = 2;
	o.name_bytes = 9;
	o.passed_by = o.symbols_damaged = o.names_exceeded = true;
	object_forget_symbols(&o);
	assert_int_equal(o.symbols.n + o.outside.n + o.name_bytes, 0);
	assert_false(o.passed_by || o.symbols_damaged || o.names_exceeded);
}

/* ---- What is left ---- */

static bool is_mapped(const char *name)
{
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

/* A file that was opened is unmapped, and nothing of it stays in memory. */
TEST(closed_files)
{
	static const char file[] = "MODULE Linux x86_64 00112233445566778899AABBCCDDEEFF0 name\n";
	struct object_file *o = NULL;
	int fd = memfd_create("check-object-section", MFD_CLOEXEC);
	assert_int_equal(write(fd, file, sizeof(file) - 1), sizeof(file) - 1);
	for (int k = 0; k < 2; k++) { /* the first time for what the C library keeps */
		long before = live;
		assert_int_equal(object_open_descriptor(fd, "name", NULL, &o, NULL), 0);
		assert_true(is_mapped("check-object-section"));
		assert_ptr_equal(o->format, &breakpad_format);
		object_closep(&o);
		assert_false(is_mapped("check-object-section"));
		if (k)
			assert_int_equal(live, before);
	}
	close(fd);
	object_close(NULL);
}

/* ---- The summary ---- */

/* @n sections in turns: with code, data, not loaded, empty. */
static struct object_file many_sections(size_t n, struct object_section *v, char (*texts)[24])
{
	struct object_file o = {.relocatable = true, .sections = {v, n, n}};
	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], 24, "s%zu", i);
		v[i] = (struct object_section){.name = texts[i],
					       .addr = 100 * i,
					       .size = i % 4 == 3 ? 0 : 50 + i,
					       .allocated = i % 4 != 2,
					       .code = i % 4 == 0 || i % 4 == 3};
	}
	return o;
}

TEST(listed_sections)
{
	/* Of four sections two are listed; or one, with code, if those are more than 512. */
	static const struct {
		size_t n, listed, left_out;
		bool code_only;
	} table[] = {{0, 0, 0, false},       {3, 2, 0, false},       {4, 2, 0, false},
		     {1023, 512, 0, false},  {1024, 512, 0, false},  {1025, 257, 256, true},
		     {2048, 512, 512, true}, {2049, 512, 513, true}, {4000, 512, 1488, true}};
	static struct object_section v[4000];
	static char texts[4000][24];
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct object_file o = many_sections(table[i].n, v, texts);
		struct convert_summary summary = {.n_sections = 0};
		long before = live;
		assert_int_equal(layout_report(&o, &summary), 0);
		assert_int_equal(summary.n_sections, table[i].listed);
		assert_int_equal(summary.sections_left_out, table[i].left_out);
		for (size_t k = 0; k < summary.n_sections; k++) {
			size_t at = table[i].code_only ? 4 * k : k / 2 * 4 + k % 2;
			assert_string_equal(summary.sections[k].name, texts[at]);
			assert_int_equal(summary.sections[k].addr, 100 * at);
			assert_int_equal(summary.sections[k].size, 50 + at);
			assert_int_equal(summary.sections[k].code, at % 4 == 0);
		}
		free(summary.sections);
		summary = (struct convert_summary){.n_sections = 0};
		allowed = 0;
		assert_int_equal(layout_report(&o, &summary), table[i].n ? -ENOMEM : 0);
		allowed = -1;
		assert_null(summary.sections);
		o.relocatable = false;
		assert_int_equal(layout_report(&o, &summary), 0);
		assert_null(summary.sections);
		assert_int_equal(summary.n_sections, 0);
		assert_int_equal(live, before);
	}
}

TEST(listed_segments)
{
	static struct object_segment v[66];
	struct object_section s = {.raw = {bytes, 1}};
	for (size_t i = 0; i < 66; i++)
		v[i] = (struct object_segment){i, 1000 * i, 7 + i};
	for (size_t n = 0; n <= 66; n += n < 2 ? 1 : n < 62 ? 60 : 1)
		for (int k = 0; k < 8; k++) {
			struct object_file o = {.segments = {v, n, n},
						.sections = {&s, k & 4 ? 0 : 1, 1},
						.has_base = k & 2,
						.base_address = 0x123456789abcULL};
			struct convert_summary summary = {.n_segments = 0};
			s.code = k & 1;
			size_t want = !(k & 5) ? 0 : n < 64 ? n : 64;
			long before = live;
			assert_int_equal(segments_report(&o, &summary), 0);
			assert_true(summary.image_base == (k & 2 ? 0x123456789000ULL : 0));
			assert_int_equal(summary.n_segments, want);
			for (size_t i = 0; i < want; i++) {
				assert_int_equal(summary.segments[i].off, i);
				assert_int_equal(summary.segments[i].addr, 1000 * i);
				assert_int_equal(summary.segments[i].size, 7 + i);
			}
			free(summary.segments);
			allowed = 0;
			assert_int_equal(segments_report(&o, &summary), -ENOMEM);
			allowed = -1;
			assert_int_equal(live, before);
		}
}

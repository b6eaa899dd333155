/* Functions on their way into another file: strings and files renumbered, nothing lost, foreign tables
 * mended. */
#include "gsym/write/copier.h"
#include "gsym/base/bytes.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A file read and one being filled from it. */
struct copying {
	struct gsym_reader *from, *result;
	struct gsym_writer *to;
	struct copier copier;
	void *from_data, *result_data;
};

static void start(struct copying *c, struct sample_kind kind)
{
	struct gsym_writer_options options = copier_options(c->from);
	options.version = kind.version;
	options.big_endian = kind.big;
	assert_int_equal(copier_init(&c->copier, c->from), 0);
	assert_int_equal(gsym_writer_new(&options, &c->to, NULL), 0);
	assert_int_equal(copier_begin(&c->copier, c->to), 0);
}

static void finish(struct copying *c)
{
	struct sample s = {.writer = c->to};
	c->result = sample_open(&s, &c->result_data);
	c->to = NULL;
}

static void end(struct copying *c)
{
	copier_deinit(&c->copier);
	gsym_writer_free(c->to);
	gsym_reader_close(c->result);
	gsym_reader_close(c->from);
	free(c->result_data);
	free(c->from_data);
}

TEST(map_of_strings)
{
	struct string_map map = {0};
	uint64_t to;
	for (uint32_t run = UINT32_MAX - 1; run != 2; run++) { /* over the end of the counter */
		if (run > 1)
			map.run = run;
		assert_int_equal(string_map_clear(&map), 0);
		assert_int_not_equal(map.run, 0);
		for (uint64_t i = 0; i < 5000; i++) {
			assert_false(string_map_find(&map, i * 64, &to));
			assert_int_equal(string_map_add(&map, i * 64, i + map.run), 0);
		}
		for (uint64_t i = 0; i < 5000; i++) {
			assert_true(string_map_find(&map, i * 64, &to));
			assert_int_equal(to, i + map.run);
			assert_false(string_map_find(&map, i * 64 + 1, &to));
		}
	}
	string_map_deinit(&map);
}

/* Two functions folded, each with all there is: strings and files in front of them have moved. */
static void add_all_there_is(struct sample *s)
{
	struct gsym_func holder, merged;
	sample_work(s, &holder);
	const uint64_t patterns[] = {sample_string(s, "p"), sample_string(s, "q"), sample_string(s, "p")};
	const struct gsym_callsite sites[] = {{3, 0, 2, GSYM_CALLSITE_INTERNAL}, {9, 2, 1, 0}, {12, 3, 0, 2}};
	holder.callsites = sites;
	holder.n_callsites = 3;
	holder.patterns = patterns;
	holder.n_patterns = 3;
	merged = holder;
	merged.name = sample_string(s, "folded");
	holder.merged = &merged;
	holder.n_merged = 1;
	assert_int_equal(gsym_writer_add(s->writer, &holder, NULL), 0);
}

static void assert_same_string(const struct copying *c, uint64_t from, uint64_t to)
{
	assert_string_equal(gsym_reader_string(c->from, from), gsym_reader_string(c->result, to));
}

static void assert_same_file(const struct copying *c, uint32_t from, uint32_t to)
{
	const char *dir, *base, *copied_dir, *copied_base;
	assert_int_equal(gsym_reader_file(c->from, from, &dir, &base), 0);
	assert_int_equal(gsym_reader_file(c->result, to, &copied_dir, &copied_base), 0);
	assert_string_equal(dir, copied_dir);
	assert_string_equal(base, copied_base);
}

static void assert_same_function(const struct copying *c, const struct gsym_func *a,
				 const struct gsym_func *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->size, b->size);
	assert_same_string(c, a->name, b->name);
	assert_int_equal(a->n_rows, b->n_rows);
	for (size_t i = 0; i < a->n_rows; i++) {
		assert_int_equal(a->rows[i].off, b->rows[i].off);
		assert_int_equal(a->rows[i].line, b->rows[i].line);
		assert_same_file(c, a->rows[i].file, b->rows[i].file);
	}
	assert_int_equal(a->n_inlines, b->n_inlines);
	for (size_t i = 0; i < a->n_inlines; i++) {
		assert_same_string(c, a->inlines[i].name, b->inlines[i].name);
		assert_same_file(c, a->inlines[i].call_file, b->inlines[i].call_file);
		assert_int_equal(a->inlines[i].depth, b->inlines[i].depth);
		assert_int_equal(a->inlines[i].call_line, b->inlines[i].call_line);
	}
	assert_int_equal(a->n_ranges, b->n_ranges);
	assert_memory_equal(a->ranges, b->ranges, a->n_ranges * sizeof(*a->ranges));
	assert_int_equal(a->n_callsites, b->n_callsites);
	for (size_t i = 0; i < a->n_callsites; i++)
		assert_memory_equal(&a->callsites[i], &b->callsites[i],
				    offsetof(struct gsym_callsite, flags) + 1);
	assert_int_equal(a->n_patterns, b->n_patterns);
	for (size_t i = 0; i < a->n_patterns; i++)
		assert_same_string(c, a->patterns[i], b->patterns[i]);
	assert_int_equal(a->n_merged, b->n_merged);
	for (size_t i = 0; i < a->n_merged; i++)
		assert_same_function(c, &a->merged[i], &b->merged[i]);
}

/* One function without what is in front of it in the tables, into each kind of file. */
TEST(functions_are_whole)
{
	for (int k = 0; k < 4; k++) {
		struct copying c = {0};
		struct sample s;
		struct gsym_func func, copied;
		struct gsym_decoder *decoder = gsym_decoder_new();
		sample_init(&s, sample_kinds[3 - k], 0x1000);
		sample_func(&s, 0, 8, "not copied", 3);
		add_all_there_is(&s);
		c.from = sample_open(&s, &c.from_data);
		start(&c, sample_kinds[k]);
		assert_int_equal(copy_function(&c.copier, 1, &func, NULL), 0);
		finish(&c);
		assert_int_equal(gsym_reader_info(c.result)->num_files, 2);
		assert_int_equal(gsym_reader_info(c.result)->strtab_size,
				 sizeof("-work-/src-t.c-tw-sq-folded-p-q"));
		assert_int_equal(gsym_reader_function(c.result, 0, decoder, &copied, NULL), 0);
		assert_same_function(&c, &func, &copied);
		gsym_decoder_free(decoder);
		end(&c);
	}
}

/* Two targets one after the other: the second has nothing of the first. */
TEST(targets_are_independent)
{
	struct copying c = {0}, again = {0};
	struct sample s;
	struct gsym_func func;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 8, "a", 3);
	sample_func(&s, 8, 8, "b", 4);
	c.from = sample_open(&s, &c.from_data);
	start(&c, sample_kinds[0]);
	c.copier.run = UINT32_MAX; /* the counter begins again */
	assert_int_equal(copy_function(&c.copier, 0, &func, NULL), 0);
	again.to = c.to;
	struct gsym_writer_options options = copier_options(c.from);
	assert_int_equal(gsym_writer_new(&options, &c.to, NULL), 0);
	assert_int_equal(copier_begin(&c.copier, c.to), 0);
	assert_int_equal(c.copier.run, 1);
	assert_int_equal(copy_function(&c.copier, 1, &func, NULL), 0);
	finish(&c);
	assert_int_equal(gsym_reader_info(c.result)->num_files, 2);
	assert_string_equal(gsym_reader_string(c.result, 1), "b");
	assert_same_file(&c, 1, 1);
	gsym_writer_free(again.to);
	end(&c);
}

/* A string table as no writer of ours makes: a string twice, one referred to from its middle. */
TEST(overlapping_strings)
{
	struct copying c = {0};
	struct sample s;
	struct gsym_answer a = {0};
	struct gsym_func func;
	size_t size;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 8, "name_one", 0);
	sample_func(&s, 8, 8, "same", 0);
	sample_func(&s, 16, 8, "sane", 0);
	sample_finish(&s, &c.from_data, &size);
	char *strings = memmem(c.from_data, size, "sane", 5);
	strings[2] = 'm';
	uint8_t *record = c.from_data;
	record += load32(record + 48 + 4,
			 false);           /* the first info offset, behind three address offsets of a byte */
	store32(record + 4, 1 + 5, false); /* "one" */
	assert_int_equal(gsym_reader_open_memory(c.from_data, size, &c.from, NULL), 0);
	start(&c, sample_kinds[0]);
	assert_int_equal(copy_tables(&c.copier, NULL), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(copy_function(&c.copier, i, &func, NULL), 0);
	finish(&c);
	assert_int_equal(gsym_reader_info(c.result)->strtab_size, sizeof("-name_one-same-one"));
	static const char *const names[] = {"one", "same", "same"};
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(gsym_lookup(c.result, 0x1000 + 8 * i, &a, NULL), 0);
		assert_string_equal(a.frames[0].name, names[i]);
	}
	gsym_answer_deinit(&a);
	end(&c);
}

/*
 * Where size_t has 32 bits, the limit of a table of a gigabyte does not fit: here it would be 4 bytes. The
 * size is put into the reader, which found none such.
 */
TEST(large_table)
{
	struct copying c = {0};
	struct sample s;
	struct gsym_func func;
	struct gsym_answer a = {0};
	size_t size;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 8, "longer than four", 0);
	sample_finish(&s, &c.from_data, &size);
	assert_int_equal(gsym_reader_open_memory(c.from_data, size, &c.from, NULL), 0);
	((struct gsym_info *)(uintptr_t)gsym_reader_info(c.from))->strtab_size = (1 << 30) - 16384 + 1;
	start(&c, sample_kinds[0]);
	assert_int_equal(copy_function(&c.copier, 0, &func, NULL), 0);
	finish(&c);
	assert_int_equal(gsym_lookup(c.result, 0x1000, &a, NULL), 0);
	assert_string_equal(a.frames[0].name, "longer than four");
	gsym_answer_deinit(&a);
	end(&c);
}

enum { LONG_NAME = 60000, NESTED = 8 };

/* Many names that are parts of one long string would take its square: there is an end to that. */
TEST(overlap_has_a_limit)
{
	struct copying c = {0};
	struct sample s;
	struct gsym_func func;
	struct gsym_diag diag = {""};
	struct gsym_inline inlines[NESTED] = {0};
	struct gsym_range ranges[NESTED];
	char *name = malloc(LONG_NAME + 1);
	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = 0;
	sample_init(&s, sample_kinds[0], 0x1000);
	uint64_t strp = sample_string(&s, name);
	for (uint32_t i = 0; i < NESTED; i++) {
		ranges[i] = (struct gsym_range){0, 8};
		inlines[i] = (struct gsym_inline){
			.name = strp + i, .depth = i + 1, .first_range = i, .n_ranges = 1};
	}
	func = (struct gsym_func){.start = 0x1000,
				  .size = 8,
				  .name = strp,
				  .inlines = inlines,
				  .n_inlines = NESTED,
				  .ranges = ranges,
				  .n_ranges = NESTED};
	assert_int_equal(gsym_writer_add(s.writer, &func, NULL), 0);
	c.from = sample_open(&s, &c.from_data);
	start(&c, sample_kinds[1]);
	assert_int_equal(copy_function(&c.copier, 0, &func, &diag), -EDQUOT);
	assert_words(&diag, "function at 0x1000|string table|overlap");
	free(name);
	end(&c);
}

TEST(damage_is_told)
{
	struct copying c = {0};
	struct sample s;
	struct gsym_func func;
	struct gsym_diag diag = {""};
	size_t size;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 8, "f", 1);
	sample_finish(&s, &c.from_data, &size);
	uint8_t *files = (uint8_t *)c.from_data + 48 + 4 + 4; /* behind one address and one info offset */
	store32(files + 4 + 8, 0xffff, false);                /* the directory of file 1 */
	assert_int_equal(gsym_reader_open_memory(c.from_data, size, &c.from, NULL), 0);
	start(&c, sample_kinds[0]);
	assert_int_equal(copy_tables(&c.copier, &diag), -EBADMSG);
	assert_words(&diag, "file table: entry 1|string 0xffff");
	assert_int_equal(copy_function(&c.copier, 0, &func, &diag), -EBADMSG);
	assert_words(&diag, "function at 0x1000|file table: entry 1");
	end(&c);
}

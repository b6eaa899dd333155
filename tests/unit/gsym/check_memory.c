/*
 * Out of memory: the first allocation fails, then the second, and so on until none does. Every function must
 * say -ENOMEM and leave nothing behind; the last round must give the whole answer. Linked with --wrap.
 */
#include "gsym/codec/strtab.h"
#include "gsym/read/intervals.h"
#include "gsym/read/reader.h"
#include "gsym/write/copier.h"

#include "tests/unit/gsym/sample.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Enough strings, files and rows to make every table grow. */
static int write_functions(struct gsym_writer *w)
{
	struct gsym_row rows[100];
	int err = 0;
	for (uint32_t i = 0; !err && i < 2000; i++) {
		char name[16] = "f";
		uint64_t strp;
		uint32_t file;
		memcpy(name + 1, &(uint32_t){i * 0x01010101u | 0x20202020}, 4);
		err = gsym_writer_string(w, name, 5, &strp);
		if (!err)
			err = gsym_writer_file(w, 0, strp, &file);
		for (uint32_t k = 0; k < 100; k++)
			rows[k] = (struct gsym_row){k, 1, k * k};
		struct gsym_range range = {0, 10};
		struct gsym_inline node = {.name = strp, .call_line = i, .depth = 1, .n_ranges = 1};
		struct gsym_func f = {
			.start = 0x1000 + 128 * i,
			.name = strp,
			.size = 120,
			.rows = rows,
			.n_rows = i % 50 ? 1 : 100,
			.inlines = &node,
			.n_inlines = 1,
			.ranges = &range,
			.n_ranges = 1,
		};
		if (!err)
			err = gsym_writer_add(w, &f, NULL);
	}
	return err;
}

static int write_file(void **ret_data, size_t *ret_size)
{
	struct gsym_writer *w;
	struct gsym_writer_options o = {.struct_size = sizeof(o)};
	int err = gsym_writer_new(&o, &w, NULL);
	if (err)
		return err;
	err = write_functions(w);
	if (!err)
		err = gsym_writer_finish_memory(w, ret_data, ret_size, NULL);
	gsym_writer_free(w);
	return err;
}

static int use_reader(const struct gsym_reader *r)
{
	struct gsym_answer a = {0};
	struct gsym_func f;
	struct gsym_decoder *d = gsym_decoder_new();
	int err = d ? gsym_reader_function(r, 0, d, &f, NULL) : -ENOMEM;
	if (!err)
		err = gsym_lookup(r, 0x1005, &a, NULL);
	if (!err && a.n_frames != 2)
		err = -EINVAL;
	if (!err && (err = gsym_lookup(r, 0x1000 + 127, &a, NULL)) == -ENOENT) /* needs the index of hosts */
		err = 0;
	gsym_answer_deinit(&a);
	gsym_decoder_free(d);
	return err;
}

static int read_file(const void *data, size_t size)
{
	struct gsym_reader *r;
	int err = gsym_reader_open_memory(data, size, &r, NULL);
	if (err)
		return err;
	err = use_reader(r);
	gsym_reader_close(r);
	return err;
}

/* Reads one file and writes another, twice over with one copier. */
static int copy_functions(const struct gsym_reader *r)
{
	struct gsym_writer_options o = copier_options(r);
	struct gsym_writer *w = NULL;
	struct gsym_func f;
	struct copier c;
	int err = copier_init(&c, r);
	for (int run = 0; !err && run < 2; run++) {
		gsym_writer_free(w);
		w = NULL;
		err = gsym_writer_new(&o, &w, NULL);
		if (!err)
			err = copier_begin(&c, w);
		if (!err && run)
			err = copy_tables(&c, NULL);
		for (uint32_t i = 0; !err && i < gsym_reader_info(r)->num_addresses; i++)
			err = copy_function(&c, i, &f, NULL);
	}
	copier_deinit(&c);
	gsym_writer_free(w);
	return err;
}

enum { INLINED = 100, INLINED_STEP = 8 };

/* A function with so many inlined calls, side by side, that the list of them grows while they are read. */
static void write_inlined(void **ret_data, size_t *ret_size)
{
	struct gsym_writer_options o = {.struct_size = sizeof(o)};
	struct gsym_range ranges[INLINED];
	struct gsym_inline nodes[INLINED];
	struct gsym_writer *w;
	uint64_t name;
	assert_int_equal(gsym_writer_new(&o, &w, NULL), 0);
	assert_int_equal(gsym_writer_string(w, "f", 1, &name), 0);
	for (uint32_t i = 0; i < INLINED; i++) {
		ranges[i] = (struct gsym_range){i * INLINED_STEP, INLINED_STEP};
		nodes[i] = (struct gsym_inline){
			.name = name, .call_line = i, .depth = 1, .first_range = i, .n_ranges = 1};
	}
	const struct gsym_func func = {
		.start = 0x1000,
		.name = name,
		.size = INLINED * INLINED_STEP,
		.inlines = nodes,
		.n_inlines = INLINED,
		.ranges = ranges,
		.n_ranges = INLINED,
	};
	assert_int_equal(gsym_writer_add(w, &func, NULL), 0);
	assert_int_equal(gsym_writer_finish_memory(w, ret_data, ret_size, NULL), 0);
	gsym_writer_free(w);
}

/* Flattens the function: without memory it must not be one with fewer frames. */
static int cut_intervals(const struct gsym_reader *r)
{
	struct interval_set s = {.v = {0}};
	struct function_info record;
	int err = reader_parse_record(r, 0, &record, NULL);
	if (!err)
		err = intervals_cut(&s, &record, &r->tables, INLINED * INLINED_STEP - 1);
	bool whole = s.nodes.n == INLINED + 1 && s.v.n == INLINED;
	for (uint32_t i = 0; !err && whole && i < INLINED; i++)
		whole = s.v.v[i].node == i + 1 && s.nodes.v[i + 1].call_line == i;
	intervals_deinit(&s);
	return err ? err : whole ? 0 : -EINVAL;
}

/* The rounds it took until @use no longer runs out of memory. */
static int count_rounds(const struct gsym_reader *r, int (*use)(const struct gsym_reader *r))
{
	int err = -ENOMEM, rounds = 0;
	const long before = live;
	for (; err == -ENOMEM; rounds++) {
		allowed = rounds;
		err = use(r);
		allowed = -1;
		assert_int_equal(live, before);
	}
	assert_int_equal(err, 0);
	return rounds;
}

static void copying(const void *data, size_t size)
{
	struct gsym_reader *r;
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	assert_true(count_rounds(r, copy_functions) > 30);
	gsym_reader_close(r);
}

TEST(intervals)
{
	struct gsym_reader *r;
	void *data;
	size_t size;
	write_inlined(&data, &size);
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	assert_true(count_rounds(r, cut_intervals) > 10);
	gsym_reader_close(r);
	free(data);
}

TEST(every_allocation_may_fail)
{
	void *data = NULL;
	size_t size = 0;
	int err = -ENOMEM, rounds = 0;
	bool failed = true;
	for (; failed; rounds++) {
		allowed = rounds;
		err = write_file(&data, &size);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_true(!failed || live == 0);
	}
	assert_true(rounds > 20);
	err = -ENOMEM;
	live = 0;
	for (rounds = 0; err == -ENOMEM; rounds++) {
		allowed = rounds;
		err = read_file(data, size);
		allowed = -1;
		assert_int_equal(live, 0);
	}
	assert_int_equal(err, 0);
	assert_true(rounds > 6);
	copying(data, size);
	free(data);
}

static int make_strings(const struct gsym_reader *r)
{
	(void)r;
	struct strtab strings;
	int err = strtab_init(&strings, UINT32_MAX);
	if (!err)
		strtab_deinit(&strings);
	return err;
}

static int make_files(const struct gsym_reader *r)
{
	(void)r;
	struct filetab files;
	int err = filetab_init(&files);
	if (!err)
		filetab_deinit(&files);
	return err;
}

/* Without memory there is none, and nothing to free. */
TEST(tables)
{
	assert_int_equal(count_rounds(NULL, make_strings), 3);
	assert_int_equal(count_rounds(NULL, make_files), 3);
}

enum { NESTED = 100, NESTED_STEP = 0x100 };

/* Functions each with two others inside, so that the index of what encloses what grows many times. */
static void write_nested(void **ret_data, size_t *ret_size)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], 0);
	for (uint64_t i = 0; i < NESTED; i++) {
		sample_func(&s, i * NESTED_STEP, NESTED_STEP, "outer", 0);
		sample_func(&s, i * NESTED_STEP + 0x10, 0x80, "middle", 0);
		sample_func(&s, i * NESTED_STEP + 0x20, 0x10, "inner", 0);
	}
	sample_func(&s, (uint64_t)NESTED * NESTED_STEP, 8, "last", 0);
	sample_finish(&s, ret_data, ret_size);
}

static struct span nested;

/* What is after the inner functions: without memory it must not be in no function. */
static int find_enclosing(const struct gsym_reader *r)
{
	struct gsym_reader *own;
	(void)r;
	int err = gsym_reader_open_memory(nested.data, nested.size, &own, NULL);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < NESTED; i++) {
		uint32_t middle = 0, outer = 0;
		err = gsym_reader_find(own, i * NESTED_STEP + 0x40, &middle, NULL);
		if (!err)
			err = gsym_reader_find(own, i * NESTED_STEP + 0xff, &outer, NULL);
		if (!err && (middle != 3 * i + 1 || outer != 3 * i))
			err = -EINVAL;
	}
	gsym_reader_close(own);
	return err;
}

TEST(enclosing)
{
	void *data;
	size_t size;
	write_nested(&data, &size);
	nested = (struct span){data, size};
	assert_true(count_rounds(NULL, find_enclosing) > 8);
	free(data);
}

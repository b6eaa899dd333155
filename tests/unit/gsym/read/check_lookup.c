/* From address to frames: which function answers, which frames it gives, merged functions. */
#include "gsym/read/lookup.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
	struct sample s;
	struct gsym_reader *reader;
	struct gsym_answer answer;
	void *data;
};

static int setup(void **state)
{
	struct file *f = calloc(1, sizeof(*f));
	sample_init(&f->s, sample_kinds[0], 0x1000);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct file *f = *state;
	gsym_answer_deinit(&f->answer);
	gsym_reader_close(f->reader);
	gsym_writer_free(f->s.writer);
	free(f->data);
	free(f);
	return 0;
}

/* Which function answers at 0x1000 + @off, as "name+offset"; NULL for none. */
static void expect_at(struct file *f, uint64_t off, const char *want)
{
	char text[64];
	struct gsym_diag diag = {""};
	uint32_t index;
	if (!f->reader)
		f->reader = sample_open(&f->s, &f->data);
	int err = gsym_lookup(f->reader, 0x1000 + off, &f->answer, &diag);
	assert_int_equal(gsym_reader_find(f->reader, 0x1000 + off, &index, NULL), err);
	assert_int_equal(err, want ? 0 : -ENOENT);
	if (!want) {
		assert_words(&diag, "GSYM in memory|in no function");
		assert_int_equal(f->answer.n_frames, 0);
		return;
	}
	const struct gsym_frame *last = &f->answer.frames[f->answer.n_frames - 1];
	snprintf(text, sizeof(text), "%s+%d", last->name, (int)last->offset);
	assert_string_equal(text, want);
	assert_int_equal(f->answer.func_index, index);
	assert_int_equal(f->answer.func_start + last->offset, 0x1000 + off);
}

TEST_OF(outside_and_between, struct file, f)
{
	sample_func(&f->s, 0x10, 0x10, "a", 0);
	sample_func(&f->s, 0x30, 0x10, "b", 0);
	expect_at(f, 0x0f, NULL);
	expect_at(f, 0x10, "a+0");
	expect_at(f, 0x1f, "a+15");
	expect_at(f, 0x20, NULL);
	expect_at(f, 0x2f, NULL);
	expect_at(f, 0x30, "b+0");
	expect_at(f, 0x40, NULL);
	expect_at(f, -0x1000ull - 1, NULL);
	expect_at(f, -1ull, NULL);
	expect_at(f, -0x1000ull, NULL);
}

TEST_OF(smallest_of_equal_starts, struct file, f)
{
	sample_func(&f->s, 0, 1, "small", 0);
	sample_func(&f->s, 0, 2, "big", 0);
	sample_func(&f->s, 0, 9, "bigger", 0);
	expect_at(f, 0, "small+0");
	expect_at(f, 1, "big+1");
	expect_at(f, 2, "bigger+2");
	expect_at(f, 9, NULL);
}

TEST_OF(unknown_size_before_gap_and_last, struct file, f)
{
	sample_func(&f->s, 0x10, 0, "label", 0);
	sample_func(&f->s, 0x40, 4, "sized", 0);
	sample_func(&f->s, 0x80, 0, "last", 0);
	expect_at(f, 0x0f, NULL);
	expect_at(f, 0x3f, "label+47");
	expect_at(f, 0x43, "sized+3");
	expect_at(f, 0x44, NULL); /* only up to the next start, which is that of "sized" */
	expect_at(f, 0x80, "last+0");
	expect_at(f, 0x7fffff, "last+8388479");
}

TEST_OF(unknown_size_never_hides_a_sized_function, struct file, f)
{
	sample_func(&f->s, 0x10, 0x20, "host", 0);
	sample_func(&f->s, 0x18, 0, "label", 0);
	sample_func(&f->s, 0x20, 0, "twin", 0);
	sample_func(&f->s, 0x20, 4, "inner", 0);
	expect_at(f, 0x17, "host+7");
	expect_at(f, 0x18, "host+8");
	expect_at(f, 0x1f, "host+15");
	expect_at(f, 0x20, "inner+0");
	expect_at(f, 0x24, "host+20");
	expect_at(f, 0x2f, "host+31");
	expect_at(f, 0x30, "twin+16");
}

TEST_OF(nested_functions, struct file, f)
{
	sample_func(&f->s, 0x00, 0x100, "outer", 0);
	sample_func(&f->s, 0x10, 0x40, "middle", 0);
	sample_func(&f->s, 0x20, 0x08, "inner", 0);
	sample_func(&f->s, 0x28, 0x04, "next", 0);
	sample_func(&f->s, 0x60, 0x08, "second", 0);
	expect_at(f, 0x0f, "outer+15");
	expect_at(f, 0x1f, "middle+15");
	expect_at(f, 0x27, "inner+7");
	expect_at(f, 0x28, "next+0");
	expect_at(f, 0x2c, "middle+28");
	expect_at(f, 0x4f, "middle+63");
	expect_at(f, 0x50, "outer+80");
	expect_at(f, 0x67, "second+7");
	expect_at(f, 0x68, "outer+104");
	expect_at(f, 0xff, "outer+255");
	expect_at(f, 0x100, NULL);
}

/* The worked example: position from the rows for the innermost frame, from the calls for the others. */
TEST_OF(inlined_frames, struct file, f)
{
	struct gsym_func work;
	sample_work(&f->s, &work);
	assert_int_equal(gsym_writer_add(f->s.writer, &work, NULL), 0);
	f->reader = sample_open(&f->s, &f->data);
	struct gsym_answer *a = &f->answer;
	assert_int_equal(gsym_lookup(f->reader, 0x1151, a, NULL), 0);
	static const struct {
		const char *name;
		uint64_t offset;
		uint32_t line;
		bool inlined;
	} want[] = {{"sq", 2, 3, true}, {"tw", 11, 7, true}, {"work", 17, 10, false}};
	assert_int_equal(a->n_frames, 3);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(a->frames[i].name, want[i].name);
		assert_string_equal(a->frames[i].dir, "/src");
		assert_string_equal(a->frames[i].base, "t.c");
		assert_int_equal(a->frames[i].offset, want[i].offset);
		assert_int_equal(a->frames[i].line, want[i].line);
		assert_int_equal(a->frames[i].inlined, want[i].inlined);
	}
	assert_true(a->has_rows);
	assert_int_equal(a->func_start, 0x1140);
	assert_int_equal(a->func_size, 0x32);
	assert_int_equal(a->n_merged, 1);
	assert_int_equal(gsym_lookup(f->reader, 0x114d, a, NULL), 0);
	assert_int_equal(a->n_frames, 2);
	assert_string_equal(a->frames[0].name, "tw");
	assert_int_equal(a->frames[0].line, 7);
	assert_int_equal(a->frames[1].line, 10);
	assert_int_equal(gsym_lookup(f->reader, 0x1140, a, NULL), 0);
	assert_int_equal(a->n_frames, 1);
	assert_int_equal(a->frames[0].line, 9);
}

static void add_with_inline(struct file *f, struct gsym_row row, uint32_t call_file)
{
	struct gsym_range range = {2, 4};
	struct gsym_inline node = {.name = sample_string(&f->s, "in"),
				   .call_file = call_file,
				   .call_line = 8,
				   .depth = 1,
				   .n_ranges = 1};
	struct gsym_func func = {.start = 0x1000,
				 .name = sample_string(&f->s, "f"),
				 .size = 8,
				 .rows = &row,
				 .n_rows = 1,
				 .inlines = &node,
				 .n_inlines = 1,
				 .ranges = &range,
				 .n_ranges = 1};
	assert_int_equal(gsym_writer_add(f->s.writer, &func, NULL), 0);
}

/* A call from an unknown file still is a call: the frame is there, with its name and without a file. */
TEST_OF(call_without_file, struct file, f)
{
	uint32_t file = sample_file(&f->s, "", "a.c");
	add_with_inline(f, (struct gsym_row){0, file, 3}, 0);
	expect_at(f, 3, "f+3");
	assert_int_equal(f->answer.n_frames, 2);
	assert_string_equal(f->answer.frames[0].name, "in");
	assert_string_equal(f->answer.frames[0].base, "a.c");
	assert_int_equal(f->answer.frames[0].line, 3);
	assert_int_equal(f->answer.frames[0].offset, 1);
	assert_string_equal(f->answer.frames[1].base, "");
	assert_int_equal(f->answer.frames[1].line, 8);
}

/* No usable row: the inlined call is still known, and where it was called; only its own position is not. */
static void expect_call_without_row(struct file *f, const char *call_base)
{
	assert_int_equal(f->answer.n_frames, 2);
	assert_true(f->answer.has_rows);
	assert_string_equal(f->answer.frames[0].name, "in");
	assert_string_equal(f->answer.frames[0].base, "");
	assert_int_equal(f->answer.frames[0].line, 0);
	assert_string_equal(f->answer.frames[1].base, call_base);
	assert_int_equal(f->answer.frames[1].line, 8);
}

TEST_OF(rows_that_do_not_help, struct file, f)
{
	uint32_t file = sample_file(&f->s, "", "a.c");
	add_with_inline(f, (struct gsym_row){3, file, 3}, file);
	expect_at(f, 2, "f+2");
	expect_call_without_row(f, "a.c");
	expect_at(f, 3, "f+3");
	assert_int_equal(f->answer.n_frames, 2);
	assert_true(f->answer.has_rows);
}

TEST_OF(row_of_file_zero, struct file, f)
{
	add_with_inline(f, (struct gsym_row){0, 0, 3}, 0);
	expect_at(f, 3, "f+3");
	expect_call_without_row(f, "");
}

TEST_OF(flags, struct file, f)
{
	struct gsym_diag diag = {""};
	add_with_inline(f, (struct gsym_row){0, 0, 3}, 0);
	f->reader = sample_open(&f->s, &f->data);
	unsigned known = GSYM_LOOKUP_NEAR | GSYM_LOOKUP_FIRST_ROW;
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1003, 0, known, &f->answer, &diag), 0);
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1003, 0, known | 64, &f->answer, &diag), -EINVAL);
	assert_words(&diag, "flags 0x40");
	assert_int_equal(f->answer.n_frames, 0);
}

/* A function with a line at its start and none from 16 on; a call is inlined in [@from, 8). */
static void add_with_near_row(struct file *f, uint32_t from, uint32_t call_line)
{
	const uint32_t file = sample_file(&f->s, "", "a.c");
	const struct gsym_row rows[] = {{0, file, 5}, {16, file, 0}};
	const struct gsym_range range = {from, 8 - from};
	const struct gsym_inline node = {.name = sample_string(&f->s, "in"),
					 .call_file = file,
					 .call_line = call_line,
					 .depth = 1,
					 .n_ranges = 1};
	const struct gsym_func func = {.start = 0x1000,
				       .name = sample_string(&f->s, "f"),
				       .size = 32,
				       .rows = rows,
				       .n_rows = 2,
				       .inlines = &node,
				       .n_inlines = 1,
				       .ranges = &range,
				       .n_ranges = 1};
	assert_int_equal(gsym_writer_add(f->s.writer, &func, NULL), 0);
}

static void expect_near(const struct file *f, uint64_t off, unsigned flags, uint32_t line, bool approximate)
{
	struct gsym_answer answer = {0};
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1000 + off, 0, flags, &answer, NULL), 0);
	assert_int_equal(answer.n_frames, 1);
	assert_int_equal(answer.frames[0].line, line);
	assert_int_equal(answer.frames[0].approximate, approximate);
	gsym_answer_deinit(&answer);
}

/* The nearest line before code without one; exact where there is one. */
TEST_OF(near_row, struct file, f)
{
	add_with_near_row(f, 4, 8);
	f->reader = sample_open(&f->s, &f->data);
	expect_near(f, 20, 0, 0, false);
	expect_near(f, 20, GSYM_LOOKUP_NEAR, 5, true);
	expect_near(f, 16, GSYM_LOOKUP_NEAR, 5, true);
	expect_near(f, 15, GSYM_LOOKUP_NEAR, 5, false);
}

/* Not that of a call that was inlined there, which is another function's. */
TEST_OF(near_row_of_another_call, struct file, f)
{
	add_with_near_row(f, 0, 8);
	f->reader = sample_open(&f->s, &f->data);
	expect_near(f, 20, GSYM_LOOKUP_NEAR, 0, false);
}

/* The line of the call has 5 bytes: more than 32 bits are damage, which the search for a row meets. */
TEST_OF(damage_near_the_row, struct file, f)
{
	static const uint8_t line[] = {0xf0, 0xff, 0xff, 0xff, 0x0f};
	struct gsym_diag diag = {""};
	size_t size;
	add_with_near_row(f, 0, 0xfffffff0);
	sample_finish(&f->s, &f->data, &size);
	uint8_t *found = memmem(f->data, size, line, sizeof(line));
	assert_non_null(found);
	found[4] = 0x1f;
	assert_int_equal(gsym_reader_open_memory(f->data, size, &f->reader, NULL), 0);
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1014, 0, 0, &f->answer, &diag), 0);
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1014, 0, GSYM_LOOKUP_NEAR, &f->answer, &diag),
			 -EBADMSG);
	assert_int_equal(f->answer.n_frames, 0);
	assert_words(&diag, "GSYM in memory: function |offset 0x");
	assert_int_equal(gsym_lookup_flags(f->reader, 0x1004, 0, 0, &f->answer, &diag), -EBADMSG);
}

/* h() of 8 bytes at 0x1000 with m1() and m2() folded onto it. */
static void add_folded(struct file *f)
{
	struct gsym_row rows[3] = {{0, sample_file(&f->s, "d", "x.c"), 1},
				   {0, sample_file(&f->s, "d", "y.c"), 2}};
	struct gsym_func merged[2] = {
		{.start = 0x1000,
		 .size = 8,
		 .name = sample_string(&f->s, "m1"),
		 .rows = &rows[1],
		 .n_rows = 1},
		{.start = 0x1000, .size = 8, .name = sample_string(&f->s, "m2")},
	};
	struct gsym_func holder = {.start = 0x1000,
				   .size = 8,
				   .name = sample_string(&f->s, "h"),
				   .rows = rows,
				   .n_rows = 1,
				   .merged = merged,
				   .n_merged = 2};
	assert_int_equal(gsym_writer_add(f->s.writer, &holder, NULL), 0);
}

TEST_OF(merged_functions, struct file, f)
{
	add_folded(f);
	struct gsym_reader *r = f->reader = sample_open(&f->s, &f->data);
	struct gsym_answer *a = &f->answer;
	static const char *const names[] = {"h", "m1", "m2"};
	for (uint32_t which = 0; which < 3; which++) {
		assert_int_equal(gsym_lookup_merged(r, 0x1004, which, a, NULL), 0);
		assert_string_equal(a->frames[0].name, names[which]);
		assert_int_equal(a->n_merged, 3);
		assert_int_equal(a->frames[0].line, which < 2 ? which + 1 : 0);
		assert_int_equal(a->has_rows, which < 2);
	}
	assert_int_equal(gsym_lookup_merged(r, 0x1004, 3, a, NULL), -ENOENT);
	assert_int_equal(gsym_lookup_merged(r, 0x1004, UINT32_MAX, a, NULL), -ENOENT);
	assert_int_equal(a->n_frames, 0);
	assert_int_equal(gsym_lookup_merged(r, 0x1008, 0, a, NULL), -ENOENT);
}

/* What a pass over folded functions has seen. */
struct seen {
	const struct file *f;
	char names[64];
	int stop_after; /* 0: at the end */
};

static int see(void *user, const struct function_info *record, struct gsym_diag *diag)
{
	struct seen *seen = user;
	const struct gsym_answer *a = &seen->f->answer;
	assert_string_equal(gsym_reader_string(seen->f->reader, record->name), a->frames[0].name);
	assert_int_equal(a->n_frames, 1);
	assert_int_equal(a->frames[0].offset, 4);
	strcat(seen->names, a->frames[0].name);
	if (--seen->stop_after)
		return 0;
	strcpy(diag->text, "enough");
	return -ECANCELED;
}

TEST_OF(each_of_the_merged, struct file, f)
{
	struct seen seen = {.f = f};
	struct gsym_diag diag = {""};
	add_folded(f);
	f->reader = sample_open(&f->s, &f->data);
	assert_int_equal(lookup_each_merged(f->reader, 0x1004, 0, &f->answer, see, &seen, NULL), 0);
	assert_string_equal(seen.names, "hm1m2");
	assert_int_equal(f->answer.n_merged, 3);
	assert_int_equal(lookup_each_merged(f->reader, 0x1008, 0, &f->answer, see, &seen, NULL), -ENOENT);
	seen = (struct seen){.f = f, .stop_after = 2};
	int err = lookup_each_merged(f->reader, 0x1004, 0, &f->answer, see, &seen, &diag);
	assert_int_equal(err, -ECANCELED);
	assert_words(&diag, "GSYM in memory|function 0|enough");
	assert_string_equal(seen.names, "hm1");
	assert_int_equal(f->answer.n_frames, 0);
}

/* An answer keeps its memory: a second lookup of the same depth allocates nothing. */
TEST_OF(answers_are_reused, struct file, f)
{
	sample_func(&f->s, 0, 8, "a", 1);
	expect_at(f, 0, "a+0");
	struct gsym_frame *frames = f->answer.frames;
	for (uint64_t off = 0; off < 8; off++)
		assert_int_equal(gsym_lookup(f->reader, 0x1000 + off, &f->answer, NULL), 0);
	assert_ptr_equal(f->answer.frames, frames);
}

EACH_TEST(setup, teardown)

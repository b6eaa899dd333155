#include "tests/unit/gsym/sample.h"

#include <stdlib.h>
#include <string.h>

const struct sample_kind sample_kinds[4] = {{1, false}, {1, true}, {2, false}, {2, true}};

void sample_init(struct sample *s, struct sample_kind kind, uint64_t base)
{
	static const uint8_t uuid[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	struct gsym_writer_options options = {
		.struct_size = sizeof(options),
		.version = kind.version,
		.big_endian = kind.big,
		.has_base_address = true,
		.base_address = base,
		.uuid = uuid,
		.uuid_size = sizeof(uuid),
	};
	s->base = base;
	assert_int_equal(gsym_writer_new(&options, &s->writer, NULL), 0);
}

uint64_t sample_string(struct sample *s, const char *text)
{
	uint64_t strp;
	assert_int_equal(gsym_writer_string(s->writer, text, strlen(text), &strp), 0);
	return strp;
}

uint32_t sample_file(struct sample *s, const char *dir, const char *base)
{
	uint32_t file;
	uint64_t dir_strp = sample_string(s, dir);
	assert_int_equal(gsym_writer_file(s->writer, dir_strp, sample_string(s, base), &file), 0);
	return file;
}

void sample_func(struct sample *s, uint64_t off, uint32_t size, const char *name, uint32_t line)
{
	struct gsym_diag diag = {""};
	struct gsym_row row = {0, 0, line};
	struct gsym_func func = {.start = s->base + off, .size = size, .name = sample_string(s, name)};
	if (line) {
		row.file = sample_file(s, "/src", "a.c");
		func.rows = &row;
		func.n_rows = 1;
	}
	int err = gsym_writer_add(s->writer, &func, &diag);
	assert_string_equal(diag.text, "");
	assert_int_equal(err, 0);
}

void sample_finish(struct sample *s, void **ret_data, size_t *ret_size)
{
	assert_int_equal(gsym_writer_finish_memory(s->writer, ret_data, ret_size, NULL), 0);
	gsym_writer_free(s->writer);
	s->writer = NULL;
}

struct gsym_reader *sample_open(struct sample *s, void **ret_data)
{
	struct gsym_reader *reader;
	struct gsym_diag diag = {""};
	size_t size;
	sample_finish(s, ret_data, &size);
	int err = gsym_reader_open_memory(*ret_data, size, &reader, &diag);
	assert_string_equal(diag.text, "");
	assert_int_equal(err, 0);
	return reader;
}

void sample_work(struct sample *s, struct gsym_func *ret)
{
	static struct gsym_row rows[] = {
		{0x00, 1, 9}, {0x06, 1, 3},  {0x0d, 1, 7},  {0x0f, 1, 3},
		{0x12, 1, 7}, {0x16, 1, 11}, {0x24, 1, 12},
	};
	static const struct gsym_range ranges[] = {{0x06, 0x10}, {0x06, 0x07}, {0x0f, 0x03}};
	static struct gsym_inline inlines[3];
	uint64_t work = sample_string(s, "work");
	uint32_t file = sample_file(s, "/src", "t.c");
	uint64_t tw = sample_string(s, "tw"), sq = sample_string(s, "sq");
	for (size_t i = 0; i < 7; i++)
		rows[i].file = file;
	inlines[0] = (struct gsym_inline){
		.name = tw, .call_file = file, .call_line = 10, .depth = 1, .n_ranges = 1};
	inlines[1] = (struct gsym_inline){sq, file, 6, 2, 1, 1};
	inlines[2] = (struct gsym_inline){sq, file, 7, 2, 2, 1};
	*ret = (struct gsym_func){
		.start = 0x1140,
		.name = work,
		.size = 0x32,
		.rows = rows,
		.n_rows = 7,
		.inlines = inlines,
		.n_inlines = 3,
		.ranges = ranges,
		.n_ranges = 3,
	};
}

static void assert_array_equal(const void *a, size_t n_a, const void *b, size_t n_b, size_t elem)
{
	assert_int_equal(n_a, n_b);
	if (n_a)
		assert_memory_equal(a, b, n_a * elem);
}

static void assert_inlines_equal(const struct gsym_func *a, const struct gsym_func *b)
{
	assert_int_equal(a->n_inlines, b->n_inlines);
	for (size_t i = 0; i < a->n_inlines; i++) {
		const struct gsym_inline *x = &a->inlines[i], *y = &b->inlines[i];
		assert_int_equal(x->name, y->name);
		assert_int_equal(x->call_file, y->call_file);
		assert_int_equal(x->call_line, y->call_line);
		assert_int_equal(x->depth, y->depth);
		assert_int_equal(x->first_range, y->first_range);
		assert_int_equal(x->n_ranges, y->n_ranges);
	}
}

static void assert_callsites_equal(const struct gsym_func *a, const struct gsym_func *b)
{
	assert_int_equal(a->n_callsites, b->n_callsites);
	for (size_t i = 0; i < a->n_callsites; i++) {
		const struct gsym_callsite *x = &a->callsites[i], *y = &b->callsites[i];
		assert_int_equal(x->return_off, y->return_off);
		assert_int_equal(x->first_pattern, y->first_pattern);
		assert_int_equal(x->n_patterns, y->n_patterns);
		assert_int_equal(x->flags, y->flags);
	}
}

void assert_func_equal(const struct gsym_func *a, const struct gsym_func *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->name, b->name);
	assert_int_equal(a->size, b->size);
	assert_array_equal(a->rows, a->n_rows, b->rows, b->n_rows, sizeof(*a->rows));
	assert_array_equal(a->ranges, a->n_ranges, b->ranges, b->n_ranges, sizeof(*a->ranges));
	assert_array_equal(a->patterns, a->n_patterns, b->patterns, b->n_patterns, sizeof(*a->patterns));
	assert_inlines_equal(a, b);
	assert_callsites_equal(a, b);
	assert_int_equal(a->n_merged, b->n_merged);
	for (size_t i = 0; i < a->n_merged; i++)
		assert_func_equal(&a->merged[i], &b->merged[i]);
}

void assert_words(const struct gsym_diag *diag, const char *words)
{
	char copy[512], *save = NULL;
	strncpy(copy, words, sizeof(copy) - 1);
	copy[sizeof(copy) - 1] = 0;
	for (char *word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		if (!strstr(diag->text, word))
			fail_msg("\"%s\" does not say \"%s\"", diag->text, word);
	}
}

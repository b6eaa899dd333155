/* Records to a writer: the version that holds them. */

#include "tests/unit/convert/record/pool_text.h"

#include "convert/finish/finalize.h"
#include "gsym/write/writer.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

enum { FUNCTIONS = 600 }; /* several chunks */

struct fixture {
	struct pool pool;
	record_vec records;
	struct gsym_row rows[FUNCTIONS];
	struct warnings warnings;
	void *data;
	size_t size;
};

/* Functions of 16 bytes with a line each; every other one has the record of the one before it. */
static int setup(void **state)
{
	static const char *const names[] = {"even", "odd", "third"};
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (!f || pool_init(&f->pool))
		return -1;
	uint32_t file;
	struct pool_file path = {pool_text(&f->pool, "/src"), pool_text(&f->pool, "a.c")};
	assert_int_equal(pool_add_file(&f->pool, path, &file), 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		f->rows[i] = (struct gsym_row){0, file, 1 + i / 2};
		struct func_record r = {.start = 0x1000 + 16 * i, .end = 0x1010 + 16 * i, .bare = NO_STRING};
		r.name = pool_text(&f->pool, names[i / 2 % 3]);
		r.rows = &f->rows[i];
		r.n_rows = 1;
		assert_int_equal(vec_push(&f->records, r), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	pool_deinit(&f->pool);
	vec_free(&f->records);
	free(f->data);
	free(f);
	return 0;
}

static struct gsym_writer *new_writer(uint16_t version)
{
	const struct gsym_writer_options options = {.struct_size = sizeof(options), .version = version};
	struct gsym_writer *w;
	assert_int_equal(gsym_writer_new(&options, &w, NULL), 0);
	assert_int_equal(writer_save_space(w), 0);
	return w;
}

static void finish(struct fixture *f, struct gsym_writer *w)
{
	free(f->data);
	assert_int_equal(gsym_writer_finish_memory(w, &f->data, &f->size, NULL), 0);
	gsym_writer_free(w);
}

/* The bytes that a writer of @version makes. */
static size_t plain(struct fixture *f, uint16_t version, void **ret)
{
	struct gsym_writer *w = new_writer(version);
	assert_int_equal(emit_records(&f->records, &f->pool, 2, w, &f->warnings, NULL), 0);
	finish(f, w);
	*ret = f->data;
	f->data = NULL;
	return f->size;
}

/* The same for one that may choose. */
static void choose(struct fixture *f, uint64_t v1_most, uint64_t *ret_last)
{
	struct gsym_writer *w = new_writer(1);
	struct layout layout;
	writer_choose_version(w, v1_most);
	assert_int_equal(emit_records(&f->records, &f->pool, 2, w, &f->warnings, NULL), 0);
	assert_int_equal(writer_layout(w, &layout, NULL), 0);
	*ret_last = layout.off[GlobalInfo_FunctionInfo] + w->last_record;
	finish(f, w);
}

static void expect(struct fixture *f, uint16_t version)
{
	void *state, *want;
	assert_int_equal(setup(&state), 0);
	size_t size = plain(state, version, &want);
	assert_int_equal(f->size, size);
	assert_memory_equal(f->data, want, size);
	free(want);
	teardown(&state);
}

TEST_OF(version_1_if_it_holds_them, struct fixture, f)
{
	uint64_t last;
	choose(f, UINT32_MAX, &last);
	expect(f, 1);
}

/* Where the last record of these functions begins. */
static uint64_t last_record(void)
{
	void *other;
	uint64_t last;
	assert_int_equal(setup(&other), 0);
	choose(other, UINT32_MAX, &last);
	teardown(&other);
	return last;
}

TEST_OF(version_2_if_records_are_beyond, struct fixture, f)
{
	uint64_t ignored;
	choose(f, last_record() - 1, &ignored);
	expect(f, 2);
}

TEST_OF(version_1_up_to_the_limit, struct fixture, f)
{
	uint64_t last = last_record(), again;
	choose(f, last, &again);
	assert_int_equal(last, again);
	expect(f, 1);
}

TEST_OF(version_2_if_strings_are_beyond, struct fixture, f)
{
	uint64_t last;
	choose(f, 8, &last);
	expect(f, 2);
}

TEST_OF(a_version_that_was_asked_for_stays, struct fixture, f)
{
	struct gsym_writer *w = new_writer(1);
	w->v1_most = 8;
	assert_int_equal(emit_records(&f->records, &f->pool, 2, w, &f->warnings, NULL), -EOVERFLOW);
	gsym_writer_free(w);
}

/* A part that the encoder refuses is left out of its function alone. */
TEST_OF(parts_that_break_a_rule_are_left_out, struct fixture, f)
{
	struct gsym_range outside = {8, 9};
	const struct gsym_inline call = {.name = f->records.v[0].name, .depth = 1, .n_ranges = 1};
	struct gsym_inline calls[] = {call, call};
	struct gsym_row descend[] = {{8, 0, 1}, {4, 0, 2}};
	struct func_record apart[] = {f->records.v[50], f->records.v[51]}, whole[] = {f->records.v[60]};
	struct gsym_callsite past = {.return_off = 4, .first_pattern = 1, .n_patterns = 1},
			     site = {.return_off = 4};
	struct gsym_writer *w = new_writer(1);
	f->records.v[50].merged = apart; /* the second has another range */
	f->records.v[50].n_merged = 2;
	f->records.v[60].merged = whole;
	f->records.v[60].n_merged = 1;
	f->records.v[70].callsites = &past;
	f->records.v[80].callsites = &site;
	f->records.v[70].n_callsites = f->records.v[80].n_callsites = 1;
	f->records.v[2].rows = descend;
	f->records.v[2].n_rows = 2;
	f->records.v[299].inlines = &calls[0];
	f->records.v[400].inlines = &calls[1];
	f->records.v[299].ranges = f->records.v[400].ranges = &outside;
	f->records.v[299].n_inlines = f->records.v[400].n_inlines = 1;
	f->records.v[299].n_ranges = f->records.v[400].n_ranges = 1;
	assert_int_equal(emit_records(&f->records, &f->pool, 2, w, &f->warnings, NULL), 0);
	finish(f, w);
	assert_int_equal(f->warnings.kind[WARN_PART_LINES].count, 1);
	assert_int_equal(f->warnings.kind[WARN_PART_LINES].off, 0x1020);
	assert_int_equal(f->warnings.kind[WARN_PART_INLINES].count, 2);
	assert_int_equal(f->warnings.kind[WARN_PART_INLINES].off, f->records.v[299].start);
	assert_int_equal(f->warnings.kind[WARN_PART_MERGED].count, 1);
	assert_int_equal(f->warnings.kind[WARN_PART_MERGED].off, f->records.v[50].start);
	assert_int_equal(f->warnings.kind[WARN_PART_CALLSITES].count, 1);
	assert_int_equal(f->warnings.kind[WARN_PART_CALLSITES].off, f->records.v[70].start);

	struct gsym_reader *reader;
	struct gsym_decoder *d = gsym_decoder_new();
	struct gsym_func func;
	assert_int_equal(gsym_reader_open_memory(f->data, f->size, &reader, NULL), 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		assert_int_equal(gsym_reader_function(reader, i, d, &func, NULL), 0);
		assert_int_equal(func.n_rows, i != 2);
		assert_int_equal(func.n_inlines, 0);
		assert_int_equal(func.n_merged, i == 60);
		assert_int_equal(func.n_callsites, i == 80);
	}
	gsym_decoder_free(d);
	gsym_reader_close(reader);
}

EACH_TEST(setup, teardown)

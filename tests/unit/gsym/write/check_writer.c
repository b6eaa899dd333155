/* The writer's own rules: order, limits, what it refuses, and that a refused function leaves no trace. */
#include "gsym/write/writer.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int add(struct sample *s, const struct gsym_func *f, struct gsym_diag *diag)
{
	return gsym_writer_add(s->writer, f, diag);
}

TEST(options_are_checked)
{
	struct gsym_writer *w;
	struct gsym_diag diag;
	struct {
		struct gsym_writer_options known;
		uint64_t newer;
	} o = {.known = {.struct_size = sizeof(o)}};
	assert_int_equal(gsym_writer_new(&o.known, &w, &diag), 0);
	assert_int_equal(w->version, 1);
	gsym_writer_free(w);
	o.newer = 1;
	assert_int_equal(gsym_writer_new(&o.known, &w, &diag), -EINVAL);
	assert_words(&diag, "writer options|is set");
	o.known.struct_size = 0;
	assert_int_equal(gsym_writer_new(&o.known, &w, &diag), -EINVAL);
	assert_words(&diag, "struct_size");
	o.known.struct_size = offsetof(struct gsym_writer_options, has_base_address);
	o.known.has_base_address = true; /* past what the caller says it has */
	assert_int_equal(gsym_writer_new(&o.known, &w, &diag), 0);
	assert_false(w->has_base);
	gsym_writer_free(w);
	o.known = (struct gsym_writer_options){.struct_size = sizeof(o.known), .version = 3};
	assert_int_equal(gsym_writer_new(&o.known, &w, &diag), -ENOTSUP);
	assert_words(&diag, "version 3");
}

TEST(uuid_of_version_1_is_short)
{
	static const uint8_t uuid[21];
	struct gsym_writer *w;
	struct gsym_diag diag;
	struct gsym_writer_options o = {.struct_size = sizeof(o), .uuid = uuid, .uuid_size = 21};
	assert_int_equal(gsym_writer_new(&o, &w, &diag), -EOVERFLOW);
	assert_words(&diag, "header at offset 0x1c|21 bytes");
	o.version = 2;
	assert_int_equal(gsym_writer_new(&o, &w, &diag), 0);
	gsym_writer_free(w);
}

TEST(starts_must_ascend)
{
	struct sample s;
	struct gsym_diag diag;
	sample_init(&s, sample_kinds[0], 0x1000);
	struct gsym_func f = {.start = 0xfff, .name = sample_string(&s, "f"), .size = 1};
	assert_int_equal(add(&s, &f, &diag), -EINVAL);
	assert_words(&diag, "function at 0xfff|below the base address 0x1000");
	sample_func(&s, 0x20, 8, "g", 0);
	sample_func(&s, 0x20, 9, "h", 0);
	f.start = 0x101f;
	assert_int_equal(add(&s, &f, &diag), -EINVAL);
	assert_words(&diag, "function at 0x101f|below the function before, at 0x1020");
	gsym_writer_free(s.writer);
}

TEST(refused_function_leaves_no_trace)
{
	struct sample s;
	struct gsym_diag diag;
	void *with, *without;
	size_t with_size, without_size;
	for (int bad = 0; bad < 2; bad++) {
		sample_init(&s, sample_kinds[0], 0x1000);
		sample_func(&s, 0, 7, "f", 5);
		struct gsym_row rows[] = {{0, 1, 1}, {9, 1, 2}};
		struct gsym_func f = {.start = 0x1010, .name = 1, .size = 4, .rows = rows, .n_rows = 2};
		if (bad) {
			assert_int_equal(add(&s, &f, &diag), -EINVAL);
			assert_words(&diag, "function at 0x1010|+0x9");
			f.name = 0;
			assert_int_equal(add(&s, &f, &diag), -EINVAL);
			assert_words(&diag, "name 0x0");
			f.name = 1000;
			assert_int_equal(add(&s, &f, &diag), -EINVAL);
			assert_words(&diag, "name 0x3e8");
		}
		sample_func(&s, 0x20, 7, "g", 6);
		if (bad)
			sample_finish(&s, &with, &with_size);
		else
			sample_finish(&s, &without, &without_size);
	}
	assert_int_equal(with_size, without_size);
	assert_memory_equal(with, without, with_size);
	free(with);
	free(without);
}

enum {
	MANY = 70000, /* several rounds of what threads encode at a time */
};

/* Function @index of many, of sizes that leave padding; -EIO for the one that @user says. */
static int get_one_of_many(void *user, size_t index, struct gsym_func *ret)
{
	static const struct gsym_row rows[] = {{0, 1, 1}, {1, 1, 5}, {2, 1, 90}};
	const size_t *fail = user;
	if (fail && *fail == index)
		return -EIO;
	*ret = (struct gsym_func){
		.start = 0x1000 + index * 8,
		.name = 1,
		.size = 8,
		.rows = rows,
		.n_rows = index % 4,
	};
	return 0;
}

static void many_init(struct sample *s)
{
	sample_init(s, sample_kinds[0], 0x1000);
	sample_string(s, "f");
	sample_file(s, "d", "b");
}

static void give_the_same_bytes(bool share)
{
	void *first = NULL, *data;
	size_t first_size = 0, size;
	for (unsigned threads = 0; threads <= 4; threads++) {
		struct sample s;
		many_init(&s);
		assert_int_equal(share ? writer_save_space(s.writer) : 0, 0);
		for (size_t i = 0; i < MANY && !threads; i++) {
			struct gsym_func f;
			assert_int_equal(get_one_of_many(NULL, i, &f), 0);
			assert_int_equal(add(&s, &f, NULL), 0);
		}
		if (threads)
			assert_int_equal(
				gsym_writer_add_many(s.writer, MANY, threads, get_one_of_many, NULL, NULL),
				0);
		sample_finish(&s, &data, &size);
		if (threads) {
			assert_int_equal(size, first_size);
			assert_memory_equal(data, first, size);
			free(data);
		} else {
			first = data;
			first_size = size;
		}
	}
	free(first);
}

TEST(many_give_the_same_bytes)
{
	give_the_same_bytes(false);
	give_the_same_bytes(true);
}

/* The functions are of four kinds, and so are their records; one of another name has its own. */
TEST(equal_records_are_shared)
{
	struct sample s;
	void *data;
	many_init(&s);
	assert_int_equal(writer_save_space(s.writer), 0);
	assert_int_equal(gsym_writer_add_many(s.writer, 4, 1, get_one_of_many, NULL, NULL), 0);
	size_t four = buf_size(&s.writer->records);
	for (size_t i = 4; i < MANY; i++) {
		struct gsym_func f;
		assert_int_equal(get_one_of_many(NULL, i, &f), 0);
		assert_int_equal(add(&s, &f, NULL), 0);
	}
	assert_true(buf_size(&s.writer->records) < four + RECORD_ALIGN);
	sample_func(&s, MANY * 8, 8, "other", 0);
	assert_true(buf_size(&s.writer->records) >= four + RECORD_ALIGN);
	struct gsym_reader *reader = sample_open(&s, &data);
	struct gsym_decoder *decoder = gsym_decoder_new();
	for (uint32_t i = 0; i < MANY; i++) {
		struct gsym_func want, got;
		assert_int_equal(get_one_of_many(NULL, i, &want), 0);
		assert_int_equal(gsym_reader_function(reader, i, decoder, &got, NULL), 0);
		assert_func_equal(&got, &want);
	}
	gsym_decoder_free(decoder);
	gsym_reader_close(reader);
	free(data);
}

/* Of records that were dropped again, none is shared. */
TEST(dropped_records_are_not_shared)
{
	struct sample s;
	struct gsym_diag diag;
	size_t fail = 69000;
	many_init(&s);
	assert_int_equal(writer_save_space(s.writer), 0);
	assert_int_equal(gsym_writer_add_many(s.writer, MANY, 3, get_one_of_many, &fail, &diag), -EIO);
	assert_int_equal(buf_size(&s.writer->records), 0);
	assert_int_equal(gsym_writer_add_many(s.writer, 1, 3, get_one_of_many, NULL, &diag), 0);
	assert_true(buf_size(&s.writer->records) > 0);
	gsym_writer_free(s.writer);
}

TEST(many_are_added_whole_or_not)
{
	struct sample s;
	struct gsym_diag diag;
	size_t fail = 69000;
	many_init(&s);
	sample_func(&s, 0, 4, "before", 0);
	size_t records = s.writer->records.bytes.n;
	assert_int_equal(gsym_writer_add_many(s.writer, MANY, 3, get_one_of_many, &fail, &diag), -EIO);
	assert_words(&diag, "function 69000");
	assert_int_equal(s.writer->records.bytes.n, records);
	assert_int_equal(s.writer->slots.n, 1);
	/* starts below the function that is there */
	sample_func(&s, 0x2000, 4, "far", 0);
	assert_int_equal(gsym_writer_add_many(s.writer, MANY, 3, get_one_of_many, NULL, &diag), -EINVAL);
	assert_words(&diag, "function at 0x1000|below the function before");
	assert_int_equal(s.writer->slots.n, 2);
	assert_int_equal(gsym_writer_add_many(s.writer, 0, 3, get_one_of_many, NULL, &diag), 0);
	gsym_writer_free(s.writer);
}

TEST(base_is_the_first_function)
{
	struct gsym_writer_options o = {.struct_size = sizeof(o)};
	struct sample s = {.base = 0x4000};
	void *data;
	assert_int_equal(gsym_writer_new(&o, &s.writer, NULL), 0);
	sample_func(&s, 0x10, 4, "f", 0);
	sample_func(&s, 0x110, 4, "g", 0);
	struct gsym_reader *r = sample_open(&s, &data);
	assert_int_equal(gsym_reader_info(r)->base_address, 0x4010);
	assert_int_equal(gsym_reader_info(r)->addr_off_size, 2);
	assert_int_equal(gsym_reader_address(r, 1), 0x4110);
	gsym_reader_close(r);
	free(data);
}

TEST(files_need_strings)
{
	struct sample s;
	uint32_t file;
	sample_init(&s, sample_kinds[2], 0);
	assert_int_equal(gsym_writer_file(s.writer, 5, 0, &file), -EINVAL);
	assert_int_equal(gsym_writer_file(s.writer, 0, 5, &file), -EINVAL);
	assert_int_equal(gsym_writer_file(s.writer, 0, 0, &file), 0);
	assert_int_equal(file, 0);
	assert_int_equal(sample_file(&s, "d", "b"), 1);
	gsym_writer_free(s.writer);
}

TEST(nothing_to_write)
{
	struct sample s;
	struct gsym_diag diag;
	void *data;
	size_t size;
	uint64_t strp;
	sample_init(&s, sample_kinds[0], 0);
	assert_int_equal(gsym_writer_finish_memory(s.writer, &data, &size, &diag), -EINVAL);
	assert_words(&diag, "header at offset 0|no functions");
	assert_int_equal(gsym_writer_finish_memory(s.writer, &data, &size, &diag), -EINVAL);
	assert_words(&diag, "has finished");
	assert_int_equal(gsym_writer_string(s.writer, "x", 1, &strp), -EINVAL);
	gsym_writer_free(s.writer);
}

TEST(descriptor_and_memory_agree)
{
	for (int k = 0; k < 4; k++) {
		struct sample s;
		struct gsym_func f;
		void *data;
		size_t size;
		FILE *file = tmpfile();
		assert_non_null(file);
		for (int to_memory = 0; to_memory < 2; to_memory++) {
			sample_init(&s, sample_kinds[k], 0x1000);
			sample_work(&s, &f);
			assert_int_equal(add(&s, &f, NULL), 0);
			if (to_memory) {
				sample_finish(&s, &data, &size);
			} else {
				assert_int_equal(gsym_writer_finish(s.writer, fileno(file), NULL), 0);
				gsym_writer_free(s.writer);
			}
		}
		char *copy = malloc(size + 1);
		assert_int_equal(pread(fileno(file), copy, size + 1, 0), size);
		assert_memory_equal(copy, data, size);
		free(copy);
		free(data);
		fclose(file);
	}
}

TEST(write_error_is_told)
{
	struct sample s;
	struct gsym_diag diag;
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	sample_init(&s, sample_kinds[0], 0);
	sample_func(&s, 0, 1, "f", 0);
	assert_int_equal(gsym_writer_finish(s.writer, fds[1], &diag), -ESPIPE);
	assert_words(&diag, "writing the GSYM file at offset 0x0");
	gsym_writer_free(s.writer);
	close(fds[0]);
	close(fds[1]);
}

TEST(string_table_is_limited_in_version_1)
{
	struct sample s;
	uint64_t strp;
	sample_init(&s, sample_kinds[0], 0);
	assert_int_equal(s.writer->strings.limit, UINT32_MAX);
	s.writer->strings.limit = 8; /* the same check without writing 4 GiB */
	assert_int_equal(gsym_writer_string(s.writer, "12345678", 8, &strp), -EOVERFLOW);
	gsym_writer_free(s.writer);
}

static int get_uncountable(void *user, size_t index, struct gsym_func *ret)
{
	size_t *callsites = user;
	*ret = (struct gsym_func){.start = 0x1000 + index, .size = 1, .name = 1, .n_callsites = *callsites};
	return 0;
}

static void forget_callsites(void *user, size_t index, enum info_type part)
{
	size_t *callsites = user;
	assert_int_equal(index, 0);
	assert_int_equal(part, InfoType_CallSiteInfo);
	*callsites = 0;
}

/* More than 32 bits can count are left out as what breaks another rule is, if the caller does that. */
TEST(uncountable_part)
{
	struct sample s;
	size_t callsites = (size_t)UINT32_MAX + 1;
	sample_init(&s, sample_kinds[0], 0x1000);
	(void)sample_string(&s, "f");
	assert_int_equal(writer_add_fitting(s.writer, 1, 1, get_uncountable, NULL, &callsites, NULL),
			 -EOVERFLOW);
	assert_int_equal(
		writer_add_fitting(s.writer, 1, 1, get_uncountable, forget_callsites, &callsites, NULL), 0);
	assert_int_equal(s.writer->slots.n, 1);
	gsym_writer_free(s.writer);
}

/* The limit of strings and records together; what is refused leaves no trace, and less may still fit. */
TEST(size_is_limited)
{
	struct sample s;
	struct gsym_diag diag;
	uint64_t strp;
	sample_init(&s, sample_kinds[0], 0x1000);
	struct gsym_func f = {.start = 0x1000, .size = 16, .name = sample_string(&s, "f")};
	assert_int_equal(add(&s, &f, &diag), 0);
	size_t records = buf_size(&s.writer->records), used = s.writer->strings.n + records;
	writer_limit(s.writer, used + records - 1);
	f.start = 0x1010;
	assert_int_equal(add(&s, &f, &diag), -EOVERFLOW);
	assert_words(&diag, "function at 0x1010|exceed");
	assert_int_equal(gsym_writer_add_many(s.writer, MANY, 3, get_one_of_many, NULL, &diag), -EOVERFLOW);
	assert_words(&diag, "exceed");
	assert_int_equal(s.writer->slots.n, 1);
	assert_int_equal(buf_size(&s.writer->records), records);
	writer_limit(s.writer, used + 2 * records);
	assert_int_equal(add(&s, &f, &diag), 0);
	writer_limit(s.writer, used);
	assert_int_equal(gsym_writer_string(s.writer, "g", 1, &strp), -EOVERFLOW);
	gsym_writer_free(s.writer);
}

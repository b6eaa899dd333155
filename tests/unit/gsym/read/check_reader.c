/* Opening: both versions and byte orders, at any alignment, and every way in which tables can be wrong. */
#include "gsym/codec/format.h"
#include "gsym/base/bytes.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Functions enough to use every table. */
static void fill(struct sample *s)
{
	struct gsym_func f;
	sample_work(s, &f);
	assert_int_equal(gsym_writer_add(s->writer, &f, NULL), 0);
	sample_func(s, 0x1200, 0x10, "other", 17);
	sample_func(s, 0x1300, 0, "unsized", 0);
}

static void *make(int kind, size_t *ret_size)
{
	struct sample s;
	void *data;
	sample_init(&s, sample_kinds[kind], 0);
	fill(&s);
	sample_finish(&s, &data, ret_size);
	return data;
}

static void expect_content(const struct gsym_reader *r)
{
	const struct gsym_info *info = gsym_reader_info(r);
	struct gsym_answer a = {0};
	const char *dir, *base;
	assert_int_equal(info->num_addresses, 3);
	assert_int_equal(info->num_files, 3);
	assert_int_equal(info->uuid_size, 16);
	assert_int_equal(info->uuid[15], 16);
	assert_int_equal(gsym_reader_address(r, 0), 0x1140);
	assert_int_equal(gsym_reader_address(r, 2), 0x1300);
	assert_string_equal(gsym_reader_string(r, 1), "work");
	assert_string_equal(gsym_reader_string(r, info->strtab_size - 1), "");
	assert_null(gsym_reader_string(r, info->strtab_size));
	assert_int_equal(gsym_reader_file(r, 1, &dir, &base), 0);
	assert_string_equal(dir, "/src");
	assert_string_equal(base, "t.c");
	assert_int_equal(gsym_reader_file(r, 3, &dir, &base), -EBADMSG);
	assert_int_equal(gsym_lookup(r, 0x114f, &a, NULL), 0);
	assert_int_equal(a.n_frames, 3);
	assert_string_equal(a.frames[0].name, "sq");
	gsym_answer_deinit(&a);
}

static void expect_functions(const struct gsym_reader *r, const struct gsym_func *work)
{
	struct gsym_decoder *d = gsym_decoder_new();
	struct gsym_func f;
	struct gsym_diag diag;
	assert_int_equal(gsym_reader_function(r, 0, d, &f, NULL), 0);
	assert_func_equal(&f, work);
	assert_int_equal(gsym_reader_function(r, 2, d, &f, NULL), 0);
	assert_int_equal(f.size, 0);
	assert_int_equal(f.n_rows, 0);
	assert_int_equal(gsym_reader_function(r, 3, d, &f, &diag), -EINVAL);
	assert_words(&diag, "function 3 of 3");
	gsym_decoder_free(d);
}

TEST(all_kinds_at_any_alignment)
{
	for (int k = 0; k < 4; k++) {
		for (size_t shift = 0; shift < 8; shift++) {
			struct sample s;
			struct gsym_func work;
			struct gsym_reader *r;
			void *data;
			size_t size;
			sample_init(&s, sample_kinds[k], 0);
			fill(&s);
			sample_finish(&s, &data, &size);
			uint8_t *shifted = malloc(size + shift);
			memcpy(shifted + shift, data, size);
			assert_int_equal(gsym_reader_open_memory(shifted + shift, size, &r, NULL), 0);
			assert_int_equal(gsym_reader_info(r)->version, sample_kinds[k].version);
			assert_int_equal(gsym_reader_info(r)->big_endian, sample_kinds[k].big);
			expect_content(r);
			sample_init(&s, sample_kinds[k],
				    0); /* the same strings and files get the same numbers */
			sample_work(&s, &work);
			expect_functions(r, &work);
			gsym_writer_free(s.writer);
			gsym_reader_close(r);
			free(shifted);
			free(data);
		}
	}
}

/* Addresses of every width, through the search of each. */
TEST(all_address_widths)
{
	static const uint64_t last[] = {0xf0, 0xfff0, 0xfffffff0, 0xfffffffff0};
	for (int k = 0; k < 4; k++) {
		for (size_t w = 0; w < 4; w++) {
			struct sample s;
			struct gsym_answer a = {0};
			void *data;
			sample_init(&s, sample_kinds[k], 0x1000000);
			for (uint64_t i = 0; i <= 10; i++)
				sample_func(&s, last[w] / 10 * i, 4, "f", 0);
			struct gsym_reader *r = sample_open(&s, &data);
			assert_int_equal(gsym_reader_info(r)->addr_off_size, 1 << w);
			for (uint32_t i = 0; i <= 10; i++) {
				uint64_t start = 0x1000000 + last[w] / 10 * i;
				assert_int_equal(gsym_lookup(r, start, &a, NULL), 0);
				assert_int_equal(a.func_index, i);
				assert_int_equal(gsym_lookup(r, start + 3, &a, NULL), 0);
				assert_int_equal(gsym_lookup(r, start + 4, &a, NULL), -ENOENT);
				assert_int_equal(gsym_lookup(r, start - 1, &a, NULL), -ENOENT);
			}
			gsym_answer_deinit(&a);
			gsym_reader_close(r);
			free(data);
		}
	}
}

TEST(opens_files)
{
	char path[] = "/tmp/check_reader.XXXXXX";
	struct gsym_reader *r;
	struct gsym_diag diag;
	size_t size;
	void *data = make(0, &size);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(gsym_reader_open(path, &r, &diag), -EBADMSG); /* empty */
	assert_words(&diag, "header at offset 0");
	assert_words(&diag, path);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(gsym_reader_open(path, &r, NULL), 0);
	expect_content(r);
	gsym_reader_close(r);
	assert_int_equal(gsym_reader_open_fd(fd, "name", &r, NULL), 0);
	expect_content(r);
	gsym_reader_close(r);
	close(fd);
	unlink(path);
	assert_int_equal(gsym_reader_open(path, &r, &diag), -ENOENT);
	assert_words(&diag, path);
	assert_int_equal(gsym_reader_open("/tmp", &r, &diag), -EBADMSG);
	assert_words(&diag, "/tmp|not a regular file");
	assert_int_equal(gsym_reader_open_memory(NULL, 0, &r, &diag), -EBADMSG);
	assert_words(&diag, "header at offset 0");
	gsym_reader_close(NULL);
	free(data);
}

/* Overwrites @width bytes at @off of a good file and expects @err and @words. */
static void expect_refused(int kind, size_t off, unsigned width, uint64_t value, int err, const char *words)
{
	struct gsym_reader *r = NULL;
	struct gsym_diag diag = {""};
	size_t size;
	bool big = sample_kinds[kind].big;
	uint8_t *data = make(kind, &size);
	switch (width) {
	case 1: data[off] = (uint8_t)value; break;
	case 2: store16(data + off, (uint16_t)value, big); break;
	case 4: store32(data + off, (uint32_t)value, big); break;
	default: store64(data + off, value, big); break;
	}
	assert_int_equal(gsym_reader_open_memory(data, size, &r, &diag), err);
	assert_null(r);
	assert_words(&diag, "GSYM in memory|offset 0x");
	assert_words(&diag, words);
	free(data);
}

TEST(headers)
{
	for (int k = 0; k < 4; k++) {
		struct gsym_reader *r;
		struct gsym_diag diag;
		assert_int_equal(gsym_reader_open_memory("MYSGxx", 6, &r, &diag), -EBADMSG);
		assert_words(&diag, "header at offset 0|ends at 0x6");
		assert_int_equal(gsym_reader_open_memory("\177ELF....", 8, &r, &diag), -EBADMSG);
		assert_words(&diag, "header at offset 0|not GSYM");
		expect_refused(k, 4, 2, 3, -ENOTSUP, "header|version 3");
		expect_refused(k, 4, 2, 0, -ENOTSUP, "header|version 0");
		expect_refused(k, 6, 1, 3, -EBADMSG, "address offsets of 3 bytes");
	}
	expect_refused(0, 7, 1, 21, -EBADMSG, "UUID of 21 bytes");
	expect_refused(2, 7, 1, 1, -ENOTSUP, "string table encoding 1");
}

TEST(version_1_tables)
{
	for (int k = 0; k < 2; k++) {
		expect_refused(k, 16, 4, UINT32_MAX, -EBADMSG,
			       "address offsets at offset 0x30|the file ends");
		expect_refused(k, 16, 4, 60, -EBADMSG, "address info offsets at offset 0xa8|the file ends");
		expect_refused(k, 68, 4, 0xffffff, -EBADMSG, "file table at offset 0x44");
		expect_refused(k, 20, 4, 0xfffffff0, -EBADMSG,
			       "string table at offset 0xfffffff0|the file ends");
		expect_refused(k, 24, 4, 0xfffffff0, -EBADMSG, "string table at offset|0xfffffff0 bytes");
		expect_refused(k, 24, 4, 0, -EBADMSG, "string table|expected a NUL");
	}
}

/* Directory entries of version 2 by position: UUID, addresses, infos, files, strings, records. */
static size_t entry(int i)
{
	return V2_HEADER_SIZE + (size_t)i * GLOBAL_ENTRY_SIZE;
}

TEST(version_2_directory)
{
	static const char *const names[] = {
		"UUID",       "address offsets", "address info offsets",
		"file table", "string table",    "function records",
	};
	for (int k = 2; k < 4; k++) {
		for (int i = 0; i < 6; i++) {
			char words[64];
			snprintf(words, sizeof(words), "directory|%s|the file ends", names[i]);
			expect_refused(k, entry(i) + 4, 8, 1 << 20, -EBADMSG, words);
			expect_refused(k, entry(i) + 12, 8, 1 << 20, -EBADMSG, words);
			expect_refused(k, entry(i) + 12, 8, UINT64_MAX - 4, -EBADMSG, words);
			expect_refused(k, entry(i) + 4, 8, UINT64_MAX - 4, -EBADMSG, words);
			snprintf(words, sizeof(words), "directory|%s: empty", names[i]);
			expect_refused(k, entry(i) + 12, 8, 0, -EBADMSG, words);
			snprintf(words, sizeof(words), "directory|no entry for %s", names[i]);
			if (i) /* without a UUID a file is whole */
				expect_refused(k, entry(i), 4, 77, -EBADMSG, words);
		}
		expect_refused(k, 16, 4, 4, -EBADMSG, "address offsets at offset|expected 4 entries");
		expect_refused(k, entry(2) + 12, 8, 16, -EBADMSG,
			       "address info offsets|expected 3 entries of 8");
		expect_refused(k, entry(3) + 12, 8, 50, -EBADMSG, "file table|3 files");
	}
}

/* Where the file says how large its string table is, and where it begins. */
static void set_string_table(uint8_t *data, int kind, uint64_t off, uint64_t size)
{
	bool big = sample_kinds[kind].big;
	if (sample_kinds[kind].version == 1) {
		store32(data + 20, (uint32_t)off, big);
		store32(data + 24, (uint32_t)size, big);
	} else {
		store64(data + entry(4) + 4, off, big);
		store64(data + entry(4) + 12, size, big);
	}
}

/* A table whose last byte is no NUL, as one that is shared with the file around, ends before that. */
TEST(string_table_ends_with_its_last_nul)
{
	for (int k = 0; k < 4; k++) {
		struct gsym_reader *r;
		struct gsym_answer a = {0};
		struct gsym_diag diag;
		size_t size;
		uint8_t *data = make(k, &size);
		assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
		uint64_t whole = gsym_reader_info(r)->strtab_size;
		uint64_t off = (uint64_t)((const uint8_t *)gsym_reader_string(r, 0) - data);
		gsym_reader_close(r);
		for (uint64_t cut = 1; cut <= strlen("unsized") + 1; cut++) {
			set_string_table(data, k, off, whole - cut);
			assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
			assert_int_equal(gsym_reader_info(r)->strtab_size, whole - strlen("unsized") - 1);
			assert_null(gsym_reader_string(r, whole - strlen("unsized") - 1));
			assert_int_equal(gsym_lookup(r, 0x1200, &a, NULL), 0);
			assert_string_equal(a.frames[0].name, "other");
			assert_int_equal(gsym_lookup(r, 0x1300, &a, &diag), -EBADMSG);
			gsym_reader_close(r);
		}
		set_string_table(data, k, 1, 3); /* three letters of the magic */
		assert_int_equal(gsym_reader_open_memory(data, size, &r, &diag), -EBADMSG);
		assert_words(&diag, "string table at offset 0x1 of 0x3 bytes|expected a NUL");
		gsym_answer_deinit(&a);
		free(data);
	}
}

/* A directory that goes on to the last byte of the file: an entry asks for 20 bytes and no more. */
TEST(directory_without_end)
{
	struct gsym_reader *r;
	struct gsym_diag diag;
	uint8_t data[V2_HEADER_SIZE + 3 * GLOBAL_ENTRY_SIZE] = {'M', 'Y', 'S', 'G', 2, 0, 1, 0};
	for (int i = 0; i < 3; i++)
		data[entry(i)] = 99;
	assert_int_equal(gsym_reader_open_memory(data, sizeof(data), &r, &diag), -EBADMSG);
	assert_words(&diag, "directory at offset 0x14|no end of list");
}

TEST(unknown_sections_and_any_order)
{
	struct gsym_reader *r;
	size_t size;
	uint8_t *data = make(2, &size), swap[GLOBAL_ENTRY_SIZE];
	/* the UUID's entry becomes one of unknown type with offset and size past everything */
	store32(data + entry(0), 4242, false);
	memset(data + entry(0) + 4, 0xff, 16);
	memcpy(swap, data + entry(1), sizeof(swap));
	memcpy(data + entry(1), data + entry(5), sizeof(swap));
	memcpy(data + entry(5), swap, sizeof(swap));
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	assert_int_equal(gsym_reader_info(r)->uuid_size, 0);
	assert_int_equal(gsym_reader_address(r, 0), 0x1140);
	gsym_reader_close(r);
	/* of two entries of one type the last counts: the first may even be wrong */
	store32(data + entry(0), GlobalInfo_FileTable, false);
	store64(data + entry(0) + 4, 0, false);
	store64(data + entry(0) + 12, 1, false);
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	assert_int_equal(gsym_reader_info(r)->num_files, 3);
	gsym_reader_close(r);
	free(data);
}

TEST(no_functions_in_version_1)
{
	static const uint8_t data[48 + 4 + 1] = {'M', 'Y', 'S', 'G', 1, 0, 1, 0, [20] = 52, [24] = 1};
	struct gsym_reader *r;
	struct gsym_answer a = {0};
	assert_int_equal(gsym_reader_open_memory(data, sizeof(data), &r, NULL), 0);
	assert_int_equal(gsym_lookup(r, 0, &a, NULL), -ENOENT);
	gsym_reader_close(r);
}

/* A file of the shape of LLVM's published example has the same section offsets and sizes. */
TEST(version_2_vector)
{
	struct sample s;
	void *data;
	size_t size;
	struct gsym_row rows[151];
	static const uint64_t offsets[] = {160, 176, 184, 192, 244, 288};
	static const uint64_t sizes[] = {16, 1, 8, 52, 43, 185};
	sample_init(&s, sample_kinds[2], 0x1000);
	struct gsym_func f = {.start = 0x1000, .size = 200, .rows = rows, .n_rows = 151};
	f.name = sample_string(&s, "main");
	sample_file(&s, "/tmp/a", "main_.cpp");
	uint32_t file = sample_file(&s, "/tmp/a/b/c", "header.h");
	for (uint32_t i = 0; i < 151; i++)
		rows[i] = (struct gsym_row){i, file, 10};
	assert_int_equal(gsym_writer_add(s.writer, &f, NULL), 0);
	sample_finish(&s, &data, &size);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(load64((uint8_t *)data + entry(i) + 4, false), offsets[i]);
		assert_int_equal(load64((uint8_t *)data + entry(i) + 12, false), sizes[i]);
	}
	assert_int_equal(size, 473);
	free(data);
}

/* Where a file is cut, what does not fit, and that segments appear all of them or none. */
#include "cli/convert/segment.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BASE = 0x1000 };

struct cut {
	struct sample s;
	struct gsym_reader *reader;
	struct segment_files files;
	char dir[32], path[64];
	void *data;
};

static int setup(void **state)
{
	struct cut *c = calloc(1, sizeof(*c));
	strcpy(c->dir, "/tmp/check_segment.XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	snprintf(c->path, sizeof(c->path), "%s/out", c->dir);
	sample_init(&c->s, sample_kinds[0], BASE);
	*state = c;
	return 0;
}

static unsigned count_entries(const char *path)
{
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir = opendir(path);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static int teardown(void **state)
{
	struct cut *c = *state;
	segment_files_deinit(&c->files);
	gsym_reader_close(c->reader);
	gsym_writer_free(c->s.writer);
	remove_tree(c->dir);
	free(c->data);
	free(c);
	return 0;
}

static int cut(struct cut *c, uint64_t size, struct gsym_diag *diag)
{
	struct segment_options options = {.size = size, .path = c->path, .input = "/nowhere"};
	if (!c->reader)
		c->reader = sample_open(&c->s, &c->data);
	segment_files_deinit(&c->files);
	c->files = (struct segment_files){0};
	return segment(c->reader, &options, &c->files, diag);
}

/* The addresses in the names of the segments, in hexadecimal, parted by spaces. */
static void expect_cut(struct cut *c, uint64_t size, const char *want)
{
	char got[256] = "";
	assert_int_equal(cut(c, size, NULL), 0);
	for (size_t i = 0; i < c->files.files.n; i++) {
		const char *path = c->files.files.v[i].path;
		assert_memory_equal(path, c->path, strlen(c->path));
		assert_memory_equal(path + strlen(c->path), "-0x", 3);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			 path + strlen(c->path) + 3);
	}
	assert_string_equal(got, want);
}

/*
 * Symbols of one letter: 48 of header, 8 of file table, 1 of strings; each adds 1 + 4 in the tables, 2 of
 * strings, 16 of record.
 */
TEST_OF(reaching_the_size_ends_a_segment, struct cut, c)
{
	for (uint64_t i = 0; i < 4; i++)
		sample_func(&c->s, 0x10 * i, 0x10, (const char[]){"abcd"[i], 0}, 0);
	expect_cut(c, 57 + 23, "1000 1010 1020 1030");
	expect_cut(c, 57 + 23 + 1, "1000 1020");
	expect_cut(c, 57 + 2 * 23, "1000 1020");
	expect_cut(c, 57 + 2 * 23 + 1, "1000 1030");
	expect_cut(c, 57 + 3 * 23 + 1, "1000");
	assert_int_equal(cut(c, 57 + 22, NULL), -EFBIG);
}

/* Addresses past the first 256 take two bytes, in all of a segment's table. */
TEST_OF(width_of_addresses_counts, struct cut, c)
{
	sample_func(&c->s, 0, 0x10, "a", 0);
	sample_func(&c->s, 0x100, 0x10, "b", 0);
	sample_func(&c->s, 0x200, 0x10, "c", 0);
	expect_cut(c, 57 + 2 * 24, "1000 1200");
	expect_cut(c, 57 + 2 * 24 + 1, "1000");
}

TEST_OF(overlapping_functions_stay_together, struct cut, c)
{
	sample_func(&c->s, 0x00, 0x10, "a", 0);
	sample_func(&c->s, 0x10, 0, "b", 0); /* of unknown size, where the next begins */
	sample_func(&c->s, 0x10, 0x08, "c", 0);
	sample_func(&c->s, 0x10, 0x40, "d", 0);
	sample_func(&c->s, 0x20, 0x08, "e", 0);
	sample_func(&c->s, 0x28, 0x30, "f", 0); /* reaches past d */
	sample_func(&c->s, 0x50, 0x08, "g", 0);
	sample_func(&c->s, 0x58, 0, "h", 0);
	sample_func(&c->s, 0x59, 0, "i", 0); /* what the one before holds ends here */
	expect_cut(c, 57 + 23, "1000 1010 1058 1059");
}

TEST_OF(end_of_the_address_space, struct cut, c)
{
	gsym_writer_free(c->s.writer);
	sample_init(&c->s, sample_kinds[0], UINT64_MAX - 0x20);
	sample_func(&c->s, 0, UINT32_MAX, "a", 0);
	sample_func(&c->s, 0x10, 0x10, "b", 0);
	sample_func(&c->s, 0x20, 0x10, "c", 0);
	expect_cut(c, 57 + 23, "ffffffffffffffdf ffffffffffffffff");
}

TEST_OF(names_what_does_not_fit, struct cut, c)
{
	struct gsym_diag diag = {""};
	char name[301];
	memset(name, 'n', 300);
	name[300] = 0;
	sample_func(&c->s, 0, 0x10, "a", 0);
	sample_func(&c->s, 0x10, 0x10, "big", 7);
	sample_func(&c->s, 0x20, 0x10, name, 0);
	assert_int_equal(cut(c, 80, &diag), -EFBIG);
	/* 48; two files; "", big, /src and a.c; 1 + 4; 16 and a line table of 8 + 5, rounded up */
	assert_words(&diag,
		     "function 1,|\"big\" at 0x1010|needs a segment of 115 bytes|--segment-size is 80");
	assert_int_equal(cut(c, 114, &diag), -EFBIG);
	assert_int_equal(cut(c, 115, &diag), -EFBIG);
	assert_words(&diag, "function 2,|nnnn\" at 0x1020|needs a segment of 379 bytes|size is 115");
	expect_cut(c, 379, "1000");
	assert_int_equal(count_entries(c->dir), 1);
	segment_files_deinit(&c->files);
	assert_int_equal(count_entries(c->dir), 0);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

static void expect_text(const char *path, const char *want)
{
	char text[16] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, want);
}

/* The third of three cannot be put in place: the first, which was there, comes back, the second goes. */
TEST_OF(all_or_none, struct cut, c)
{
	struct gsym_diag diag = {""};
	struct gsym_reader *r;
	for (uint64_t i = 0; i < 3; i++)
		sample_func(&c->s, 0x10 * i, 0x10, (const char[]){"abc"[i], 0}, 0);
	expect_cut(c, 57 + 23, "1000 1010 1020");
	const struct segment_file *f = c->files.files.v;
	char *third = strdup(f[2].temp);
	write_text(f[0].path, "before");
	assert_int_equal(unlink(third), 0);
	assert_int_equal(segment_files_publish(&c->files, &diag), -ENOENT);
	assert_words(&diag, "out-0x1020");
	expect_text(f[0].path, "before");
	assert_int_equal(count_entries(c->dir), 1);
	free(third);

	expect_cut(c, 57 + 23, "1000 1010 1020");
	f = c->files.files.v;
	assert_int_equal(count_entries(c->dir), 1 + 3);
	assert_int_equal(segment_files_publish(&c->files, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(gsym_reader_open(f[i].path, &r, NULL), 0);
		gsym_reader_close(r);
	}
	segment_files_deinit(&c->files);
	assert_int_equal(count_entries(c->dir), 3);
}

TEST_OF(what_cannot_be_replaced, struct cut, c)
{
	struct gsym_diag diag = {""};
	char path[80];
	sample_func(&c->s, 0, 0x10, "a", 0);
	snprintf(path, sizeof(path), "%s-0x1000", c->path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cut(c, 1000, &diag), -EINVAL);
	assert_words(&diag, "out-0x1000|not a regular file");
	assert_int_equal(unlink(path), 0);
	write_text(path, "x");
	struct segment_options options = {.size = 1000, .path = c->path, .input = path};
	assert_int_equal(segment(c->reader, &options, &c->files, &diag), -EINVAL);
	assert_words(&diag, "out-0x1000|output would replace the input");
	expect_text(path, "x");
	assert_int_equal(count_entries(c->dir), 1);
}

TEST_OF(no_functions, struct cut, c)
{
	static const uint8_t data[48 + 4 + 1] = {'M', 'Y', 'S', 'G', 1, 0, 1, 0, [20] = 52, [24] = 1};
	struct gsym_diag diag = {""};
	assert_int_equal(gsym_reader_open_memory(data, sizeof(data), &c->reader, NULL), 0);
	assert_int_equal(cut(c, 1000, &diag), -EINVAL);
	assert_words(&diag, "no functions");
}

EACH_TEST(setup, teardown)

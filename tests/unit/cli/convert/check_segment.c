/* The end of the address space, and that segments appear all of them or none. */
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

TEST_OF(end_of_the_address_space, struct cut, c)
{
	gsym_writer_free(c->s.writer);
	sample_init(&c->s, sample_kinds[0], UINT64_MAX - 0x20);
	sample_func(&c->s, 0, UINT32_MAX, "a", 0);
	sample_func(&c->s, 0x10, 0x10, "b", 0);
	sample_func(&c->s, 0x20, 0x10, "c", 0);
	expect_cut(c, 57 + 23, "ffffffffffffffdf ffffffffffffffff");
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

TEST_OF(no_functions, struct cut, c)
{
	static const uint8_t data[48 + 4 + 1] = {'M', 'Y', 'S', 'G', 1, 0, 1, 0, [20] = 52, [24] = 1};
	struct gsym_diag diag = {""};
	assert_int_equal(gsym_reader_open_memory(data, sizeof(data), &c->reader, NULL), 0);
	assert_int_equal(cut(c, 1000, &diag), -EINVAL);
	assert_words(&diag, "no functions");
}

EACH_TEST(setup, teardown)

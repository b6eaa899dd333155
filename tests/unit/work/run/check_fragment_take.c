/* The file that a worker writes a fragment to: what the worker can do with it, and what is taken of it. */
#include "work/run/convert_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/gsym.h"
#include "tests/lib/unit.h"

#define ID  "000102030405060708090a0b0c0d0e0f10111213"
#define KEY ID "-0123456789abcdef0123456789abcdef01234567"

/* Else a worker could fill the memory of the machine, or remove the limit. */
TEST(cannot_grow)
{
	struct stat st;
	int fd = fragment_file_new();
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, FRAGMENT_SIZE_MAX);
	assert_int_equal(pwrite(fd, "x", 1, FRAGMENT_SIZE_MAX - 1), 1);
	assert_int_equal(pwrite(fd, "x", 1, FRAGMENT_SIZE_MAX), -1);
	assert_int_equal(ftruncate(fd, FRAGMENT_SIZE_MAX + 1), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	close(fd);
}

/* Writes GSYM of one function; returns its size. */
static uint64_t write_gsym(int fd)
{
	uint8_t id[20];
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = id, .uuid_size = sizeof(id)};
	struct gsym_writer *writer;
	struct gsym_func func = {.start = 0x1000, .size = 16};
	for (uint8_t i = 0; i < sizeof(id); i++)
		id[i] = i;
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	assert_int_equal(gsym_writer_string(writer, "main", 4, &func.name), 0);
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	FILE *file = tmpfile(); /* which has no size yet, unlike @fd */
	assert_non_null(file);
	assert_int_equal(gsym_writer_finish(writer, fileno(file), NULL), 0);
	gsym_writer_free(writer);
	char bytes[4096];
	ssize_t size = pread(fileno(file), bytes, sizeof(bytes), 0);
	assert_true(size > 0);
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	fclose(file);
	return (uint64_t)size;
}

static int take(int fd, uint64_t size, const char *key)
{
	struct worker_fragment m = {.output_size = size, .image_base = 0x400000, .n_segments = 1};
	struct handle *handle = NULL;
	m.segments[0] = (struct worker_map){.off = 0, .addr = 0x400000, .size = 0x2000};
	int err = fragment_take(fd, &m, key, &handle);
	assert_true(err ? !handle : handle->gsym.size == size && handle->notes.size > 0);
	handle_put(handle);
	return err;
}

TEST(what_is_taken)
{
	int fd = fragment_file_new();
	uint64_t size = write_gsym(fd);
	assert_int_equal(take(fd, size, KEY), 0);
	assert_int_equal(take(fd, size / 2, KEY), -EPROTO);
	assert_int_equal(take(fd, 0, KEY), -EPROTO);
	assert_int_equal(take(fd, size, "ff" KEY), -EPROTO); /* of another image */
	assert_int_equal(take(fd, (uint64_t)FRAGMENT_SIZE_MAX + 1, KEY), -EFBIG);
	close(fd);
}

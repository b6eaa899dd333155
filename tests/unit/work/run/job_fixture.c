#include "tests/unit/work/run/job_fixture.h"
#include "tests/unit/temp_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "000102030405060708090a0b0c0d0e0f10111213"

void job_path(const struct job_fixture *f, const char *name, char ret[static 128])
{
	snprintf(ret, 128, "%s/%s", f->root, name);
}

void job_write_file(const struct job_fixture *f, const char *name, const char *text)
{
	char path[128];
	job_path(f, name, path);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

struct convert_input job_scanned(const struct job_fixture *f, const char *name)
{
	struct stat st;
	char path[128];
	job_path(f, name, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	struct convert_input input = {.path = name, .state = file_state_of(fd, &st, true)};
	close(fd);
	return input;
}

int job_set_up(void **state)
{
	struct job_fixture *f = calloc(1, sizeof(*f));
	*state = f;
	strcpy(f->root, "/tmp/check-job-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->cache_path, sizeof(f->cache_path), "%s/cache", f->root);
	assert_int_equal(cache_open(&f->cache, f->cache_path, 1 << 30, 0, &f->log, NULL), 0);
	job_write_file(f, "source", "debug data");
	job_write_file(f, "binary", "code");
	f->key = (struct cache_key){ID "-000003e801234567890123450123456789abcdef", "fedcba9876543210"};
	f->converter = (struct converter){.root = f->root, .cache = &f->cache, .log = &f->log, .stop_fd = -1};
	f->request = (struct convert_request){.id = ID,
					      .arch = "x86_64",
					      .source = job_scanned(f, "source"),
					      .binary = job_scanned(f, "binary"),
					      .key = &f->key};
	return 0;
}

int job_tear_down(void **state)
{
	struct job_fixture *f = *state;
	cache_close(&f->cache);
	assert_int_equal(remove_tree(f->root), 0);
	free(f);
	return 0;
}

struct convert_job *job_begin(struct job_fixture *f)
{
	f->out = (struct outcome){.err = 0};
	f->job = (struct convert_job){.converter = &f->converter,
				      .request = &f->request,
				      .out = &f->out,
				      .input = -1,
				      .binary = -1,
				      .temp = CACHE_TEMP_NONE,
				      .fragment = -1};
	return &f->job;
}

unsigned job_take_cached(struct job_fixture *f, const char *ending)
{
	unsigned n = 0;
	DIR *dir = opendir(f->cache_path);
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		size_t size = strlen(entry->d_name), end = strlen(ending);
		if (size >= end && !strcmp(entry->d_name + size - end, ending))
			n += unlinkat(dirfd(dir), entry->d_name, 0) == 0; /* "." and ".." cannot be */
	}
	closedir(dir);
	return n;
}

uint64_t job_write_gsym(int fd)
{
	static const uint8_t id[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = id, .uuid_size = sizeof(id)};
	struct gsym_writer *writer;
	struct gsym_func func = {.start = 0x1000, .size = 16};
	char bytes[4096];
	FILE *file = tmpfile(); /* which has no size yet, unlike a fragment's */
	assert_non_null(file);
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	assert_int_equal(gsym_writer_string(writer, "main", 4, &func.name), 0);
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	assert_int_equal(gsym_writer_finish(writer, fileno(file), NULL), 0);
	gsym_writer_free(writer);
	ssize_t size = pread(fileno(file), bytes, sizeof(bytes), 0);
	assert_true(size > 0);
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	fclose(file);
	return (uint64_t)size;
}

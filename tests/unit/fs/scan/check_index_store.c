/* The file of an index: what another program, or a disk, left in its place is named and ignored. */

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/captured_stderr.h"
#include "fs/scan/index.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

static const char CORRUPT[] = "corrupt or of another version; all files will be identified again";
static const char SOURCE[] = "/srv/binaries";

struct place {
	char directory[64], path[320]; /* of the cache; of the index */
	struct log log;
	struct cache cache;
};

static void save(struct place *p)
{
	struct index index = {0};
	struct file_record *r = index_get(&index, 1, 2);
	assert_non_null(r);
	r->key.size = 77;
	index_save(&index, 0, &p->cache, SOURCE);
	index_deinit(&index);
}

/* Saves an index, which is the only file there. */
static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	*state = p;
	strcpy(p->directory, "/tmp/check-index-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	p->log.most = LOG_LEVEL_WARNING;
	assert_int_equal(cache_open(&p->cache, p->directory, 1 << 20, 0, &p->log, NULL), 0);
	save(p);
	DIR *dir = opendir(p->directory);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		if (*e->d_name != '.')
			snprintf(p->path, sizeof(p->path), "%s/%s", p->directory, e->d_name);
	closedir(dir);
	assert_true(*p->path);
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	cache_close(&p->cache);
	assert_int_equal(remove_tree(p->directory), 0);
	free(p);
	return 0;
}

/* Loads it: the number of files known. What the log says is in @ret_said. */
static size_t load(const struct place *p, const char *source, char ret_said[static 512])
{
	struct index index = {0};
	struct captured_stderr captured = capture_begin();
	index_load(&index, 0, &p->cache, source);
	capture_end(&captured, ret_said, 512);
	size_t n = index.files.n;
	const struct file_record *r = index_find(&index, 1, 2);
	if (n)
		assert_true(r && r->key.size == 77);
	index_deinit(&index);
	return n;
}

static void assert_corrupt(const struct place *p)
{
	char said[512];
	assert_int_equal(load(p, SOURCE, said), 0);
	assert_non_null(strstr(said, CORRUPT));
	assert_non_null(strstr(said, strrchr(p->path, '/') + 1));
}

TEST_OF(saved, struct place, p)
{
	char said[512];
	assert_int_equal(load(p, SOURCE, said), 1);
	assert_string_equal(said, "");
	assert_int_equal(load(p, "/srv/others", said), 0); /* there is none, which is not worth a line */
	assert_string_equal(said, "");
}

/* A beginning or a size of no index: memory for all of it is not asked for. */
TEST_OF(not_an_index, struct place, p)
{
	static const char other[64] = "another file, of which no machine has as much memory";
	const off_t huge = (off_t)1 << 42;
	if (truncate(p->path, huge) == 0)
		assert_corrupt(p);
	FILE *file = fopen(p->path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(other, sizeof(other), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_corrupt(p);
	if (truncate(p->path, huge) == 0)
		assert_corrupt(p);
	assert_int_equal(truncate(p->path, 0), 0);
	assert_corrupt(p);
}

TEST_OF(each_length, struct place, p)
{
	struct stat st;
	assert_int_equal(stat(p->path, &st), 0);
	for (off_t n = st.st_size - 1; n >= 0; n--) {
		assert_int_equal(truncate(p->path, n), 0);
		assert_corrupt(p);
	}
}

/* A FIFO is not waited for, a link not followed. */
TEST_OF(no_file, struct place, p)
{
	char said[512], aside[328];
	snprintf(aside, sizeof(aside), "%s.aside", p->path);
	assert_int_equal(rename(p->path, aside), 0);
	assert_int_equal(mkfifo(p->path, 0600), 0);
	assert_corrupt(p);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(symlink(aside, p->path), 0);
	assert_int_equal(load(p, SOURCE, said), 0);
	assert_non_null(strstr(said, strerror(ELOOP)));
}

EACH_TEST(setup, teardown)

int main(void)
{
	signal(SIGXFSZ, SIG_IGN); /* where files are limited, truncate(2) fails instead */
	return unit_run();
}

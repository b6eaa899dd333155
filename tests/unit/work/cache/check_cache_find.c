/* Entries found by the state of a file alone, and locked while they are made. */
#include "work/cache/cache.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct log quiet = {.most = LOG_LEVEL_ERROR};
static const struct file_state file = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5};

struct place {
	char path[64];
	struct cache cache;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->path, "/tmp/check-cache-find-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	assert_int_equal(cache_attach(&p->cache, p->path, &quiet, NULL), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	cache_close(&p->cache);
	assert_int_equal(remove_tree(p->path), 0);
	free(p);
	return 0;
}

static struct cache_input input_of(const char *id, uint64_t size)
{
	struct cache_input input = {.id = id, .file = file, .places = 7, .version = 1, .merged = true};
	input.file.size = size;
	return input;
}

static void expect(const struct place *p, uint64_t size, int err, const char *id)
{
	const struct cache_input input = input_of("ignored", size);
	char found[ID_TEXT_SIZE] = "untouched";
	assert_int_equal(cache_find(&p->cache, &input, found), err);
	assert_string_equal(found, err ? "untouched" : id);
}

static void remember(const struct place *p, const char *id, uint64_t size)
{
	const struct cache_input input = input_of(id, size);
	cache_remember(&p->cache, &input);
}

TEST_OF(finds_the_file, const struct place, p)
{
	expect(p, file.size, -ENOENT, NULL);
	remember(p, "xxh3-cc33", file.size);
	expect(p, file.size, 0, "xxh3-cc33");
	expect(p, file.size + 1, -ENOENT, NULL); /* another state of that file */
	remember(p, "aa11", file.size + 1);
	expect(p, file.size + 1, 0, "aa11");
	expect(p, file.size, -ENOENT, NULL);
}

/* Ids are of any length, up to that of the longest. */
TEST_OF(finds_long_ids, const struct place, p)
{
	char id[ID_TEXT_SIZE];
	memset(id, 'a', sizeof(id) - 1);
	id[sizeof(id) - 1] = 0;
	remember(p, id, file.size);
	expect(p, file.size, 0, id);
}

/* The name of the link of the file, and what stands before the id in it. */
static void describe(char name[static CACHE_LINK_SIZE], char content[static CONTENT_DIGITS + 2])
{
	const struct cache_input input = input_of("", file.size);
	struct cache_key key;
	cache_key_make(&input, &key);
	cache_link_name(name, key.text);
	snprintf(content, CONTENT_DIGITS + 2, "%s-", key.alone);
}

TEST(refuses_what_is_no_id)
{
	static const char *const ids[] = {"", "../aa11", "aa 11", "AA11"};
	const struct place *p = *state;
	char name[CACHE_LINK_SIZE], content[CONTENT_DIGITS + 2], text[PATH_MAX];
	describe(name, content);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", content, ids[i]);
		assert_int_equal(symlinkat(text, p->cache.dir, name), 0);
		expect(p, file.size, -ENOENT, NULL);
		assert_int_equal(unlinkat(p->cache.dir, name, 0), 0);
	}
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, content, strlen(content));
	text[strlen(content) + ID_TEXT_SIZE] = 0; /* one digit too long */
	assert_int_equal(symlinkat(text, p->cache.dir, name), 0);
	expect(p, file.size, -ENOENT, NULL);
	assert_int_equal(unlinkat(p->cache.dir, name, 0), 0);
	close(openat(p->cache.dir, name, O_WRONLY | O_CREAT, 0600)); /* no link */
	expect(p, file.size, -ENOENT, NULL);
}

/* With the entry of a file goes what is known of it; without one, after a month. */
TEST_OF(forgets, const struct place, p)
{
	const struct cache_bounds none = {.limit = 0};
	const struct timespec old[] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char name[CACHE_LINK_SIZE], content[CONTENT_DIGITS + 2], entry[CACHE_KEY_SIZE + 8];
	const struct cache_input input = input_of("aa11", file.size);
	struct cache_key key;
	cache_key_make(&input, &key);
	snprintf(entry, sizeof(entry), "%s.gsym", key.text);
	remember(p, "aa11", file.size);
	int fd = openat(p->cache.dir, entry, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, entry, sizeof(entry)), sizeof(entry));
	assert_int_equal(fsync(fd), 0);
	close(fd);
	cache_dir_clean(p->cache.dir, &quiet);
	expect(p, file.size, 0, "aa11");
	cache_dir_evict(p->cache.dir, &none, "", &quiet);
	assert_int_equal(faccessat(p->cache.dir, entry, F_OK, 0), -1);
	expect(p, file.size, -ENOENT, NULL);
	remember(p, "aa11", file.size);
	describe(name, content);
	assert_int_equal(utimensat(p->cache.dir, name, old, AT_SYMLINK_NOFOLLOW), 0);
	cache_dir_clean(p->cache.dir, &quiet);
	expect(p, file.size, -ENOENT, NULL);
}

TEST_OF(locks_one_entry, const struct place, p)
{
	const struct cache_input a = input_of("aa11", 1), b = input_of("bb22", 1);
	struct cache_key keys[2];
	int held, other, again;
	cache_key_make(&a, &keys[0]);
	cache_key_make(&b, &keys[1]);
	assert_int_equal(cache_lock_try(&p->cache, &keys[0], &held), 0);
	assert_true(held >= 0);
	assert_int_equal(cache_lock_try(&p->cache, &keys[0], &again), -EAGAIN);
	assert_int_equal(cache_lock_try(&p->cache, &keys[1], &other), 0);
	assert_true(other >= 0);
	close(held);
	assert_int_equal(cache_lock_try(&p->cache, &keys[0], &again), 0);
	assert_true(again >= 0);
	close(again);
	close(other);
}

EACH_TEST(setup, teardown)

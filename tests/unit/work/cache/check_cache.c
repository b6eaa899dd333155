/*
 * The directory of converted files: what is loaded, kept, marked, and deleted when it is full. log_say() is
 * wrapped: its lines would go to standard error, which is cmocka's.
 */
#include "work/cache/cache.h"
#include "work/cache/cache_entry.h"
#include "work/cache/cache_temp.h"
#include "work/cache/publish.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ID "000102030405060708090a0b0c0d0e0f10111213"

enum { NOW_MS = 1000000 };

static const struct cache_key key = {ID "-000003e801234567890123450123456789abcdef", "fedcba9876543210"};
static char path[64];
static struct cache cache;
static const struct log quiet = {.most = LOG_LEVEL_WARNING};
static char logged[2048];

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = NOW_MS / 1000};
	return 0;
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	size_t n = strlen(logged);
	va_list args;
	assert_ptr_equal(log, &quiet);
	n += (size_t)snprintf(logged + n, sizeof(logged) - n, "%u ", level);
	va_start(args, fmt);
	vsnprintf(logged + n, sizeof(logged) - n, fmt, args);
	va_end(args);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(path, "/tmp/check-cache-XXXXXX");
	if (!mkdtemp(path))
		return -1;
	logged[0] = 0;
	return cache_open(&cache, path, 1 << 30, 0, &quiet, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	cache_close(&cache);
	return remove_tree(path);
}

/* ---- Entries ---- */

/* GSYM of one function whose name has @n bytes; its size. */
static uint64_t write_gsym(int fd, size_t n)
{
	static const uint8_t id[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = id, .uuid_size = sizeof(id)};
	struct gsym_writer *writer;
	struct gsym_func func = {.start = 0x1000, .size = 16};
	char *name = malloc(n);
	memset(name, 'f', n);
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	assert_int_equal(gsym_writer_string(writer, name, n, &func.name), 0);
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	assert_int_equal(gsym_writer_finish(writer, fd, NULL), 0);
	gsym_writer_free(writer);
	free(name);
	return (uint64_t)lseek(fd, 0, SEEK_END);
}

static int publish_as(const struct cache_key *as, bool alone, size_t n, struct handle **ret)
{
	static const uint8_t notes[] = "units\t1\n";
	struct cache_temp temp;
	struct gsym_diag diag = {""};
	assert_int_equal(cache_temp_open(&cache, &temp, &diag), 0);
	uint64_t size = write_gsym(temp.fd, n);
	int err = cache_publish(&cache, &temp, as, alone, size, (struct span){notes, sizeof(notes) - 1},
				(struct span){0}, ret, &diag);
	cache_temp_close(&cache, &temp);
	return err;
}

static void publish(bool alone)
{
	struct handle *handle = NULL;
	assert_int_equal(publish_as(&key, alone, 4, &handle), 0);
	handle_put(handle);
}

static const char *entry(bool alone)
{
	static char name[CACHE_NAME_SIZE];
	cache_entry_name(name, &key, alone);
	return name;
}

static bool exists(const char *name)
{
	struct stat st;
	return fstatat(cache.dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct stat stat_of(const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(cache.dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static int load(void)
{
	struct handle *handle = NULL;
	struct gsym_diag diag = {""};
	int err = cache_load(&cache, &key, &handle, &diag);
	assert_int_equal(handle != NULL, !err);
	if (handle)
		assert_true(cache_holds(&cache, &key, handle));
	handle_put(handle);
	return err;
}

/* The functions are counted once for each file: it is not read again. */
TEST(functions)
{
	struct cache_count count = {0};
	assert_false(cache_functions(&cache, &key, &count));
	for (int alone = 1; alone >= 0; alone--) { /* one file in the place of another */
		publish(alone);
		assert_true(cache_functions(&cache, &key, &count));
		assert_int_equal(count.functions, 1);
		assert_true(count.ino == stat_of(entry(alone)).st_ino);
		if (alone)
			cache_forget(&cache, &key);
	}
	int fd = openat(cache.dir, entry(false), O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 3), 0);
	close(fd);
	count.functions = 7;
	assert_true(cache_functions(&cache, &key, &count));
	assert_int_equal(count.functions, 7);
	/* It is damaged, as any other count finds. */
	count.ino = 0;
	assert_false(cache_functions(&cache, &key, &count));
	assert_int_equal(count.ino, 0);
	cache_forget(&cache, &key);
	count.ino = 1;
	assert_false(cache_functions(&cache, &key, &count));
}

/* Under either name, of which the one with its neighbours goes first. */
TEST(names)
{
	uint64_t size = 0;
	struct text_buf notes = {0};
	assert_int_equal(load(), -ENOENT);
	assert_false(cache_has(&cache, &key, &size));
	publish(false);
	assert_int_equal(atomic_load(&cache.files), 1);
	assert_int_equal(load(), 0);
	assert_true(cache_has(&cache, &key, &size));
	assert_true(size > 0);
	publish(false); /* once more */
	assert_int_equal(atomic_load(&cache.files), 1);
	publish(true);
	assert_int_equal(atomic_load(&cache.files), 1);
	assert_true(exists(entry(true)));
	assert_false(exists(entry(false))); /* it would hide the other */
	assert_int_equal(load(), 0);
	assert_true(cache_peek(&cache, &key, &size, &notes));
	assert_memory_equal(notes.v, "units\t1\n", 8);
	text_deinit(&notes);
	publish(false);
	assert_true(exists(entry(true)));
	assert_int_equal(atomic_load(&cache.files), 2);
	cache_forget_one(&cache, &key, true);
	assert_false(exists(entry(true)));
	assert_int_equal(atomic_load(&cache.files), 1);
	assert_int_equal(load(), 0);
	publish(true);
	publish(false);
	cache_forget(&cache, &key);
	assert_int_equal(load(), -ENOENT);
	assert_int_equal(atomic_load(&cache.files), 0);
	cache_forget(&cache, &key);
	assert_int_equal(atomic_load(&cache.files), 0);
	assert_string_equal(logged, "");
}

/* The time of last use is that of modification; reading the file does not change it. */
TEST(times)
{
	publish(true);
	cache_touch(&cache, &key, 1000);
	assert_int_equal(stat_of(entry(true)).st_mtime, 1000);
	const time_t before = time(NULL);
	assert_int_equal(load(), 0);
	assert_true(stat_of(entry(true)).st_mtime >= before);
	publish(false);
	cache_touch(&cache, &key, 2000);
	assert_int_equal(stat_of(entry(true)).st_mtime, 2000);
	assert_int_equal(stat_of(entry(false)).st_mtime, 2000);
}

TEST(held)
{
	struct handle *first = NULL, *second = NULL;
	assert_int_equal(publish_as(&key, false, 4, &first), 0);
	assert_true(cache_holds(&cache, &key, first));
	assert_int_equal(publish_as(&key, false, 5, &second), 0);
	assert_false(cache_holds(&cache, &key, first)); /* replaced */
	assert_true(cache_holds(&cache, &key, second));
	handle_put(first);
	first = NULL;
	assert_int_equal(publish_as(&key, true, 5, &first), 0);
	assert_true(cache_holds(&cache, &key, first));
	assert_false(cache_holds(&cache, &key, second));
	cache_forget(&cache, &key);
	assert_false(cache_holds(&cache, &key, first));
	handle_put(first);
	handle_put(second);
}

/* ---- Damage ---- */

static void write_entry(const char *name, const char *text)
{
	int fd = openat(cache.dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

TEST(damaged)
{
	publish(true);
	write_entry(entry(false), "no conversion");
	assert_int_equal(load(), 0); /* the other one is good */
	assert_false(exists(entry(false)));
	assert_non_null(strstr(logged, ": deleted; it will be converted again"));
	assert_int_equal(logged[0], '0' + LOG_LEVEL_WARNING);
	write_entry(entry(true), "no conversion");
	assert_int_equal(load(), -ENOENT);
	assert_false(exists(entry(true)));
	assert_int_equal(symlinkat("/dev/null", cache.dir, entry(true)), 0);
	assert_int_equal(load(), -ENOENT);
	assert_false(exists(entry(true)));
}

/* What may be a user's own is moved away, with what is in it. */
TEST(directories)
{
	char aside[CACHE_NAME_SIZE + 64], inner[CACHE_NAME_SIZE + 64];
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&cache.next_temp, 0); /* the second one finds the name taken */
		assert_int_equal(mkdirat(cache.dir, entry(false), 0700), 0);
		snprintf(inner, sizeof(inner), "%s/file", entry(false));
		write_entry(inner, "a user's");
		assert_int_equal(load(), -ENOENT);
		assert_false(exists(entry(false)));
		snprintf(aside, sizeof(aside), "%s.%ld-%u/file", entry(false), (long)getpid(), i);
		assert_true(exists(aside));
	}
	assert_non_null(strstr(logged, "not a regular file"));
}

/* Of what the machine lacks the entry is not at fault. */
TEST(descriptors)
{
	struct rlimit before, none;
	struct handle *handle = NULL;
	struct gsym_diag diag = {""};
	publish(false);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int err = cache_load(&cache, &key, &handle, &diag);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err, -EMFILE);
	assert_null(handle);
	assert_non_null(strstr(diag.text, "Too many open files"));
	assert_true(exists(entry(false)));
	assert_string_equal(logged, "");
}

/* ---- Marks ---- */

TEST(marked)
{
	struct handle *handle = NULL, *other = NULL;
	assert_int_equal(publish_as(&key, false, 4, &handle), 0);
	const mode_t mode = stat_of(entry(false)).st_mode;
	assert_false(mode & CACHE_PENDING);
	cache_mark(&cache, handle, false);
	assert_int_equal(stat_of(entry(false)).st_mode, mode);
	cache_mark(&cache, handle, true);
	assert_int_equal(stat_of(entry(false)).st_mode, mode | CACHE_PENDING);
	cache_mark(&cache, handle, true);
	assert_int_equal(stat_of(entry(false)).st_mode, mode | CACHE_PENDING);
	cache_mark(&cache, handle, false);
	assert_int_equal(stat_of(entry(false)).st_mode, mode);
	/* Another file has its name by now. */
	assert_int_equal(publish_as(&key, false, 5, &other), 0);
	cache_mark(&cache, handle, true);
	assert_int_equal(stat_of(entry(false)).st_mode, mode);
	cache_forget(&cache, &key);
	cache_mark(&cache, other, true);
	assert_false(exists(entry(false)));
	handle_put(handle);
	handle_put(other);
}

/* ---- Limits ---- */

TEST(tight)
{
	cache.limit = 1000;
	cache.bytes = 500;
	assert_false(cache_is_tight(&cache));
	cache.bytes = 501;
	assert_true(cache_is_tight(&cache));
	cache.bytes = 0;
	cache.spare = UINT64_MAX;
	assert_true(cache_is_tight(&cache));
	cache.spare = UINT64_MAX / 2 + 1; /* twice of it is no number */
	assert_true(cache_is_tight(&cache));
}

/* The oldest go, down to a tenth below the limit; never what was just made. */
TEST(evicted)
{
	static const char *const digits = "abcdef";
	struct cache_key keys[6];
	struct handle *handle;
	char name[CACHE_NAME_SIZE];
	for (unsigned i = 0; i < 6; i++) {
		keys[i] = key;
		keys[i].text[strlen(ID) + 1 + OWNER_DIGITS] = digits[i];
		assert_int_equal(publish_as(&keys[i], false, 100000, &handle), 0);
		handle_put(handle);
		cache_touch(&cache, &keys[i], 1000 + i);
		if (i == 0) /* room for five and a half of them */
			cache.limit = atomic_load(&cache.bytes) * 11 / 2;
		assert_int_equal(cache_take_evicted(&cache), i == 5);
	}
	assert_false(cache_take_evicted(&cache));
	/* A tenth below that are not quite five. */
	for (unsigned i = 0; i < 6; i++) {
		cache_entry_name(name, &keys[i], false);
		assert_int_equal(exists(name), i >= 2);
	}
	assert_int_equal(atomic_load(&cache.files), 4);
	assert_true(atomic_load(&cache.bytes) <= cache.limit - cache.limit / 10);
	/* With less room than one takes it stays all the same. */
	cache.limit = 1;
	cache_entry_name(name, &keys[5], false);
	cache_grown(&cache, name);
	assert_true(exists(name));
	assert_int_equal(atomic_load(&cache.files), 1);
	cache_trim(&cache);
	assert_false(exists(name));
	assert_true(cache_take_evicted(&cache));
	assert_int_equal(atomic_load(&cache.files), 0);
}

/* What there was before is counted. */
TEST(counted)
{
	publish(false);
	publish(true);
	publish(false);
	const uint64_t bytes = atomic_load(&cache.bytes);
	cache_set_sum(&cache, (struct cache_sum){.bytes = 77, .files = 7});
	assert_int_equal(cache.bytes, 77);
	assert_int_equal(cache.files, 7);
	cache_close(&cache);
	assert_int_equal(cache_open(&cache, path, 5000, 11, &quiet, NULL), 0);
	assert_int_equal(cache.limit, 5000);
	assert_int_equal(cache.spare, 11);
	assert_int_equal(cache.files, 2);
	assert_true(cache.bytes > 0 && cache.bytes <= bytes);
	assert_int_equal(cache.memory, CACHE_MEMORY_MAX);
}

/* ---- A full directory ---- */

TEST(full)
{
	static const int errors[] = {-ENOSPC, -EDQUOT, -EROFS, -EIO, -EACCES, -EPERM},
			 others[] = {0, -ENOMEM, -EBADMSG};
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		assert_true(cache_error_is_full(errors[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(cache_error_is_full(others[i]));
	assert_false(cache_is_full(&cache));
	cache_note_full(&cache, -ENOSPC);
	assert_true(cache_is_full(&cache));
	assert_int_equal(cache.retry_at, NOW_MS + 10000);
	assert_non_null(strstr(logged, "No space left on device; conversions are kept in memory"));
	logged[0] = 0;
	cache_note_full(&cache, -ENOSPC); /* is said once */
	assert_string_equal(logged, "");
	publish(false);
	assert_non_null(strstr(logged, "can be written to again"));
	assert_false(cache_is_full(&cache));
	logged[0] = 0;
	publish(false);
	assert_string_equal(logged, "");
	cache.retry_at = NOW_MS; /* it is to be tried now */
	assert_false(cache_is_full(&cache));
	cache.retry_at = NOW_MS + 1;
	assert_true(cache_is_full(&cache));
	cache.retry_at = 0;
}

TEST(no_directory)
{
	struct cache none;
	uint64_t size;
	struct handle *handle = NULL;
	assert_int_equal(cache_attach_none(&none, &quiet), 0);
	assert_true(cache_is_full(&none));
	assert_string_equal(none.path, "none");
	assert_int_equal(none.memory, CACHE_MEMORY_MAX);
	assert_false(cache_has(&none, &key, &size));
	assert_true(cache_load(&none, &key, &handle, NULL) < 0);
	cache_close(&none);
	assert_null(none.path);
}

/* It stays closed, and nothing is left open or allocated of one that was closed. */
TEST(closed)
{
	struct cache other;
	int lowest = dup(STDIN_FILENO);
	char file[96];
	close(lowest);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cache_open(&other, path, 1, 0, &quiet, NULL), 0);
		assert_int_equal(other.dir, lowest);
		cache_close(&other);
		assert_null(other.path);
		cache_close(&other);
		assert_int_equal(fcntl(lowest, F_GETFD), -1);
	}
	/* What is no directory is none. */
	write_entry("file", "x");
	snprintf(file, sizeof(file), "%s/file", path);
	struct gsym_diag diag = {""};
	assert_true(cache_open(&other, file, 1, 0, &quiet, &diag) < 0);
	assert_non_null(strstr(diag.text, file));
}

/* What was kept in memory is published when there is room. */
TEST(published_later)
{
	struct cache_temp temp;
	struct gsym_diag diag = {""};
	struct handle *handle = NULL;
	assert_int_equal(cache_temp_open_memory(&cache, &key, &temp, &diag), 0);
	uint64_t size = write_gsym(temp.fd, 4);
	assert_int_equal(cache_keep(&cache, &temp, &key, true, size, (struct span){0}, (struct span){0},
				    &handle, &diag),
			 0);
	close(temp.fd);
	cache_note_full(&cache, -ENOSPC);
	assert_int_equal(cache_publish_kept(&cache, handle), -ENOSPC);
	assert_int_equal(load(), -ENOENT);
	cache.retry_at = NOW_MS; /* it may have room by now */
	logged[0] = 0;
	const uint64_t before = atomic_load(&cache.bytes);
	assert_int_equal(cache_publish_kept(&cache, handle), 0);
	assert_non_null(strstr(logged, "can be written to again"));
	assert_int_equal(atomic_load(&cache.files), 1);
	assert_true(atomic_load(&cache.bytes) > before);
	assert_true(exists(entry(true)));
	assert_int_equal(load(), 0);
	handle_put(handle);
	assert_int_equal(atomic_load(&cache.in_memory), 0);
}

/* Other files of the cache, as failures and the index, take room, too. */
TEST(other_files)
{
	static const char text[] = "text";
	struct gsym_diag diag = {""};
	const uint64_t before = atomic_load(&cache.bytes);
	assert_int_equal(cache_write_file(&cache, "fc-index", text, sizeof(text), &diag), 0);
	assert_true(atomic_load(&cache.bytes) > before);
	assert_true(exists("fc-index"));
	assert_int_equal(cache_write_file(&cache, "none/fc-index", text, sizeof(text), &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "cannot write none/fc-index"));
}

EACH_TEST(set_up, tear_down)

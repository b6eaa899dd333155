/*
 * Loads and publishes converted files, and records failures.
 */
#include "convert/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "convert/cache/cache_dir.h"

enum {
	NAME_SIZE = CACHE_KEY_SIZE + 8, /* with the suffix */
	TEMP_TRIES = 8,
	PROBE_BYTES = 64 * 1024,
	SUM_DIGITS = 16, /* of the checksum at the end of a failure's record */
};

/* The key of a converted file as text, one of the two that it may have. */
static void converted_key(char text[CACHE_KEY_SIZE], const struct cache_key *key, bool alone)
{
	int kept = (int)strlen(key->text) - (alone ? CONTENT_DIGITS : 0);
	snprintf(text, CACHE_KEY_SIZE, "%.*s%s", kept, key->text, alone ? key->alone : "");
}

static void file_name(char name[NAME_SIZE], const char *key, const char *suffix)
{
	snprintf(name, NAME_SIZE, "%s%s", key, suffix);
}

static void converted_name(char name[NAME_SIZE], const struct cache_key *key, bool alone)
{
	char text[CACHE_KEY_SIZE];
	converted_key(text, key, alone);
	file_name(name, text, CACHE_GSYM_SUFFIX);
}

static void set_sum(struct cache *cache, struct cache_sum sum)
{
	atomic_store(&cache->bytes, sum.bytes);
	atomic_store(&cache->files, sum.files);
}

int cache_open(struct cache *cache, const char *path, uint64_t limit, uint64_t spare, const struct log *log,
	       struct gsym_diag *diag)
{
	*cache = (struct cache){.dir = -1, .limit = limit, .spare = spare, .log = log};
	int err = cache_dir_open(path, &cache->dir, &cache->path, diag);
	if (!err)
		set_sum(cache, cache_dir_clean(cache->dir, log));
	return err;
}

void cache_close(struct cache *cache)
{
	if (cache->path)
		close(cache->dir);
	free(cache->path);
	cache->path = NULL;
}

/* ---- Loading ---- */

/*
 * Removes the unusable entry @name, or renames it if it is a directory. -EEXIST if neither is possible: a
 * conversion could not be published.
 */
static int make_room(struct cache *cache, const char *name, struct gsym_diag *diag)
{
	char aside[NAME_SIZE + CACHE_TEMP_NAME_SIZE];
	if (unlinkat(cache->dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* A directory, possibly with a user's files in it: never deleted. */
	for (int i = 0; i < TEMP_TRIES; i++) {
		snprintf(aside, sizeof(aside), "%s.%ld-%u", name, (long)getpid(),
			 atomic_fetch_add(&cache->next_temp, 1));
		if (renameat2(cache->dir, name, cache->dir, aside, RENAME_NOREPLACE) == 0 || errno == ENOENT)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return diag_set(diag, -EEXIST, "cache directory '%s': '%s' is damaged and cannot be moved away: %s",
			cache->path, name, strerror(errno));
}

/* Opens the entry @name; -EMEDIUMTYPE when it is no regular file. */
static int open_entry(const struct cache *cache, const char *name)
{
	struct stat st;
	if (fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	int fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Opens and verifies the entry @key. */
static int open_handle(const struct cache *cache, const char *key, struct handle **ret,
		       struct gsym_diag *diag)
{
	char name[NAME_SIZE];
	file_name(name, key, CACHE_GSYM_SUFFIX);
	int fd = open_entry(cache, name);
	if (fd < 0)
		return diag_set(diag, fd, "%s: %s", name,
				fd == -EMEDIUMTYPE ? "not a regular file" : strerror(-fd));
	int err = handle_open(fd, key, ret, diag);
	close(fd);
	return err;
}

static bool is_out_of_resources(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int load(struct cache *cache, const char *key, struct handle **ret, struct gsym_diag *diag)
{
	char name[NAME_SIZE];
	struct gsym_diag why = {""};
	int err = open_handle(cache, key, ret, &why);
	if (!err || err == -ENOENT)
		return err;
	if (is_out_of_resources(err))
		return diag_set(diag, err, "%s", why.text);
	file_name(name, key, CACHE_GSYM_SUFFIX);
	err = make_room(cache, name, diag);
	if (err) {
		log_warning(cache->log, "%s", diag->text);
		return err;
	}
	log_warning(cache->log, "cache: %s: deleted; it will be converted again", why.text);
	return -ENOENT;
}

int cache_load(struct cache *cache, const struct cache_key *key, struct handle **ret, struct gsym_diag *diag)
{
	char text[CACHE_KEY_SIZE];
	int err = -ENOENT;
	for (int alone = 0; alone < 2 && err == -ENOENT; alone++) {
		converted_key(text, key, alone);
		err = load(cache, text, ret, diag);
	}
	if (!err)
		cache_touch(cache, key, time(NULL));
	return err;
}

bool cache_has(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size)
{
	return cache_peek(cache, key, ret_size, NULL);
}

bool cache_peek(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size,
		struct text_buf *notes)
{
	char text[CACHE_KEY_SIZE], name[NAME_SIZE];
	int fd = -ENOENT;
	for (int alone = 0; alone < 2 && fd == -ENOENT; alone++) {
		converted_key(text, key, alone);
		file_name(name, text, CACHE_GSYM_SUFFIX);
		fd = open_entry(cache, name);
	}
	if (fd < 0)
		return false;
	bool has = handle_peek(fd, text, ret_size, notes) == 0;
	close(fd);
	return has;
}

bool cache_holds(const struct cache *cache, const struct cache_key *key, const struct handle *handle)
{
	char name[NAME_SIZE];
	struct stat st;
	for (int alone = 0; alone < 2; alone++) {
		converted_name(name, key, alone);
		if (fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == handle->ino)
			return true;
	}
	return false;
}

static void forget(struct cache *cache, const struct cache_key *key, bool alone)
{
	char name[NAME_SIZE];
	converted_name(name, key, alone);
	if (unlinkat(cache->dir, name, 0) == 0 && atomic_load(&cache->files))
		atomic_fetch_sub(&cache->files, 1);
}

void cache_forget(struct cache *cache, const struct cache_key *key)
{
	forget(cache, key, false);
	forget(cache, key, true);
}

void cache_touch(struct cache *cache, const struct cache_key *key, int64_t when)
{
	char name[NAME_SIZE];
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = when}};
	for (int alone = 0; alone < 2; alone++) {
		converted_name(name, key, alone);
		utimensat(cache->dir, name, times, AT_SYMLINK_NOFOLLOW);
	}
}

bool cache_is_tight(struct cache *cache)
{
	return atomic_load(&cache->bytes) > cache->limit / 2 ||
	       cache_dir_shortage(cache->dir, cache->spare < UINT64_MAX / 2 ? 2 * cache->spare : UINT64_MAX);
}

/* ---- Publishing ---- */

/*
 * Takes the lock that marks the file as being written. False if a daemon that starts removed the file first.
 */
static bool lock_temp(int fd)
{
	struct stat st;
	return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static int temp_open(struct cache *cache, struct cache_temp *ret)
{
	struct cache_temp temp = {.fd = -1};
	for (int i = 0; i < TEMP_TRIES; i++) {
		snprintf(temp.name, sizeof(temp.name), CACHE_TEMP_PREFIX "%ld-%u", (long)getpid(),
			 atomic_fetch_add(&cache->next_temp, 1));
		temp.fd = openat(cache->dir, temp.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				 0600);
		if (temp.fd < 0 && errno != EEXIST)
			break;
		if (temp.fd >= 0 && lock_temp(temp.fd)) {
			*ret = temp;
			return 0;
		}
		if (temp.fd >= 0)
			close(temp.fd);
		errno = EEXIST;
	}
	return -errno;
}

int cache_temp_open_memory(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag)
{
	if (atomic_load(&cache->in_memory) >= CACHE_MEMORY_MAX)
		return diag_set(diag, -ENOSPC,
				"cache directory '%s' is full, and so is the memory used instead",
				cache->path);
	struct cache_temp temp = {.fd = memfd_create("gsymfs-converted", MFD_CLOEXEC)};
	if (temp.fd < 0)
		return diag_set(diag, -errno, "no memory for a converted file: %s", strerror(errno));
	*ret = temp;
	return 0;
}

/* ---- A full directory ---- */

static int64_t clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool cache_error_is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS || err == -EIO || err == -EACCES ||
	       err == -EPERM;
}

void cache_note_full(struct cache *cache, int err)
{
	int64_t again = clock_ms() + CACHE_RETRY_SECONDS * 1000;
	if (!atomic_exchange(&cache->retry_at, again))
		log_warning(
			cache->log,
			"cache directory '%s': %s; conversions are kept in memory until it can be written "
			"to: make room or set another -o cache=DIR",
			cache->path, strerror(-err));
}

bool cache_is_full(const struct cache *cache)
{
	return clock_ms() < atomic_load(&cache->retry_at);
}

static void note_written(struct cache *cache)
{
	if (atomic_load(&cache->retry_at) && atomic_exchange(&cache->retry_at, 0))
		log_info(cache->log, "cache directory '%s' can be written to again", cache->path);
}

/* ---- Temporary files ---- */

static bool is_removed(int dir)
{
	struct stat st;
	return fstat(dir, &st) == 0 && st.st_nlink == 0;
}

/* Makes the directory again, under the descriptor of the old one, which other threads are using. */
static int make_again(struct cache *cache, struct gsym_diag *diag)
{
	int dir;
	CLEANUP(freep) char *path = NULL;
	int err = cache_dir_open(cache->path, &dir, &path, diag);
	if (err)
		return err;
	err = dup3(dir, cache->dir, O_CLOEXEC) < 0 ? -errno : 0;
	close(dir);
	if (err)
		return diag_set(diag, err, "cache directory '%s': %s", cache->path, strerror(-err));
	log_warning(cache->log, "cache directory '%s' was removed: made it again", cache->path);
	set_sum(cache, cache_dir_clean(cache->dir, cache->log));
	return 0;
}

int cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag)
{
	int err = temp_open(cache, ret);
	if (err == -ENOENT && is_removed(cache->dir)) {
		err = make_again(cache, diag);
		if (err)
			return err;
		err = temp_open(cache, ret);
	}
	return err ? diag_set(diag, err, "cache directory '%s': cannot create a file: %s", cache->path,
			      strerror(-err))
		   : 0;
}

int cache_temp_probe(const struct cache_temp *temp)
{
	return ftruncate(temp->fd, 0) ? -errno : -posix_fallocate(temp->fd, 0, PROBE_BYTES);
}

void cache_temp_close(struct cache *cache, struct cache_temp *temp)
{
	if (temp->name[0])
		unlinkat(cache->dir, temp->name, 0);
	if (temp->fd >= 0)
		close(temp->fd);
	*temp = (struct cache_temp){.fd = -1};
}

/* Publishes @temp as @name. */
static int rename_temp(struct cache *cache, struct cache_temp *temp, const char *name)
{
	if (renameat(cache->dir, temp->name, cache->dir, name))
		return -errno;
	temp->name[0] = 0;
	return 0;
}

static void evict(struct cache *cache, const char *keep)
{
	/* A tenth below the limit, so that not every conversion at the limit walks the directory. */
	const struct cache_bounds bounds = {
		.limit = cache->limit, .target = cache->limit - cache->limit / 10, .spare = cache->spare};
	struct cache_sum left = cache_dir_evict(cache->dir, &bounds, keep, cache->log);
	set_sum(cache, left);
	if (left.evicted)
		atomic_store(&cache->evicted, true);
}

bool cache_take_evicted(struct cache *cache)
{
	return atomic_exchange(&cache->evicted, false);
}

void cache_trim(struct cache *cache)
{
	evict(cache, "");
}

/* @name was added. */
static void grown(struct cache *cache, const char *name)
{
	struct stat st;
	uint64_t bytes = fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : cache_file_bytes(&st);
	uint64_t now = atomic_fetch_add(&cache->bytes, bytes) + bytes;
	if (now > cache->limit || cache_dir_shortage(cache->dir, cache->spare))
		evict(cache, name);
}

static int complete(struct cache_temp *temp, const char *key, uint64_t gsym_size, struct span notes,
		    struct span inputs)
{
	int err = trailer_write(temp->fd, key, gsym_size, notes, inputs);
	/* Durable before it is visible: the disk may be full only now. */
	return !err && fdatasync(temp->fd) ? -errno : err;
}

int cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		  uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		  struct gsym_diag *diag)
{
	char text[CACHE_KEY_SIZE], name[NAME_SIZE];
	struct handle *handle;
	converted_key(text, key, alone);
	file_name(name, text, CACHE_GSYM_SUFFIX);
	int err = complete(temp, text, gsym_size, notes, inputs);
	if (err)
		return diag_set(diag, err, "cache directory '%s': cannot write %s: %s", cache->path, name,
				strerror(-err));
	/* Before it is visible: nothing is published that the reader would reject, and others may evict it at
	 * once. */
	err = handle_open(temp->fd, text, &handle, diag);
	if (err)
		return err;
	bool is_new = faccessat(cache->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
	err = rename_temp(cache, temp, name);
	if (err) {
		handle_put(handle);
		return diag_set(diag, err, "cache directory '%s': cannot rename to %s: %s", cache->path, name,
				strerror(-err));
	}
	note_written(cache);
	atomic_fetch_add(&cache->files, is_new);
	if (alone)
		forget(cache, key,
		       false); /* cache_load() prefers that name: an outdated file would hide this one */
	cache_touch(cache, key, time(NULL));
	grown(cache, name);
	*ret = handle;
	return 0;
}

/* ---- In memory ---- */

int cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
	       uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
	       struct gsym_diag *diag)
{
	char text[CACHE_KEY_SIZE];
	struct handle *handle;
	converted_key(text, key, alone);
	int err = trailer_write(temp->fd, text, gsym_size, notes, inputs);
	if (err)
		return diag_set(diag, err, "cannot keep %s in memory: %s", text, strerror(-err));
	err = handle_open(temp->fd, text, &handle, diag);
	if (err)
		return err;
	handle->in_memory = &cache->in_memory;
	if (atomic_fetch_add(&cache->in_memory, handle->map_size) + handle->map_size > CACHE_MEMORY_MAX) {
		handle_put(handle);
		return diag_set(diag, -ENOSPC, "cache directory '%s' is full, and %s is too large for memory",
				cache->path, text);
	}
	*ret = handle;
	return 0;
}

/* Copies all of @handle to @temp, durable. Reserves the space first, so as not to fill the disk in vain. */
static int copy_kept(const struct handle *handle, struct cache_temp *temp)
{
	int err = -posix_fallocate(temp->fd, 0, (off_t)handle->map_size);
	if (!err)
		err = write_all(temp->fd, handle->map, handle->map_size, 0);
	return !err && fdatasync(temp->fd) ? -errno : err;
}

int cache_publish_kept(struct cache *cache, const struct handle *handle)
{
	char key[CACHE_KEY_SIZE], name[NAME_SIZE];
	struct cache_temp temp;
	struct gsym_diag diag;
	handle_key(handle, key);
	file_name(name, key, CACHE_GSYM_SUFFIX);
	int err = cache_is_full(cache) ? -ENOSPC : cache_temp_open(cache, &temp, &diag);
	if (err)
		return err;
	err = copy_kept(handle, &temp);
	if (!err)
		err = rename_temp(cache, &temp, name);
	if (err && cache_temp_probe(&temp)) /* else there is room for smaller ones */
		atomic_store(&cache->retry_at, clock_ms() + CACHE_RETRY_SECONDS * 1000);
	cache_temp_close(cache, &temp);
	if (err)
		return err;
	note_written(cache);
	atomic_fetch_add(&cache->files, 1);
	grown(cache, name);
	return 0;
}

/* ---- Small files ---- */

int cache_write_file(struct cache *cache, const char *name, const void *data, size_t size,
		     struct gsym_diag *diag)
{
	struct cache_temp temp;
	int err = cache_temp_open(cache, &temp, diag);
	if (err)
		return err;
	err = write_all(temp.fd, data, size, 0);
	if (!err)
		err = rename_temp(cache, &temp, name);
	cache_temp_close(cache, &temp);
	return err ? diag_set(diag, err, "cache directory '%s': cannot write %s: %s", cache->path, name,
			      strerror(-err))
		   : 0;
}

void cache_failure_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
			 struct span inputs)
{
	char name[NAME_SIZE];
	struct gsym_diag diag = {""};
	struct text_buf out = {0};
	file_name(name, key->text, CACHE_FAILED_SUFFIX);
	text_str(&out, key->text);
	text_char(&out, '\t');
	text_dec(&out, (uint64_t)-err);
	text_char(&out, '\t');
	text_bytes(&out, text, strnlen(text, FAILURE_TEXT_SIZE - 1));
	text_char(&out, '\n');
	text_bytes(&out, inputs.data, inputs.size);
	text_hex(&out, XXH3_64bits(out.v, out.n), SUM_DIGITS);
	if (!out.failed && cache_write_file(cache, name, out.v, out.n, &diag))
		log_warning(cache->log, "%s; the conversion will be retried after a restart", diag.text);
	else if (!out.failed)
		grown(cache, name);
	text_deinit(&out);
}

/* The whole file, NUL-terminated; NULL if there is none or it is too large. */
static char *read_failure(const struct cache *cache, const char *name)
{
	struct stat st;
	int fd = open_entry(cache, name);
	if (fd < 0)
		return NULL;
	size_t most = NAME_SIZE + FAILURE_TEXT_SIZE + 32 + INPUTS_MAX, size = 0;
	char *text = NULL;
	if (fstat(fd, &st) == 0 && (size_t)st.st_size <= most) {
		size = (size_t)st.st_size;
		text = malloc(size + 1);
	}
	if (text && read_all(fd, text, size, 0))
		size = 0; /* it has shrunk: no record */
	close(fd);
	if (text)
		text[size] = 0;
	return text;
}

/* What follows the key in the @record of a failure; NULL if it is damaged or that of another key. */
static char *check_failure(char *record, const char *key)
{
	size_t size = strlen(record), key_size = strlen(key);
	char sum[SUM_DIGITS + 1];
	if (size < key_size + 1 + SUM_DIGITS)
		return NULL;
	size -= SUM_DIGITS;
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)XXH3_64bits(record, size));
	if (strcmp(record + size, sum) != 0 || memcmp(record, key, key_size) != 0 || record[key_size] != '\t')
		return NULL;
	record[size] = 0;
	return record + key_size + 1;
}

int cache_failure_load(struct cache *cache, const struct cache_key *key, char text[FAILURE_TEXT_SIZE],
		       char **ret_inputs)
{
	char name[NAME_SIZE], *tab;
	file_name(name, key->text, CACHE_FAILED_SUFFIX);
	CLEANUP(freep) char *all = read_failure(cache, name);
	if (!all)
		return 0;
	char *record = check_failure(all, key->text);
	long err = record ? strtol(record, &tab, 10) : 0;
	if (err <= 0 || err >= 4096 || *tab != '\t') {
		log_warning(cache->log, "cache: %s: damaged, or the failure of another image; deleted", name);
		unlinkat(cache->dir, name, 0);
		return 0;
	}
	size_t words = strcspn(tab + 1, "\n");
	const char *inputs = tab[1 + words] ? tab + 2 + words : "";
	snprintf(text, FAILURE_TEXT_SIZE, "%.*s",
		 (int)(words < FAILURE_TEXT_SIZE ? words : FAILURE_TEXT_SIZE), tab + 1);
	*ret_inputs = strdup(inputs);
	return *ret_inputs ? (int)-err : 0;
}

/*
 * The directory of converted files: loading, accounting, eviction.
 */
#include "work/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "work/cache/cache_entry.h"

enum {
	MOVE_TRIES = 8,
	ASIDE_DIGITS = 32, /* of a process and a counter */
};

void cache_set_sum(struct cache *cache, struct cache_sum sum)
{
	atomic_store(&cache->bytes, sum.bytes);
	atomic_store(&cache->files, sum.files);
}

int cache_attach(struct cache *cache, const char *path, const struct log *log, struct gsym_diag *diag)
{
	*cache = (struct cache){.dir = -1, .memory = CACHE_MEMORY_MAX, .log = log};
	return cache_dir_open(path, &cache->dir, &cache->path, diag);
}

int cache_attach_none(struct cache *cache, const struct log *log)
{
	*cache = (struct cache){.dir = -1,
				.memory = CACHE_MEMORY_MAX,
				.log = log,
				.path = strdup("none"),
				.retry_at = INT64_MAX};
	return cache->path ? 0 : -ENOMEM;
}

void cache_admit(struct cache *cache, uint64_t limit, uint64_t spare)
{
	cache->limit = limit;
	cache->spare = spare;
	cache_set_sum(cache, cache_dir_clean(cache->dir, cache->log));
}

int cache_open(struct cache *cache, const char *path, uint64_t limit, uint64_t spare, const struct log *log,
	       struct gsym_diag *diag)
{
	int err = cache_attach(cache, path, log, diag);
	if (!err)
		cache_admit(cache, limit, spare);
	return err;
}

void cache_close(struct cache *cache)
{
	if (cache->path && cache->dir >= 0)
		close(cache->dir);
	free(cache->path);
	cache->path = NULL;
}

/*
 * Removes the unusable entry @name, or renames it if it is a directory. -EEXIST if neither is possible: a
 * conversion could not be published.
 */
static int make_room(struct cache *cache, const char *name, struct gsym_diag *diag)
{
	char aside[CACHE_NAME_SIZE + ASIDE_DIGITS];
	if (unlinkat(cache->dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* A directory, possibly with a user's files in it: never deleted. */
	for (int i = 0; i < MOVE_TRIES; i++) {
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

/* Opens and verifies the entry @key. */
static int open_handle(const struct cache *cache, const char *key, struct handle **ret,
		       struct gsym_diag *diag)
{
	char name[CACHE_NAME_SIZE];
	cache_file_name(name, key, CACHE_GSYM_SUFFIX);
	int fd = cache_entry_open(cache->dir, name);
	if (fd < 0)
		return diag_set(diag, fd, "%s: %s", name,
				fd == -EMEDIUMTYPE ? "not a regular file" : strerror(-fd));
	int err = handle_open(fd, key, ret, diag);
	close(fd);
	return err;
}

/*
 * The entry may be sound: memory or descriptors are short, or its server is away. -EIO is of the disk: the
 * next read of that block is no better, and a conversion costs less than an image that cannot be opened.
 */
static bool is_temporary(int err)
{
	const enum fault fault = fault_of(err);
	return (fault == FAULT_MACHINE && err != -EIO) || fault == FAULT_NETWORK;
}

static int load_entry(struct cache *cache, const char *key, struct handle **ret, struct gsym_diag *diag)
{
	char name[CACHE_NAME_SIZE];
	struct gsym_diag why = {""};
	int err = open_handle(cache, key, ret, &why);
	if (!err || err == -ENOENT)
		return err;
	if (is_temporary(err))
		return diag_set(diag, err, "%s", why.text);
	cache_file_name(name, key, CACHE_GSYM_SUFFIX);
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
		cache_entry_key(text, key, alone);
		err = load_entry(cache, text, ret, diag);
	}
	if (!err)
		cache_touch(cache, key, time(NULL));
	return err;
}

bool cache_has(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size)
{
	return cache_peek(cache, key, ret_size, NULL);
}

/* Opens the converted file of @key, unverified; @ret: under which of its names. A descriptor or an errno. */
static int open_unverified(const struct cache *cache, const struct cache_key *key, char ret[CACHE_KEY_SIZE])
{
	char name[CACHE_NAME_SIZE];
	int fd = -ENOENT;
	for (int alone = 0; alone < 2 && fd == -ENOENT; alone++) {
		cache_entry_key(ret, key, alone);
		cache_file_name(name, ret, CACHE_GSYM_SUFFIX);
		fd = cache_entry_open(cache->dir, name);
	}
	return fd;
}

bool cache_peek(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size,
		struct text_buf *notes)
{
	char text[CACHE_KEY_SIZE];
	int fd = open_unverified(cache, key, text);
	if (fd < 0)
		return false;
	bool has = handle_peek(fd, text, ret_size, notes) == 0;
	close(fd);
	return has;
}

static bool has_inode(const struct cache *cache, const struct cache_key *key, uint64_t ino)
{
	char name[CACHE_NAME_SIZE];
	struct stat st;
	for (int alone = 0; alone < 2; alone++) {
		cache_entry_name(name, key, alone);
		if (fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == ino)
			return true;
	}
	return false;
}

bool cache_holds(const struct cache *cache, const struct cache_key *key, const struct handle *handle)
{
	return has_inode(cache, key, handle->ino);
}

bool cache_functions(const struct cache *cache, const struct cache_key *key, struct cache_count *count)
{
	char text[CACHE_KEY_SIZE];
	struct stat st;
	if (count->ino && has_inode(cache, key, count->ino))
		return true;
	int fd = open_unverified(cache, key, text);
	if (fd < 0)
		return false;
	bool has = fstat(fd, &st) == 0 && handle_peek_functions(fd, text, &count->functions) == 0;
	count->ino = has ? st.st_ino : 0;
	close(fd);
	return has;
}

void cache_forget_one(struct cache *cache, const struct cache_key *key, bool alone)
{
	char name[CACHE_NAME_SIZE];
	cache_entry_name(name, key, alone);
	if (unlinkat(cache->dir, name, 0) == 0 && atomic_load(&cache->files))
		atomic_fetch_sub(&cache->files, 1);
}

void cache_forget(struct cache *cache, const struct cache_key *key)
{
	cache_forget_one(cache, key, false);
	cache_forget_one(cache, key, true);
}

void cache_mark(const struct cache *cache, const struct handle *handle, bool pending)
{
	char key[CACHE_KEY_SIZE], name[CACHE_NAME_SIZE];
	struct stat st;
	if (handle_key(handle, key))
		return;
	cache_file_name(name, key, CACHE_GSYM_SUFFIX);
	int fd = cache_entry_open(cache->dir, name);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_ino == handle->ino && !(st.st_mode & CACHE_PENDING) == pending &&
	    fchmod(fd, (st.st_mode ^ CACHE_PENDING) & ALLPERMS))
		log_debug(cache->log, "cache: %s: cannot set its mode: %s", name, strerror(errno));
	close(fd);
}

void cache_touch(struct cache *cache, const struct cache_key *key, int64_t when)
{
	char name[CACHE_NAME_SIZE];
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = when}};
	for (int alone = 0; alone < 2; alone++) {
		cache_entry_name(name, key, alone);
		utimensat(cache->dir, name, times, AT_SYMLINK_NOFOLLOW);
	}
}

bool cache_is_tight(struct cache *cache)
{
	return atomic_load(&cache->bytes) > cache->limit / 2 ||
	       cache_dir_shortage(cache->dir, cache->spare < UINT64_MAX / 2 ? 2 * cache->spare : UINT64_MAX);
}

static void evict(struct cache *cache, const char *keep)
{
	/* A tenth below the limit, so that not every conversion at the limit walks the directory. */
	const struct cache_bounds bounds = {
		.limit = cache->limit, .target = cache->limit - cache->limit / 10, .spare = cache->spare};
	struct cache_sum left = cache_dir_evict(cache->dir, &bounds, keep, cache->log);
	cache_set_sum(cache, left);
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

void cache_grown(struct cache *cache, const char *name)
{
	struct stat st;
	uint64_t bytes = fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : cache_file_bytes(&st);
	uint64_t now = atomic_fetch_add(&cache->bytes, bytes) + bytes;
	if (now > cache->limit || cache_dir_shortage(cache->dir, cache->spare))
		evict(cache, name);
}

/* ---- One process at a time makes an entry ---- */

static const char lock_name[] = ".lock";

int cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret)
{
	/* Offsets are positive; two entries with one byte wait for one another. */
	uint64_t byte = XXH3_64bits(key->text, strlen(key->text)) >> 2;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
	int fd = openat(cache->dir, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	*ret = fd;
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	bool is_taken = errno == EAGAIN || errno == EACCES;
	close(fd);
	*ret = -1;
	return is_taken ? -EAGAIN : 0;
}

/* ---- Ids of files ---- */

/*
 * A link's content is "<content>-<id>": the hash of the state that the id is of, since the name of the link
 * has only what stays the same when a file is written to.
 */

enum { CONTENT_SIZE = CONTENT_DIGITS + 1 }; /* with the dash */

/* The name of the link, and what it has before the id. */
static void describe_link(const struct cache_input *input, char name[static CACHE_LINK_SIZE],
			  char content[static CONTENT_SIZE + 1])
{
	struct cache_input nameless = *input;
	struct cache_key key;
	nameless.id = "";
	cache_key_make(&nameless, &key);
	cache_link_name(name, key.text);
	snprintf(content, CONTENT_SIZE + 1, "%s-", key.alone);
}

static bool is_id(const char *text, size_t size)
{
	return size && size < ID_TEXT_SIZE && strspn(text, "0123456789abcdefxh-") == size;
}

int cache_find(const struct cache *cache, const struct cache_input *input, char ret_id[ID_TEXT_SIZE])
{
	char name[CACHE_LINK_SIZE], content[CONTENT_SIZE + 1], found[CONTENT_SIZE + ID_TEXT_SIZE + 1];
	describe_link(input, name, content);
	ssize_t n = readlinkat(cache->dir, name, found, sizeof(found) - 1);
	if (n < CONTENT_SIZE || memcmp(found, content, CONTENT_SIZE) != 0)
		return -ENOENT;
	found[n] = 0;
	if (!is_id(found + CONTENT_SIZE, (size_t)n - CONTENT_SIZE))
		return -ENOENT;
	strcpy(ret_id, found + CONTENT_SIZE);
	return 0;
}

void cache_remember(const struct cache *cache, const struct cache_input *input)
{
	char name[CACHE_LINK_SIZE], content[CONTENT_SIZE + 1], text[CONTENT_SIZE + ID_TEXT_SIZE];
	describe_link(input, name, content);
	snprintf(text, sizeof(text), "%s%s", content, input->id);
	if (symlinkat(text, cache->dir, name) == 0 || errno != EEXIST)
		return;
	/* Of another state. If another process is as far as this one, one of them fails, and the file is
	 * identified again. */
	unlinkat(cache->dir, name, 0);
	if (symlinkat(text, cache->dir, name))
		return;
}

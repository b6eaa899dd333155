/* Cache files as entries of a key: what is bound to the name, and what damage is found. */
#include "work/cache/handle.h"
#include "gsym/read/name_index.h"
#include "work/cache/publish.h"
#include "work/os/guard.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINGERPRINT "-0123456789abcdef0123456789abcdef01234567"
#define ID          "000102030405060708090a0b0c0d0e0f10111213"
#define KEY         ID FINGERPRINT

static const uint8_t uuid[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

/* ---- Calls that fail: this many of each kind from now on succeed, then one fails ---- */

static int reads_left = -1, writes_left = -1;

ssize_t __real_pread64(int fd, void *to, size_t size, off64_t off);
ssize_t __real_pwrite64(int fd, const void *from, size_t size, off64_t off);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off64_t off)
{
	if (reads_left < 0 || reads_left-- > 0)
		return __real_pread64(fd, to, size, off);
	errno = EIO;
	return -1;
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off64_t off)
{
	if (writes_left < 0 || writes_left-- > 0)
		return __real_pwrite64(fd, from, size, off);
	errno = ENOSPC;
	return -1;
}

/* ---- Files ---- */

/* GSYM of one function; returns its size. */
static uint64_t write_gsym(int fd, const uint8_t *id, size_t id_size)
{
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = id, .uuid_size = id_size};
	struct gsym_writer *writer;
	struct gsym_func func = {.start = 0x1000, .size = 16};
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	assert_int_equal(gsym_writer_string(writer, "main", 4, &func.name), 0);
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	assert_int_equal(gsym_writer_finish(writer, fd, NULL), 0);
	gsym_writer_free(writer);
	off_t size = lseek(fd, 0, SEEK_END);
	assert_true(size > 0);
	return (uint64_t)size;
}

static FILE *make(const char *key, const uint8_t *id, size_t id_size)
{
	static const uint8_t notes[] = "units\t1\n";
	FILE *file = tmpfile();
	assert_non_null(file);
	uint64_t size = write_gsym(fileno(file), id, id_size);
	assert_int_equal(trailer_write(fileno(file), key, size, (struct span){notes, sizeof(notes) - 1},
				       (struct span){0}),
			 0);
	return file;
}

/* Makes the notes of an entry longer by a byte of its GSYM. */
static void lengthen_notes(int fd)
{
	uint8_t sizes[16];
	off_t at = lseek(fd, 0, SEEK_END) - TRAILER_SIZE;
	assert_int_equal(pread(fd, sizes, sizeof(sizes), at), sizeof(sizes));
	store64(sizes, load64(sizes, false) - 1, false);
	store64(sizes + 8, load64(sizes + 8, false) + 1, false);
	assert_int_equal(pwrite(fd, sizes, sizeof(sizes), at), sizeof(sizes));
}

TEST(longest_notes)
{
	FILE *file = tmpfile();
	uint8_t *notes = calloc(NOTES_MAX + 1, 1);
	uint64_t size;
	assert_non_null(file);
	assert_non_null(notes);
	memset(notes, '\n', NOTES_MAX + 1);
	uint64_t gsym_size = write_gsym(fileno(file), uuid, sizeof(uuid));
	const struct span most = {notes, NOTES_MAX}, more = {notes, NOTES_MAX + 1}, none = {0};
	assert_int_equal(trailer_write(fileno(file), KEY, gsym_size, more, none), -EINVAL);
	assert_int_equal(trailer_write(fileno(file), KEY, gsym_size, most, none), 0);
	assert_int_equal(handle_peek(fileno(file), KEY, &size, NULL), 0);
	assert_int_equal(size, gsym_size);
	lengthen_notes(fileno(file));
	assert_int_equal(handle_peek(fileno(file), KEY, &size, NULL), -EBADMSG);
	free(notes);
	fclose(file);
}

/* Whichever write or read fails, its error is what is returned. */
TEST(failing_trailer)
{
	static const uint8_t some[] = "text";
	const struct span text = {some, sizeof(some)};
	int failed = 0;
	for (int after = 0; failed < 2; after++) {
		FILE *file = tmpfile();
		uint64_t size = write_gsym(fileno(file), uuid, sizeof(uuid));
		writes_left = after;
		int err = trailer_write(fileno(file), KEY, size, text, text);
		failed += writes_left >= 0;
		assert_int_equal(err, writes_left < 0 ? -ENOSPC : 0);
		assert_true(writes_left >= 0 || after < 4); /* notes, inputs, key, and the rest */
		reads_left = after;
		writes_left = -1;
		err = trailer_write(fileno(file), KEY, size, text, text);
		assert_int_equal(err, reads_left < 0 ? -EIO : 0);
		reads_left = -1;
		fclose(file);
	}
}

TEST(failing_peek)
{
	FILE *file = make(KEY, uuid, sizeof(uuid));
	int failed = 0;
	for (int after = 0;; after++) {
		struct text_buf notes = {0};
		uint64_t size = 0;
		reads_left = after;
		int err = handle_peek(fileno(file), KEY, &size, &notes);
		bool all = reads_left >= 0;
		reads_left = -1;
		assert_int_equal(err, all ? 0 : -EIO);
		assert_int_equal(notes.n, all ? 8 : 0);
		text_deinit(&notes);
		if (all)
			break;
		failed++;
	}
	assert_true(failed >= 3); /* trailer, key, notes */
	fclose(file);
}

static int try_open(FILE *file, const char *key)
{
	struct handle *handle = NULL;
	struct gsym_diag diag = {""};
	int err = handle_open(fileno(file), key, &handle, &diag);
	assert_true(err ? diag.text[0] && !handle : handle->gsym.size && handle->notes.size == 8);
	handle_put(handle);
	return err;
}

/* Opens as @key what was made as @made of a file with @id. */
static int open_as(const char *key, const char *made, const uint8_t *id, size_t id_size)
{
	FILE *file = make(made, id, id_size);
	int err = try_open(file, key);
	fclose(file);
	return err;
}

TEST(another_name)
{
	static const char other_file[] = ID "-0123456789abcdef0123456789abcdef01234566";
	assert_int_equal(open_as(KEY, KEY, uuid, sizeof(uuid)), 0);
	assert_int_equal(open_as(other_file, KEY, uuid, sizeof(uuid)), -EBADMSG);
	assert_int_equal(open_as(KEY "0", KEY, uuid, sizeof(uuid)), -EBADMSG);
	assert_int_equal(open_as("", KEY, uuid, sizeof(uuid)), -EBADMSG);
	assert_int_equal(open_as(KEY, "", uuid, sizeof(uuid)), -EBADMSG);
}

TEST(peek)
{
	struct text_buf notes = {0};
	uint64_t size = 0;
	FILE *file = make(KEY, uuid, sizeof(uuid));
	assert_int_equal(handle_peek(fileno(file), ID FINGERPRINT "x", &size, &notes), -EBADMSG);
	assert_int_equal(notes.n + size, 0);
	assert_int_equal(handle_peek(fileno(file), KEY, &size, &notes), 0);
	assert_int_equal(notes.n, 8);
	assert_true(size > 0);
	text_deinit(&notes);
	fclose(file);
}

/* Under the right name, but of another image. */
TEST(another_image)
{
	static const char short_key[] = "0001020304" FINGERPRINT, hash_key[] = "xxh3-00" FINGERPRINT;
	uint8_t other[sizeof(uuid)], zeros[16] = {0, 1, 2, 3, 4};
	memcpy(other, uuid, sizeof(other));
	other[19] ^= 1;
	assert_int_equal(open_as(KEY, KEY, other, sizeof(other)), -EBADMSG);
	assert_int_equal(open_as(KEY, KEY, NULL, 0), -EBADMSG);
	/* Text symbols know the first 16 bytes, with zeros after a shorter id. */
	assert_int_equal(open_as(KEY, KEY, uuid, 16), 0);
	assert_int_equal(open_as(short_key, short_key, zeros, sizeof(zeros)), 0);
	assert_int_equal(open_as(short_key, short_key, uuid, 16), -EBADMSG);
	/* A file without an id may hold GSYM with one. */
	assert_int_equal(open_as(hash_key, hash_key, uuid, sizeof(uuid)), 0);
	assert_int_equal(open_as(hash_key, hash_key, NULL, 0), 0);
}

/* No byte, and no length, can change unnoticed. */
TEST(damage)
{
	FILE *file = make(KEY, uuid, sizeof(uuid));
	int fd = fileno(file);
	off_t size = lseek(fd, 0, SEEK_END);
	for (off_t off = 0; off < size; off++) {
		uint8_t byte, flipped;
		assert_int_equal(pread(fd, &byte, 1, off), 1);
		flipped = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &flipped, 1, off), 1);
		assert_int_equal(try_open(file, KEY), -EBADMSG);
		assert_int_equal(pwrite(fd, &byte, 1, off), 1);
	}
	assert_int_equal(try_open(file, KEY), 0);
	while (size--) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_int_equal(try_open(file, KEY), -EBADMSG);
	}
	fclose(file);
}

/* ---- Entries that are cut short while they are in use: what reads them must not end the process ---- */

static struct handle *open_entry(FILE *file)
{
	struct handle *handle = NULL;
	assert_int_equal(guard_install(), 0);
	assert_int_equal(handle_open(fileno(file), KEY, &handle, NULL), 0);
	return handle;
}

TEST(key_of_a_cut_entry)
{
	char key[CACHE_KEY_SIZE];
	FILE *file = make(KEY, uuid, sizeof(uuid));
	struct handle *handle = open_entry(file);
	assert_int_equal(handle_key(handle, key), 0);
	assert_string_equal(key, KEY);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_int_equal(handle_key(handle, key), -EFAULT);
	handle_put(handle);
	fclose(file);
}

static int search_name(void *arg)
{
	struct name_search search;
	return name_search_begin(&search, arg, "function", 8);
}

/* Memory of an index of names that is not finished is freed with the entry: the address sanitizer knows. */
TEST(names_of_a_cut_entry)
{
	FILE *file = make(KEY, uuid, sizeof(uuid));
	struct handle *handle = open_entry(file);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_int_equal(handle_run(handle, search_name, handle->reader), -EFAULT);
	handle_put(handle);
	fclose(file);
}

/* ---- In memory, while the directory cannot be written to ---- */

struct shelf {
	struct cache cache;
	struct handle *kept[8];
	size_t n, first; /* kept[first, n) are open */
	uid_t owner;     /* for whom room was made last */
};

static bool drop_first(void *user, uid_t owner, uint64_t size)
{
	struct shelf *shelf = user;
	assert_true(size > 0);
	shelf->owner = owner;
	if (shelf->first == shelf->n)
		return false;
	handle_put(shelf->kept[shelf->first++]);
	return true;
}

static int keep(struct shelf *shelf)
{
	const struct cache_key key = {.text = KEY};
	struct cache_temp temp;
	struct gsym_diag diag = {""};
	int err = cache_temp_open_memory(&shelf->cache, &key, &temp, &diag);
	if (err)
		return err;
	uint64_t size = write_gsym(temp.fd, uuid, sizeof(uuid));
	err = cache_keep(&shelf->cache, &temp, &key, false, size, (struct span){0}, (struct span){0},
			 &shelf->kept[shelf->n], &diag);
	shelf->n += !err;
	close(temp.fd);
	return err;
}

TEST(room_in_memory)
{
	struct shelf shelf = {.cache = {.path = (char *)"cache", .memory = 1 << 20}};
	assert_int_equal(keep(&shelf), 0);
	const uint64_t size = atomic_load(&shelf.cache.in_memory);
	assert_true(size > 0);
	shelf.cache.memory = 3 * size + size / 2;
	assert_int_equal(keep(&shelf), 0);
	assert_int_equal(keep(&shelf), 0);
	assert_int_equal(keep(&shelf), -ENOSPC); /* nothing can be closed */
	shelf.cache.drop_kept = drop_first;
	shelf.cache.drop_user = &shelf;
	assert_int_equal(keep(&shelf), 0);
	assert_int_equal(shelf.owner, 0x01234567);
	assert_int_equal(shelf.n - shelf.first, 3);
	assert_int_equal(atomic_load(&shelf.cache.in_memory), 3 * size);
	handle_get(shelf.kept[shelf.first]); /* in use: the next ones go, too */
	assert_int_equal(keep(&shelf), 0);
	assert_int_equal(shelf.n - shelf.first, 2);
	handle_put(shelf.kept[1]);
	assert_int_equal(atomic_load(&shelf.cache.in_memory), 2 * size);
	const size_t before = shelf.first;
	shelf.cache.memory = size - 1; /* too small for one: nothing is closed in vain */
	atomic_store(&shelf.cache.in_memory, 0);
	assert_int_equal(keep(&shelf), -ENOSPC);
	assert_int_equal(shelf.first, before);
	atomic_store(&shelf.cache.in_memory, 2 * size);
	while (drop_first(&shelf, 0, 1))
		;
	assert_int_equal(atomic_load(&shelf.cache.in_memory), 0);
}

/* ---- In the directory ---- */

/* Whether a file below @path is mapped. */
static bool is_mapped(const char *path)
{
	char line[4096];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, path) != NULL;
	fclose(maps);
	return found;
}

/* Nothing stays open of an entry that cannot get its name. */
TEST(without_a_name)
{
	char path[] = "/tmp/gsymfs-publish-XXXXXX";
	const struct cache_key key = {.text = KEY};
	struct gsym_diag diag = {""};
	struct handle *handle = NULL;
	struct cache_temp temp;
	assert_non_null(mkdtemp(path));
	struct cache cache = {.path = path, .dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	assert_int_equal(cache_temp_open(&cache, &temp, &diag), 0);
	uint64_t size = write_gsym(temp.fd, uuid, sizeof(uuid));
	assert_int_equal(unlinkat(cache.dir, temp.name, 0), 0);
	assert_int_equal(cache_publish(&cache, &temp, &key, false, size, (struct span){0}, (struct span){0},
				       &handle, &diag),
			 -ENOENT);
	assert_null(handle);
	assert_non_null(strstr(diag.text, "cannot rename"));
	assert_false(is_mapped(path));
	cache_temp_close(&cache, &temp);
	close(cache.dir);
	assert_int_equal(rmdir(path), 0);
}

TEST(no_directory)
{
	static const struct log quiet = {.most = (enum log_level) - 1};
	struct cache cache = {.dir = -1};
	struct gsym_diag diag = {""};
	assert_int_not_equal(cache_open(&cache, "/proc/self/status/cache", 1 << 20, 0, &quiet, &diag), 0);
	assert_non_null(strstr(diag.text, "/proc/self/status/cache"));
	cache_close(&cache);
}

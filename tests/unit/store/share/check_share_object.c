/* Objects that a store has sent: how old a failure may be, how large an object, and whose fault it is. */

#include "store/share/share_give.h"
#include "store/share/share_object.h"
#include "work/os/guard.h"
#include "store/client/store_object.h"
#include "gsym/base/text_buf.h"
#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 24 * 3600, HOUR = 3600 };

struct fixture {
	char path[64];
	struct log log;
	struct cache cache;
	struct share share;
	struct share_facts facts;
	struct store_key key;
	int fd; /* of the object */
	struct store_reply reply;
};

static int setup(void **state)
{
	static char id[] = "0102", directory[] = "/", path[] = "/bin/sh";
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->path, "/tmp/check-found-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	assert_int_equal(cache_open(&f->cache, f->path, 1 << 30, 0, &f->log, NULL), 0);
	f->share.cache = &f->cache;
	f->facts =
		(struct share_facts){.id = id, .arch = id, .directory = directory, .files = {{.path = path}}};
	f->fd = memfd_create("object", MFD_CLOEXEC);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	close(f->fd);
	cache_close(&f->cache);
	assert_int_equal(remove_tree(f->path), 0);
	free(f);
	return 0;
}

/* Makes it an object with a failure of @message. */
static void put_failure(struct fixture *f, const char *message)
{
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(share_object_write(&f->share, f->fd, &f->key, "0102", NULL, message,
					    (struct span){0}, &f->reply.size, NULL),
			 0);
	struct object_trailer trailer;
	int unpacked = memfd_create("unpacked", MFD_CLOEXEC);
	assert_true(unpacked >= 0);
	assert_int_equal(object_unpack(f->fd, f->reply.size, unpacked, UINT32_MAX, &trailer, NULL), 0);
	close(f->fd);
	f->fd = unpacked;
	f->reply.size = trailer.size + OBJECT_TRAILER;
}

/* The size of its payload, in bytes. */
static size_t failure_size(struct fixture *f, const char *message)
{
	put_failure(f, message);
	return (size_t)f->reply.size - OBJECT_TRAILER;
}

/* 0 if the object is believed, with its message. */
static int check(struct fixture *f, const char *message)
{
	struct share_found found = {.copy = CACHE_TEMP_NONE};
	struct gsym_diag diag = {""};
	int err = share_found_check(&found, &f->share, &f->facts, &f->key, f->fd, &f->reply, &diag);
	if (!err && message)
		assert_string_equal(found.message, message);
	assert_null(found.handle);
	share_found_deinit(&found, &f->cache);
	assert_int_equal(found.copy.fd, -1);
	return err;
}

/* By the clock of the store, or ours if it has none. */
TEST_OF(failures_grow_old, struct fixture, f)
{
	const int64_t now = 1000000, here = time(NULL);
	const struct {
		int64_t now, modified;
		int err;
	} cases[] = {
		{now, now, 0},
		{now, now - DAY + 1, 0},
		{now, now - DAY, -ETIME},
		{now, now - 2 * DAY, -ETIME},
		{now, now + HOUR, 0}, /* clocks differ so much */
		{now, now + HOUR + 1, -ETIME},
		{now, 0, -ETIME}, /* not known */
		{now, -1, -ETIME},
		{1, 1, 0},
		{1, 1 + HOUR, 0},
		{0, here - HOUR, 0},
		{0, here - 2 * DAY, -ETIME},
		{0, here + 2 * DAY, -ETIME},
		{-1, here - HOUR, 0},
		{0, 1, -ETIME},
	};
	put_failure(f, "no section");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		f->reply.now = cases[i].now;
		f->reply.modified = cases[i].modified;
		if (check(f, "no section") != cases[i].err)
			fail_msg("now %lld, modified %lld", (long long)cases[i].now,
				 (long long)cases[i].modified);
	}
}

/* A message is one line that can be printed. */
TEST_OF(messages, struct fixture, f)
{
	f->reply.now = f->reply.modified = 1000;
	put_failure(f, "no\nsection\x1b");
	assert_int_equal(check(f, "no section?"), 0);
}

/* What cannot be read, or written here, is not the object's fault. */
TEST_OF(faults_of_this_machine, struct fixture, f)
{
	int closed = open("/dev/null", O_WRONLY | O_CLOEXEC);
	f->reply.now = f->reply.modified = 1000;
	put_failure(f, "no section");
	const int fd = f->fd;
	f->fd = closed;
	assert_int_equal(check(f, NULL), -EBADF);
	f->fd = fd;
	assert_int_equal(check(f, "no section"), 0);
	close(closed);
}

TEST_OF(damaged_objects, struct fixture, f)
{
	f->reply.now = f->reply.modified = 1000;
	put_failure(f, "no section");
	uint64_t size = f->reply.size;
	uint8_t byte = 1;
	f->reply.size = size - 1;
	assert_int_equal(check(f, NULL), -EBADMSG);
	f->reply.size = size;
	f->key.digest[0]++;
	assert_int_equal(check(f, NULL), -EBADMSG);
	f->key.digest[0]--;
	assert_int_equal(pwrite(f->fd, &byte, 1, 0), 1);
	assert_int_equal(check(f, NULL), -EBADMSG);
	/* No text of a failure, and one that is longer than any. */
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(object_write(f->fd, &f->key, OBJECT_FAILURE,
				      (struct span){(const uint8_t *)"text", 4}, false, NULL, &f->reply.size,
				      NULL),
			 0);
	assert_int_equal(check(f, NULL), -EBADMSG);
	char *longest = calloc(1, SHARED_FAILURE_MAX + 1);
	memset(longest, 'x', SHARED_FAILURE_MAX);
	longest[SHARED_FAILURE_MAX - failure_size(f, "")] = 0;
	assert_int_equal(failure_size(f, longest), SHARED_FAILURE_MAX);
	put_failure(f, longest);
	assert_int_equal(check(f, NULL), 0);
	longest[strlen(longest)] = 'x';
	put_failure(f, longest);
	assert_int_equal(check(f, NULL), -EBADMSG);
	/* GSYM that is none. */
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(object_write(f->fd, &f->key, OBJECT_CONVERSION,
				      (struct span){(const uint8_t *)longest, 1000}, false, NULL,
				      &f->reply.size, NULL),
			 0);
	assert_int_equal(check(f, NULL), -EBADMSG);
	free(longest);
}

/* ---- Offers ---- */

/* The file of an entry may be cut short by other processes of the user. */
TEST(offer_of_a_cut_entry)
{
	static const uint8_t id[20] = {0}, notes[] = "units\t1\n";
	static const char key[] =
		"0000000000000000000000000000000000000000-0123456789abcdef0123456789abcdef01234567";
	const int none[SHARE_FILES] = {-1, -1};
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = id, .uuid_size = sizeof(id)};
	struct gsym_func func = {.start = 0x1000, .size = 16};
	struct share_facts facts = {0};
	struct handle *handle = NULL;
	struct gsym_writer *writer;
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	assert_int_equal(gsym_writer_string(writer, "main", 4, &func.name), 0);
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	assert_int_equal(gsym_writer_finish(writer, fileno(file), NULL), 0);
	gsym_writer_free(writer);
	assert_int_equal(trailer_write(fileno(file), key, (uint64_t)lseek(fileno(file), 0, SEEK_END),
				       (struct span){notes, sizeof(notes) - 1}, (struct span){0}),
			 0);
	assert_int_equal(guard_install(), 0);
	assert_int_equal(handle_open(fileno(file), key, &handle, NULL), 0);
	struct share_offer *offer = share_offer_new(&facts, none, handle, handle->notes);
	assert_non_null(offer);
	assert_int_equal(offer->inputs.n, handle->notes.size);
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	free(offer);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_null(share_offer_new(&facts, none, handle, handle->notes));
	handle_put(handle);
	fclose(file);
}

/* As large as what it is made of lets it be, and no larger than the cache. */
TEST_OF(sizes_of_objects, struct fixture, f)
{
	const uint64_t least = 64 << 20;
	f->facts.files[SHARE_SOURCE].state.size = 0;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least);
	f->facts.files[SHARE_SOURCE].state.size = 100;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least + 1600);
	f->facts.files[SHARE_BINARY].state.size = 1000;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least + 1600); /* it has no path */
	f->facts.files[SHARE_BINARY].path = f->facts.files[SHARE_SOURCE].path;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least + 17600);
	f->facts.files[SHARE_BINARY].state.size = 0;
	for (uint64_t more = 0; more < 2; more++) {
		f->facts.files[SHARE_SOURCE].state.size = (f->cache.limit - least) / 16 + more;
		assert_int_equal(share_found_size_max(&f->facts, &f->cache), f->cache.limit);
	}
	f->facts.files[SHARE_SOURCE].state.size = (f->cache.limit - least) / 16 - 1;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), f->cache.limit - 16);
	f->facts.files[SHARE_SOURCE].state.size = UINT64_MAX / 2;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), f->cache.limit);
	f->facts.files[SHARE_SOURCE].state.size = 0;
	f->cache.limit = least - 1;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least - 1);
	f->cache.limit = least;
	assert_int_equal(share_found_size_max(&f->facts, &f->cache), least);
}

EACH_TEST(setup, teardown)

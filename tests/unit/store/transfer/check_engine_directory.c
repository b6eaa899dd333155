/* A directory as a store: opening and reading it. */
#include "tests/unit/store/transfer/engine_directory_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 256 << 10, NOW = 1000000 };

/* The time is what the server gave to a file that was written. */
static void tell_time(void)
{
	RUN(0, STORE_PUT, "written");
	RUN(0, STORE_DELETE, "written");
}

static void cancel(void)
{
	atomic_store(&is_canceled, true);
}

static void pass_limit(void)
{
	world.ms += WHOLE_MS;
}

static void reach_limit(void)
{
	world.ms += WHOLE_MS - 1;
}

/* ---- Reading ---- */

ENGINE_TEST(reading)
{
	char tag[STORE_ETAG_SIZE];
	write_object("ab/object", "contents", 8, 1000);
	assert_int_equal(RUN(0, STORE_HEAD, "ab/object")->now, 0);
	tell_time();
	const struct store_reply *reply = RUN(0, STORE_GET, "ab/object");
	assert_int_equal(reply->size, 8);
	assert_int_equal(reply->modified, 1000);
	assert_int_equal(reply->now, NOW);
	assert_string_not_equal(reply->etag, "");
	assert_string_equal(received_bytes(), "contents");
	assert_int_equal(n_begun, 1);
	snprintf(tag, sizeof(tag), "%s", reply->etag);
	reply = RUN(0, STORE_HEAD, "ab/object", .most = 1);
	assert_int_equal(reply->size, 8);
	assert_int_equal(reply->modified, 1000);
	assert_int_equal(reply->now, NOW);
	assert_string_equal(reply->etag, tag);
	assert_int_equal(received_size(), 0);
	assert_int_equal(n_begun, 0);
	RUN(-ENOENT, STORE_GET, "ab/other");
	RUN(-ENOENT, STORE_HEAD, "ac/object");
	RUN(-EBADMSG, STORE_GET, "ab");
	RUN(-EBADMSG, STORE_GET, "ab/object/a");
	assert_string_equal(names_in(""), " ab");
	assert_string_equal(names_in("ab"), " object");
}

static char large[3 * BLOCK];

/* Objects of more than a block. */
ENGINE_TEST(blocks)
{
	static const size_t sizes[] = {0, BLOCK - 1, BLOCK, BLOCK + 1, sizeof(large)};
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i % 251 + i / BLOCK);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		write_object("a", large, sizes[i], 1000);
		assert_int_equal(RUN(0, STORE_GET, "a", .most = sizes[i] + !sizes[i])->size, sizes[i]);
		assert_int_equal(received_size(), sizes[i]);
		assert_memory_equal(received_bytes(), large, sizes[i]);
	}
	RUN(-EFBIG, STORE_GET, "a", .most = sizeof(large) - 1);
	assert_int_equal(n_begun, 0);
	assert_int_equal(received_size(), 0);
}

/* Between blocks. */
ENGINE_TEST(ends)
{
	write_object("a", large, sizeof(large), 1000);
	EVENT(CALL_PWRITE, .nth = 2, .before = cancel);
	RUN(-ECANCELED, STORE_GET, "a");
	assert_int_equal(received_size(), 2 * BLOCK);
	atomic_store(&is_canceled, false);
	EVENT(CALL_PWRITE, .nth = 2, .before = pass_limit);
	RUN(-ETIMEDOUT, STORE_GET, "a");
	assert_int_equal(received_size(), 2 * BLOCK);
	EVENT(CALL_PWRITE, .nth = 2, .before = reach_limit);
	RUN(0, STORE_GET, "a");
	RUN(-ETIMEDOUT, STORE_GET, "a", .at_begin = pass_limit);
	assert_int_equal(received_size(), 0);
	RUN(-ECANCELED, STORE_GET, "a", .at_begin = cancel);
	assert_int_equal(received_size(), 0);
}

static void shorten(void)
{
	write_object("a", "1", 1, 1000);
}

/* Faults of the store, and of the file that is written, which are this machine's. */
ENGINE_TEST(faults)
{
	write_object("a", large, sizeof(large), 1000);
	RUN(0, STORE_HEAD, "a");
	EVENT(CALL_OPENAT, .err = EIO);
	RUN(-EREMOTEIO, STORE_GET, "a");
	EVENT(CALL_OPENAT, .nth = 2, .err = EPERM);
	RUN(-EACCES, STORE_GET, "a");
	EVENT(CALL_PREAD, .err = EIO); /* for the tag */
	RUN(-EREMOTEIO, STORE_GET, "a");
	assert_int_equal(n_begun, 0);
	EVENT(CALL_PREAD, .nth = 2, .err = EIO);
	RUN(-EREMOTEIO, STORE_GET, "a");
	assert_int_equal(n_begun, 1);
	EVENT(CALL_PREAD, .nth = 3, .err = ENOSPC);
	RUN(-EACCES, STORE_GET, "a");
	EVENT(CALL_PWRITE, .err = ENOSPC);
	RUN(-ENOSPC, STORE_GET, "a");
	EVENT(CALL_PWRITE, .nth = 2, .err = EIO);
	RUN(-EIO, STORE_GET, "a");
	EVENT(CALL_PWRITE, .before = shorten);
	RUN(-EBADMSG, STORE_GET, "a");
	allowed = 0;
	RUN(-ENOMEM, STORE_GET, "a");
	end_allocations();
}

/* The time of last use is kept to a day, so that what has not been used for long may be deleted. */
ENGINE_TEST(uses)
{
	const int64_t now = time(NULL);
	const struct {
		int64_t used;
		struct directory_event event;
		enum store_operation operation;
		int want;
		unsigned n_used;
	} table[] = {
		{now - DAY - 1, {NO_CALL}, STORE_GET, 0, 1},
		{now - DAY + 100, {NO_CALL}, STORE_GET, 0, 0},
		{now - DAY - 1, {NO_CALL}, STORE_HEAD, 0, 0},
		{now - DAY - 1, {CALL_PWRITE, .err = EIO}, STORE_GET, -EIO, 0},
		{now - DAY - 1, {CALL_FUTIMENS, .err = EPERM}, STORE_GET, 0, 0},
		{now, {NO_CALL}, STORE_GET, 0, 0},
		{now + DAY + 100, {NO_CALL}, STORE_GET, 0, 1}, /* by another clock */
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char name[8];
		snprintf(name, sizeof(name), "%u", (unsigned)i);
		write_object(name, "text", 4, table[i].used);
		world.n_used = 0;
		set_event(&table[i].event);
		RUN(table[i].want, table[i].operation, name);
		assert_int_equal(world.n_used, table[i].n_used);
	}
}

/* ---- Where it is ---- */

static char away[80];

ENGINE_TEST(replaced)
{
	write_object("a", "text", 4, 1000);
	snprintf(away, sizeof(away), "%s-away", store_path);
	assert_int_equal(rename(store_path, away), 0);
	assert_string_equal(RUN(-ESTALE, STORE_HEAD, "a")->text, "the directory was replaced or removed");
	assert_int_equal(mkdir(store_path, 0700), 0);
	RUN(-ESTALE, STORE_HEAD, "a");
	assert_int_equal(rmdir(store_path), 0);
	assert_int_equal(rename(away, store_path), 0);
	RUN(0, STORE_HEAD, "a");
	EVENT(CALL_STAT, .err = ENOTDIR);
	RUN(-ESTALE, STORE_HEAD, "a");
	/* What else may be wrong the transfer finds out. */
	EVENT(CALL_STAT, .err = EACCES);
	RUN(0, STORE_HEAD, "a");
	world.other_device = 1;
	RUN(-ESTALE, STORE_HEAD, "a");
}

/* ---- Opening ---- */

static void refuse(const char *path, int err, const char *reason)
{
	void *none = NULL;
	struct gsym_diag diag = {""};
	const long n_live = live;
	assert_int_equal(directory_engine.open(&(const struct store_options){.address = path}, &none, &diag),
			 err);
	assert_null(none);
	assert_non_null(strstr(diag.text, reason));
	assert_int_equal(live, n_live);
}

ENGINE_TEST(opening)
{
	char path[80];
	write_object("file", "text", 4, 1000);
	snprintf(path, sizeof(path), "%s/none", store_path);
	refuse(path, -ENOENT, "cannot open: No such file or directory");
	snprintf(path, sizeof(path), "%s/file", store_path);
	refuse(path, -ENOTDIR, "cannot open: Not a directory");
	EVENT(CALL_FSTAT, .nth = 2, .err = EIO);
	refuse(store_path, -EIO, "cannot stat: Input/output error");
	for (long n = 0; n < 2; n++) {
		allowed = n;
		refuse(store_path, -ENOMEM, "no memory");
		assert_true(end_allocations());
	}
	assert_int_equal(chmod(store_path, 0722), 0);
	refuse(store_path, -EPERM, "is writable by others");
}

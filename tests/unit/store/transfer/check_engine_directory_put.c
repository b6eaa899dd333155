/* A directory as a store: objects are written and deleted on conditions, whole or not at all. */
#include "tests/unit/store/transfer/engine_directory_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256 << 10, NOW = 1000000 };

/* ---- Writing ---- */

static void expect_object(const char *name, const char *text)
{
	const char *is = read_object_text(name);
	assert_non_null(is);
	assert_string_equal(is, text);
}

ENGINE_TEST(writing)
{
	char tag[STORE_ETAG_SIZE];
	struct stat st;
	RUN(0, STORE_PUT, "ab/a", STORE_IF_ABSENT, .bytes = "one", .n_bytes = 3);
	assert_int_equal(n_begun, 0);
	const struct store_reply *reply = RUN(0, STORE_HEAD, "ab/a");
	assert_int_equal(reply->size, 3);
	assert_int_equal(reply->modified, NOW);
	assert_int_equal(reply->now, NOW);
	snprintf(tag, sizeof(tag), "%s", reply->etag);
	assert_int_equal(world.n_asked, 1); /* to write it was to ask */
	expect_object("ab/a", "one");
	assert_int_equal(fstatat(store_root, "ab/a", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_nlink, 1);
	RUN(-EEXIST, STORE_PUT, "ab/a", STORE_IF_ABSENT);
	RUN(-EEXIST, STORE_PUT, "ab/a", STORE_IF_MATCH, "\"other\"");
	RUN(-ENOENT, STORE_PUT, "ab/b", STORE_IF_MATCH, tag);
	expect_object("ab/a", "one");
	world.now.tv_sec++;
	RUN(0, STORE_PUT, "ab/a", STORE_IF_MATCH, tag, .bytes = "second", .n_bytes = 6);
	reply = RUN(0, STORE_HEAD, "ab/a");
	assert_int_equal(reply->size, 6);
	assert_int_equal(reply->modified, NOW + 1);
	assert_string_not_equal(reply->etag, tag);
	expect_object("ab/a", "second");
	RUN(-EEXIST, STORE_PUT, "ab/a", STORE_IF_MATCH, tag);
	RUN(0, STORE_PUT, "ab/a");
	expect_object("ab/a", "new");
	RUN(0, STORE_PUT, "top");
	expect_object("top", "new");
	assert_string_equal(names_in(""), " ab top");
	assert_string_equal(names_in("ab"), " a");
}

static char large[3 * BLOCK];

ENGINE_TEST(blocks)
{
	static const size_t sizes[] = {0, BLOCK - 1, BLOCK, BLOCK + 1, sizeof(large)};
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i % 251 + i / BLOCK);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		RUN(0, STORE_PUT, "a", .bytes = large, .n_bytes = sizes[i]);
		RUN(0, STORE_GET, "a");
		assert_int_equal(received_size(), sizes[i]);
		assert_memory_equal(received_bytes(), large, sizes[i]);
	}
	/* What the client holds after that many bytes is not written. */
	RUN(0, STORE_PUT, "a", .bytes = "abcdef", .n_bytes = 6, .size = 4);
	expect_object("a", "abcd");
}

static void cancel(void)
{
	atomic_store(&is_canceled, true);
}

static void pass_limit(void)
{
	world.ms += WHOLE_MS;
}

/* Nothing is left of an object that cannot be written, and what was there stays. */
ENGINE_TEST(faults)
{
	static const struct {
		enum store_condition condition;
		struct directory_event event;
		int want;
	} table[] = {
		{STORE_ALWAYS, {CALL_OPENAT, .err = EIO}, -EREMOTEIO},
		{STORE_ALWAYS, {CALL_OPENAT, .nth = 2, .err = EROFS}, -EACCES},
		{STORE_ALWAYS, {CALL_GETRANDOM, .err = ENOSYS}, -EREMOTEIO},
		/* The client's file is one of this machine. */
		{STORE_ALWAYS, {CALL_PREAD, .err = EIO}, -EIO},
		{STORE_ALWAYS, {CALL_PREAD, .nth = 2, .err = ENOSPC}, -ENOSPC},
		{STORE_ALWAYS, {CALL_PWRITE, .err = ENOSPC}, -EACCES},
		{STORE_ALWAYS, {CALL_PWRITE, .nth = 2, .err = EDQUOT}, -EACCES},
		{STORE_ALWAYS, {CALL_PWRITE, .err = EIO}, -EREMOTEIO},
		{STORE_ALWAYS, {CALL_PWRITE, .before = cancel}, -ECANCELED},
		{STORE_ALWAYS, {CALL_PWRITE, .before = pass_limit}, -ETIMEDOUT},
		{STORE_ALWAYS, {CALL_FUTIMENS, .err = ENOSPC}, -EACCES},
		{STORE_ALWAYS, {CALL_FSTAT, .err = EIO}, -EREMOTEIO},
		{STORE_ALWAYS, {CALL_FDATASYNC, .err = EDQUOT}, -EACCES},
		{STORE_ALWAYS, {CALL_RENAMEAT, .err = EIO}, -EREMOTEIO},
		{STORE_ALWAYS, {CALL_RENAMEAT, .err = EISDIR}, -EBADMSG},
		/* Without links nothing excludes other hosts. */
		{STORE_IF_ABSENT, {CALL_LINKAT, .err = EPERM}, -EOPNOTSUPP},
		{STORE_IF_ABSENT, {CALL_LINKAT, .err = EMLINK}, -EOPNOTSUPP},
		{STORE_IF_ABSENT, {CALL_LINKAT, .err = ENOSYS}, -EOPNOTSUPP},
		{STORE_IF_ABSENT, {CALL_LINKAT, .err = EIO}, -EREMOTEIO},
		{STORE_IF_ABSENT, {CALL_LINKAT, .err = EACCES}, -EACCES},
		{STORE_IF_ABSENT, {CALL_FSTAT, .nth = 2, .err = EIO}, -EEXIST},
		/* What was to be replaced is put back. */
		{STORE_IF_MATCH, {CALL_RENAMEAT, .err = EIO}, -EREMOTEIO},
		{STORE_IF_MATCH, {CALL_LINKAT, .err = EIO}, -EREMOTEIO},
		{STORE_IF_MATCH, {CALL_LINKAT, .err = EPERM}, -EOPNOTSUPP},
		{STORE_IF_MATCH, {CALL_OPENAT, .nth = 4, .err = EIO}, -EREMOTEIO},
	};
	char tag[STORE_ETAG_SIZE];
	write_object("a", "old", 3, 1000);
	snprintf(tag, sizeof(tag), "%s", head_tag("a"));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		set_event(&table[i].event);
		RUN(table[i].want, STORE_PUT, "a", table[i].condition, tag, .bytes = large,
		    .n_bytes = sizeof(large));
		atomic_store(&is_canceled, false);
		assert_string_equal(names_in(""), " a");
		expect_object("a", "old");
	}
	RUN(-EIO, STORE_PUT, "a", .bytes = "abc", .n_bytes = 3, .size = 4); /* shorter than it says */
	RUN(-EBADMSG, STORE_PUT, "a/b");
	allowed = 0;
	RUN(-ENOMEM, STORE_PUT, "a");
	end_allocations();
	assert_string_equal(names_in(""), " a");
	expect_object("a", "old");
}

/* Over NFS: it was made, but the answer was lost, and the request sent again. */
ENGINE_TEST(lost_answer)
{
	EVENT(CALL_LINKAT, .err = EEXIST, .is_done = true);
	RUN(0, STORE_PUT, "a", STORE_IF_ABSENT);
	expect_object("a", "new");
	assert_string_equal(names_in(""), " a");
}

/* ---- Deleting ---- */

ENGINE_TEST(deleting)
{
	write_object("ab/a", "old", 3, 1000);
	RUN(-ENOENT, STORE_DELETE, "ab/b");
	RUN(-ENOENT, STORE_DELETE, "ac/b");
	assert_string_equal(names_in("ab"), " a");
	EVENT(CALL_UNLINKAT, .err = EIO);
	RUN(-EREMOTEIO, STORE_DELETE, "ab/a");
	assert_string_equal(names_in("ab"), " a");
	RUN(0, STORE_DELETE, "ab/a");
	assert_string_equal(names_in("ab"), "");
	RUN(-EBADMSG, STORE_DELETE, "ab");
	assert_string_equal(names_in(""), " ab");
	assert_int_equal(n_begun, 0);
}

/* What an error of the file system means. */
ENGINE_TEST(errors)
{
	static const struct {
		int err, want;
	} table[] = {
		{ENOENT, -ENOENT},    {EEXIST, -EEXIST},  {EFBIG, -EFBIG},         {EBADMSG, -EREMOTEIO},
		{EAGAIN, -EREMOTEIO}, {EACCES, -EACCES},  {ECANCELED, -EREMOTEIO}, {ETIMEDOUT, -ETIMEDOUT},
		{ESTALE, -EREMOTEIO}, {ENOMEM, -ENOMEM},  {EMFILE, -EMFILE},       {ENFILE, -ENFILE},
		{EPERM, -EACCES},     {EROFS, -EACCES},   {ENOSPC, -EACCES},       {EDQUOT, -EACCES},
		{ENOTDIR, -EBADMSG},  {EISDIR, -EBADMSG}, {EIO, -EREMOTEIO},       {EHOSTDOWN, -EREMOTEIO},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		EVENT(CALL_UNLINKAT, .err = table[i].err);
		RUN(table[i].want, STORE_DELETE, "a");
	}
}

/* ---- Other hosts ---- */

static void put_other(void)
{
	write_object("other", "other", 5, 1000);
	assert_int_equal(renameat(store_root, "other", store_root, "a"), 0);
}

/* Another host is faster. */
ENGINE_TEST(races)
{
	char tag[STORE_ETAG_SIZE];
	EVENT(CALL_LINKAT, .before = put_other);
	RUN(-EEXIST, STORE_PUT, "a", STORE_IF_ABSENT);
	expect_object("a", "other");
	snprintf(tag, sizeof(tag), "%s", head_tag("a"));
	EVENT(CALL_OPENAT, .nth = 3, .before = put_other);
	RUN(-EEXIST, STORE_PUT, "a", STORE_IF_MATCH, tag);
	expect_object("a", "other");
	/* After it was compared, and after it was taken away. */
	write_object("a", "old", 3, 1000);
	snprintf(tag, sizeof(tag), "%s", head_tag("a"));
	EVENT(CALL_RENAMEAT, .before = put_other);
	RUN(-EEXIST, STORE_PUT, "a", STORE_IF_MATCH, tag);
	expect_object("a", "other");
	write_object("a", "old", 3, 1000);
	snprintf(tag, sizeof(tag), "%s", head_tag("a"));
	EVENT(CALL_LINKAT, .before = put_other);
	RUN(-EEXIST, STORE_PUT, "a", STORE_IF_MATCH, tag);
	expect_object("a", "other");
	assert_string_equal(names_in(""), " a");
}

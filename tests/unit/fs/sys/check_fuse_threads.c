/* Parallel lookups: which reply gets the flag, once, and that all others pass as they are. */
#define FUSE_USE_VERSION 312
#include "fs/sys/fuse_threads.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/uio.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { SESSION_FD = 77, UNIQUE = 4711, OTHER_FLAGS = FUSE_ASYNC_READ | FUSE_BIG_WRITES };

static char a_session;

static struct {
	int version, err;
	unsigned installs;
	struct fuse_custom_io io;
	uint8_t bytes[256]; /* of the last reply */
	size_t size;
} lib;

int __wrap_fuse_version(void)
{
	return lib.version;
}

int __wrap_fuse_session_fd(struct fuse_session *session)
{
	assert_ptr_equal(session, &a_session);
	return SESSION_FD;
}

int __wrap_fuse_session_custom_io(struct fuse_session *session, const struct fuse_custom_io *io, int fd)
{
	assert_ptr_equal(session, &a_session);
	assert_int_equal(fd, SESSION_FD);
	lib.installs++;
	lib.io = *io;
	return lib.err;
}

ssize_t __wrap_writev(int fd, const struct iovec *iov, int count)
{
	assert_int_equal(fd, SESSION_FD);
	lib.size = 0;
	for (int i = 0; i < count; i++) {
		assert_true(lib.size + iov[i].iov_len <= sizeof(lib.bytes));
		memcpy(lib.bytes + lib.size, iov[i].iov_base, iov[i].iov_len);
		lib.size += iov[i].iov_len;
	}
	return (ssize_t)lib.size;
}

static struct parallel parallel;

static int set_up(void **state)
{
	(void)state;
	memset(&lib, 0, sizeof(lib));
	memset(&parallel, 0, sizeof(parallel));
	lib.version = 314;
	assert_int_equal(parallel_install((struct fuse_session *)&a_session), 0);
	assert_int_equal(lib.installs, 1);
	return 0;
}

/* ---- Requests ---- */

struct init_request {
	struct fuse_in_header head;
	struct fuse_init_in init;
};

static void note(uint32_t flags, uint64_t unique)
{
	const struct init_request request = {.head.unique = unique, .init.flags = flags};
	parallel_note_init(&parallel, &request, sizeof(request));
}

TEST(requests)
{
	struct {
		struct init_request request;
		uint64_t more;
	} longer = {{.head.unique = UNIQUE, .init.flags = FUSE_PARALLEL_DIROPS}, UINT64_MAX};
	assert_false(parallel_is_begun(&parallel));
	parallel_note_init(&parallel, &longer, sizeof(longer));
	assert_true(parallel_is_begun(&parallel));
	assert_int_equal(parallel.init_unique, UNIQUE);
	assert_int_equal(parallel.init_flags, FUSE_PARALLEL_DIROPS);
	/* What is not there counts as 0. */
	parallel_note_init(&parallel, &longer, sizeof(struct fuse_in_header));
	assert_int_equal(parallel.init_unique, UNIQUE);
	assert_int_equal(parallel.init_flags, 0);
}

/* ---- Replies ---- */

struct reply {
	struct fuse_out_header head;
	struct fuse_init_out init;
};

/* Writes a reply in two pieces, of which the second has @size bytes; the flags that reached the kernel. */
static uint32_t flags_of(uint64_t unique, int error, size_t size)
{
	struct reply sent = {.head = {.unique = unique, .error = error}, .init.flags = OTHER_FLAGS}, got;
	struct iovec iov[2] = {{&sent.head, sizeof(sent.head)}, {&sent.init, size}};
	sent.init.major = 7;
	sent.init.max_write = 12345;
	assert_int_equal(lib.io.writev(SESSION_FD, iov, 2, &parallel), sizeof(sent.head) + size);
	assert_int_equal(lib.size, sizeof(sent.head) + size);
	memset(&got, 0, sizeof(got));
	memcpy(&got, lib.bytes, lib.size);
	assert_int_equal(got.head.unique, unique);
	assert_int_equal(got.head.error, error);
	assert_int_equal(got.init.major, 7);
	if (size == sizeof(sent.init))
		assert_int_equal(got.init.max_write, 12345);
	return got.init.flags;
}

TEST(agreed)
{
	note(FUSE_PARALLEL_DIROPS | FUSE_DO_READDIRPLUS, UNIQUE);
	assert_int_equal(flags_of(UNIQUE, 0, sizeof(struct fuse_init_out)),
			 OTHER_FLAGS | FUSE_PARALLEL_DIROPS);
	/* Once: a later request may have the same number. */
	assert_int_equal(flags_of(UNIQUE, 0, sizeof(struct fuse_init_out)), OTHER_FLAGS);
}

/* The shortest reply that has flags. */
TEST(short_replies)
{
	const size_t least = offsetof(struct fuse_init_out, flags) + sizeof(uint32_t);
	note(FUSE_PARALLEL_DIROPS, UNIQUE);
	flags_of(UNIQUE, 0, least - 1);
	assert_int_equal(flags_of(UNIQUE, 0, least), OTHER_FLAGS | FUSE_PARALLEL_DIROPS);
}

TEST(other_replies)
{
	struct reply sent = {.head.unique = UNIQUE, .init.flags = OTHER_FLAGS};
	const struct reply before = sent;
	struct iovec whole = {&sent, sizeof(sent)};
	struct iovec three[] = {{&sent.head, sizeof(sent.head)},
				{&sent.init, 40},
				{(char *)&sent.init + 40, sizeof(sent.init) - 40}};
	struct iovec uneven[] = {{&sent, sizeof(sent.head) + 8},
				 {(char *)&sent.init + 8, sizeof(sent.init) - 8}};
	struct iovec *const pieces[] = {&whole, three, uneven};
	static const int counts[] = {1, 3, 2};
	note(FUSE_PARALLEL_DIROPS, UNIQUE);
	assert_int_equal(flags_of(UNIQUE + 1, 0, sizeof(struct fuse_init_out)), OTHER_FLAGS);
	assert_int_equal(flags_of(UNIQUE, -EPROTO, sizeof(struct fuse_init_out)), OTHER_FLAGS);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		assert_int_equal(lib.io.writev(SESSION_FD, pieces[i], counts[i], &parallel), sizeof(sent));
		assert_int_equal(lib.size, sizeof(before));
		assert_memory_equal(lib.bytes, &before, sizeof(before));
	}
	/* None of them was it. */
	assert_int_equal(flags_of(UNIQUE, 0, sizeof(struct fuse_init_out)),
			 OTHER_FLAGS | FUSE_PARALLEL_DIROPS);
}

/* A kernel that cannot do it is not told. */
TEST(not_able)
{
	note(~(uint32_t)FUSE_PARALLEL_DIROPS, UNIQUE);
	assert_int_equal(flags_of(UNIQUE, 0, sizeof(struct fuse_init_out)), OTHER_FLAGS);
}

/* ---- Installing ---- */

TEST(versions)
{
	static const struct {
		int version;
		unsigned installs;
	} rows[] = {{FUSE_MAKE_VERSION(3, 14), 1},
		    {FUSE_MAKE_VERSION(3, 16), 1},
		    {FUSE_MAKE_VERSION(3, 17), 0},
		    {FUSE_MAKE_VERSION(3, 18), 0},
		    {FUSE_MAKE_VERSION(4, 0), 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		lib.installs = 0;
		lib.err = 0;
		lib.version = rows[i].version;
		assert_int_equal(parallel_install((struct fuse_session *)&a_session), 0);
		assert_int_equal(lib.installs, rows[i].installs);
		lib.err = -EBADF;
		assert_int_equal(parallel_install((struct fuse_session *)&a_session),
				 rows[i].installs ? -EBADF : 0);
	}
}

TEST(reads)
{
	int ends[2];
	char bytes[8];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "request", 7), 7);
	assert_int_equal(lib.io.read(ends[0], bytes, 3, &parallel), 3);
	assert_memory_equal(bytes, "req", 3);
	close(ends[0]);
	close(ends[1]);
}

EACH_TEST(set_up, NULL)

/* Whose fault a failure is, and when what has failed is tried again. */
#include "gsym/base/fault.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "work/os/retry.h"
#include "work/worker/child.h"
#include "tests/lib/unit.h"

enum { ERRNO_END = 4096 };

static time_t now;

time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return now;
}

static const struct {
	enum fault fault;
	int numbers[10];
} rows[] = {
	{FAULT_FILE, {EBADMSG, ENODATA, ENOEXEC, ENOTSUP, EOVERFLOW, EINVAL, EMEDIUMTYPE}},
	{FAULT_LIMIT, {EFBIG}},
	{FAULT_NONE, {ESTALE, ECANCELED}},
	{FAULT_ABSENT, {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EXDEV, ENXIO}},
	{FAULT_DENIED, {EACCES, EPERM}},
	{FAULT_ROOM, {ENOSPC, EDQUOT, EROFS}},
	{FAULT_NETWORK,
	 {ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETDOWN, ENETUNREACH, ECONNREFUSED, ENOTCONN, EREMOTEIO}},
};

static enum fault expected_of(int number)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (const int *at = rows[i].numbers; *at; at++)
			if (*at == number)
				return rows[i].fault;
	return FAULT_MACHINE;
}

/* Every number there can be: what no row knows condemns no file. */
TEST(table)
{
	for (int number = 1; number < ERRNO_END; number++) {
		const enum fault fault = expected_of(number);
		const bool is_verdict = fault == FAULT_FILE || fault == FAULT_LIMIT;
		assert_int_equal(fault_of(-number), fault);
		assert_int_equal(fault_of_report(-number), is_verdict ? fault : FAULT_MACHINE);
	}
}

/* No system call brings a verdict: on damaged disks and network file systems some have the same number. */
TEST(system_calls)
{
	for (int number = 1; number < ERRNO_END; number++) {
		const enum fault fault = expected_of(number);
		const bool is_taken = fault == FAULT_FILE || fault == FAULT_NONE;
		assert_int_equal(system_error(number), is_taken ? -EIO : -number);
		assert_int_not_equal(fault_of(system_error(number)), FAULT_FILE);
		assert_int_not_equal(fault_of(system_error(number)), FAULT_NONE);
	}
}

static int killed_by(int sig)
{
	return sig;
}

static int exited_with(int status)
{
	return status << 8;
}

TEST(ended)
{
	enum { CORE_DUMPED = 0x80 };
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGSYS, SIGTRAP};
	for (int sig = 1; sig < 65; sig++) {
		bool crash = false;
		for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
			crash |= sig == crashes[i];
		assert_int_equal(is_crash_signal(sig), crash);
		enum fault expected = crash || sig == SIGXCPU ? FAULT_LIMIT : FAULT_MACHINE;
		assert_int_equal(fault_of_end(0, killed_by(sig)), expected);
		assert_int_equal(fault_of_end(0, killed_by(sig) | CORE_DUMPED), expected);
		/* Why its client ended it comes first. */
		assert_int_equal(fault_of_end(-ETIMEDOUT, killed_by(sig)), FAULT_LIMIT);
		assert_int_equal(fault_of_end(-ECANCELED, killed_by(sig)), FAULT_MACHINE);
	}
	assert_int_equal(fault_of_end(0, exited_with(0)), FAULT_LIMIT);
	assert_int_equal(fault_of_end(0, exited_with(1)), FAULT_LIMIT);
	assert_int_equal(fault_of_end(-EPROTO, exited_with(0)), FAULT_LIMIT);
	assert_int_equal(fault_of_end(-ENOMEM, exited_with(0)), FAULT_MACHINE);
}

TEST(words)
{
	char text[CHILD_END_SIZE];
	child_end_text(killed_by(SIGSEGV), text);
	assert_string_equal(text, "was killed by signal 11 (Segmentation fault)");
	child_end_text(exited_with(3), text);
	assert_string_equal(text, "exited with status 3");
}

/* 1, 2, 4 ... 64 seconds. */
TEST(backs_off)
{
	now = 1000000;
	for (unsigned n = 1; n <= 7; n++)
		assert_int_equal(retry_soon(n), now + (1 << (n - 1)));
	assert_int_equal(retry_soon(8), now + 64);
	assert_int_equal(retry_soon(4000000000), now + 64);
	assert_false(retry_is_due(retry_soon(1)));
}

/* An hour; a clock that was set back does not make it longer. */
TEST(due)
{
	now = 1000000;
	const int64_t again = retry_at_limit();
	assert_int_equal(again, now + 3600);
	assert_false(retry_is_due(again));
	assert_false(retry_is_due(now + 1));
	assert_true(retry_is_due(now));
	assert_true(retry_is_due(now - 1));
	assert_true(retry_is_due(again + 1));
	now++;
	assert_false(retry_is_due(again));
	now += 3598;
	assert_false(retry_is_due(again));
	now++;
	assert_true(retry_is_due(again));
}

/* Whose fault a failure is, and for how long it is remembered. */
#include "work/run/fault.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "tests/lib/unit.h"

static time_t now;

time_t __wrap_time(time_t *ret);

time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return now;
}

/* What no rule knows condemns no file. */
TEST(reported)
{
	static const int of_file[] = {EBADMSG, ENODATA, ENOEXEC, ENOTSUP, EOVERFLOW};
	for (int err = 0; err < 200; err++) {
		enum fault expected = err == EFBIG ? FAULT_LIMIT : FAULT_MACHINE;
		for (size_t i = 0; i < sizeof(of_file) / sizeof(*of_file); i++)
			if (err == of_file[i])
				expected = FAULT_FILE;
		assert_int_equal(fault_of_report(-err), expected);
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

/* An hour; a clock that was set back does not make it longer. */
TEST(due)
{
	now = 1000000;
	const int64_t again = fault_again();
	assert_int_equal(again, now + 3600);
	assert_false(fault_is_due(again));
	assert_false(fault_is_due(now + 1));
	assert_true(fault_is_due(now));
	assert_true(fault_is_due(now - 1));
	assert_true(fault_is_due(again + 1));
	now++;
	assert_false(fault_is_due(again));
	now += 3598;
	assert_false(fault_is_due(again));
	now++;
	assert_true(fault_is_due(again));
}

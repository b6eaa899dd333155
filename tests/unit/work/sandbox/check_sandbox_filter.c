/*
 * The filter of system calls, read instead of tried: the program that a worker would load is run here for
 * each call, so that neither another layer of the sandbox nor the kernel's own checks answer in its place.
 */
#include "work/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/unit/work/sandbox/bpf_run.h"
#include "tests/lib/unit.h"
#include "tests/unit/work/sandbox/wrap_syscall.h"

enum { REFUSED = SECCOMP_RET_ERRNO | EPERM, INSTRUCTIONS_MAX = 4096, UNKNOWN_CALL = 4000 };

/* ---- In place of the library's and the kernel's functions ---- */

static struct sock_filter program[INSTRUCTIONS_MAX];
static size_t n_instructions;
static unsigned rules, failing_rule;
static long landlock_flags;

int __wrap_seccomp_load(const scmp_filter_ctx filter)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0 || seccomp_export_bpf(filter, fd))
		return -EIO;
	ssize_t size = pread(fd, program, sizeof(program), 0);
	n_instructions = size < 0 ? 0 : (size_t)size / sizeof(*program);
	close(fd);
	return 0;
}

int __wrap_seccomp_rule_add(scmp_filter_ctx filter, uint32_t action, int call, unsigned n, ...)
{
	va_list list;
	struct scmp_arg_cmp condition = {0};
	if (++rules == failing_rule)
		return -ENOMEM;
	va_start(list, n);
	if (n)
		condition = va_arg(list, struct scmp_arg_cmp);
	va_end(list);
	return seccomp_rule_add_array(filter, action, call, n, &condition);
}

/* What Landlock is asked for; none of it is done. */
static bool answer_call(long number, const long arguments[static 5], long *ret)
{
	if (number != SYS_landlock_restrict_self)
		return false;
	*ret = landlock_flags |= arguments[1];
	return true;
}

/* ---- The filter ---- */

static uint32_t decision(int call, uint64_t first, uint64_t second)
{
	const struct seccomp_data data = {.nr = call, .arch = seccomp_arch_native(), .args = {first, second}};
	return bpf_run(program, n_instructions, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, &data);
}

static void expect(const int *calls, size_t n, uint32_t want)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i] >= 0 && decision(calls[i], 0, 0) != want)
			fail_msg("call %d: decision %#x, not %#x", calls[i], decision(calls[i], 0, 0), want);
}

/* ---- Each kind of process ---- */

/* One of each kind; check_call_filter.c has all. */
static const int never[] = {SCMP_SYS(execve), SCMP_SYS(vfork), SCMP_SYS(ptrace), SCMP_SYS(kill),
			    SCMP_SYS(setns),  SCMP_SYS(mount), SCMP_SYS(bpf),    SCMP_SYS(keyctl)};

static const int computing[] = {
	SCMP_SYS(read),    SCMP_SYS(pread64), SCMP_SYS(write),      SCMP_SYS(pwrite64),  SCMP_SYS(lseek),
	SCMP_SYS(mmap),    SCMP_SYS(munmap),  SCMP_SYS(mprotect),   SCMP_SYS(brk),       SCMP_SYS(futex),
	SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(exit_group), SCMP_SYS(ftruncate), SCMP_SYS(getrandom),
};

static const int opening[] = {SCMP_SYS(openat), SCMP_SYS(linkat), SCMP_SYS(unlinkat), SCMP_SYS(getdents64)};
static const int network[] = {SCMP_SYS(socket), SCMP_SYS(connect)};

static int in_child(void (*test)(void))
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		test();
		_exit(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && landlock_flags == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void be_reader(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sandbox_enter_own();
	expect(never, ARRAY_SIZE(never), REFUSED);
	expect(opening, ARRAY_SIZE(opening), REFUSED);
	expect(network, ARRAY_SIZE(network), REFUSED);
	expect(computing, ARRAY_SIZE(computing), SECCOMP_RET_ALLOW);
	assert_int_equal(decision(UNKNOWN_CALL, 0, 0), REFUSED);
}

static void be_directory(void)
{
	sandbox_enter_directory("/nothing");
	expect(never, ARRAY_SIZE(never), REFUSED);
	expect(network, ARRAY_SIZE(network), REFUSED);
	expect(opening, ARRAY_SIZE(opening), SECCOMP_RET_ALLOW);
	expect(computing, ARRAY_SIZE(computing), SECCOMP_RET_ALLOW);
	assert_int_equal(decision(UNKNOWN_CALL, 0, 0), REFUSED);
}

static void be_transfer(void)
{
	sandbox_enter_transfer(NULL, 0);
	expect(never, ARRAY_SIZE(never), REFUSED);
	expect(network, ARRAY_SIZE(network), SECCOMP_RET_ALLOW);
	expect(opening, ARRAY_SIZE(opening), SECCOMP_RET_ALLOW);
	expect(computing, ARRAY_SIZE(computing), SECCOMP_RET_ALLOW);
}

TEST(each_kind_has_its_calls)
{
	assert_int_equal(in_child(be_reader), 0);
	assert_int_equal(in_child(be_directory), 0);
	assert_int_equal(in_child(be_transfer), 0);
}

/* ---- A filter that cannot be made ---- */

static void fail_at(unsigned rule, void (*enter)(void))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		failing_rule = rule;
		enter();
		_exit(rules < rule ? 0 : 2); /* 0: there are not so many; 2: it went on */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	failing_rule = WEXITSTATUS(status) == 0 ? 0 : rule;
	if (failing_rule && WEXITSTATUS(status) != 1)
		fail_msg("rule %u failed, and the process went on", rule);
}

static void enter_transfer(void)
{
	sandbox_enter_transfer(NULL, 0);
}

TEST(no_rule_may_fail)
{
	void (*const kinds[])(void) = {sandbox_enter_own, enter_transfer};
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		unsigned rule = 0;
		do
			fail_at(++rule, kinds[kind]);
		while (failing_rule);
		assert_true(rule > 20);
	}
}

/*
 * The allowed system calls are those that glibc, libelf and the converter use to map and read files, run
 * threads and write to open descriptors. Others fail with EPERM instead of killing the process, so that a
 * newer libc can fall back. Opening files, new processes, sockets, signals to others and ptrace are not
 * allowed; clone(2) is for threads only.
 *
 * A call that an architecture lacks needs no rule there, and which ones a C library makes differs: where a
 * call has two widths or generations, both are named.
 */
#include "work/sandbox/sandbox_parts.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "gsym/base/vec.h"

static const int allowed_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(_llseek),
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(fallocate),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(mmap),
	SCMP_SYS(mmap2),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrusage),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(ppoll_time64),
};

/* What fstat(3) calls where the kernel's struct stat is another than that of the C library. */
static const int stat_calls[] = {
	SCMP_SYS(fstatat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
};

/* What a process that keeps files in a directory calls besides; which files, Landlock decides. */
static const int directory_calls[] = {
	SCMP_SYS(openat),       SCMP_SYS(fstatat64), SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(getdents64),   SCMP_SYS(mkdirat),   SCMP_SYS(linkat),     SCMP_SYS(renameat),
	SCMP_SYS(renameat2),    SCMP_SYS(unlinkat),  SCMP_SYS(utimensat),  SCMP_SYS(utimensat_time64),
	SCMP_SYS(memfd_create),
};

/* What a process that is connected to servers has no use for: other processes, the kernel's odd corners. */
static const int forbidden_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(personality),
};

/* A system call that this architecture lacks needs no rule. */
static int or_absent(int err)
{
	return err == -EDOM ? 0 : err;
}

/*
 * fcntl(2) commands that affect only a descriptor: F_SETOWN with O_ASYNC could send signals to any process.
 */
static int allow_fcntl(scmp_filter_ctx filter)
{
	static const int commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};
	static const int calls[] = {SCMP_SYS(fcntl), SCMP_SYS(fcntl64)};
	int err = 0;
	for (size_t c = 0; c < ARRAY_SIZE(calls); c++)
		for (size_t i = 0; i < ARRAY_SIZE(commands) && !err; i++)
			err = or_absent(seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[c], 1,
							 SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i])));
	return err;
}

/* Signals to itself: abort(3). */
static int allow_own_signals(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

static int allow_threads(scmp_filter_ctx filter, uint32_t arch)
{
	bool is_s390 = arch == SCMP_ARCH_S390X || arch == SCMP_ARCH_S390; /* the flags come second there */
	struct scmp_arg_cmp thread =
		SCMP_CMP(is_s390 ? 1 : 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
	/* clone3 takes its flags from memory, where no filter sees them: ENOSYS makes glibc use clone. */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err ? err : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread);
}

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = or_absent(seccomp_rule_add(filter, action, calls[i], 0));
	return err;
}

/* Whether file_stat() has a system call there that takes no path. */
static bool has_plain_fstat(uint32_t arch)
{
	static const uint32_t with[] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64, SCMP_ARCH_RISCV64,
					SCMP_ARCH_PPC64,  SCMP_ARCH_PPC64LE, SCMP_ARCH_S390X};
	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		if (with[i] == arch)
			return true;
	return false;
}

uint32_t call_filter_default(enum filter_kind kind)
{
	return kind == FILTER_NETWORK ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM);
}

int call_filter_fill(scmp_filter_ctx filter, enum filter_kind kind, uint32_t arch)
{
	if (kind == FILTER_NETWORK)
		return add_calls(filter, SCMP_ACT_ERRNO(EPERM), forbidden_calls, ARRAY_SIZE(forbidden_calls));
	int err = add_calls(filter, SCMP_ACT_ALLOW, allowed_calls, ARRAY_SIZE(allowed_calls));
	if (!err && !has_plain_fstat(arch))
		err = add_calls(filter, SCMP_ACT_ALLOW, stat_calls, ARRAY_SIZE(stat_calls));
	if (!err && kind == FILTER_DIRECTORY)
		err = add_calls(filter, SCMP_ACT_ALLOW, directory_calls, ARRAY_SIZE(directory_calls));
	if (!err)
		err = allow_fcntl(filter);
	if (!err)
		err = allow_own_signals(filter);
	return err ? err : allow_threads(filter, arch);
}

#endif

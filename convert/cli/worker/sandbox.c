/*
 * The sandbox of a worker: resource limits, Landlock for files and network, seccomp for system calls.
 *
 * The allowed system calls are those that glibc, libelf and the converter use to map and read files, run
 * threads and write to open descriptors. Others fail with EPERM instead of killing the process, so that a
 * newer libc can fall back. Opening files, new processes, sockets, signals to others and ptrace are not
 * allowed; clone(2) is for threads only.
 */
#include "convert/cli/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#include "convert/cli/worker/privileges.h"
#include "gsym/base/file_io.h"
#include "gsym/base/sanitizer.h"
#include "gsym/base/vec.h"

enum { WORKER_NICE = 5 };

void sandbox_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(1);
}

/* A lower hard limit that was inherited stays. */
static int limit(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit l;
	if (getrlimit((__rlimit_resource_t)resource, &l))
		return -errno;
	if (l.rlim_max > hard)
		l.rlim_max = hard;
	l.rlim_cur = soft < l.rlim_max ? soft : l.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &l) ? -errno : 0;
}

int sandbox_limits(uint64_t memory_bytes, uint64_t cpu_seconds, uint64_t file_bytes)
{
	setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	signal(SIGXFSZ, SIG_IGN); /* write(2) then fails with EFBIG */
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && cpu_seconds > 0)
		err = limit(RLIMIT_CPU, cpu_seconds, cpu_seconds + 5);
	if (!err)
		err = limit(RLIMIT_FSIZE, file_bytes, file_bytes);
	if (!err && !SANITIZER)
		err = limit(RLIMIT_DATA, memory_bytes, memory_bytes);
	return err;
}

/* ---- Landlock: definitions newer than the oldest supported headers are repeated here ---- */

struct landlock_attr {
	uint64_t fs;     /* since ABI 1 */
	uint64_t net;    /* since ABI 4 */
	uint64_t scoped; /* since ABI 6 */
};

enum {
	NET_BIND_AND_CONNECT = 3,
	SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3,
};

/* File system rights known to each ABI: 13 at first, then refer, truncate and ioctl on devices. */
static uint64_t landlock_fs_rights(long abi)
{
	unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
	return (1ULL << bits) - 1;
}

static size_t landlock_attr_size(long abi)
{
	if (abi >= 6)
		return sizeof(struct landlock_attr);
	return abi >= 4 ? offsetof(struct landlock_attr, scoped) : offsetof(struct landlock_attr, net);
}

/* A ruleset that handles, and so forbids, all rights, but network rights only as in @network; -1 without
 * Landlock. */
static int make_ruleset(uint64_t network, uint64_t *ret_fs)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 1)
		return -1;
	struct landlock_attr attr = {
		.fs = *ret_fs = landlock_fs_rights(abi),
		.net = network,
		.scoped = SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS,
	};
	return (int)syscall(SYS_landlock_create_ruleset, &attr, landlock_attr_size(abi), 0);
}

static void enter_ruleset(int ruleset)
{
	if (ruleset < 0)
		return;
	syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
}

/* Allows @rights at and below @path, for a file those that apply to files. A missing path needs no rule. */
static void allow_path(int ruleset, const char *path, uint64_t rights)
{
	const uint64_t of_files =
		LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;
	struct landlock_path_beneath_attr rule = {.parent_fd = path ? open(path, O_PATH | O_CLOEXEC) : -1};
	struct stat st;
	if (rule.parent_fd < 0)
		return;
	rule.allowed_access =
		fstat(rule.parent_fd, &st) == 0 && S_ISDIR(st.st_mode) ? rights : rights & of_files;
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

static void restrict_files_and_network(void)
{
	uint64_t fs;
	enter_ruleset(make_ruleset(NET_BIND_AND_CONNECT, &fs));
}

/* Which system calls remain. */
enum filter_kind {
	FILTER_READER,    /* those that read, compute and write */
	FILTER_DIRECTORY, /* and those that open and name files */
	FILTER_NETWORK,   /* most: which ones libraries for the network use is theirs to decide */
};

#ifdef HAVE_SECCOMP

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
#ifndef FILE_STAT_IS_FSTAT
	SCMP_SYS(fstatat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
#endif
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

static int allow_threads(scmp_filter_ctx filter)
{
	/* clone3 takes its flags from memory, where no filter sees them: ENOSYS makes glibc use clone. */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (err)
		return err;
#ifdef __s390__
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				SCMP_A1(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
#else
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
#endif
}

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = or_absent(seccomp_rule_add(filter, action, calls[i], 0));
	return err;
}

static int fill_filter(scmp_filter_ctx filter, enum filter_kind kind)
{
	if (kind == FILTER_NETWORK)
		return add_calls(filter, SCMP_ACT_ERRNO(EPERM), forbidden_calls, ARRAY_SIZE(forbidden_calls));
	int err = add_calls(filter, SCMP_ACT_ALLOW, allowed_calls, ARRAY_SIZE(allowed_calls));
	if (!err && kind == FILTER_DIRECTORY)
		err = add_calls(filter, SCMP_ACT_ALLOW, directory_calls, ARRAY_SIZE(directory_calls));
	if (!err)
		err = allow_fcntl(filter);
	if (!err)
		err = allow_own_signals(filter);
	return err ? err : allow_threads(filter);
}

/* Exits if a filter cannot be installed on a kernel that supports them. */
static void restrict_calls(enum filter_kind kind)
{
	scmp_filter_ctx filter =
		seccomp_init(kind == FILTER_NETWORK ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
	int err = filter ? fill_filter(filter, kind) : -ENOMEM;
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	if (err && prctl(PR_GET_SECCOMP) >= 0)
		_exit(1);
}

#else

static void restrict_calls(enum filter_kind kind)
{
	(void)kind;
}

#endif

void sandbox_enter_common(pid_t parent)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	privileges_drop();
	sandbox_die_with(parent);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void sandbox_enter_own(void)
{
	if (SANITIZER)
		return;
	restrict_files_and_network();
	restrict_calls(FILTER_READER);
}

void sandbox_enter(pid_t parent)
{
	sandbox_enter_common(parent);
	sandbox_enter_own();
}

#define READING ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))

/* Libraries, name servers, certificates: not all of /etc, where root's daemon may read secrets. */
static const char *const network_paths[] = {
	"/dev/null",
	"/dev/urandom",
	"/etc/ca-certificates",
	"/etc/crypto-policies",
	"/etc/debuginfod",
	"/etc/gai.conf",
	"/etc/gnutls",
	"/etc/host.conf",
	"/etc/hosts",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/localtime",
	"/etc/nsswitch.conf",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/pki/tls/openssl.cnf",
	"/etc/protocols",
	"/etc/resolv.conf",
	"/etc/services",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/gnu/store",
	"/lib",
	"/lib32",
	"/lib64",
	"/nix/store",
	"/proc/self",
	"/run/NetworkManager",
	"/run/resolvconf",
	"/run/systemd/resolve",
	"/usr",
	"/var/lib/ca-certificates",
};

/* For reading what libraries for the network read. -1 without Landlock. */
static int make_network_ruleset(uint64_t *ret_all)
{
	static const char *const named[] = {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
					    "DEBUGINFOD_HEADERS_FILE"};
	int ruleset = make_ruleset(0, ret_all);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < ARRAY_SIZE(network_paths); i++)
		allow_path(ruleset, network_paths[i], READING);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		allow_path(ruleset, getenv(named[i]), READING);
	return ruleset;
}

void sandbox_enter_network(const char *directory)
{
	uint64_t all;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int ruleset = SANITIZER ? -1 : make_network_ruleset(&all);
	if (!SANITIZER)
		privileges_drop_capabilities();
	if (ruleset < 0)
		return;
	allow_path(ruleset, directory, all & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
	enter_ruleset(ruleset);
}

/*
 * A file that is replaced while the process runs is another one for Landlock: so it is the directory that may
 * be read, but none of those that hold everybody's files.
 */
static void allow_replaceable(int ruleset, const char *path)
{
	char directory[PATH_MAX];
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (!slash || (size_t)(slash - path) >= sizeof(directory))
		return;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
	bool is_common = !*directory || strcmp(directory, "/etc") == 0 || strcmp(directory, "/root") == 0;
	allow_path(ruleset, is_common ? path : directory, READING);
}

void sandbox_enter_transfer(const char *const *files, size_t n)
{
	uint64_t all;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	int ruleset = make_network_ruleset(&all);
	privileges_drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (size_t i = 0; i < n && ruleset >= 0; i++)
		allow_replaceable(ruleset, files[i]);
	enter_ruleset(ruleset);
	restrict_calls(FILTER_NETWORK);
}

void sandbox_enter_directory(const char *directory)
{
	uint64_t all;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZER)
		return;
	int ruleset = make_ruleset(NET_BIND_AND_CONNECT, &all);
	privileges_drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (ruleset >= 0)
		allow_path(ruleset, directory, all & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
	enter_ruleset(ruleset);
	restrict_calls(FILTER_DIRECTORY);
}

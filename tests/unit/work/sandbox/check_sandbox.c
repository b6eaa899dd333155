/*
 * The cage of workers from inside: each test runs in a process of its own, which gives everything up and then
 * tries what it must not be able to do. What the kernel or the build lacks is skipped, not passed.
 */
#include "work/sandbox/sandbox.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/sandbox/sandbox_parts.h"
#include "gsym/base/file_io.h"
#include "gsym/base/sanitizer.h"
#include "tests/unit/work/in_child.h"

#ifdef HAVE_SECCOMP
enum { SECCOMP = 1 };
#else
enum { SECCOMP = 0 };
#endif

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

/* A directory with a file in it. */
static char directory[] = "/tmp/gsymfs-sandbox-XXXXXX";
static char file[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(file, sizeof(file), "%s/file", directory);
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 || close(fd) ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(file) || rmdir(directory) ? -1 : 0;
}

static int denied(long result)
{
	return result < 0 && (errno == EACCES || errno == EPERM) ? 0 : 1;
}

/* ---- What must still work ---- */

static void *nothing(void *arg)
{
	return arg;
}

static int ordinary_work(void)
{
	pthread_t thread;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy;
	sandbox_enter(getppid());
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	void *memory = malloc(10 << 20), *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, copy, 0);
	if (copy < 0 || !memory || map == MAP_FAILED)
		return 1;
	memset(memory, 1, 10 << 20);
	free(memory);
	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL) ? 2 : 0;
}

/* Open files can still be examined. */
static int look_at_open_files(void)
{
	struct stat st;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	sandbox_enter(getppid());
	return file_stat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : 1;
}

TEST(work_goes_on)
{
	assert_int_equal(in_child(ordinary_work), 0);
	assert_int_equal(in_child(look_at_open_files), 0);
}

/* ---- What must not ---- */

static int read_files(void)
{
	sandbox_enter(getppid());
	return denied(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) || denied(open(file, O_RDONLY | O_CLOEXEC));
}

static int write_here(void)
{
	sandbox_enter(getppid());
	return denied(open(file, O_RDWR | O_CLOEXEC)) || denied(open(file, O_RDONLY | O_TRUNC | O_CLOEXEC)) ||
	       denied(unlink(file)) || denied(rename(file, "/tmp/elsewhere"));
}

/* What an empty root directory still has, which is all that keeps stat(2) from files where it is allowed. */
#ifdef FILE_STAT_IS_FSTAT
enum { ALWAYS_THERE = 0 };
#else
enum { ALWAYS_THERE = 2 };
#endif

/* Of nothing that has a name, not even whether it is there. */
static int look_at_names(void)
{
	static const char *const names[] = {"/", ".", "/etc/passwd", "/proc/self/status", "/nothing"};
	struct stat st;
	struct statx stx;
	sandbox_enter(getppid());
	for (size_t i = ALWAYS_THERE; i < sizeof(names) / sizeof(*names); i++) {
		bool hidden = stat(names[i], &st) != 0 && lstat(names[i], &st) != 0 &&
			      statx(AT_FDCWD, names[i], 0, STATX_ALL, &stx) != 0 &&
			      access(names[i], F_OK) != 0;
		if (!hidden)
			return 1;
	}
	return 0;
}

static int have_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	privileges_drop();
	if (syscall(SYS_capget, &head, data))
		return 2;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return 1;
	/* None of them comes back. */
	return geteuid() == 0 || setresuid(0, 0, 0) == 0 || chroot("/") == 0 || getgroups(0, NULL) > 0 ? 1
												       : 0;
}

TEST(privileges_are_gone)
{
	if (SANITIZER || geteuid() != 0)
		skip();
	assert_int_equal(in_child(have_privileges), 0);
}

/* Takes @capability away from this process. */
static int lose(unsigned capability)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capget, &head, data))
		return -1;
	data[capability / 32].permitted &= ~(1U << capability % 32);
	data[capability / 32].effective = data[capability / 32].permitted;
	return (int)syscall(SYS_capset, &head, data);
}

static int end_worker(void)
{
	int ready[2], alive[2], status;
	char byte;
	if (pipe(ready) || pipe(alive))
		return 2;
	pid_t worker = fork();
	if (worker == 0) {
		close(alive[1]);
		privileges_drop();
		if (write(ready[1], "x", 1) == 1)
			(void)!read(alive[0], &byte, 1); /* until the client has ended, too */
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		return 3;
	if (kill(worker, SIGKILL))
		return 1;
	return waitpid(worker, &status, 0) == worker && WIFSIGNALED(status) ? 0 : 4;
}

static int end_worker_without_rights(void)
{
	return lose(CAP_KILL) ? 5 : end_worker();
}

TEST(client_can_end_it)
{
	if (SANITIZER)
		skip();
	assert_int_equal(in_child(end_worker), 0);
	assert_int_equal(in_child(end_worker_without_rights), 0);
}

/* A root directory without anything, if this process may have one. */
static int see_files(void)
{
	struct stat st;
	privileges_drop();
	return stat("/etc/passwd", &st) == 0 || stat("/proc", &st) == 0 || open("/etc/passwd", O_RDONLY) >= 0;
}

TEST(files_have_no_names)
{
	if (SANITIZER || geteuid() != 0)
		skip();
	assert_int_equal(in_child(see_files), 0);
}

/* A worker of a zygote: it lacks neither what is common to all in its sandbox nor what is its own. */
static int be_forked(void)
{
	int status;
	sandbox_enter_common(getppid());
	pid_t pid = fork();
	if (pid == 0) {
		sandbox_enter_own();
		bool holds = denied(open(directory, O_RDONLY)) == 0 && denied(open(file, O_RDONLY)) == 0 &&
			     denied(socket(AF_UNIX, SOCK_STREAM, 0)) == 0 &&
			     denied(kill(getppid(), 0)) == 0 &&
			     denied(ptrace(PTRACE_ATTACH, getppid(), 0, 0)) == 0 &&
			     denied(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) == 0;
		_exit(!holds);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

/* Whether one process in a sandbox can trace another of the same user, without the filter of system calls. */
static int trace_another(void)
{
	int ready[2], status;
	char byte;
	sandbox_enter_common(getppid());
	if (pipe(ready))
		return 2;
	pid_t pid = fork();
	if (pid == 0) {
		close(ready[1]);
		(void)!read(ready[0], &byte, 1); /* until this process has tried */
		_exit(0);
	}
	close(ready[0]);
	int traced = denied(ptrace(PTRACE_ATTACH, pid, 0, 0));
	close(ready[1]);
	kill(pid, SIGKILL);
	return traced || waitpid(pid, &status, 0) != pid;
}

TEST(forked_workers)
{
	if (SANITIZER || !SECCOMP)
		skip();
	assert_int_equal(in_child(be_forked), 0);
	assert_int_equal(in_child(trace_another), 0);
}

static int make_socket(void)
{
	sandbox_enter(getppid());
	return denied(socket(AF_INET, SOCK_STREAM, 0)) || denied(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int make_process(void)
{
	sandbox_enter(getppid());
	char *argv[] = {(char[]){"true"}, NULL};
	return denied(fork()) || denied(execv("/bin/true", argv));
}

static int signal_others(void)
{
	sandbox_enter(getppid());
	return denied(kill(getppid(), 0)) || denied(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int gain_privileges(void)
{
	sandbox_enter(getppid());
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || errno == EPERM ? 0 : 1;
}

enum { DENIED = 100 /* no status of the program */ };

/* A program in the directory, as a worker could write it: the dynamic loader, which needs no other file. */
static char program[80];

static int copy_program(void)
{
	char command[512];
	Dl_info loader;
	if (!dladdr((void *)getauxval(AT_BASE), &loader) || loader.dli_fname[0] != '/')
		return -1;
	snprintf(program, sizeof(program), "%s/program", directory);
	snprintf(command, sizeof(command), "cp %s %s && %s --version >/dev/null", loader.dli_fname, program,
		 program);
	return system(command);
}

static int run_program(void)
{
	char *argv[] = {program, (char[]){"--version"}, NULL};
	sandbox_enter_network(directory);
	return denied(execv(program, argv)) ? 2 : DENIED;
}

TEST(programs_are_closed)
{
	if (SANITIZER || !has_landlock() || copy_program())
		skip();
	int status = in_child(run_program); /* the program's own would be 0 */
	unlink(program);
	assert_int_equal(status, DENIED);
}

static int keep_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	sandbox_enter_network(directory);
	return syscall(SYS_capget, &head, data) || data[0].effective || data[0].permitted ||
	       data[1].effective || data[1].permitted;
}

TEST(network_has_no_capabilities)
{
	if (SANITIZER)
		skip();
	assert_int_equal(in_child(keep_capabilities), 0);
}

/* With the network: the one directory, and what belongs to the system to read. */
static int use_network(void)
{
	char *argv[] = {(char[]){"true"}, NULL};
	sandbox_enter_network(directory);
	bool good = open(file, O_RDWR | O_CLOEXEC) >= 0 &&
		    open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC) >= 0 &&
		    socket(AF_INET, SOCK_STREAM, 0) >= 0;
	return !good || denied(open("/etc/nsswitch.conf", O_WRONLY | O_CLOEXEC)) ||
	       denied(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) ||
	       denied(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ||
	       denied(open("/tmp/gsymfs-sandbox", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) ||
	       denied(execv("/bin/true", argv));
}

/* Keeps files in the one directory: all that takes, and nothing else. */
static int keep_files(void)
{
	char *argv[] = {(char[]){"true"}, NULL};
	pthread_t thread;
	struct stat st;
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sandbox_enter_directory(directory);
	int fd = openat(dir, "temp", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, "x", 1) == 1 && futimens(fd, NULL) == 0 && fdatasync(fd) == 0 &&
		    fstat(fd, &st) == 0 && linkat(dir, "temp", dir, "link", 0) == 0 &&
		    renameat(dir, "temp", dir, "other") == 0 && unlinkat(dir, "other", 0) == 0 &&
		    unlinkat(dir, "link", 0) == 0 && mkdirat(dir, "sub", 0700) == 0 &&
		    unlinkat(dir, "sub", AT_REMOVEDIR) == 0 && memfd_create("x", MFD_CLOEXEC) >= 0 &&
		    pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
	int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = list < 0 ? NULL : fdopendir(list);
	if (!good || !entries || !readdir(entries))
		return 1;
	return denied(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) ||
	       denied(openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ||
	       denied(open("/tmp/gsymfs-sandbox", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) ||
	       denied(execv("/bin/true", argv));
}

static int keep_no_company(void)
{
	sandbox_enter_directory(directory);
	return denied(socket(AF_INET, SOCK_STREAM, 0)) || denied(kill(getppid(), 0)) || denied(fork()) ||
	       denied(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

/* The network and the secrets, also when they were replaced; but no other file, and no process. */
static int transfer(void)
{
	char *argv[] = {(char[]){"true"}, NULL};
	const char *const files[] = {NULL, file, "/etc/hostname"};
	char other[80];
	snprintf(other, sizeof(other), "%s.new", file);
	int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	sandbox_enter_transfer(files, 3);
	bool good = fd >= 0 && open(file, O_RDONLY | O_CLOEXEC) >= 0 &&
		    open(other, O_RDONLY | O_CLOEXEC) >= 0 && open("/etc/hosts", O_RDONLY | O_CLOEXEC) >= 0 &&
		    socket(AF_INET, SOCK_STREAM, 0) >= 0;
	return !good || denied(open(file, O_WRONLY | O_CLOEXEC)) ||
	       denied(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) ||
	       denied(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) || denied(execv("/bin/true", argv));
}

static int transfer_alone(void)
{
	sandbox_enter_transfer(NULL, 0);
	return denied(kill(getppid(), 0)) || denied(ptrace(PTRACE_ATTACH, getppid(), 0, 0)) ||
	       denied(unshare(CLONE_NEWUSER));
}

TEST(stores_are_closed)
{
	char other[80];
	if (SANITIZER || !has_landlock())
		skip();
	assert_int_equal(in_child(keep_files), 0);
	int status = in_child(transfer);
	snprintf(other, sizeof(other), "%s.new", file);
	unlink(other);
	assert_int_equal(status, 0);
	if (!SECCOMP)
		skip();
	assert_int_equal(in_child(keep_no_company), 0);
	assert_int_equal(in_child(transfer_alone), 0);
}

/* Without the filter of system calls it is Landlock, from its sixth version on, that keeps signals inside. */
static int signal_from_network(void)
{
	sandbox_enter_network(directory);
	return denied(kill(getppid(), 0));
}

/* The set of rules may get any descriptor, also that of a standard input that is closed. */
static int use_lowest_descriptor(void)
{
	close(0);
	sandbox_enter_network(directory);
	return open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC) < 0 || open(file, O_RDONLY | O_CLOEXEC) < 0 ||
	       denied(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

TEST(network_is_closed)
{
	if (SANITIZER || !has_landlock())
		skip();
	assert_int_equal(in_child(use_lowest_descriptor), 0);
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 6)
		skip();
	assert_int_equal(in_child(signal_from_network), 0);
}

TEST(files_are_closed)
{
	if (SANITIZER || !has_landlock())
		skip();
	assert_int_equal(in_child(read_files), 0);
	assert_int_equal(in_child(write_here), 0);
	assert_int_equal(in_child(use_network), 0);
}

TEST(calls_are_closed)
{
	if (SANITIZER || !SECCOMP)
		skip();
	assert_int_equal(in_child(write_here), 0);
	assert_int_equal(in_child(make_socket), 0);
	assert_int_equal(in_child(look_at_names), 0);
	assert_int_equal(in_child(make_process), 0);
	assert_int_equal(in_child(signal_others), 0);
	assert_int_equal(in_child(gain_privileges), 0);
}

/* ---- Limits ---- */

static int allocate_much(void)
{
	if (sandbox_limits(64 << 20, 0, 0))
		return 2;
	void *volatile small = malloc(1 << 20), *volatile large =
							malloc(128 << 20); /* or clang leaves them out */
	return small && !large ? 0 : 1;
}

static int map_much(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (sandbox_limits(1 << 20, 0, 0))
		return 2;
	/* A mapped file is no memory of ours, however large. */
	return mmap(NULL, 256 << 20, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

static int write_much(void)
{
	static const char page[4096];
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (sandbox_limits(64 << 20, 0, sizeof(page)))
		return 2;
	if (write(fd, page, sizeof(page)) != sizeof(page))
		return 1;
	return write(fd, page, 1) < 0 && errno == EFBIG ? 0 : 1;
}

static int compute_much(void)
{
	if (sandbox_limits(64 << 20, 1, 0))
		return 2;
	for (volatile unsigned i = 0;; i++)
		;
}

/* What the daemon was started with is not exceeded, and no reason to fail. */
static int keep_lower_limits(void)
{
	static const struct rlimit low = {.rlim_cur = 4096, .rlim_max = 8192};
	struct rlimit got;
	if (setrlimit(RLIMIT_FSIZE, &low) || sandbox_limits(1 << 30, 0, 1 << 20))
		return 2;
	if (getrlimit(RLIMIT_FSIZE, &got) || got.rlim_cur != low.rlim_max || got.rlim_max != low.rlim_max)
		return 1;
	if (sandbox_limits(1 << 30, 0, 1024) || getrlimit(RLIMIT_FSIZE, &got))
		return 2;
	return got.rlim_cur != 1024 || got.rlim_max != 1024;
}

TEST(limits_hold)
{
	assert_int_equal(in_child(keep_lower_limits), 0);
	if (!SANITIZER) {
		assert_int_equal(in_child(allocate_much), 0);
		assert_int_equal(in_child(map_much), 0);
	}
	assert_int_equal(in_child(write_much), 0);
	assert_int_equal(in_child(compute_much), 128 + SIGXCPU);
}

/* ---- The daemon's death ---- */

static int outlive_parent(void)
{
	int pipe_fds[2];
	char byte;
	if (pipe(pipe_fds))
		return 2;
	pid_t parent = getpid(), child = fork();
	if (child == 0) {
		close(pipe_fds[0]);
		sandbox_die_with(parent);
		sandbox_enter(parent);
		if (write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			poll(NULL, 0, -1);
	}
	/*
	 * The grandchild keeps the pipe open as long as it lives: the test reads its end, see
	 * dies_with_daemon().
	 */
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) != 1)
		return 1;
	return 0;
}

TEST(dies_with_daemon)
{
	int ends[2];
	char byte;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(in_child(outlive_parent), 0);
	close(ends[1]);
	/* Only the grandchild could still hold the other end. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static int wrong_parent(void)
{
	sandbox_die_with(getppid() + 1);
	return 0;
}

TEST(dies_when_it_is_too_late)
{
	assert_int_equal(in_child(wrong_parent), 1);
}

ALL_TESTS(set_up, tear_down)

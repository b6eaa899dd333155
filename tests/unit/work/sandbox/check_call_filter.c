/*
 * The filter of system calls for every architecture, whichever this is: it is made by libseccomp, and its
 * program, of BPF, is run here on calls as the kernel of that architecture would show them. What workers call
 * differs by architecture and C library; tests/hosts/run records it, and tests it with --allows.
 */
#include "work/sandbox/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gsym/base/bytes.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "tests/unit/work/sandbox/bpf_run.h"
#include "tests/lib/unit.h"

enum {
	PROGRAM_MAX = 4096, /* instructions: BPF's limit */
	ABSENT = -1,
};

/*
 * System calls for sockets that a machine has by number and as one of socketcall(2): libseccomp, which then
 * filters both, does not give the number away.
 */
struct socket_call {
	const char *name;
	int number;
};

static const struct socket_call x86_s390_sockets[] = {
	{"socket", 359}, {"connect", 362}, {"sendto", 369}, {"sendmsg", 370}, {"recvmsg", 372}, {0},
};

static const struct socket_call ppc_sockets[] = {
	{"socket", 326}, {"connect", 328}, {"sendto", 335}, {"sendmsg", 341}, {"recvmsg", 342}, {0},
};

struct machine {
	const char *name;
	uint32_t arch;
	const struct socket_call *sockets;
	bool big; /* byte order */
	bool is_32;
};

static const struct machine machines[] = {
	{.name = "x86_64", .arch = SCMP_ARCH_X86_64},
	{.name = "aarch64", .arch = SCMP_ARCH_AARCH64},
	{.name = "s390x", .arch = SCMP_ARCH_S390X, .sockets = x86_s390_sockets, .big = true},
	{.name = "riscv64", .arch = SCMP_ARCH_RISCV64},
	{.name = "ppc64le", .arch = SCMP_ARCH_PPC64LE, .sockets = ppc_sockets},
	{.name = "ppc64", .arch = SCMP_ARCH_PPC64, .sockets = ppc_sockets, .big = true},
	{.name = "arm", .arch = SCMP_ARCH_ARM, .is_32 = true},
	{.name = "x86", .arch = SCMP_ARCH_X86, .sockets = x86_s390_sockets, .is_32 = true},
};

static const enum filter_kind kinds[] = {FILTER_READER, FILTER_DIRECTORY, FILTER_NETWORK};

struct program {
	struct sock_filter code[PROGRAM_MAX];
	size_t n;
	const struct machine *machine;
};

/* What the filter decides about system call number @nr. */
static uint32_t run(const struct program *p, int nr, const uint64_t args[6])
{
	struct seccomp_data data = {.nr = nr, .arch = p->machine->arch};
	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(p->code, p->n, p->machine->big, &data);
}

/* ---- Filters ---- */

static void take_program(int fd, const struct machine *machine, struct program *ret)
{
	uint8_t raw[PROGRAM_MAX * 8];
	ssize_t size = pread(fd, raw, sizeof(raw), 0);
	assert_true(size > 0 && size % 8 == 0);
	*ret = (struct program){.n = (size_t)size / 8, .machine = machine};
	for (size_t i = 0; i < ret->n; i++) {
		const uint8_t *at = raw + 8 * i;
		ret->code[i] = (struct sock_filter){.code = load16(at, machine->big),
						    .jt = at[2],
						    .jf = at[3],
						    .k = load32(at + 4, machine->big)};
	}
}

static void make(const struct machine *machine, enum filter_kind kind, struct program *ret)
{
	uint32_t native = seccomp_arch_native();
	int fd = memfd_create("filter", MFD_CLOEXEC);
	assert_true(fd >= 0);
	scmp_filter_ctx filter = seccomp_init(call_filter_default(kind));
	assert_non_null(filter);
	if (machine->arch != native) {
		/* In this order: it may have another byte order. */
		assert_int_equal(seccomp_arch_remove(filter, native), 0);
		assert_int_equal(seccomp_arch_add(filter, machine->arch), 0);
	}
	assert_int_equal(call_filter_fill(filter, kind, machine->arch), 0);
	assert_int_equal(seccomp_export_bpf(filter, fd), 0);
	seccomp_release(filter);
	take_program(fd, machine, ret);
	close(fd);
}

/* The number of the call of that @name, or number, there; or ABSENT. */
static int number(const struct machine *machine, const char *name)
{
	char *end;
	int nr = (int)strtol(name, &end, 10);
	if (*end)
		nr = seccomp_syscall_resolve_name_arch(machine->arch, name);
	if (nr >= 0)
		return nr;
	for (const struct socket_call *s = machine->sockets; s && s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s->number;
	return ABSENT;
}

static uint32_t decide(const struct program *p, const char *name, const uint64_t args[6])
{
	static const uint64_t zeros[6];
	int nr = number(p->machine, name);
	return nr == ABSENT ? SCMP_ACT_ERRNO(ENOSYS) : run(p, nr, args ? args : zeros);
}

static void expect(const struct program *p, const char *name, const uint64_t args[6], uint32_t expected)
{
	uint32_t got = decide(p, name, args);
	if (number(p->machine, name) != ABSENT && got != expected)
		fail_msg("%s on %s: %#x instead of %#x", name, p->machine->name, got, expected);
}

#define EACH_MACHINE(m) for (const struct machine *m = machines; m < machines + ARRAY_SIZE(machines); m++)

/* ---- What a worker needs ---- */

/* Either all of a set exist on an architecture, or one that takes their place does. */
static const char *const needed[][4] = {
	{"read"},
	{"pread64"},
	{"write"},
	{"pwrite64"},
	{"close"},
	{"lseek", "_llseek"},
	{"ftruncate", "ftruncate64"},
	{"fstat", "fstat64"},
	{"mmap", "mmap2"},
	{"munmap"},
	{"mremap"},
	{"mprotect"},
	{"madvise"},
	{"brk"},
	{"futex", "futex_time64"},
	{"set_robust_list"},
	{"rseq"},
	{"exit"},
	{"exit_group"},
	{"getrandom"},
	{"clock_gettime", "clock_gettime64"},
	{"clock_nanosleep", "clock_nanosleep_time64"},
	{"sched_getaffinity"},
	{"rt_sigaction"},
	{"rt_sigprocmask"},
	{"rt_sigreturn"},
	{"getpid"},
	{"gettid"},
	{"sendmsg"},
	{"recvmsg"},
	{"poll", "ppoll", "ppoll_time64"},
};

TEST(needed_calls_are_allowed)
{
	struct program p;
	EACH_MACHINE(m)
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		make(m, kinds[k], &p);
		for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
			bool found = false;
			for (size_t j = 0; j < ARRAY_SIZE(needed[i]) && needed[i][j]; j++) {
				expect(&p, needed[i][j], NULL, SCMP_ACT_ALLOW);
				found |= number(m, needed[i][j]) != ABSENT;
			}
			if (!found)
				fail_msg("no %s on %s", needed[i][0], m->name);
		}
	}
}

/* A file is examined without a path, or where the C library cannot, by a call that could take one. */
TEST(files_are_examined)
{
	struct program p;
	EACH_MACHINE(m)
	{
		uint32_t by_path = m->is_32 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM);
		make(m, FILTER_READER, &p);
		expect(&p, "statx", NULL, by_path);
		expect(&p, "newfstatat", NULL, by_path);
		expect(&p, "fstatat64", NULL, by_path);
#ifdef FILE_STAT_IS_FSTAT
		if (m->arch == seccomp_arch_native())
			assert_int_equal(decide(&p, "statx", NULL), SCMP_ACT_ERRNO(EPERM));
#endif
	}
}

/* ---- What it must not ---- */

static const char escaping[] =
	"open openat openat2 creat stat lstat stat64 lstat64 access faccessat faccessat2 "
	"readlink readlinkat unlink unlinkat rename renameat renameat2 link linkat symlink "
	"symlinkat mknod mknodat mkdir mkdirat rmdir truncate truncate64 chmod fchmod fchmodat "
	"chown lchown fchown fchownat utimensat utimensat_time64 getdents getdents64 chdir "
	"fchdir chroot mount umount2 pivot_root open_tree move_mount fsopen name_to_handle_at "
	"open_by_handle_at memfd_create execve execveat fork vfork ptrace process_vm_readv "
	"process_vm_writev kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open "
	"pidfd_send_signal pidfd_getfd setns unshare prctl seccomp setuid setgid setresuid "
	"setresgid setgroups capset setrlimit prlimit64 socket socketpair connect bind listen "
	"accept accept4 sendto recvfrom ioctl bpf perf_event_open userfaultfd io_uring_setup "
	"io_setup keyctl add_key request_key init_module finit_module kexec_load personality "
	"ipc shmget msgget semget inotify_init1 fanotify_init select modify_ldt";

TEST(escaping_calls_are_refused)
{
	struct program p;
	EACH_MACHINE(m)
	{
		char names[sizeof(escaping)], *rest = names;
		memcpy(names, escaping, sizeof(names));
		make(m, FILTER_READER, &p);
		for (const char *name; (name = strsep(&rest, " "));)
			expect(&p, name, NULL, SCMP_ACT_ERRNO(EPERM));
	}
}

/* The process that keeps files opens and names them, and no more. */
TEST(directory_calls_are_few)
{
	static const char *const allowed[] = {"openat", "getdents64", "mkdirat", "linkat", "unlinkat"};
	static const char *const refused[] = {"open",   "openat2", "execve", "execveat", "fork",
					      "socket", "connect", "mount",  "kill",     "symlinkat",
					      "ptrace", "chmod",   "ioctl",  "mknodat",  "open_by_handle_at"};
	struct program p;
	EACH_MACHINE(m)
	{
		make(m, FILTER_DIRECTORY, &p);
		for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
			expect(&p, allowed[i], NULL, SCMP_ACT_ALLOW);
		for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
			expect(&p, refused[i], NULL, SCMP_ACT_ERRNO(EPERM));
		assert_true(number(m, "renameat2") != ABSENT);
		expect(&p, "renameat2", NULL, SCMP_ACT_ALLOW);
		expect(&p, "utimensat_time64", NULL, SCMP_ACT_ALLOW);
	}
}

TEST(network_calls_are_most)
{
	static const char *const refused[] = {
		"execve", "execveat",          "fork", "vfork", "ptrace",  "kill",   "tkill",
		"mount",  "open_by_handle_at", "bpf",  "setns", "unshare", "keyctl", "io_uring_setup",
		"chroot"};
	struct program p;
	EACH_MACHINE(m)
	{
		make(m, FILTER_NETWORK, &p);
		for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
			expect(&p, refused[i], NULL, SCMP_ACT_ERRNO(EPERM));
		expect(&p, "connect", NULL, SCMP_ACT_ALLOW);
		expect(&p, "sendto", NULL, SCMP_ACT_ALLOW);
	}
}

/* ---- Calls that depend on an argument ---- */

static bool is_s390(const struct machine *m)
{
	return m->arch == SCMP_ARCH_S390X;
}

TEST(only_threads_are_cloned)
{
	const uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS;
	struct program p;
	EACH_MACHINE(m)
	for (size_t k = 0; k < 2; k++) {
		uint64_t thread[6] = {0}, process[6] = {0};
		size_t at = is_s390(m) ? 1 : 0;
		thread[at] = flags | CLONE_THREAD;
		process[at] = flags | SIGCHLD;
		process[1 - at] = UINT64_MAX; /* the stack: CLONE_THREAD's bit is one of it */
		make(m, kinds[k], &p);
		expect(&p, "clone", thread, SCMP_ACT_ALLOW);
		expect(&p, "clone", process, SCMP_ACT_ERRNO(EPERM));
		expect(&p, "clone3", thread, SCMP_ACT_ERRNO(ENOSYS));
	}
}

TEST(descriptors_keep_their_owner)
{
	struct program p;
	EACH_MACHINE(m)
	for (size_t k = 0; k < 2; k++) {
		const uint64_t duplicate[6] = {3, F_DUPFD_CLOEXEC}, owner[6] = {3, F_SETOWN, 1},
			       flags[6] = {3, F_SETFL, 1}, above[6] = {3, (1ULL << 32) | F_GETFL};
		make(m, kinds[k], &p);
		for (size_t i = 0; i < 2; i++) {
			const char *name = i ? "fcntl64" : "fcntl";
			expect(&p, name, duplicate, SCMP_ACT_ALLOW);
			expect(&p, name, owner, SCMP_ACT_ERRNO(EPERM));
			expect(&p, name, flags, SCMP_ACT_ERRNO(EPERM));
			if (!m->is_32)
				expect(&p, name, above, SCMP_ACT_ERRNO(EPERM));
		}
	}
}

TEST(signals_are_for_itself)
{
	const uint64_t own[6] = {(uint64_t)getpid(), 1, SIGABRT},
		       other[6] = {(uint64_t)getppid(), 1, SIGABRT};
	struct program p;
	EACH_MACHINE(m)
	for (size_t k = 0; k < 2; k++) {
		make(m, kinds[k], &p);
		expect(&p, "tgkill", own, SCMP_ACT_ALLOW);
		expect(&p, "tgkill", other, SCMP_ACT_ERRNO(EPERM));
	}
}

/* socketcall(2), where there is one, sends and receives on sockets that are open, and makes none. */
TEST(socketcall_makes_no_socket)
{
	enum { SOCKET = 1, CONNECT = 3, SENDMSG = 16, RECVMSG = 17 };
	struct program p;
	EACH_MACHINE(m)
	{
		const uint64_t calls[][6] = {{SOCKET}, {CONNECT}, {SENDMSG}, {RECVMSG}};
		make(m, FILTER_READER, &p);
		for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
			expect(&p, "socketcall", calls[i], i < 2 ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	}
}

/* Calls of another architecture have other numbers: seccomp's own test comes first. */
TEST(other_architectures_are_refused)
{
	struct program p;
	EACH_MACHINE(m)
	{
		static const uint64_t zeros[6];
		struct machine other = *m;
		other.arch ^= 1;
		make(m, FILTER_READER, &p);
		int nr = number(m, "read");
		assert_int_equal(run(&p, nr, zeros), SCMP_ACT_ALLOW);
		p.machine = &other;
		assert_int_not_equal(run(&p, nr, zeros), SCMP_ACT_ALLOW);
	}
}

/* ---- Recorded calls ---- */

static const struct machine *machine_named(const char *name)
{
	EACH_MACHINE(m)
	if (strcmp(m->name, name) == 0)
		return m;
	return NULL;
}

/* clone(2) and fcntl(2) of a record are those of threads and descriptors: with what they need. */
static void fill_args(const struct machine *m, const char *name, uint64_t args[6])
{
	memset(args, 0, 6 * sizeof(*args));
	if (strcmp(name, "clone") == 0)
		args[is_s390(m) ? 1 : 0] = CLONE_THREAD;
	if (strncmp(name, "fcntl", 5) == 0)
		args[1] = F_GETFL;
	if (strcmp(name, "tgkill") == 0)
		args[0] = (uint64_t)getpid();
}

/* Prints which of the calls named a worker may not make on that machine: 1 if there are any. */
static int print_refused(const char *machine, char **names)
{
	static struct program p;
	const struct machine *m = machine_named(machine);
	uint64_t args[6];
	int status = 0;
	if (!m)
		return 2;
	make(m, FILTER_READER, &p);
	for (; *names; names++) {
		fill_args(m, *names, args);
		if (decide(&p, *names, args) == SCMP_ACT_ALLOW)
			continue;
		printf("%s%s\n", *names, number(m, *names) == ABSENT ? " (no such call)" : "");
		status = 1;
	}
	return status;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--allows") == 0)
		return print_refused(argv[2], argv + 3);
	return unit_run();
}

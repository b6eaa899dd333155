/*
 * A library to preload: the n-th call of a function fails, or reads or writes less than it was asked to.
 *
 * INJECT names the file of inject.h, which says which call of which process, and with what error. Nothing
 * happens while no order is in it. The device of FUSE is left alone: an answer that does not reach the kernel
 * is a fault that no program can mend.
 */
#undef _GNU_SOURCE
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"

#define EXPORT __attribute__((visibility("default")))
#define HERE   __builtin_return_address(0), __builtin_frame_address(0)

/* In the order of CALLS in injection.py, which reads this list. */
/* clang-format off */
#define CALLS(X) \
	X(malloc) X(calloc) X(realloc) X(posix_memalign) X(mmap) X(mremap) X(open) X(openat) \
	X(openat2) X(fopen) X(opendir) X(fdopen) X(fdopendir) X(memfd_create) X(read) X(pread) \
	X(preadv2) X(readdir) X(readlink) X(write) X(pwrite) X(writev) X(ftruncate) X(posix_fallocate) \
	X(fsync) X(fdatasync) X(copy_file_range) X(lseek) X(fstat) X(stat) X(lstat) X(fstatat) \
	X(statx) X(fstatfs) X(fstatvfs) X(rename) X(renameat) X(renameat2) X(linkat) X(unlinkat) \
	X(mkdir) X(mkdirat) X(mkostemp) X(symlinkat) X(utimensat) X(fchmod) X(flock) X(socketpair) \
	X(socket) X(sendmsg) X(recvmsg) X(send) X(sendto) X(fork) X(clone) X(posix_spawn) \
	X(pthread_create) X(poll) X(ppoll) X(waitpid) X(wait4) X(waitid) X(eventfd) X(signalfd) \
	X(inotify_init1) X(inotify_add_watch) X(pidfd_open) X(dup) X(fcntl_dup) X(pipe)
/* clang-format on */

enum call {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
		N_CALLS
};

_Static_assert((int)N_CALLS <= (int)INJECT_CALLS, "room for all calls");

static struct inject_file *file;
static enum role role;
static pid_t pid;
static struct text {
	uintptr_t begin, end;
} own, spared; /* of the program; of what is not failed */

/* syscall(2) of the C library, whose name is taken below. */
static long (*real_syscall)(long, ...);

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* ---- Who calls ---- */

static enum role role_of(const char *program, const char *first, const char *second)
{
	static const char *const modes[] = {
		[ROLE_CONVERT] = "convert", [ROLE_ZYGOTE] = "zygote", [ROLE_SCAN] = "scan",
		[ROLE_STORE] = "store",     [ROLE_FETCH] = "fetch",
	};
	if (strcmp(program, "gsymfs") == 0)
		return ROLE_DAEMON;
	if (strcmp(program, "gsym") != 0)
		return ROLE_OTHER;
	if (strcmp(first, "worker") != 0)
		return ROLE_COMMAND;
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (modes[i] && strcmp(modes[i], second) == 0)
			return (enum role)i;
	return ROLE_OTHER;
}

static enum role find_role(void)
{
	char program[256] = "", arguments[512] = "";
	ssize_t n = real_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof(program) - 1);
	int fd = (int)real_syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (n < 0 || fd < 0 || real_syscall(SYS_read, fd, arguments, sizeof(arguments) - 3) < 0)
		abort();
	real_syscall(SYS_close, fd);
	const char *name = strrchr(program, '/'), *first = arguments + strlen(arguments) + 1;
	return role_of(name ? name + 1 : program, first, first + strlen(first) + 1);
}

/* The first object is the program. libseccomp crashes, or searches without end, when it has no memory. */
static int find_text(struct dl_phdr_info *info, size_t size, void *user)
{
	bool *first = user;
	struct text *to = *first ? &own : strstr(info->dlpi_name, "/libseccomp.") ? &spared : NULL;
	(void)size;
	for (int i = 0; to && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			to->begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			to->end = to->begin + info->dlpi_phdr[i].p_memsz;
		}
	*first = false;
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("INJECT");
	void *(*real_mmap)(void *, size_t, int, int, int, off64_t) = dlsym(RTLD_NEXT, "mmap64");
	real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	role = find_role();
	if (!path || role == ROLE_OTHER)
		return;
	int fd = (int)real_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	/* The system call itself has other arguments on some machines. */
	void *map = real_mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || map == MAP_FAILED)
		abort();
	real_syscall(SYS_close, fd);
	dl_iterate_phdr(find_text, &(bool){true});
	pid = (pid_t)real_syscall(SYS_getpid);
	file = map;
}

/* A zygote's children convert. */
static enum role role_now(void)
{
	return role == ROLE_ZYGOTE && (pid_t)real_syscall(SYS_getpid) != pid ? ROLE_CONVERT : role;
}

/* ---- Which calls fail ---- */

static bool is_in(struct text text, uintptr_t at)
{
	return at >= text.begin && at < text.end;
}

/*
 * The frame above *@at, whose function returns to @pc, if the frame pointer leads to one: only frames of the
 * program itself are followed, upwards and by small steps. Where that one returns to, or 0.
 */
static uintptr_t next_frame(uintptr_t *at, uintptr_t pc)
{
	uintptr_t next = is_in(own, pc) ? *(uintptr_t *)*at : 0;
	if (next <= *at || next > *at + 4096 || next % sizeof(next))
		return 0;
	*at = next;
	return ((uintptr_t *)next)[1];
}

/* The caller and those above it: of a call for memory, one is allocation.c. */
static uint64_t site_key(enum call call, void *caller, void *frame)
{
	uint64_t key = ((uint64_t)role_now() << 8 | call) * 0x9e3779b97f4a7c15u ^ (uintptr_t)caller;
	uintptr_t at = (uintptr_t)frame, pc = (uintptr_t)caller;
	for (int i = 0; i < 3 && (pc = next_frame(&at, pc)); i++)
		key = (key ^ pc) * 0xbf58476d1ce4e5b9u;
	return key ? key : 1;
}

static void count_site(enum call call, uint64_t n, void *caller, void *frame)
{
	uint64_t key = site_key(call, caller, frame);
	for (uint64_t i = 0; i < INJECT_SITES; i++) {
		struct inject_site *site = &file->sites[(key + i) % INJECT_SITES];
		uint64_t old = 0;
		if (atomic_compare_exchange_strong(&site->key, &old, key)) {
			site->role = role_now();
			site->call = call;
			site->first = n;
		} else if (old != key) {
			continue;
		}
		atomic_fetch_add(&site->count, 1);
		return;
	}
}

static void record(enum call call, uint64_t n, uint64_t error, void *caller, void *frame)
{
	Dl_info info = {0};
	uint64_t at = atomic_fetch_add(&file->injected, 1);
	if (at >= INJECT_RECORDS)
		return;
	struct inject_record *to = &file->records[at];
	uintptr_t frames = (uintptr_t)frame, above = next_frame(&frames, (uintptr_t)caller);
	dladdr(caller, &info);
	*to = (struct inject_record){
		.pid = (uint64_t)real_syscall(SYS_getpid),
		.role = role_now(),
		.call = call,
		.n = n,
		.error = error,
		.site = (uintptr_t)caller - (uintptr_t)info.dli_fbase,
		.caller = is_in(own, above) ? above - (uintptr_t)info.dli_fbase : 0,
	};
	const char *name = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
	strncpy(to->object, name ? name + 1 : info.dli_fname ? info.dli_fname : "?", sizeof(to->object) - 1);
}

static bool is_at_work(void)
{
	return file && (atomic_load(&file->armed) || atomic_load(&file->counting));
}

/* The error of this call, INJECT_SHORT, or 0. */
static int fails(enum call call, void *caller, void *frame)
{
	if (!is_at_work() || is_in(spared, (uintptr_t)caller))
		return 0;
	enum role mine = role_now();
	uint64_t n = atomic_fetch_add(&file->seen[mine][call], 1) + 1;
	if (atomic_load(&file->counting))
		count_site(call, n, caller, frame);
	if (!atomic_load(&file->armed) || mine != file->role || call != file->call || n < file->first ||
	    n > file->last)
		return 0;
	record(call, n, file->error, caller, frame);
	return (int)file->error;
}

/* The daemon's connection to the kernel, which is left alone. */
static bool is_fuse(int fd)
{
	struct statx st; /* the same on every machine */
	return role == ROLE_DAEMON && is_at_work() &&
	       real_syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 && S_ISCHR(st.stx_mode) &&
	       st.stx_rdev_major == 10 && st.stx_rdev_minor == 229;
}

/* ---- The functions ---- */

/* A function whose failure is @failed with errno; @real is what it is called with. */
#define FAILING(type, failed, name, call, parameters, ...)                \
	EXPORT type name parameters                                       \
	{                                                                 \
		static __typeof__(name) *real;                            \
		int err = fails(CALL_##call, HERE);                       \
		if (!real)                                                \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name); \
		if (err) {                                                \
			errno = err;                                      \
			return failed;                                    \
		}                                                         \
		return real(__VA_ARGS__);                                 \
	}

/* Only what may wait is interrupted. */
#define WAITING(type, name, parameters, ...)                                \
	EXPORT type name parameters                                         \
	{                                                                   \
		static __typeof__(name) *real;                              \
		int err = options & WNOHANG ? 0 : fails(CALL_##name, HERE); \
		if (!real)                                                  \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name);   \
		if (err) {                                                  \
			errno = err;                                        \
			return -1;                                          \
		}                                                           \
		return real(__VA_ARGS__);                                   \
	}

/* A function that returns its error. */
#define RETURNING(name, call, parameters, ...)                            \
	EXPORT int name parameters                                        \
	{                                                                 \
		static __typeof__(name) *real;                            \
		int err = fails(CALL_##call, HERE);                       \
		if (!real)                                                \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name); \
		return err ? err : real(__VA_ARGS__);                     \
	}

/* A transfer of @size bytes to or from @fd, which may be short. */
#define TRANSFER(name, call, parameters, ...)                             \
	EXPORT ssize_t name parameters                                    \
	{                                                                 \
		static __typeof__(name) *real;                            \
		int err = is_fuse(fd) ? 0 : fails(CALL_##call, HERE);     \
		if (!real)                                                \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name); \
		if (err == INJECT_SHORT) {                                \
			size = size > 1 ? size / 2 : size;                \
		} else if (err) {                                         \
			errno = err;                                      \
			return -1;                                        \
		}                                                         \
		return real(__VA_ARGS__);                                 \
	}

/* With a mode as the last parameter where the file may be created. */
#define OPENING(name, call, parameters, last, ...)                                        \
	EXPORT int name parameters                                                        \
	{                                                                                 \
		static __typeof__(name) *real;                                            \
		int err = fails(CALL_##call, HERE);                                       \
		va_list more;                                                             \
		va_start(more, last);                                                     \
		mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
		va_end(more);                                                             \
		if (!real)                                                                \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name);                 \
		if (err) {                                                                \
			errno = err;                                                      \
			return -1;                                                        \
		}                                                                         \
		return real(__VA_ARGS__, mode);                                           \
	}

static bool no_memory(enum call call, void *caller, void *frame)
{
	if (!fails(call, caller, frame))
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	return no_memory(CALL_malloc, HERE) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return no_memory(CALL_calloc, HERE) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return no_memory(CALL_realloc, HERE) ? NULL : __libc_realloc(p, size);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p = no_memory(CALL_posix_memalign, HERE) ? NULL : __libc_memalign(alignment, size);
	if (p)
		*ret = p;
	return p ? 0 : ENOMEM;
}

FAILING(void *, MAP_FAILED, mmap, mmap, (void *at, size_t size, int prot, int flags, int fd, off_t off), at,
	size, prot, flags, fd, off)
FAILING(void *, MAP_FAILED, mmap64, mmap, (void *at, size_t size, int prot, int flags, int fd, off64_t off),
	at, size, prot, flags, fd, off)

EXPORT void *mremap(void *at, size_t size, size_t new_size, int flags, ...)
{
	int err = fails(CALL_mremap, HERE);
	va_list more;
	va_start(more, flags);
	void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
	va_end(more);
	if (err) {
		errno = err;
		return MAP_FAILED;
	}
	return (void *)real_syscall(SYS_mremap, at, size, new_size, flags, to);
}

OPENING(open, open, (const char *path, int flags, ...), flags, path, flags)
OPENING(open64, open, (const char *path, int flags, ...), flags, path, flags)
OPENING(openat, openat, (int dir, const char *path, int flags, ...), flags, dir, path, flags)
OPENING(openat64, openat, (int dir, const char *path, int flags, ...), flags, dir, path, flags)
FAILING(int, -1, __open64_2, open, (const char *path, int flags), path, flags)
FAILING(int, -1, __openat64_2, openat, (int dir, const char *path, int flags), dir, path, flags)
FAILING(FILE *, NULL, fopen, fopen, (const char *path, const char *mode), path, mode)
FAILING(FILE *, NULL, fopen64, fopen, (const char *path, const char *mode), path, mode)
FAILING(DIR *, NULL, opendir, opendir, (const char *path), path)
FAILING(FILE *, NULL, fdopen, fdopen, (int fd, const char *mode), fd, mode)
FAILING(DIR *, NULL, fdopendir, fdopendir, (int fd), fd)
FAILING(int, -1, memfd_create, memfd_create, (const char *name, unsigned flags), name, flags)

TRANSFER(read, read, (int fd, void *to, size_t size), fd, to, size)
TRANSFER(pread, pread, (int fd, void *to, size_t size, off_t off), fd, to, size, off)
TRANSFER(pread64, pread, (int fd, void *to, size_t size, off64_t off), fd, to, size, off)
TRANSFER(write, write, (int fd, const void *from, size_t size), fd, from, size)
TRANSFER(pwrite, pwrite, (int fd, const void *from, size_t size, off_t off), fd, from, size, off)
TRANSFER(pwrite64, pwrite, (int fd, const void *from, size_t size, off64_t off), fd, from, size, off)

/* As many vectors as make half of the transfer are not counted: a short one is one with a vector less. */
EXPORT ssize_t writev(int fd, const struct iovec *vectors, int n)
{
	int err = is_fuse(fd) ? 0 : fails(CALL_writev, HERE);
	if (!err)
		return real_syscall(SYS_writev, fd, vectors, n);
	if (err == INJECT_SHORT)
		return real_syscall(SYS_writev, fd, vectors, n > 1 ? n - 1 : n);
	errno = err;
	return -1;
}

FAILING(ssize_t, -1, preadv64v2, preadv2, (int fd, const struct iovec *v, int n, off64_t off, int flags), fd,
	v, n, off, flags)
FAILING(struct dirent *, NULL, readdir, readdir, (DIR * dir), dir)
FAILING(struct dirent64 *, NULL, readdir64, readdir, (DIR * dir), dir)
FAILING(ssize_t, -1, readlink, readlink, (const char *path, char *to, size_t size), path, to, size)
FAILING(ssize_t, -1, readlinkat, readlink, (int dir, const char *path, char *to, size_t size), dir, path, to,
	size)
FAILING(int, -1, ftruncate, ftruncate, (int fd, off_t size), fd, size)
FAILING(int, -1, ftruncate64, ftruncate, (int fd, off64_t size), fd, size)
RETURNING(posix_fallocate, posix_fallocate, (int fd, off_t off, off_t size), fd, off, size)
RETURNING(posix_fallocate64, posix_fallocate, (int fd, off64_t off, off64_t size), fd, off, size)
FAILING(int, -1, fsync, fsync, (int fd), fd)
FAILING(int, -1, fdatasync, fdatasync, (int fd), fd)
FAILING(ssize_t, -1, copy_file_range, copy_file_range,
	(int from, off64_t *from_off, int to, off64_t *to_off, size_t size, unsigned flags), from, from_off,
	to, to_off, size, flags)
FAILING(off64_t, -1, lseek64, lseek, (int fd, off64_t off, int whence), fd, off, whence)

FAILING(int, -1, fstat, fstat, (int fd, struct stat *ret), fd, ret)
FAILING(int, -1, fstat64, fstat, (int fd, struct stat64 *ret), fd, ret)
FAILING(int, -1, stat, stat, (const char *path, struct stat *ret), path, ret)
FAILING(int, -1, stat64, stat, (const char *path, struct stat64 *ret), path, ret)
FAILING(int, -1, lstat, lstat, (const char *path, struct stat *ret), path, ret)
FAILING(int, -1, lstat64, lstat, (const char *path, struct stat64 *ret), path, ret)
FAILING(int, -1, fstatat, fstatat, (int dir, const char *path, struct stat *ret, int flags), dir, path, ret,
	flags)
FAILING(int, -1, fstatat64, fstatat, (int dir, const char *path, struct stat64 *ret, int flags), dir, path,
	ret, flags)
FAILING(int, -1, statx, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *ret), dir,
	path, flags, mask, ret)
FAILING(int, -1, fstatfs64, fstatfs, (int fd, struct statfs64 *ret), fd, ret)
FAILING(int, -1, fstatvfs64, fstatvfs, (int fd, struct statvfs64 *ret), fd, ret)

FAILING(int, -1, rename, rename, (const char *from, const char *to), from, to)
FAILING(int, -1, renameat, renameat, (int from_dir, const char *from, int to_dir, const char *to), from_dir,
	from, to_dir, to)
FAILING(int, -1, renameat2, renameat2,
	(int from_dir, const char *from, int to_dir, const char *to, unsigned flags), from_dir, from, to_dir,
	to, flags)
FAILING(int, -1, linkat, linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
	from_dir, from, to_dir, to, flags)
FAILING(int, -1, unlinkat, unlinkat, (int dir, const char *path, int flags), dir, path, flags)
FAILING(int, -1, mkdir, mkdir, (const char *path, mode_t mode), path, mode)
FAILING(int, -1, mkdirat, mkdirat, (int dir, const char *path, mode_t mode), dir, path, mode)
FAILING(int, -1, mkostemp, mkostemp, (char *path, int flags), path, flags)
FAILING(int, -1, mkostemp64, mkostemp, (char *path, int flags), path, flags)
FAILING(int, -1, symlinkat, symlinkat, (const char *to, int dir, const char *path), to, dir, path)
FAILING(int, -1, utimensat, utimensat, (int dir, const char *path, const struct timespec times[2], int flags),
	dir, path, times, flags)
FAILING(int, -1, futimens, utimensat, (int fd, const struct timespec times[2]), fd, times)
FAILING(int, -1, fchmod, fchmod, (int fd, mode_t mode), fd, mode)
FAILING(int, -1, flock, flock, (int fd, int operation), fd, operation)

FAILING(int, -1, socketpair, socketpair, (int domain, int type, int protocol, int fds[2]), domain, type,
	protocol, fds)
FAILING(int, -1, socket, socket, (int domain, int type, int protocol), domain, type, protocol)
FAILING(ssize_t, -1, sendmsg, sendmsg, (int fd, const struct msghdr *msg, int flags), fd, msg, flags)
FAILING(ssize_t, -1, recvmsg, recvmsg, (int fd, struct msghdr *msg, int flags), fd, msg, flags)
FAILING(ssize_t, -1, send, send, (int fd, const void *from, size_t size, int flags), fd, from, size, flags)
FAILING(ssize_t, -1, sendto, sendto,
	(int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t to_size), fd,
	from, size, flags, to, to_size)
FAILING(int, -1, pipe, pipe, (int fds[2]), fds)
FAILING(int, -1, pipe2, pipe, (int fds[2], int flags), fds, flags)

FAILING(pid_t, -1, fork, fork, (void), )
RETURNING(posix_spawn, posix_spawn,
	  (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
	   const posix_spawnattr_t *attr, char *const argv[], char *const envp[]),
	  ret, path, actions, attr, argv, envp)
RETURNING(posix_spawnp, posix_spawn,
	  (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
	   const posix_spawnattr_t *attr, char *const argv[], char *const envp[]),
	  ret, path, actions, attr, argv, envp)
RETURNING(pthread_create, pthread_create,
	  (pthread_t * ret, const pthread_attr_t *attr, void *(*run)(void *), void *user), ret, attr, run,
	  user)
FAILING(int, -1, poll, poll, (struct pollfd * fds, nfds_t n, int timeout), fds, n, timeout)
FAILING(int, -1, ppoll, ppoll,
	(struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask), fds, n,
	timeout, mask)
WAITING(pid_t, waitpid, (pid_t child, int *ret_status, int options), child, ret_status, options)
WAITING(pid_t, wait4, (pid_t child, int *ret_status, int options, struct rusage *ret), child, ret_status,
	options, ret)
WAITING(int, waitid, (idtype_t type, id_t child, siginfo_t *ret, int options), type, child, ret, options)
FAILING(int, -1, eventfd, eventfd, (unsigned value, int flags), value, flags)
FAILING(int, -1, signalfd, signalfd, (int fd, const sigset_t *mask, int flags), fd, mask, flags)
FAILING(int, -1, inotify_init1, inotify_init1, (int flags), flags)
FAILING(int, -1, inotify_add_watch, inotify_add_watch, (int fd, const char *path, uint32_t mask), fd, path,
	mask)
FAILING(int, -1, dup2, dup, (int fd, int to), fd, to)
FAILING(int, -1, dup3, dup, (int fd, int to, int flags), fd, to, flags)

/* Those that make a descriptor; locks and flags are not failed. */
EXPORT int fcntl64(int fd, int command, ...)
{
	va_list more;
	va_start(more, command);
	long argument = va_arg(more, long);
	va_end(more);
	int err = command == F_DUPFD || command == F_DUPFD_CLOEXEC ? fails(CALL_fcntl_dup, HERE) : 0;
	if (err) {
		errno = err;
		return -1;
	}
	return (int)real_syscall(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

/* The calls that the C library of old systems does not have. */
static int call_of_number(long number)
{
	switch (number) {
	case SYS_clone: return CALL_clone;
	case SYS_openat2: return CALL_openat2;
	case SYS_pidfd_open: return CALL_pidfd_open;
	case SYS_fstat: return CALL_fstat;
	}
	return -1;
}

EXPORT long syscall(long number, ...)
{
	va_list more;
	long a[6];
	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	int call = call_of_number(number), err = call >= 0 ? fails((enum call)call, HERE) : 0;
	if (err) {
		errno = err;
		return -1;
	}
	if (!real_syscall)
		real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

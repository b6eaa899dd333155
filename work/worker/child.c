#include "work/worker/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/sanitizer.h"

enum {
	FDS_MAX = 5,
	ABOVE_WORKER_FDS = 16, /* copies made here cannot be overwritten by those put in place below */
	READY_TIME_MS = 60000,
	EXIT_GRACE_MS = 5000,
	EXIT_POLL_MS = 2,
	STATUS_LOST = 255 << 8, /* as if it exited with status 255: another wait(2) reaped it */
};

extern char **environ;

/* The kept program, and its path, which is borrowed. */
static struct {
	const char *path;
	int fd;
} own_program;

void child_keep_program(const char *program)
{
	char begin[2] = "";
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	bool is_script = fd >= 0 && read(fd, begin, sizeof(begin)) == 2 && memcmp(begin, "#!", 2) == 0;
	if (fd >= 0 && !is_script) {
		own_program.fd = fd;
		own_program.path = program;
	} else if (fd >= 0) {
		close(fd);
	}
}

void child_forget_program(void)
{
	if (own_program.path)
		close(own_program.fd);
	own_program.path = NULL;
}

static atomic_int start_error; /* see child_start_error() */
static atomic_uint layers;     /* see child_layers() */

void child_note_start(int err)
{
	if (err != -ECANCELED)
		atomic_store(&start_error, err);
}

int child_start_error(void)
{
	return atomic_load(&start_error);
}

/* Duplicates each descriptor to a high number, to be moved to its final number in the worker. */
static int plan_fds(posix_spawn_file_actions_t *actions, const int *fds, size_t n, int *copies)
{
	for (size_t i = 0; i < n; i++) {
		copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE_WORKER_FDS);
		if (copies[i] < 0)
			return errno == EINVAL ? -EMFILE
					       : -errno; /* EINVAL: not even that number is allowed */
		int err = posix_spawn_file_actions_adddup2(actions, copies[i], WORKER_SOCKET_FD + (int)i);
		if (err)
			return -err;
	}
	return 0;
}

/*
 * A worker compromised by a hostile file must not write to the daemon's log or terminal. Sanitizer builds
 * keep standard error for their reports.
 */
static int plan_stdio(posix_spawn_file_actions_t *actions)
{
	int err = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !err && !SANITIZER; fd++)
		err = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	return -err;
}

/*
 * Not all descriptors are closed by execve(2): the process that started the daemon may have left some open,
 * and glibc's pthread_setname_np(3) opens one for a moment. Comes last, since the others use copies.
 */
static int plan_inheritance(posix_spawn_file_actions_t *actions, size_t n)
{
	return -posix_spawn_file_actions_addclosefrom_np(actions, WORKER_SOCKET_FD + (int)n);
}

/* The daemon's threads block signals; a worker must not inherit the mask. */
static int plan_attributes(const struct child_order *order, posix_spawnattr_t *attr)
{
	const short group = order->own_group ? POSIX_SPAWN_SETPGROUP : 0;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setpgroup(attr, 0);
	return -posix_spawnattr_setflags(attr,
					 (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
}

/*
 * Our environment, which owns its strings, without what the child has no use for, and with @more unless that
 * is NULL. A worker compromised by a hostile file could give secrets away in what it answers. NULL without
 * memory.
 */
static char **child_environment(const struct child_order *order, char *more)
{
	static const char credentials[] = "AWS_";
	size_t n = 0, kept = 0;
	while (environ[n])
		n++;
	char **ret = calloc(n + 2, sizeof(*ret));
	for (size_t i = 0; ret && i < n; i++)
		if (order->has_credentials || strncmp(environ[i], credentials, sizeof(credentials) - 1) != 0)
			ret[kept++] = environ[i];
	if (ret)
		ret[kept] = more;
	return ret;
}

/*
 * The kept program is named by our number, since the descriptor is closed in the child; without /proc by its
 * path.
 */
static int spawn_program(const struct child_order *order, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attr, char *const *argv, char *const *environment,
			 pid_t *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), own_program.fd);
	if (own_program.path && strcmp(own_program.path, order->program) == 0 &&
	    posix_spawn(ret, path, actions, attr, argv, environment) == 0)
		return 0;
	return -posix_spawn(ret, order->program, actions, attr, argv, environment);
}

static int spawn(const struct child_order *order, const int *fds, size_t n, pid_t *ret)
{
	char bind_now[] = "LD_BIND_NOW=1";
	char parent[16], name[] = "gsym", command[] = "worker";
	char mode_copy[16];
	snprintf(parent, sizeof(parent), "%ld", (long)getpid());
	snprintf(mode_copy, sizeof(mode_copy), "%s", order->mode);
	char *argv[] = {name, command, mode_copy, parent, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int copies[FDS_MAX] = {-1, -1, -1, -1, -1};
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	int err = plan_fds(&actions, fds, n, copies);
	if (!err)
		err = plan_stdio(&actions);
	if (!err)
		err = plan_inheritance(&actions, n);
	if (!err)
		err = plan_attributes(order, &attr);
	char **environment = child_environment(order, order->bind_now ? bind_now : NULL);
	if (!err && !environment)
		err = -ENOMEM;
	if (!err)
		err = spawn_program(order, &actions, &attr, argv, environment, ret);
	free(environment);
	for (size_t i = 0; i < FDS_MAX; i++)
		if (copies[i] >= 0)
			close(copies[i]);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

int child_wait(const struct child *child, int stop_fd, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = child->sock, .events = POLLIN},
				       {.fd = stop_fd, .events = POLLIN}};
		int64_t left = deadline_ms - monotonic_ms();
		if (left <= 0)
			return -ETIMEDOUT;
		int n = poll(fds, 2, left > 60000 ? 60000 : (int)left);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[1].revents)
			return -ECANCELED;
		if (n > 0 && fds[0].revents)
			return 0;
	}
}

int child_receive_fd(const struct child *child, int stop_fd, int64_t deadline_ms, union worker_message *ret,
		     int *ret_fd)
{
	int err = child_wait(child, stop_fd, deadline_ms);
	if (err)
		return err;
	int got = worker_receive(child->sock, ret, ret_fd);
	if (got == -EAGAIN)
		return child_receive_fd(child, stop_fd, deadline_ms, ret, ret_fd); /* spurious readiness */
	return got == -ECONNRESET ? 0 : got; /* it exited with our message unread */
}

int child_receive(const struct child *child, int stop_fd, int64_t deadline_ms, union worker_message *ret)
{
	return child_receive_fd(child, stop_fd, deadline_ms, ret, NULL);
}

bool child_has_gone(int err)
{
	return err == -EPIPE || err == -ECONNRESET;
}

void child_end_text(int status, char ret[static CHILD_END_SIZE])
{
	if (WIFSIGNALED(status))
		snprintf(ret, CHILD_END_SIZE, "was killed by signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)),
			 WTERMSIG(status) == SIGSYS ? " for a system call that a filter forbids: its own, or "
						      "that of the service or container"
						    : "");
	else
		snprintf(ret, CHILD_END_SIZE, "exited with status %d", WEXITSTATUS(status));
}

void child_kill(const struct child *child)
{
	kill(child->pid, SIGKILL);
}

/* A descriptor that becomes readable when @pid ends; -1 on old kernels. */
static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

int child_finish(struct child *child, struct rusage *ret_usage)
{
	struct pollfd end = {.fd = open_process(child->pid), .events = POLLIN};
	const int step = end.fd >= 0 ? EXIT_GRACE_MS : EXIT_POLL_MS; /* poll(2) ignores -1, and sleeps */
	int status = 0, waited = 0;
	pid_t got;
	close(child->sock);
	while ((got = wait4(child->pid, &status, WNOHANG, ret_usage)) == 0) {
		if (waited == EXIT_GRACE_MS)
			child_kill(child);
		if (poll(&end, 1, step) == 0)
			waited += step;
	}
	if (end.fd >= 0)
		close(end.fd);
	child->pid = 0;
	return got < 0 ? STATUS_LOST : status;
}

/* Waits until the process identifies itself as a worker of this version. */
static int await_ready(const struct child_order *order, struct child *child, struct gsym_diag *diag)
{
	union worker_message msg;
	int got = child_receive(child, order->stop_fd, monotonic_ms() + READY_TIME_MS, &msg);
	if (got == 1 && msg.head.type == WORKER_READY && msg.ready.protocol == WORKER_PROTOCOL)
		return 0;
	if (got) /* else it ends of itself: whatever signal ended it is not ours */
		child_kill(child);
	int status = child_finish(child, NULL);
	if (got == -ECANCELED)
		return diag_set(diag, got, "the daemon is shutting down");
	char end[CHILD_END_SIZE];
	child_end_text(status, end);
	if (got == 0 && WIFSIGNALED(status))
		return diag_set(diag, -ECHILD, "the worker '%s' %s", order->program, end);
	if (got < 0 && got != -EPROTO)
		return diag_set(diag, -ECHILD, "no answer from the worker '%s': %s", order->program,
				strerror(-got));
	return diag_set(diag, -ECHILD,
			"the worker '%s' is not the gsym program of version %s: set -o worker=PATH",
			order->program, GSYMFS_VERSION);
}

int child_sockets(int ret[2], struct gsym_diag *diag)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret))
		return diag_set(diag, -errno, "cannot create a socket for a worker: %s", strerror(errno));
	/* Sending never blocks: at most one order is outstanding, and the socket buffer holds that. */
	(void)fcntl(ret[0], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Programs of ours that start themselves as workers are found there. */
bool proc_is_there(void)
{
	return access("/proc/self/exe", F_OK) == 0;
}

int child_spawn(const struct child_order *order, struct child *ret, struct gsym_diag *diag)
{
	int pair[2], passed[FDS_MAX];
	if (order->n_fds >= FDS_MAX)
		return diag_set(diag, -EINVAL, "too many descriptors for a worker");
	int err = child_sockets(pair, diag);
	if (err)
		return err;
	passed[0] = pair[1];
	for (size_t i = 0; i < order->n_fds; i++)
		passed[i + 1] = order->fds[i];
	struct child child = {.sock = pair[0]};
	err = spawn(order, passed, order->n_fds + 1, &child.pid);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		child_note_start(err);
		if (err == -EPERM && syscall(SYS_clone3, NULL, 0) < 0 && errno == EPERM)
			return diag_set(diag, -ECHILD,
					"a filter of system calls refuses clone3(2) with EPERM, where the C "
					"library needs ENOSYS: neither workers nor threads can be started");
		return diag_set(diag, -ECHILD, "cannot start the worker '%s': %s%s", order->program,
				strerror(-err),
				err == -ENOENT && !proc_is_there() ? ": /proc is not mounted" : "");
	}
	*ret = child;
	return 0;
}

int child_start(const struct child_order *order, struct child *ret, struct gsym_diag *diag)
{
	struct child child;
	int err = child_spawn(order, &child, diag);
	if (err)
		return err;
	err = await_ready(order, &child, diag);
	child_note_start(err);
	if (!err)
		*ret = child;
	return err;
}

int child_try(const char *program, int stop_fd, struct gsym_diag *diag)
{
	const struct child_order order = {.program = program, .mode = "check", .stop_fd = stop_fd};
	union worker_message msg;
	struct child child;
	int err = child_start(&order, &child, diag);
	if (err)
		return err;
	int got = child_receive(&child, stop_fd, monotonic_ms() + READY_TIME_MS, &msg);
	char end[CHILD_END_SIZE];
	child_end_text(child_finish(&child, NULL), end);
	if (got == -ECANCELED)
		return diag_set(diag, got, "the daemon is shutting down");
	if (got == 1 && msg.head.type == WORKER_READY) {
		atomic_store(&layers, msg.ready.layers);
		return 0;
	}
	child_note_start(-ECHILD);
	return diag_set(diag, -ECHILD, "the worker '%s' %s before it was in its sandbox", program, end);
}

unsigned child_layers(void)
{
	return atomic_load(&layers);
}

/* ---- Whose fault it is that a worker has failed ---- */

enum fault fault_of_report(int err)
{
	const enum fault fault = fault_of(err);
	return fault == FAULT_FILE || fault == FAULT_LIMIT ? fault : FAULT_MACHINE;
}

bool is_crash_signal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL || sig == SIGFPE ||
	       sig == SIGSYS || sig == SIGTRAP;
}

/* -ETIMEDOUT and -EPROTO are the client's words for a worker that took too long, or broke the protocol. */
enum fault fault_of_end(int why, int status)
{
	if (why)
		return why == -ETIMEDOUT || why == -EPROTO ? FAULT_LIMIT : FAULT_MACHINE;
	if (WIFSIGNALED(status))
		return is_crash_signal(WTERMSIG(status)) || WTERMSIG(status) == SIGXCPU ? FAULT_LIMIT
											: FAULT_MACHINE;
	return FAULT_LIMIT;
}

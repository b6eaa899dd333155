/*
 * A process that waits for a daemon that hangs cannot always be killed: once the daemon has read a request,
 * the kernel waits for the answer. So a child asks, which is given up when its time is over, and which keeps
 * no descriptor open but those that it needs.
 */
#include "fs/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/sys/mountpoint.h"
#include "gsym/base/vec.h"
#include "work/os/monotonic.h"
#include "work/os/thread.h"

enum {
	ANSWER_MS = 10 * 1000,
	CHECK_POLL_MS = 20,
};

extern char **environ;

/* Holds what the child has found. */
struct heard {
	int error;        /* errno, or 0 */
	char status[256]; /* the first lines of the file status */
};

/* ---- gsymfs --check ---- */

/* Runs in the child. The pipe takes a struct heard at once. */
static _Noreturn void ask(const char *mountpoint, int to)
{
	struct heard found = {0};
	char path[PATH_MAX];
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd); /* who reads our output does not wait for us */
	int length = snprintf(path, sizeof(path), "%s/status", mountpoint);
	int fd = length < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || read(fd, found.status, sizeof(found.status) - 1) < 0)
		found.error = length < (int)sizeof(path) ? errno : ENAMETOOLONG;
	_exit(write(to, &found, sizeof(found)) != sizeof(found));
}

/* 0, -ETIMEDOUT, or the negative errno of what cannot be done. */
static int ask_in_time(const char *mountpoint, struct heard *ret)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		ask(mountpoint, ends[1]);
	int err = pid < 0 ? -errno : 0;
	close(ends[1]);
	const int64_t deadline = monotonic_ms() + ANSWER_MS;
	struct pollfd answer = {.fd = ends[0], .events = POLLIN};
	int n = 0;
	for (int64_t left; !err && !n && (left = deadline - monotonic_ms()) > 0;)
		n = poll(&answer, 1, (int)left);
	if (!err && n <= 0)
		err = n < 0 ? -errno : -ETIMEDOUT;
	else if (!err && read(ends[0], ret, sizeof(*ret)) != sizeof(*ret))
		err = -EIO;
	close(ends[0]);
	if (pid > 0)
		kill(pid, SIGKILL); /* not waited for */
	return err;
}

static enum liveness complain_of(const char *mountpoint, enum liveness result, const char *what,
				 const char *more)
{
	fprintf(stderr, "gsymfs: %s: %s%s\n", mountpoint, what, more);
	return result;
}

enum liveness liveness_check(const char *mountpoint)
{
	struct heard found = {0};
	int err = ask_in_time(mountpoint, &found);
	if (err == -ETIMEDOUT)
		return complain_of(mountpoint, LIVENESS_DEAD, "no answer within 10 seconds", "");
	if (!err)
		err = -found.error;
	if (err == -ENOENT)
		return complain_of(mountpoint, LIVENESS_DEAD, "gsymfs is not mounted there", "");
	if (err)
		return complain_of(mountpoint, LIVENESS_DEAD,
				   "cannot read the file status: ", strerror(-err));
	char state[32], worker[128];
	if (sscanf(found.status, "state\t%31[^\n]\nworker\t%127[^\n]", state, worker) != 2)
		return complain_of(mountpoint, LIVENESS_DEAD, "gsymfs is not mounted there", "");
	if (strcmp(worker, "starts") != 0)
		return complain_of(mountpoint, LIVENESS_NO_WORKER, "worker: ", worker);
	if (strcmp(state, "scanning") == 0)
		return complain_of(mountpoint, LIVENESS_SCANNING, "the first scan is not complete", "");
	return LIVENESS_GOOD;
}

/* ---- systemd's watchdog ---- */

/* Waits for @ms: true when the daemon stops. */
static bool stops_within(const struct watchdog *watchdog, int ms)
{
	struct pollfd stop = {.fd = watchdog->stop_fd, .events = POLLIN};
	const int64_t deadline = monotonic_ms() + ms;
	for (int64_t left; (left = deadline - monotonic_ms()) > 0;)
		if (poll(&stop, 1, (int)left) > 0)
			return true;
	return false;
}

/*
 * Our own program, since a child with our descriptors would keep the connection to the kernel open. Its
 * exit status; LIVENESS_DEAD when the daemon stops meanwhile. Where it cannot be run this says nothing of the
 * mount: LIVENESS_GOOD.
 */
static enum liveness run_check(const struct watchdog *watchdog)
{
	char name[] = "gsymfs", check[] = "--check";
	char *path = strdup(watchdog->mountpoint);
	char *argv[] = {name, check, path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int status = 0; /* it stays so where SIGCHLD is ignored, and nothing can be waited for */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	int err = path ? posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, environ) : ENOMEM;
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	free(path);
	if (err)
		return LIVENESS_GOOD;
	while (waitpid(pid, &status, WNOHANG) == 0)
		if (stops_within(watchdog, CHECK_POLL_MS))
			kill(pid, SIGKILL);
	return WIFEXITED(status) ? (enum liveness)WEXITSTATUS(status) : LIVENESS_DEAD;
}

static void *feed(void *arg)
{
	static const char *const words[] = {
		[LIVENESS_GOOD] = "WATCHDOG=1\nSTATUS=serving",
		[LIVENESS_SCANNING] = "WATCHDOG=1\nSTATUS=serving; the first scan runs",
		[LIVENESS_NO_WORKER] = "WATCHDOG=1\nSTATUS=serving; workers cannot be started",
	};
	const struct watchdog *watchdog = arg;
	do {
		enum liveness result = run_check(watchdog);
		if (result < ARRAY_SIZE(words) && words[result])
			service_notify(words[result]);
	} while (!stops_within(watchdog, watchdog->interval_ms));
	return NULL;
}

int watchdog_start(struct watchdog *watchdog)
{
	const char *time = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long long us = time ? atoll(time) : 0;
	if (us <= 0 || (pid && atoll(pid) != getpid()))
		return 0;
	watchdog->interval_ms = us / 2000 > INT_MAX ? INT_MAX : (int)(us / 2000);
	int err = thread_start(&watchdog->thread, "watchdog", feed, watchdog);
	watchdog->running = !err;
	return err;
}

void watchdog_stop(struct watchdog *watchdog)
{
	if (!watchdog->running)
		return;
	pthread_join(watchdog->thread, NULL);
	watchdog->running = false;
}

#include "work/worker/fork_loop.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work/worker/worker.h"

/* fork(2), with our parent as the parent. */
static pid_t fork_for_parent(void)
{
	const unsigned long flags = CLONE_PARENT | SIGCHLD;
#if defined(__s390__) || defined(__CRIS__)
	return (pid_t)syscall(SYS_clone, 0UL, flags, 0UL, 0UL, 0UL);
#else
	return (pid_t)syscall(SYS_clone, flags, 0UL, 0UL, 0UL, 0UL);
#endif
}

static int move(int fd, int to)
{
	if (fd == to)
		return 0;
	int err = dup2(fd, to) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/*
 * Tells the client which of its children is the worker. The zygote could do so, too, but might be ended when
 * it has forked: the client would then neither use the worker nor wait for its end.
 */
static int introduce(void)
{
	struct worker_ready m = {.protocol = WORKER_PROTOCOL, .pid = getpid()};
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_READY, -1);
}

/* What spawning does for other workers. Replaces the zygote's socket, so that the worker cannot use it. */
static int begin_worker(int sock, uint32_t n_fds)
{
	union worker_message msg;
	int err = move(sock, WORKER_SOCKET_FD), fd;
	if (!err)
		err = introduce();
	for (uint32_t i = 0; i < n_fds && !err; i++) {
		if (worker_receive(WORKER_SOCKET_FD, &msg, &fd) != 1 || msg.head.type != WORKER_OPENED ||
		    fd < 0)
			return -EPROTO;
		err = move(fd, WORKER_SOCKET_FD + 1 + (int)i);
	}
	return err;
}

static void report_failure(int sock, int err)
{
	struct worker_failed m = {.error = err, .text = "cannot fork"};
	worker_send(sock, &m.head, WORKER_FAILED, -1);
}

int fork_loop_run(void)
{
	union worker_message msg;
	int sock, got;
	while ((got = worker_receive(WORKER_SOCKET_FD, &msg, &sock)) == 1) {
		if (msg.head.type != WORKER_FORK || sock < 0)
			return -EPROTO;
		pid_t pid = fork_for_parent();
		if (pid == 0) {
			int err = begin_worker(sock, msg.fork.n_fds);
			return err ? err : 1;
		}
		if (pid < 0)
			report_failure(sock, errno);
		close(sock);
	}
	return got;
}

#include "work/run/zygote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"

enum {
	FORKS_MAX = 100,
	ANSWER_TIME_MS = 1000, /* for what takes a millisecond; starting a worker instead takes three */
	END_POLL_MS = 1,
};

/*
 * A zygote that runs. Its process group holds it and its workers up to the moment when the thread that asked
 * for one adopts it. So when no thread waits for a worker of it any more, the group can be killed as a whole.
 */
struct zygote_process {
	struct child child;
	unsigned forks;   /* asked of it */
	unsigned waiting; /* threads that wait for a worker of it */
};

void zygote_init(struct zygote *zygote)
{
	mutex_init(&zygote->lock, LOCK_ZYGOTE);
}

/* ---- Ending it ---- */

/* Waits for those of our children that have ended. True if there are no others. */
static bool reap(idtype_t type, pid_t id)
{
	siginfo_t info;
	int err;
	do {
		info.si_pid = 0;
		err = waitid(type, (id_t)id, &info, WEXITED | WNOHANG);
	} while (err == 0 && info.si_pid != 0);
	return err < 0 && errno == ECHILD;
}

static bool is_waited_for(struct zygote *zygote, const struct zygote_process *process)
{
	mutex_lock(&zygote->lock);
	bool ret = process->waiting > 0;
	mutex_unlock(&zygote->lock);
	return ret;
}

/*
 * Ends @process, which no other thread can find any more, and frees it. Unless @at_once it first forks what
 * other threads have asked of it. What has not ended within their time is killed.
 */
static void end_process(struct zygote *zygote, struct zygote_process *process, bool at_once)
{
	const struct timespec pause = {.tv_nsec = END_POLL_MS * 1000000};
	const pid_t group = process->child.pid;
	const int64_t deadline = monotonic_ms() + ANSWER_TIME_MS;
	bool is_over = false, is_empty = false, is_wanted; /* the process, its group, a worker of it */
	if (at_once)
		child_kill(&process->child);
	else
		shutdown(process->child.sock, SHUT_WR);
	for (;;) {
		is_wanted = is_waited_for(zygote, process);
		/* By itself: it may have been killed before it had a group. */
		is_over = is_over || reap(P_PID, group);
		is_empty = is_empty || (is_over && reap(P_PGID, group));
		if (is_empty && !is_wanted)
			break;
		if (!is_empty && !is_wanted && (at_once || monotonic_ms() > deadline))
			kill(is_over ? -group : group, SIGKILL);
		nanosleep(&pause, NULL);
	}
	close(process->child.sock);
	free(process);
}

/* Takes the process, if there is one, for end_process(). */
static struct zygote_process *take_process(struct zygote *zygote)
{
	mutex_lock(&zygote->lock);
	struct zygote_process *ret = zygote->process;
	zygote->process = NULL;
	mutex_unlock(&zygote->lock);
	return ret;
}

void zygote_deinit(struct zygote *zygote)
{
	struct zygote_process *process = take_process(zygote);
	if (process)
		end_process(zygote, process, true);
	mutex_destroy(&zygote->lock);
}

void zygote_note_end(struct zygote *zygote, int status)
{
	if (!zygote || !WIFSIGNALED(status))
		return;
	struct zygote_process *process = take_process(zygote);
	if (process)
		end_process(zygote, process, false);
}

/* ---- Asking it ---- */

/* A zygote that may fork one more. @ret_worn: another that may not, for end_process(), or NULL. */
static int ensure(struct zygote *zygote, struct zygote_process **ret_worn, struct gsym_diag *diag)
	REQUIRES(&zygote->lock)
{
	const struct child_order order = {
		.program = zygote->program,
		.mode = "zygote",
		.stop_fd = zygote->stop_fd,
		.bind_now = true, /* else each worker does so anew */
		.own_group = true,
	};
	*ret_worn = NULL;
	if (zygote->process && zygote->process->forks < FORKS_MAX)
		return 0;
	*ret_worn = zygote->process;
	zygote->process = NULL;
	struct zygote_process *process = calloc(1, sizeof(*process));
	if (!process)
		return diag_set(diag, -ENOMEM, "%s", strerror(ENOMEM));
	int err = child_spawn(&order, &process->child, diag);
	if (err)
		free(process);
	else
		zygote->process = process;
	return err;
}

void zygote_prepare(struct zygote *zygote)
{
	struct zygote_process *worn = NULL;
	if (!zygote)
		return;
	mutex_lock(&zygote->lock);
	ensure(zygote, &worn, NULL); /* the first worker tries again */
	mutex_unlock(&zygote->lock);
	if (worn)
		end_process(zygote, worn, false);
}

/* @sock: of the worker. @ret: what was asked, for leave(), also if that failed; or NULL. */
static int request(struct zygote *zygote, const struct child_order *order, int sock,
		   struct zygote_process **ret, struct gsym_diag *diag)
{
	struct worker_fork m = {.n_fds = (uint32_t)order->n_fds};
	struct zygote_process *worn;
	mutex_lock(&zygote->lock);
	int err = ensure(zygote, &worn, diag);
	*ret = zygote->process;
	if (!err) {
		(*ret)->forks++;
		(*ret)->waiting++;
		err = worker_send((*ret)->child.sock, &m.head, WORKER_FORK, sock);
		if (err)
			diag_set(diag, err, "%s", strerror(-err));
	}
	mutex_unlock(&zygote->lock);
	if (worn)
		end_process(zygote, worn, false);
	return err;
}

/* Ends the wait for a worker of @process, and @process itself if it @failed and no other thread does so. */
static void leave(struct zygote *zygote, struct zygote_process *process, bool failed)
{
	mutex_lock(&zygote->lock);
	invariant(process->waiting > 0);
	process->waiting--;
	failed = failed && zygote->process == process;
	if (failed)
		zygote->process = NULL;
	mutex_unlock(&zygote->lock);
	if (failed)
		end_process(zygote, process, true);
}

static int send_descriptors(const struct child_order *order, int sock)
{
	int err = 0;
	for (size_t i = 0; i < order->n_fds && !err; i++) {
		struct worker_opened m = {.error = 0};
		err = worker_send(sock, &m.head, WORKER_OPENED, order->fds[i]);
	}
	return err;
}

/* Takes the worker out of the group of its zygote: from now on its client waits for it. */
static bool adopt(const struct zygote_process *process, pid_t pid)
{
	siginfo_t info;
	return pid > 0 && pid != process->child.pid && getpgid(pid) == process->child.pid &&
	       waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && setpgid(pid, pid) == 0;
}

static int await_worker(const struct zygote_process *process, const struct child_order *order,
			struct child *child, struct gsym_diag *diag)
{
	union worker_message msg;
	int got = child_receive(child, order->stop_fd, monotonic_ms() + ANSWER_TIME_MS, &msg);
	if (got == -ECANCELED)
		return diag_set(diag, got, "the daemon is shutting down");
	if (got == 1 && msg.head.type == WORKER_FAILED)
		return diag_set(diag, -msg.failed.error, "%s: %s", msg.failed.text,
				strerror(msg.failed.error));
	if (got != 1 || msg.head.type != WORKER_READY || msg.ready.protocol != WORKER_PROTOCOL ||
	    !adopt(process, msg.ready.pid))
		return diag_set(diag, got < 0 ? got : -ECHILD,
				got == -ETIMEDOUT ? "no answer in time" : "no answer");
	child->pid = msg.ready.pid;
	return 0;
}

static int fork_worker(struct zygote *zygote, const struct child_order *order, struct child *ret,
		       struct gsym_diag *diag)
{
	struct zygote_process *process = NULL;
	int pair[2];
	int err = child_sockets(pair, diag);
	if (err)
		return err;
	struct child child = {.sock = pair[0]};
	err = request(zygote, order, pair[1], &process, diag);
	close(pair[1]);
	if (!err) {
		err = send_descriptors(order, child.sock);
		if (err && !child_has_gone(err)) /* else noticed below */
			diag_set(diag, err, "%s", strerror(-err));
		else
			err = await_worker(process, order, &child, diag);
	}
	if (err)
		close(child.sock); /* a worker, if there is one, ends */
	else
		*ret = child;
	if (process)
		leave(zygote, process, err && err != -ECANCELED);
	return err;
}

int zygote_start_worker(struct zygote *zygote, const struct child_order *order, struct child *ret,
			struct gsym_diag *diag)
{
	struct gsym_diag why = {""};
	int err = zygote ? fork_worker(zygote, order, ret, &why) : -ENOENT;
	if (!err)
		child_note_start(0);
	if (!err)
		return 0;
	if (err == -ECANCELED)
		return diag_set(diag, err, "%s", why.text);
	if (zygote)
		log_info(zygote->log, "cannot fork a worker: %s; starting one", why.text);
	return child_start(order, ret, diag);
}

#include "store/client/store_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsym/base/diag.h"

enum {
	LIMIT_MIN_MS = 10000,
	LIMIT_MAX_MS = 600000,
	RATE_BYTES_MIN = 64 << 10,
	RATE_FIRST = 100, /* bytes a millisecond, until one is measured: 100 KB a second */
	RATE_SLACK = 4,   /* a transfer may be slower than usual by this factor */
	REAP_POLL_MS = 1,
};

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

void store_process_reap(struct store_process *process)
{
	unsigned n = 0;
	for (unsigned i = 0; i < process->n_left; i++)
		if (!has_ended(process->left[i]))
			process->left[n++] = process->left[i];
	process->n_left = n;
}

static void await_end(struct store_process *process, unsigned ms)
{
	for (int64_t until = monotonic_ms() + ms;;) {
		store_process_reap(process);
		if (!process->n_left || monotonic_ms() >= until)
			return;
		poll(NULL, 0, REAP_POLL_MS);
	}
}

/* Forgets the process, which is to end. */
static void leave(struct store_process *process)
{
	close(process->child.sock);
	process->left[process->n_left++] = process->child.pid;
	process->child.pid = 0;
}

void store_process_end(struct store_process *process, unsigned ms)
{
	if (process->child.pid)
		leave(process);
	await_end(process, ms);
	for (unsigned i = 0; i < process->n_left; i++)
		kill(process->left[i], SIGKILL);
	await_end(process, ms);
}

int store_process_start(struct store_process *process, const char *program, struct worker_store *config,
			struct gsym_diag *diag)
{
	const struct child_order order = {
		.program = program, .mode = "store", .stop_fd = -1, .has_credentials = true};
	store_process_reap(process);
	if (process->n_left == STORE_LEFT_MAX)
		return diag_set(diag, -EBUSY, "%u processes of the store were killed and do not end",
				process->n_left);
	int err = child_spawn(&order, &process->child, diag);
	if (err)
		return err;
	process->is_open = false;
	process->rate = 0;
	process->started = process->heard = monotonic_ms();
	/* If it has ended already, that is noticed when its answer is waited for. */
	worker_send(process->child.sock, &config->head, WORKER_STORE, -1);
	return 0;
}

void store_process_kill(struct store_process *process)
{
	if (!process->child.pid)
		return;
	child_kill(&process->child);
	leave(process);
	store_process_reap(process);
}

void store_process_note_rate(struct store_process *process, uint64_t bytes, int64_t ms)
{
	if (bytes < RATE_BYTES_MIN)
		return;
	double rate = (double)bytes / (double)(ms < 1 ? 1 : ms);
	process->rate = process->rate > 0 ? 0.75 * process->rate + 0.25 * rate : rate;
}

unsigned store_process_limit(const struct store_process *process, uint64_t bytes)
{
	double rate = process->rate > 0 ? process->rate : RATE_FIRST;
	double ms = (double)bytes / rate * RATE_SLACK;
	return ms < LIMIT_MIN_MS ? LIMIT_MIN_MS : ms > LIMIT_MAX_MS ? LIMIT_MAX_MS : (unsigned)ms;
}

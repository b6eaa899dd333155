/*
 * store_process.h - the process "gsym worker store": started, killed, and never waited for.
 *
 * A process whose file server has stopped may sleep in the kernel for hours, and even SIGKILL does not end it
 * then. So it is left alone: it is reaped whenever it has ended, and there are only so many of them.
 *
 * For one thread, which has to live as long as the process: the kernel ends that with the thread.
 */
#ifndef STORE_CLIENT_STORE_PROCESS_H
#define STORE_CLIENT_STORE_PROCESS_H

#include "work/worker/child.h"

enum { STORE_LEFT_MAX = 4 };

/* Zero-initialised: none. */
struct store_process {
	struct child child;
	bool is_open;               /* it has said that it can use the store */
	int64_t started;            /* monotonic_ms(), as is the next */
	int64_t heard;              /* something was received */
	double rate;                /* bytes of bodies a millisecond; 0: not measured */
	pid_t left[STORE_LEFT_MAX]; /* killed, and not yet ended */
	unsigned n_left;
};

/*
 * Starts it and sends @config. 0; -ECHILD if the program cannot be run; -EBUSY if too many that were killed
 * have not ended.
 */
int store_process_start(struct store_process *process, const char *program, struct worker_store *config,
			struct gsym_diag *diag);

/* Kills it, if there is one. */
void store_process_kill(struct store_process *process);

/* Waits for those that have ended, if any. */
void store_process_reap(struct store_process *process);

/* Lets it end by itself, and kills it after @ms. Later only what hangs in the kernel is left. */
void store_process_end(struct store_process *process, unsigned ms);

/* A body of @bytes took @ms. Small ones say nothing. */
void store_process_note_rate(struct store_process *process, uint64_t bytes, int64_t ms);

/* How long a transfer of @bytes may take, UINT64_MAX if that is not known: 10 seconds to 10 minutes, ms. */
unsigned store_process_limit(const struct store_process *process, uint64_t bytes);

#endif

/*
 * zygote_fixture.h - a zygote of made-up processes: their numbers, groups, signals and the clock are those of
 * a model, only sockets are real. Time passes only while the client sleeps.
 *
 * The functions of child.h are wrapped, and worker_send(): real processes cannot be given numbers that were
 * used again, or time-outs of a second, hundreds of times.
 */
#ifndef TESTS_ZYGOTE_FIXTURE_H
#define TESTS_ZYGOTE_FIXTURE_H

#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tests/lib/unit.h"

#include "work/run/zygote.h"
#include "tests/unit/wrap_malloc.h"

enum {
	ANSWER_MS = 1000, /* the time for an answer, and for ending */
	START_MS = 1000000,
	NEVER = INT32_MAX,
	FILES = 3,          /* of orders */
	STARTED_PID = 4712, /* of a worker that no zygote has forked, */
	STARTED_SOCK = 4713,
	PROCESSES = 256,
};

struct made_process {
	pid_t pid, group;
	enum { RUNS, ENDED, REAPED } state;
	bool is_zygote, is_killed;
	bool is_foreign; /* no child of ours */
	int64_t ends_at; /* by itself */
	int64_t lag;     /* of a zygote: from when its client closes the socket until it ends */
	int sock;        /* its end, or -1 */
	int client;      /* of a zygote: the other end */
};

extern struct made_process processes[PROCESSES]; /* in the order in which they were started */
extern size_t n_processes;
extern int64_t now_ms;

/* What the client meets. */
extern struct zygote_script {
	int sockets_err, spawn_err, start_err;
	int got; /* of waiting for the worker; 1: a message */
	enum worker_type type;
	uint32_t newer; /* than the protocol of this program */
	/* Whose is the number that the worker gives for its own. */
	enum { WORKERS, NOBODYS, NEGATIVE, ZYGOTES, STRANGERS, FOREIGNERS } whose;
	bool has_ended;    /* the worker has, which is then a zombie */
	bool leaves;       /* its socket is closed before it is given files */
	bool has_no_group; /* the zygote is in ours */
	bool cannot_leave; /* setpgid(2) fails */
	int64_t lag;       /* of zygotes */
	int64_t ends_at;   /* of workers */
	bool in_thread;    /* waits until another thread has slept @let_go_after ms */
	int64_t let_go_after;
} with;

extern sem_t waits, go_on, is_through; /* of the thread that waits for a worker */

/* How often; and when the first signal was sent. */
extern unsigned n_spawned, n_started, n_kills;
extern int64_t killed_at;

extern char said[600]; /* to the log, since the last order */
extern struct zygote zygote;
extern int files[FILES]; /* those of an order are the first of these */

/* At the end no zygote is left, and no worker but those of clients, which go on. */
int zygote_set_up(void **state);
int zygote_tear_down(void **state);

/* As if it were killed or had exited. */
void end_process(struct made_process *process);

/* Asks for a worker with @n files. */
int order_worker(struct zygote *by, size_t n, struct child *ret, struct gsym_diag *diag);

/* The zygote must fork one, whose client then closes the socket. */
void expect_forked(size_t n);

/* It must not, for that reason, and the worker is started in another way. */
void expect_started(const char *reason, size_t n);

#endif

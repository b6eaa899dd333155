/*
 * child.h - worker processes: starting them, receiving messages with a deadline, ending them.
 *
 * The protocol is work/worker/worker.h. Workers start with posix_spawn(3): fork(2) in a process with
 * threads and large mappings would be slow and unsafe.
 */
#ifndef WORK_WORKER_CHILD_H
#define WORK_WORKER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "work/os/monotonic.h"
#include "work/worker/worker.h"
#include "gsym/base/fault.h"
#include "gsym/gsym.h"

struct child {
	pid_t pid; /* 0 = none */
	int sock;
};

/* How a worker is to be started. */
struct child_order {
	const char *program;
	const char *mode;     /* "convert", "scan", "fetch", "store", "zygote", "swift" or "check" */
	const int *fds;       /* in the worker they are WORKER_SOCKET_FD + 1 and following; not closed here */
	size_t n_fds;         /* at most 4 */
	int stop_fd;          /* becomes readable when the daemon ends */
	bool bind_now;        /* bind all functions of libraries when it starts, not when they are called */
	bool own_group;       /* in a process group of its own, whose number is its process ID */
	bool has_credentials; /* keeps the variables AWS_... of the environment, which are secret */
};

/*
 * Keeps the file that is at @program now, a borrowed path: child_start() and child_spawn() run that for
 * orders of this program, also when another version was installed meanwhile. Once, before threads. A script
 * is not kept: it is read by its name.
 */
void child_keep_program(const char *program);

/* Undoes it; after all threads have ended. */
void child_forget_program(void);

/*
 * Starts "PROGRAM worker MODE <our pid>" and waits until it is ready. 0; -ECHILD if the program cannot be run
 * or is not a worker of this version; -ECANCELED if the daemon shuts down. The worker inherits no descriptors
 * but standard input, output and error.
 */
int child_start(const struct child_order *order, struct child *ret, struct gsym_diag *diag);

/* Starts a worker that only enters its sandbox, and notes which layers hold: the results of child_start(). */
int child_try(const char *program, int stop_fd, struct gsym_diag *diag);

/* The layers of the last one: sandbox_held(). */
unsigned child_layers(void);

/*
 * The negative errno with which the last start of a worker failed, -ECHILD if it gave no answer; 0: it is
 * ready. child_start() notes that; who starts workers otherwise does so with child_note_start().
 */
int child_start_error(void);
void child_note_start(int err);

/* Likewise, but its WORKER_READY is left to be received. */
int child_spawn(const struct child_order *order, struct child *ret, struct gsym_diag *diag);

/* Tells if /proc is mounted, for messages of what needs it. */
bool proc_is_there(void);

/* The sockets of a client and its worker: ret[0] is the client's, and does not block. */
int child_sockets(int ret[2], struct gsym_diag *diag);

/* Waits as child_receive() does, and receives nothing: 0 when there is something to receive. */
int child_wait(const struct child *child, int stop_fd, int64_t deadline_ms);

/*
 * Waits for a message until @deadline_ms (of monotonic_ms()) or until @stop_fd becomes readable. 1 with a
 * message; 0 when the worker closed its side; -ETIMEDOUT; -ECANCELED; -EPROTO.
 */
int child_receive(const struct child *child, int stop_fd, int64_t deadline_ms, union worker_message *ret);

/*
 * Waits as child_receive() does, for messages with a descriptor.
 *
 * @child: the worker
 * @stop_fd: ends the wait when it becomes readable
 * @deadline_ms: of monotonic_ms()
 * @ret: the message
 * @ret_fd: its descriptor, the caller's, or -1; see worker_receive()
 *
 * The results of child_receive().
 */
int child_receive_fd(const struct child *child, int stop_fd, int64_t deadline_ms, union worker_message *ret,
		     int *ret_fd);

/* Whether @err, of worker_send(), says that the child has closed its socket. Pure. */
bool child_has_gone(int err);

enum { CHILD_END_SIZE = 192 };

/* How a process ended, for "it ...": "was killed by signal 9 (Killed)". @status: as of wait4(2). */
void child_end_text(int status, char ret[static CHILD_END_SIZE]);

void child_kill(const struct child *child);

/*
 * Closes the socket and waits for the process, which it kills after five seconds. Returns the status of
 * wait4(2).
 * @ret_usage may be NULL.
 */
int child_finish(struct child *child, struct rusage *ret_usage);

/* ---- Whose fault it is that a worker has failed, which decides for how long that is remembered ---- */

/* Of the negative errno @err with which a worker reports a failure: a verdict's or the machine's. Pure. */
enum fault fault_of_report(int err);

/*
 * Of a worker that ended without an answer: the limit's or the machine's. @why: 0, or the negative errno for
 * which its client ended it. @status: as of wait4(2). Pure.
 */
enum fault fault_of_end(int why, int status);

/* Whether signal @sig is caused by what a process does itself. Pure. */
bool is_crash_signal(int sig);

#endif

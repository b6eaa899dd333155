/*
 * fork_loop.h - a zygote: a worker process that forks others, so that these need not be started and isolated
 * from nothing each time.
 *
 * A worker that it forks is a child of the client, which can wait for it and end it, and holds no descriptor
 * of the zygote. The zygote in turn holds no file: the client sends them to the worker itself, on the
 * worker's socket.
 */
#ifndef WORK_WORKER_FORK_LOOP_H
#define WORK_WORKER_FORK_LOOP_H

/*
 * Serves WORKER_FORK until the client closes its socket; for processes with one thread. Returns in the
 * zygote, then 0 or a negative errno, and in every worker: 1 when its descriptors are in place.
 */
int fork_loop_run(void);

#endif

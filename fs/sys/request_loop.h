/*
 * request_loop.h - threads that receive requests from the kernel and have libfuse decode them.
 *
 * libfuse's own loop allocates a buffer for each thread when it needs one, and ends, and the mount with it,
 * when memory is short for a moment. Here the buffers are allocated at the start, and receiving is repeated
 * with back-off.
 */
#ifndef FS_SYS_REQUEST_LOOP_H
#define FS_SYS_REQUEST_LOOP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "work/os/log.h"
#include "fs/sys/fuse_threads.h"
#include "fs/sys/readers.h"

enum { REQUEST_THREADS_MAX = 10 };

struct request_loop;

/* A thread, with the buffer of the request that it receives. */
struct receiver {
	struct request_loop *loop;
	char *buffer;
	atomic_bool reading; /* or about to read */
	atomic_bool ended;
	pthread_t thread;
};

/* Zero-initialise, then set what is borrowed. */
struct request_loop {
	struct fuse_session *session;
	struct parallel *parallel;
	const struct log *log;
	const atomic_bool *interrupted; /* true before another thread ends the session */
	struct readers *readers;        /* that a thread is inside of while it serves a request */
	void (*ready)(void *user);      /* called when the connection is initialised */
	void *user;

	struct receiver receivers[REQUEST_THREADS_MAX];
	size_t buffer_size;
	atomic_uint n;        /* threads started */
	atomic_uint idle;     /* those that wait for a request */
	atomic_flag starting; /* a thread is starting another */
	atomic_int error;     /* why it ended: 0 or a negative errno */
	sem_t ended;
};

/*
 * Allocates the buffers of @n_threads, at most REQUEST_THREADS_MAX; before the session is mounted, so that
 * what is lacking is reported by the command. 0 or -ENOMEM. Undone by request_loop_deinit().
 */
int request_loop_init(struct request_loop *loop, unsigned n_threads);
void request_loop_deinit(struct request_loop *loop);

/* The most data that a write request may have, to fit into the buffers. */
size_t request_data_max(void);

/*
 * Serves until the session exits or the kernel ends the connection. 0; -ENODEV in the second case, as after
 * an unmount; -EPROTO if the connection could not be initialised, or the errno of reading, both of which are
 * logged.
 */
int request_loop_run(struct request_loop *loop);

#endif

/*
 * As in libfuse, the first thread starts another when it receives a request and none is idle, since many idle
 * threads take turns and each finds its caches cold. At the end, threads that wait for a request are
 * interrupted. They are not cancelled: AddressSanitizer takes the stack of a cancelled thread for damaged.
 */
#define FUSE_USE_VERSION 312
#include "fs/sys/request_loop.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work/os/thread.h"
#include "fs/sys/signals.h"

enum {
	DATA_PAGES = 256,     /* of a write: the kernel's default limit */
	HEADER_SIZE = 0x1000, /* bytes for what comes before the data, as in libfuse */
	BACK_OFF_MS_MAX = 1000,
	INTERRUPT_MS = 1,
	SHORT_READS_MAX = 16, /* consecutive ones, after which the device counts as broken */
	INIT_MS_MAX = 2000,   /* the kernel sends INIT at once; if it could not be received, it may be lost */
};

size_t request_data_max(void)
{
	return (size_t)DATA_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

int request_loop_init(struct request_loop *loop, unsigned n_threads)
{
	loop->buffer_size = request_data_max() + HEADER_SIZE;
	sem_init(&loop->ended, 0, 0);
	for (unsigned i = 0; i < n_threads && i < REQUEST_THREADS_MAX; i++) {
		loop->receivers[i].loop = loop;
		loop->receivers[i].buffer = malloc(loop->buffer_size);
		if (!loop->receivers[i].buffer)
			return -ENOMEM;
	}
	return 0;
}

void request_loop_deinit(struct request_loop *loop)
{
	for (unsigned i = 0; i < REQUEST_THREADS_MAX; i++)
		free(loop->receivers[i].buffer);
	sem_destroy(&loop->ended);
}

/* ---- Receiving ---- */

static void end(struct request_loop *loop, int err)
{
	int none = 0;
	if (err)
		atomic_compare_exchange_strong(&loop->error, &none, err);
	fuse_session_exit(loop->session);
}

static void back_off(unsigned tries)
{
	unsigned ms = tries < 10 ? 1U << tries : BACK_OFF_MS_MAX;
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static bool is_shortage(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EAGAIN;
}

/* Decides what follows from the error @err of reading, the one after @tries others. True to try again. */
static bool recover(struct request_loop *loop, int err, unsigned tries)
{
	struct pollfd device = {.fd = fuse_session_fd(loop->session), .events = POLLIN};
	if (err == ENODEV) { /* unmounted, or aborted */
		end(loop, -err);
		return false;
	}
	if (!is_shortage(err) && !(err == EIO && tries < SHORT_READS_MAX)) {
		log_error(loop->log, "cannot read requests: %s", strerror(err));
		end(loop, -err);
		return false;
	}
	if (tries == 0)
		log_warning(loop->log, "cannot read a request: %s; trying again", strerror(err));
	back_off(tries);
	if (parallel_is_begun(loop->parallel) || poll(&device, 1, INIT_MS_MAX) != 0)
		return true;
	log_error(loop->log, "the request INIT is lost");
	end(loop, -EPROTO);
	return false;
}

/* Waits for a request: its size, or 0 at the end. */
static size_t receive(struct receiver *r)
{
	struct request_loop *loop = r->loop;
	for (unsigned tries = 0; !fuse_session_exited(loop->session);) {
		atomic_store(&r->reading, true);
		ssize_t n = read(fuse_session_fd(loop->session), r->buffer, loop->buffer_size);
		int err = n < 0 ? errno : (size_t)n < sizeof(struct fuse_in_header) ? EIO : 0;
		atomic_store(&r->reading, false);
		if (!err)
			return (size_t)n;
		if (err == EINTR || err == ENOENT) /* ENOENT: the request was interrupted meanwhile */
			continue;
		if (!recover(loop, err, tries++))
			break;
	}
	return 0;
}

/* ---- Threads ---- */

static void *serve(void *arg);

static bool start_one(struct request_loop *loop)
{
	unsigned n = atomic_load(&loop->n);
	struct receiver *next = n < REQUEST_THREADS_MAX ? &loop->receivers[n] : NULL;
	if (!next || !next->buffer || fuse_session_exited(loop->session))
		return false;
	atomic_fetch_add(&loop->idle, 1);
	bool started = thread_start(&next->thread, "fuse", serve, next) == 0;
	if (started)
		atomic_store(&loop->n, n + 1);
	else
		atomic_fetch_sub(&loop->idle, 1);
	return started;
}

/*
 * The new thread may receive a request at once, find none idle, and leave here, since this one is still
 * starting it: then the next is started from here.
 */
static void start_another(struct request_loop *loop)
{
	bool started;
	do {
		if (atomic_flag_test_and_set(&loop->starting))
			return;
		started = start_one(loop);
		atomic_flag_clear(&loop->starting);
	} while (started && atomic_load(&loop->idle) == 0);
}

/* INIT was answered. If libfuse has refused it, the session has exited. */
static void check_init(struct request_loop *loop)
{
	bool exited = fuse_session_exited(loop->session);
	if (exited && atomic_load(loop->interrupted))
		return;
	if (!exited && atomic_load(&loop->parallel->ready)) {
		loop->ready(loop->user);
		return;
	}
	log_error(loop->log, "the connection to the kernel cannot be initialised");
	end(loop, -EPROTO);
}

static void process(struct receiver *r, size_t size)
{
	struct request_loop *loop = r->loop;
	struct fuse_in_header head;
	struct fuse_buf buf = {.mem = r->buffer, .size = size};
	memcpy(&head, r->buffer, sizeof(head));
	bool is_forget = head.opcode == FUSE_FORGET || head.opcode == FUSE_BATCH_FORGET;
	if (!is_forget && atomic_fetch_sub(&loop->idle, 1) == 1)
		start_another(loop);
	if (head.opcode == FUSE_INIT)
		parallel_note_init(loop->parallel, r->buffer, size);
	unsigned inside = readers_enter(loop->readers);
	fuse_session_process_buf(loop->session, &buf);
	readers_leave(loop->readers, inside);
	if (!is_forget)
		atomic_fetch_add(&loop->idle, 1);
	if (head.opcode == FUSE_INIT)
		check_init(loop);
}

static void *serve(void *arg)
{
	struct receiver *r = arg;
	size_t size;
	signals_accept_wake();
	while ((size = receive(r)))
		process(r, size);
	atomic_store(&r->ended, true);
	sem_post(&r->loop->ended);
	return NULL;
}

/* A thread that is being started while this runs has a higher number than the one that starts it. */
static void join(struct request_loop *loop)
{
	const struct timespec interval = {.tv_nsec = INTERRUPT_MS * 1000000L};
	for (unsigned i = 0; i < atomic_load(&loop->n); i++) {
		struct receiver *r = &loop->receivers[i];
		for (; !atomic_load(&r->ended); nanosleep(&interval, NULL))
			if (atomic_load(&r->reading))
				signals_wake(r->thread);
		pthread_join(r->thread, NULL);
	}
}

int request_loop_run(struct request_loop *loop)
{
	struct receiver *first = &loop->receivers[0];
	atomic_store(&loop->idle, 1);
	atomic_store(&loop->n, 1);
	if (!loop->receivers[1].buffer) { /* the only thread is this one */
		serve(first);
		return atomic_load(&loop->error);
	}
	int err = thread_start(&first->thread, "fuse", serve, first);
	if (err) {
		log_error(loop->log, "cannot start a thread: %s", strerror(-err));
		return err;
	}
	while (!fuse_session_exited(loop->session))
		sem_wait(&loop->ended); /* a signal interrupts it when the session has exited */
	join(loop);
	return atomic_load(&loop->error);
}

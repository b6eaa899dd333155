/*
 * store_call.h - requests to a store, and the state of its client. Internal.
 *
 * A call is in the queue until it is sent, then it has a flight: what is under way in the process. The flight
 * remains when the call is over without an answer, because it was too late or its caller has left, until the
 * process answers or is killed.
 *
 * One thread owns the process and its socket. It holds the lock only to look at calls and flights, never over
 * a system call that can block.
 */
#ifndef STORE_CLIENT_STORE_CALL_H
#define STORE_CLIENT_STORE_CALL_H

#include <stdatomic.h>

#include "work/os/mutex.h"
#include "store/client/breaker.h"
#include "store/client/store.h"
#include "work/worker/child.h"

enum { STORE_PROCESSES_MAX = 4 };

enum store_call_state { CALL_QUEUED, CALL_SENT, CALL_DONE };

struct store_call {
	struct store *store;     /* a reference */
	struct store_call *next; /* of the queue */
	struct worker_request message;
	int fd;           /* to be sent with it, or -1; owned */
	int event;        /* see store_call_fd() */
	unsigned ms;      /* limit that its caller gave; 0: none */
	int64_t started;  /* monotonic_ms() */
	unsigned changes; /* breaker.changes when it was allowed */
	uint64_t body;    /* bytes that are received, if that is known; of the thread */
	bool is_detached; /* nobody waits for it; guarded by store.lock, as are the next two */
	enum store_call_state state;
	struct store_reply reply;
};

struct flight {
	uint64_t serial;         /* 0: none */
	struct store_call *call; /* NULL: over, or a probe */
	bool is_probe, begun;
	bool is_over;        /* no answer is waited for: to be cancelled */
	bool is_canceled;    /* and was */
	int64_t sent, until; /* monotonic_ms(); until: for the answer, or if it is over, when that was */
};

/*
 * The process "gsym worker store". One whose file server has stopped may sleep in the kernel for hours, and
 * even SIGKILL does not end it then: it is left alone, and reaped whenever it has ended.
 */
struct store_process {
	struct child child;              /* its pid is 0: there is none */
	bool is_open;                    /* it has said that it can use the store */
	int64_t started;                 /* monotonic_ms(), as is the next */
	int64_t heard;                   /* something was received */
	pid_t left[STORE_PROCESSES_MAX]; /* killed, and not yet ended */
	unsigned n_left;
};

struct store {
	/* Constant. */
	struct worker_store config;
	char *program;
	const struct log *log;
	struct store_counters *counters;
	int stop_fd;
	int wake_fd;      /* an eventfd: there is something to do for the thread */
	atomic_uint refs; /* of the client, and of each call */

	struct mutex lock;
	pthread_cond_t ended; /* a call is done */
	bool has_thread GUARDED_BY(&lock), is_closing GUARDED_BY(&lock), is_stopped GUARDED_BY(&lock);
	int64_t close_by GUARDED_BY(&lock);
	/* No call is waited for any longer; INT64_MAX: each as long as its caller says. */
	int64_t wait_by GUARDED_BY(&lock);
	pthread_t thread;                                                     /* set with @has_thread */
	struct store_call *first GUARDED_BY(&lock), **last GUARDED_BY(&lock); /* the queue */
	unsigned n_calls GUARDED_BY(&lock); /* in the queue, and with a flight */
	struct flight flights[WORKER_STORE_TRANSFERS] GUARDED_BY(&lock);
	struct breaker breaker GUARDED_BY(&lock);
	char reason[STORE_TEXT_SIZE] GUARDED_BY(&lock);                  /* of the last failure */
	bool log_opened GUARDED_BY(&lock), log_closed GUARDED_BY(&lock); /* to be logged by the thread */
	bool wants_process GUARDED_BY(&lock);                            /* also without a request */
	bool wants_abilities GUARDED_BY(&lock), is_probing GUARDED_BY(&lock);
	bool is_known GUARDED_BY(&lock), has_leases GUARDED_BY(&lock);
	int64_t probe_at GUARDED_BY(&lock); /* monotonic_ms() of the next probe */
	int64_t read_only_until GUARDED_BY(&lock);
	char refusal[STORE_TEXT_SIZE] GUARDED_BY(&lock); /* why it is read-only */
	int64_t prompt
		GUARDED_BY(&lock);      /* monotonic_ms() of the last answer that was not overdue; 0: none */
	int64_t late GUARDED_BY(&lock); /* when a request was last left because it was overdue; likewise */

	/* Of the thread alone. */
	struct store_process process;
	uint64_t serial;
	bool sees_stop; /* stop_fd is readable, and not waited for any more */
};

/* Gives up a reference; the last one frees. */
void store_release(struct store *store);
/* Frees @call, which has ended, and gives up its reference of the store, if it has one. */
void store_call_free(struct store_call *call);

/* The thread: store_loop.c. @store: a struct store. */
void *store_loop(void *store);

/* Appends to the queue, or takes the first, or a certain one, out of it. */
void store_enqueue(struct store *store, struct store_call *call) REQUIRES(&store->lock);
struct store_call *store_dequeue(struct store *store) REQUIRES(&store->lock);
void store_remove(struct store *store, struct store_call *call) REQUIRES(&store->lock);

/*
 * Ends @call, which is in no queue and has no flight any more: counts, updates the breaker, wakes its caller.
 *
 * @is_news: whether the result says something of the server; if not, the breaker does not count it
 */
void store_call_done(struct store *store, struct store_call *call, const struct store_reply *reply,
		     bool is_news) REQUIRES(&store->lock);

/* Likewise with an error that has no answer. */
void store_call_failed(struct store *store, struct store_call *call, int err, const char *text, bool is_news)
	REQUIRES(&store->lock);

/* Whether the answer comes later than callers wait. */
bool store_is_overdue(const struct flight *flight, int64_t now);

/*
 * Whether it counts as a failure of the server that @flight is overdue. Not if others were answered in time
 * meanwhile: then the server has many requests to answer, of which most may be this host's. And however many
 * were under way at the same time are one failure: the first load of a server takes longer.
 */
bool store_is_too_slow(struct store *store, const struct flight *flight, int64_t now) REQUIRES(&store->lock);

/* The result of a probe. */
void store_probe_done(struct store *store, int err, bool holds, const char *text) REQUIRES(&store->lock);

/* Whether @err of struct store_reply is what a server says that works. */
bool store_is_answer(int err);

/* @call was allowed by the breaker, and says nothing. */
void store_call_release(struct store *store, const struct store_call *call) REQUIRES(&store->lock);

/* Adds to a counter of @operation. */
void store_count(struct store *store, unsigned operation, int err);

#endif

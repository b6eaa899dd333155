/*
 * store_call.h - requests to a store, and the state of its client. Internal.
 *
 * A call is in the list of the store until the process has no more to do with it: before it is sent, and then
 * until it is answered or the process ends. For its caller it may be over sooner, because it was too late or
 * the caller has left; the process is told so, and still owes an answer.
 *
 * One thread owns the process and its socket. It holds the lock only to look at calls, never over a system
 * call that can block.
 */
#ifndef STORE_CLIENT_STORE_CALL_H
#define STORE_CLIENT_STORE_CALL_H

#include <stdatomic.h>

#include "work/os/mutex.h"
#include "store/client/breaker.h"
#include "store/client/store.h"
#include "work/worker/child.h"
#include "gsym/base/list.h"

enum { STORE_PROCESSES_MAX = 4 };

/* What follows @store is guarded by its lock. Times are of monotonic_ms(), and 0 before they have come. */
struct store_call {
	struct store *store; /* a reference */
	struct list link;    /* in store.calls */
	struct worker_request message;
	int fd;                      /* to be sent with it, or -1; owned */
	int event;                   /* see store_call_fd() */
	unsigned changes;            /* breaker.changes when it was allowed */
	int64_t started, sent, over; /* over: for its caller, who finds @reply */
	bool begun;                  /* the answer has */
	bool is_canceled;            /* the process knows that it is over */
	bool is_left;                /* by its caller: it is freed once it is in no list */
	struct store_reply reply;
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
	pthread_cond_t ended; /* a call is over */
	bool has_thread GUARDED_BY(&lock), is_closing GUARDED_BY(&lock), is_stopped GUARDED_BY(&lock);
	int64_t close_by GUARDED_BY(&lock);
	/* No call is waited for any longer; INT64_MAX: each as long as its caller says. */
	int64_t wait_by GUARDED_BY(&lock);
	pthread_t thread;                    /* set with @has_thread */
	struct list calls GUARDED_BY(&lock); /* as they came */
	struct breaker breaker GUARDED_BY(&lock);
	char reason[STORE_TEXT_SIZE] GUARDED_BY(&lock);                  /* of the last failure */
	bool log_opened GUARDED_BY(&lock), log_closed GUARDED_BY(&lock); /* to be logged by the thread */
	bool wants_process GUARDED_BY(&lock);                            /* also without a request */
	bool is_known GUARDED_BY(&lock), has_leases GUARDED_BY(&lock);
	int64_t read_only_until GUARDED_BY(&lock);
	char refusal[STORE_TEXT_SIZE] GUARDED_BY(&lock); /* why it is read-only */
	/* monotonic_ms() of the last answer that was not overdue, and of a call last left because it was. */
	int64_t prompt GUARDED_BY(&lock), late GUARDED_BY(&lock);

	/* Of the thread alone. */
	struct store_process process;
	uint64_t serial;
	bool sees_stop; /* stop_fd is readable, and not waited for any more */
};

/* Gives up a reference; the last one frees. */
void store_release(struct store *store);

/* The thread: store_loop.c. @store: a struct store. */
void *store_loop(void *store);

/* Whether requests of @operation have a use when the client ends: those that write may spare others work. */
static inline bool store_writes(unsigned operation)
{
	return operation == STORE_PUT || operation == STORE_DELETE;
}

/*
 * Ends @call for its caller: counts, updates the breaker and what is known of the server, wakes the caller.
 *
 * @is_news: whether the result says something of the server; if not, the breaker does not count it
 */
void store_call_over(struct store *store, struct store_call *call, const struct store_reply *reply,
		     bool is_news) REQUIRES(&store->lock);

/* Likewise with an error that has no answer. */
void store_call_failed(struct store *store, struct store_call *call, int err, const char *text, bool is_news)
	REQUIRES(&store->lock);

/* Adds to a counter of @operation. */
void store_count(struct store *store, unsigned operation, int err);

/* Frees @call, which is in no list, and gives up its reference of the store, if it has one. */
void store_call_free(struct store_call *call);

/* The process has no more to do with @call, which is over. */
void store_call_unlist(struct store *store, struct store_call *call) REQUIRES(&store->lock);

/* Whether @err of struct store_reply is what a server says that works. */
bool store_is_answer(int err);

#endif

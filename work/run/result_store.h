/*
 * result_store.h - a store of conversions that hosts share, as a conversion sees it.
 *
 * The conversion and the daemon call these hooks and know nothing of what is behind them; a converter without
 * a store has none. share.h (store/share) describes the only store there is.
 */
#ifndef WORK_RUN_RESULT_STORE_H
#define WORK_RUN_RESULT_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct convert_job;
struct convert_request;
struct converter;
struct handle;
struct share;
struct share_offer; /* a result that is to be given */
struct share_turn;  /* the way of one conversion through the store */

/* ---- What it counts ---- */

enum store_operation {
	STORE_GET,    /* an object into a file */
	STORE_HEAD,   /* whether it exists, its tag and times */
	STORE_PUT,    /* a file as an object */
	STORE_DELETE, /* an object */
};
enum { STORE_OPERATIONS = STORE_DELETE + 1 };

/* How requests ended, by enum store_operation. */
enum store_result {
	STORE_OK,
	STORE_MISSING,   /* -ENOENT */
	STORE_CONDITION, /* -EEXIST, -EAGAIN */
	STORE_FORBIDDEN, /* -EACCES */
	STORE_DAMAGED,   /* -EBADMSG, -EFBIG */
	STORE_LATE,      /* -ETIMEDOUT */
	STORE_FAILED,    /* -EHOSTUNREACH, -EREMOTEIO */
	STORE_SKIPPED,   /* -ENETDOWN: the breaker is open */
	STORE_CANCELED,
	STORE_RESULTS,
};

/* What came of conversions that were looked for. */
enum share_result {
	SHARE_HIT,      /* taken from the store */
	SHARE_FAILURE,  /* a failure was taken from it */
	SHARE_MISS,     /* converted here */
	SHARE_WAITED,   /* another host converted it, and it was taken after a wait */
	SHARE_HEDGED,   /* the store was slow: converted here meanwhile, and that was first */
	SHARE_REFUSED,  /* unsigned, foreign, or of another key */
	SHARE_DAMAGED,  /* refused by a check, and replaced */
	SHARE_OUTDATED, /* made with other neighbours than those that are here */
	SHARE_DOWN,     /* the store was not asked, or failed */
	SHARE_GIVEN,    /* published */
	SHARE_DROPPED,  /* not published: the queue was full, the store failed, or files changed */
	SHARE_RESULTS,
};

/* Atomic: updated by any thread. Zero-initialise; they only grow. */
struct store_counters {
	_Atomic uint64_t requests[STORE_OPERATIONS][STORE_RESULTS];
	_Atomic uint64_t shares[SHARE_RESULTS];
	_Atomic uint64_t milliseconds;   /* sum over requests */
	_Atomic uint64_t sent, received; /* bytes of bodies */
	_Atomic uint64_t leases_taken, leases_waited,
		leases_broken; /* taken over from a host that did not end */
	_Atomic uint64_t breaker_opened;
};

/* What the root's status says of it; text is the store's own but for @breaker and @access. */
struct store_status {
	const char *address;
	char breaker[320]; /* "closed", "open for 8 s more (cannot connect)", "half open (...)" */
	char access[320];  /* "read-write", "read-only (why)" */
	const char *leases, *signatures;
	bool breaker_open, read_only;
	char reason[320]; /* of either; "" */
};

/* ---- The hooks ---- */

enum share_step {
	SHARE_TAKEN,     /* the outcome is set */
	SHARE_ELSEWHERE, /* another host converts it: come back after outcome.wait_ms */
	SHARE_CONVERT,   /* convert it, with pending_fd() in view */
};

/* All hooks accept a NULL turn, but has_arrived() and adopt(). */
struct result_store {
	/*
	 * Looks for the result of @job, which is prepared. Blocks for a bounded time. @turn: NULL before the
	 * first call for a conversion; it is given to end() in any case, and with SHARE_ELSEWHERE to the next
	 * call.
	 */
	enum share_step (*take)(struct convert_job *job, struct share_turn **turn);
	/* Becomes readable when has_arrived() is to be called; -1: nothing is under way. */
	int (*pending_fd)(const struct share_turn *turn);
	/* True if the store has the conversion after all, and it is good: the worker may be killed then. */
	bool (*has_arrived)(struct convert_job *job, struct share_turn *turn);
	/* Sets the outcome to what has arrived, after the worker has ended. */
	void (*adopt)(struct convert_job *job, struct share_turn *turn);
	/*
	 * Makes an offer of the result of @job, converted or failed, to be given once calls that waited are
	 * woken; NULL: it is not to be given.
	 */
	struct share_offer *(*offer)(const struct convert_job *job, struct share_turn *turn);
	/* Ends what is under way, lets go of the lease, and frees. */
	void (*end)(struct share *share, struct share_turn *turn);
	/*
	 * After SHARE_ELSEWHERE: an answer waits that only the whole conversion has, so that another host is
	 * waited for no longer than the store, from the first look on. Returns when that is over, of
	 * monotonic_ms().
	 */
	int64_t (*hurry)(const struct share *share, struct share_turn *turn);

	/*
	 * Makes an offer of @handle, which the cache has for @request, to be given unless the store has it.
	 * Opens the files, and reads none. NULL if it was given (cache_mark()), or if that cannot be.
	 */
	struct share_offer *(*again)(const struct converter *converter, const struct convert_request *request,
				     struct handle *handle);
	/* Queues @offer, which is freed; NULL is allowed. Does not block. */
	void (*give)(struct share *share, struct share_offer *offer);

	/* Starts the threads: 0 or a negative errno. */
	int (*start)(struct share *share);
	/* Gives what is queued, for a bounded time, and ends the threads, if there are any. */
	void (*stop)(struct share *share);
	void (*close)(struct share *share);
	void (*describe)(struct share *share, struct store_status *ret);
	const struct store_counters *(*counters)(const struct share *share);
};

#endif

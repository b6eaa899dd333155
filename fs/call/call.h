/*
 * call.h - FUSE requests that may have to wait, without blocking a thread.
 *
 * A call is a request together with the function that attempts to answer it. If a resource is not available
 * yet, the call is parked on a list of that resource, and the FUSE thread serves other requests. When the
 * resource becomes available, parked calls are attempted again from the beginning. A signal to the waiting
 * process removes its call from the list and answers EINTR at once.
 */
#ifndef FS_CALL_CALL_H
#define FS_CALL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "work/types/convert_address.h"
#include "gsym/base/list.h"
#include "fs/name/name.h"
#include "fs/sys/metrics.h"

struct call;
struct draft;
struct revision;
struct runners;

/* What a call waits for; filled by the attempt that gives up. */
struct wait {
	/*
	 * With the lock of parked calls: puts @call on a list of @object, and starts what will wake it unless
	 * that is under way. 0 when it is parked; -EAGAIN when there is nothing to wait for any more; another
	 * errno to answer with.
	 */
	int (*park)(void *object, struct call *call);
	void *object;
	struct revision *revision; /* of which something is waited for; opaque here; NULL: of none */
	uint32_t number;           /* of that revision */
	/*
	 * The image at so many of call->addresses is enough, while it is being converted; 0: all of it is
	 * needed.
	 */
	unsigned n_addresses;
	unsigned fragments_seen; /* made when the attempt looked: later ones may have them */
	bool failed_here; /* with another errno than -EAGAIN: for a fault of the machine, not of the image */
	/* For those who provide @park: */
	unsigned part;         /* what of the revision */
	char id[ID_TEXT_SIZE]; /* the image whose first file is waited for; "": any */
	uint64_t findings;     /* how many there had been when the attempt looked: later ones are news */
};

/* A call may find its image closed again, or its file replaced, as often as this. */
enum { CALL_TRIES_MAX = 8 };

/* And wait for its work as often as this, and for images if it has to do with many: a stack in a log may have
 * 512 of them. */
enum { CALL_WORKS_MAX = CALL_TRIES_MAX + 512, CALL_TRIES_MANY = CALL_WORKS_MAX };

enum call_state {
	CALL_PARKING, /* its interrupt function is being set */
	CALL_PARKED,  /* on a list, under the lock of parked calls */
	CALL_TAKEN,   /* off the list: owned by the thread that removed it */
};

enum { CALL_ADDRESSES_MAX = 64 /* a worker can be asked for at once */ };

/* Whether what is at the addresses of a call may be known before their image is converted. */
enum early {
	EARLY_NEW,   /* it may */
	EARLY_ASKED, /* a worker is at it */
	EARLY_OVER,  /* only if the call finds it now: it will not be asked again */
};

struct call {
	struct list link;
	struct runners *runners; /* borrowed: where it goes on; their lock is that of parked calls */
	fuse_req_t req;
	/*
	 * Answers the request, exactly once, and returns 0; or returns a negative errno to answer with; or
	 * fills wait and returns -EAGAIN.
	 */
	int (*attempt)(struct call *call);
	fuse_ino_t ino;   /* the file, or the directory of a lookup */
	const char *name; /* of a lookup; borrowed until the call is parked, then its own */
	size_t size;      /* of a read */
	off_t off;
	struct fuse_file_info info; /* of an open */
	struct wait wait;

	int64_t began;         /* of monotonic_us() */
	enum lookup_tier tier; /* what it waited for so far */
	enum call_state state;
	bool interrupted;
	bool on_heap;
	bool on_runner; /* its thread may take its time */
	/*
	 * It has become the next to use @turn: passed on, with the lock, if it is interrupted before it runs.
	 */
	void (*pass_turn)(void *turn);
	void *turn;
	/* During the first scan: the number of its last scan_request; 0: it made none. */
	uint64_t scan_request;
	uint64_t scan_request_text; /* a fingerprint of that */
	enum early early;
	struct convert_address *addresses; /* owned: wait.n_addresses of them */
	/* What its attempts make together, see draft.h: goes with the call; or NULL. */
	struct draft *draft;
	void (*free_draft)(struct draft *draft);
	unsigned tries; /* how often it waited for a conversion, */
	unsigned works; /* and for other work */
	/* Goes on when what it waited for failed, because that is no answer to all it was asked. */
	bool outlives_failure;
	uint64_t failed;  /* the number of the revision that it waited for then, plus one; 0: none, */
	int failure;      /* why that failed, */
	bool failed_here; /* and whether for a fault of the machine, which says nothing of the image */
};

/* Runs a call that lives on the stack until it is answered or parked; @call must not be used afterwards. */
void call_run(struct call *call);

/* What runners do with calls. */
extern const struct runner_kind call_runner_kind;

/*
 * Adds an address to those at which the image that it waits for is enough, unless there are
 * CALL_ADDRESSES_MAX already. 0 or -ENOMEM.
 */
int call_add_address(struct call *call, const struct convert_address *address);

/* Fills @call->wait: for nothing but a thread that may take its time. -EAGAIN. */
int call_hand_over(struct call *call);
bool call_is_handed_over(const struct call *call);

/* ---- Taking calls off a list; the caller holds the lock of parked calls ---- */

/* Moves all calls of @parked to @woken. */
void calls_wake_all(struct list *parked, struct list *woken);

/* Moves those that wait for @id. */
void calls_wake_id(struct list *parked, const char *id, struct list *woken);

/* Moves one that is parked. */
void call_wake(struct call *call, struct list *woken);

/* Moves those that asked for what has this number. */
void calls_wake_requested(struct list *parked, uint64_t number, struct list *woken);

/* Moves those whose addresses a worker was asked for, which is over then; @all: any with addresses. */
void calls_wake_asked(struct list *parked, bool all, struct list *woken);

/* Has the first of them, if there is one, run as the one whose turn it is. */
void calls_pass_turn(struct list *parked, void (*pass_turn)(void *turn), void *turn);

/* The earlier of @at, of monotonic_us(), and the times when the calls of @parked began. */
int64_t calls_oldest(const struct list *parked, int64_t at);

/* ---- Continuing calls that were taken; the caller does not hold it ---- */

/* Has them run again. */
void calls_resume(struct list *woken);

/*
 * What they waited for failed with @err, a negative errno, which is their answer; or they go on and know.
 * @here: it was the machine's fault.
 */
void calls_fail(struct list *woken, int err, bool here);

/* Answers all with @err. */
void calls_end(struct list *woken, int err);

#endif

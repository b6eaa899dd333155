/* share_parts.h - what the modules of this room have in common. */
#ifndef STORE_SHARE_SHARE_PARTS_H
#define STORE_SHARE_SHARE_PARTS_H

#include "work/cache/cache.h"
#include "work/cache/file_state.h"
#include "work/os/mutex.h"
#include "store/client/store.h"
#include "store/client/store_key.h"
#include "store/client/store_trust.h"
#include "gsym/base/list.h"

/* What is logged once, and counted from then on. */
enum share_complaint {
	COMPLAINT_DAMAGED,
	COMPLAINT_UNTRUSTED,
	COMPLAINT_REPLACED, /* likewise, and there is a key to sign another */
	COMPLAINT_NO_KEYS,
	COMPLAINT_TOO_LARGE,
	COMPLAINT_ELSEWHERE, /* made with other directories of debug files */
	COMPLAINT_READING,
	COMPLAINT_WRITING,
	COMPLAINT_FORBIDDEN,
	COMPLAINT_FULL_QUEUE,
	COMPLAINTS,
};

enum { SHARE_PACE = 16, SHARE_PACE_MAX = 4 * SHARE_PACE };

struct share {
	struct store *store;
	struct store_trust *trust;
	struct store_counters counters;
	struct cache *cache; /* borrowed */
	const struct log *log;
	unsigned wait_ms;
	bool is_patient; /* offers are kept while the store is away */
	/* How much longer than usual conversions take here, as processors are busy: SHARE_PACE is once. */
	atomic_uint pace;
	atomic_bool complained[COMPLAINTS];

	struct mutex lock;
	struct list offers GUARDED_BY(&lock); /* as they came */
	unsigned n_offers GUARDED_BY(&lock);  /* with the one that is under way, */
	uint64_t offer_bytes GUARDED_BY(&lock);
	struct list holds GUARDED_BY(&lock); /* leases that are held */
	unsigned n_holds GUARDED_BY(&lock);  /* with the one that its thread is at */
	pthread_cond_t given, held;          /* something was added to either list, or it is over */
	pthread_cond_t idle;                 /* all offers are given, or all leases are gone */
	atomic_bool stopping;
	_Atomic int64_t give_by; /* when it is: offers are given until then, of monotonic_ms() */
	bool has_threads;
	pthread_t giver, holder;
};

/* Says @text of the object @name once of each kind, and in the debugging log from then on. */
void share_complain(struct share *share, enum share_complaint kind, const char *name, const char *text);

static inline void share_count(struct share *share, enum share_result result)
{
	atomic_fetch_add_explicit(&share->counters.shares[result], 1, memory_order_relaxed);
}

enum { SHARE_STOP_MS = 5000, SHARE_RELEASE_MS = 250 };

/* The threads that give, and that renew leases. 0 or a negative errno. */
int share_start(struct share *share);
/*
 * Gives what is queued, for SHARE_STOP_MS at most, and then deletes the leases that are held, for
 * SHARE_RELEASE_MS. What is left is given when it is asked for again, see cache_mark().
 */
void share_stop(struct share *share);
void share_close(struct share *share); /* NULL is allowed */

/* What result_store.h says of again() and give(). */
struct share_offer *share_again(const struct converter *converter, const struct convert_request *request,
				struct handle *handle);
void share_give(struct share *share, struct share_offer *offer);

/*
 * Waits until all that was queued is given, or dropped, and all leases are gone: no turn may be under way.
 * For programs that end when they are done.
 */
void share_flush(struct share *share);

#endif

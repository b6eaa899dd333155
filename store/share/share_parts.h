/* share_parts.h - what the modules of this room have in common. */
#ifndef STORE_SHARE_SHARE_PARTS_H
#define STORE_SHARE_SHARE_PARTS_H

#include "work/cache/cache.h"
#include "work/os/mutex.h"
#include "store/client/store.h"
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
	struct cache *cache; /* borrowed, as is @log */
	const struct log *log;
	unsigned wait_ms;
	/* How much longer than usual conversions take here, as processors are busy: SHARE_PACE is once. */
	atomic_uint pace;
	atomic_bool complained[COMPLAINTS];

	struct mutex lock;
	struct list offers GUARDED_BY(&lock); /* as they came */
	unsigned n_offers GUARDED_BY(&lock);  /* with the one that is under way, */
	uint64_t offer_bytes GUARDED_BY(&lock);
	bool is_stopping GUARDED_BY(&lock);
	int64_t give_by GUARDED_BY(&lock); /* when it is: offers are given until then, of monotonic_ms() */
	pthread_cond_t changed;            /* there is an offer, or it is over */
	bool has_thread;
	pthread_t giver;
};

/* Says @text of the object @name once of each kind, and in the debugging log from then on. */
void share_complain(struct share *share, enum share_complaint kind, const char *name, const char *text);

static inline void share_count(struct share *share, enum share_result result)
{
	atomic_fetch_add_explicit(&share->counters.shares[result], 1, memory_order_relaxed);
}

#endif

#include "store/share/share.h"
#include "store/share/share_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "work/os/monotonic.h"
#include "work/os/thread.h"
#include "store/share/share_hold.h"
#include "store/share/share_offer.h"
#include "store/client/sodium.h"
#include "gsym/base/diag.h"

/* ---- Opening and serving ---- */

static int open_parts(struct share *share, const struct share_options *options, const char *program,
		      int stop_fd, struct gsym_diag *diag)
{
	if (!sodium_library(diag))
		return diag_prefix(diag, -ELIBACC, "a shared store needs libsodium");
	int err = options->sign_key || options->trusted_keys
			  ? trust_open(options->sign_key, options->trusted_keys, &share->trust, diag)
			  : 0;
	return err ? err
		   : store_open(&options->store, program, stop_fd, share->log, &share->counters,
				&share->store, diag);
}

int share_open(const struct share_options *options, const char *program, int stop_fd, struct cache *cache,
	       const struct log *log, struct share **ret, struct gsym_diag *diag)
{
	struct share *share = calloc(1, sizeof(*share));
	if (!share)
		return diag_set(diag, -ENOMEM, "no memory");
	share->cache = cache;
	share->log = log;
	share->wait_ms = options->wait_ms;
	share->is_patient = options->is_patient;
	atomic_init(&share->pace, SHARE_PACE);
	int err = open_parts(share, options, program, stop_fd, diag);
	if (err)
		share_close(share);
	else
		*ret = share;
	return err;
}

void share_close(struct share *share)
{
	if (!share)
		return;
	store_close(share->store);
	trust_close(share->trust);
	free(share);
}

/* Tells both threads to end, and waits for the first. */
static void end_giver(struct share *share)
{
	const int64_t by = monotonic_ms() + SHARE_STOP_MS;
	store_limit_waits(share->store, by);
	atomic_store(&share->give_by, by);
	mutex_lock(&share->lock);
	atomic_store(&share->stopping, true);
	pthread_cond_broadcast(&share->given);
	pthread_cond_broadcast(&share->held);
	mutex_unlock(&share->lock);
	pthread_join(share->giver, NULL);
}

int share_start(struct share *share)
{
	mutex_init(&share->lock, LOCK_SHARE);
	list_init(&share->offers);
	list_init(&share->holds);
	monotonic_cond_init(&share->given);
	pthread_cond_init(&share->idle, NULL);
	monotonic_cond_init(&share->held);
	int err = thread_start(&share->giver, "give", share_giver, share);
	if (err)
		return err;
	err = thread_start(&share->holder, "lease", share_holder, share);
	if (err)
		end_giver(share);
	else
		store_prepare(share->store);
	share->has_threads = !err;
	return err;
}

void share_stop(struct share *share)
{
	if (!share || !share->has_threads)
		return;
	end_giver(share);
	const int64_t by = monotonic_ms() + SHARE_RELEASE_MS;
	store_limit_waits(share->store, by);
	share_offers_free(share);
	/* Without waiting for the one that the thread may be at. */
	share_holds_release(share, by);
	pthread_join(share->holder, NULL);
	share->has_threads = false;
	share_holds_free(share);
}

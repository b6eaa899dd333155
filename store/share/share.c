/* Opening a store, and what is logged of it: once of each kind, with what follows. */
#include "store/share/share.h"
#include "store/share/share_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "store/client/sodium.h"
#include "work/os/monotonic.h"
#include "gsym/base/diag.h"

/* What is to be done, or is done. */
static const struct {
	const char *what, *remedy;
} complaints[COMPLAINTS] = {
	[COMPLAINT_DAMAGED] = {"damaged", "converting it here, and replacing it"},
	[COMPLAINT_UNTRUSTED] = {"not trusted", "converting it here; it is not replaced: have its signer in "
						"trusted_keys, or delete it"},
	[COMPLAINT_REPLACED] = {"not trusted", "converting it here, and replacing it by one that is signed"},
	[COMPLAINT_NO_KEYS] = {"not checked", "converting it here; it is not replaced: mend trusted_keys"},
	[COMPLAINT_TOO_LARGE] = {"too large", "converting it here, and replacing it"},
	[COMPLAINT_ELSEWHERE] = {"made by a host that searches other directories for debug files",
				 "converting it here; give all hosts the same debug_dirs"},
	[COMPLAINT_READING] = {"cannot be read", "converting it here"},
	[COMPLAINT_WRITING] = {"cannot be given", "others convert it as well"},
	[COMPLAINT_FORBIDDEN] = {"must not be written", "what is converted here is not given"},
	[COMPLAINT_FULL_QUEUE] = {"not given", "others convert it as well; the store is slower than "
					       "conversions"},
};

void share_complain(struct share *share, enum share_complaint kind, const char *name, const char *text)
{
	bool again = atomic_exchange(&share->complained[kind], true);
	log_say(share->log, again ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
		"shared store '%s': %s: %s: %s; %s%s", store_title(share->store), name, complaints[kind].what,
		text, complaints[kind].remedy, again ? "" : " (others like it are counted in metrics)");
}

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
	atomic_init(&share->pace, SHARE_PACE);
	mutex_init(&share->lock, LOCK_SHARE);
	list_init(&share->offers);
	monotonic_cond_init(&share->changed);
	int err = open_parts(share, options, program, stop_fd, diag);
	if (err)
		share_close(share);
	else
		*ret = share;
	return err;
}

void share_set_cache(struct share *share, struct cache *cache)
{
	share->cache = cache;
}

void share_close(struct share *share)
{
	if (!share)
		return;
	store_close(share->store);
	trust_close(share->trust);
	pthread_cond_destroy(&share->changed);
	mutex_destroy(&share->lock);
	free(share);
}

/* share_service.h - the shared store of a daemon: opened, and served by its threads. */
#ifndef STORE_SHARE_SHARE_SERVICE_H
#define STORE_SHARE_SHARE_SERVICE_H

#include "store/share/share.h"

enum { SHARE_STOP_MS = 5000, SHARE_RELEASE_MS = 250 };

struct share_options {
	struct store_options store;
	const char *sign_key, *trusted_keys; /* files, or NULL; borrowed until share_close() */
	unsigned
		/* for the store, before a conversion is begun; LEASE_HEDGE_MS unless the user set another */
		wait_ms;
	bool is_patient; /* keeps what is to be given while the store is away */
};

/*
 * Opens the store. Everything is borrowed.
 *
 * @program: the gsym program
 * @stop_fd: becomes readable when conversions must stop
 *
 * 0; -ELIBACC if libsodium cannot be loaded; or as of store_open() and trust_open().
 */
int share_open(struct share *share, const struct share_options *options, const char *program, int stop_fd,
	       struct cache *cache, const struct log *log, struct gsym_diag *diag);
/* Zero-initialised is allowed. */
void share_close(struct share *share);

/* The threads that give, and that renew leases. 0 or a negative errno. */
int share_start(struct share *share);
/*
 * Gives what is queued, for SHARE_STOP_MS at most, and then deletes the leases that are held, for
 * SHARE_RELEASE_MS. What is left is given when it is asked for again, see cache_mark().
 */
void share_stop(struct share *share);

#endif

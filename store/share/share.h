/*
 * share.h - takes conversions from a store that several hosts share, and gives them to it.
 *
 * A conversion that is not in the cache is looked for in the store. While the store has not answered, for at
 * most share_options.wait_ms, or while no worker could begin, it is not begun; then both go on, and the first
 * to end answers. Of several hosts that want it, one gets a lease (lease.h) and converts, and the others come
 * back later. What was converted is given after the calls that waited were answered.
 *
 * What it is named after is in store_key.h, what an object holds in share_object.h. Everything that is taken
 * is checked by this process, which trusts neither the store nor the process that talks to it.
 *
 * A build without a store (-Dstore=disabled) has no_share.c instead, whose share_open() refuses.
 */
#ifndef STORE_SHARE_SHARE_H
#define STORE_SHARE_SHARE_H

#include "store/client/store.h"
#include "store/client/store_object.h"

struct cache;

struct share_options {
	struct store_options store;
	const char *sign_key, *trusted_keys; /* files, or NULL; borrowed until share_close() */
	unsigned
		/* for the store, before a conversion is begun; LEASE_HEDGE_MS unless the user set another */
		wait_ms;
};

/*
 * Opens the store. Everything is borrowed.
 *
 * @program: the gsym program
 * @stop_fd: becomes readable when conversions must stop
 *
 * 0; -ELIBACC if libsodium cannot be loaded; -ENOTSUP in a build without a store; or as of store_open() and
 * trust_open().
 */
int share_open(const struct share_options *options, const char *program, int stop_fd, struct cache *cache,
	       const struct log *log, struct share **ret, struct gsym_diag *diag);

void share_close(struct share *share); /* NULL is allowed */

/* The hooks of a converter with such a store; take() blocks for at most the time of share_options.wait_ms. */
extern const struct result_store share_store;

/* ---- For programs that end when they are done; @fd is the object file of @request ---- */

/* The cache of what is taken and given next; borrowed. */
void share_set_cache(struct share *share, struct cache *cache);

/* What its conversion is named after. 0; or as of file_print() and store_key_make(). */
int share_key(const struct converter *converter, const struct convert_request *request, int fd,
	      struct store_key *ret);

/*
 * Takes the conversion, and nothing else is done: nothing is converted, and nothing is put into the cache but
 * temporary files.
 *
 * @reply: how the store answered
 * @ret:   one reference; its inputs are in the portable form
 *
 * 0; -EIO with the message in @diag if the store has a failure; or as of struct store_reply and
 * share_found_check().
 */
int share_take(const struct converter *converter, const struct convert_request *request, int fd,
	       struct store_reply *reply, struct handle **ret, struct gsym_diag *diag);

/*
 * Takes the object of @key into @fd, and checks it. @reply: how the store answered. 0; or as of struct
 * store_reply and object_check().
 */
int share_get(struct share *share, const struct store_key *key, int fd, struct store_reply *reply,
	      struct object_trailer *ret, struct gsym_diag *diag);

/*
 * Gives @offer, which is freed, while the caller waits. 0; -EEXIST if the store has it; or why it could not
 * be given, which was logged unless the store is away.
 */
int share_give_now(struct share *share, struct share_offer *offer);

#endif

/*
 * share_give_fixture.h - the thread that gives offers, with a store, a cache and files that are made up. Its
 * clock stands still, it runs in the thread of the test, and what it does becomes a text.
 */
#ifndef TESTS_SHARE_GIVE_FIXTURE_H
#define TESTS_SHARE_GIVE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/unit.h"

#include "store/share/share_offer.h"

enum {
	NOW = 1000000,    /* ms */
	SMALL = 16 << 20, /* bytes of a file that is digested at once, at most */
	PAYLOAD = 32,
	OBJECT = 4711, /* bytes of each object */
	REPLIES = 4,
};

/* What it meets. Zero: nothing fails, and the store takes all; it ends when it has nothing to do. */
extern struct give_script {
	bool is_down, is_read_only;
	int temp_err, payload_err, map_err, object_err, inputs_err, digest_err, key_err;
	unsigned temp_fails_at; /* which of the temporary files cannot be made, from 1 */
	const char *text;       /* that these explain errors with */
	bool is_forgeable;      /* files without digests have no key */
	/* Looks at files and at neighbours, the n-th of which finds a change, from 1; 0: none. */
	unsigned file_changes_at, neighbour_changes_at;
	int neighbour_err; /* then; 0: -ESTALE */
	int file_err;
	struct store_reply replies[REPLIES]; /* one after another, then 0 */
	/* Called when files are digested, an object is sent, before blocks of a large file, and to wait. */
	void (*at_digest)(void), (*at_put)(void), (*at_block)(unsigned n), (*at_wait)(void);
	unsigned blocks;      /* of a large file */
	bool no_memory;       /* for the text of a failure */
	bool leaves_some;     /* offers are left when the thread ends */
	bool is_many_threads; /* nothing is written down, and waits are real */
} with;

/*
 * What was done, a word each:
 *
 *	a+, a-             the conversion a is marked as pending, or not any more
 *	given, idle, wait  who waits for that is woken; the thread waits
 *	inputs             neighbours are read
 *	digest, digest-all files are digested: small ones, or all of them
 *	block, rest        of a large file
 *	head:K, put:K:...  requests for the object of the key K: (c)ontent, (s)ample, (l)ooked for; conditions
 *	!kind(text)        a complaint
 *	unhold:a, free:a   the lease, and the offer
 */
extern char did[4096];
extern const char *logged;       /* the last line, "" */
extern int64_t now;              /* ms */
extern unsigned n_live, n_given; /* offers that are not freed; times that the thread was woken */
extern struct share share;

/* An offer, its handle, and a name. */
struct thing {
	struct share_offer offer;
	struct handle handle;
	char id[2], path[8];
};

/*
 * @id:   a letter
 * @size: of its conversion; the offer has a small file, that is not known by any key
 */
struct share_offer *offer_of(char id, uint64_t size);
/* Likewise, of a failure with so many bytes of inputs. */
struct share_offer *failure_of(char id, size_t size);
/* Has a file that is not digested at once. */
struct share_offer *large_offer_of(char id, uint64_t size);
/* It was looked for under this key, 'l' or 'c', and @offer has a lease. */
void look_for(struct share_offer *offer, char key);

/* Queues it, and has the thread run until it has nothing to do. */
void give_now(struct share_offer *offer);
/* Has the thread run. */
void run_giver(void);

unsigned results(enum share_result result);
/* How many are queued, or under way; and their bytes. */
unsigned queued(const struct share_offers *offers);
uint64_t queued_bytes(const struct share_offers *offers);

/* Of each test. */
int set_up(void **state);
int tear_down(void **state);

#endif

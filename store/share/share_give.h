/*
 * share_give.h - conversions and failures that are to be given to the store, and the thread that gives them.
 */
#ifndef STORE_SHARE_SHARE_GIVE_H
#define STORE_SHARE_SHARE_GIVE_H

#include "store/share/share_lease.h"
#include "store/share/share_object.h"

struct share_offer {
	struct list link; /* in share.offers */
	struct share_facts facts;
	int fds[SHARE_FILES];            /* of the files; owned */
	struct handle *handle;           /* NULL: a failure, */
	char message[FAILURE_TEXT_SIZE]; /* which says this */
	struct text_buf inputs;          /* see inputs.h, */
	struct text_buf portable;        /* and share_inputs.h */
	bool has_key;
	struct store_key key;       /* under which it was looked for */
	bool may_exist;             /* the store did not say whether it has it */
	bool replaces;              /* what the store has is of no use */
	char etag[STORE_ETAG_SIZE]; /* of that; "": none */
	struct share_lease lease;   /* of this host, or none */
	unsigned tries;             /* so far */
};

/*
 * @facts:  are taken over,
 * @fds:    are duplicated; negative: none
 * @handle: NULL: a failure
 * @inputs: see inputs.h; copied. They may be those in the file of @handle
 *
 * NULL if there is no memory or no descriptor left, or the file was cut short; then nothing is taken over.
 */
struct share_offer *share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
				    struct handle *handle, struct span inputs);

/* What result_store.h says of again(), give(), start() and stop(). */
struct share_offer *share_again(const struct converter *converter, const struct convert_request *request,
				struct handle *handle);
void share_give(struct share *share, struct share_offer *offer);
int share_start(struct share *share);
/* What is not given within five seconds is given when it is asked for again, see cache_mark(). */
void share_stop(struct share *share);

#endif

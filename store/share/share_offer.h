/* share_offer.h - a conversion or a failure that is to be given to the store. */
#ifndef STORE_SHARE_SHARE_OFFER_H
#define STORE_SHARE_SHARE_OFFER_H

#include "work/cache/failure_record.h"
#include "store/share/share_facts.h"
#include "store/share/share_hold.h"

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
	struct share_hold *hold;    /* the lease; NULL: none */
	bool lost;                  /* it could not be given, */
	bool again;                 /* or not now, */
	unsigned tries;             /* and how often it was tried so far */
};

/*
 * @facts: are taken over,
 * @fds:    are duplicated; negative: none
 * @handle: NULL: a failure
 * @inputs: see inputs.h; copied. They may be those in the file of @handle
 *
 * NULL if there is no memory or no descriptor left, or the file was cut short; then nothing is taken over.
 */
struct share_offer *share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
				    struct handle *handle, struct span inputs);
/* One that is in no queue; its lease ends. NULL is ignored. */
void share_offer_free(struct share *share, struct share_offer *offer);

/* The thread that gives. */
void *share_giver(void *share);
/* After it has ended. */
void share_offers_free(struct share *share);

#endif

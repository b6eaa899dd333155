/*
 * fragment_queue.h - addresses that are asked of an image which is not converted: answered by fragments.
 *
 * A conversion makes a fragment for the addresses that wait when it begins. Those that come later are asked
 * of another worker, which makes fragments only, while the first one converts. With eager=no there is only
 * that one, until the image is wanted whole: see revision.whole.
 */
#ifndef FS_CONVERT_FRAGMENT_QUEUE_H
#define FS_CONVERT_FRAGMENT_QUEUE_H

#include "work/types/convert_address.h"
#include "fs/convert/remote_conversions.h"
#include "fs/convert/revision_queue.h"
#include "fs/images/images.h"

struct converter;

struct fragment_queue {
	bool eager; /* an image of which anything is asked is converted */
	struct images *images;
	const struct converter *converter;
	struct revision_queue
		*conversions; /* other images that a thread which makes fragments could convert */
	struct remote_conversions *remote; /* those that another host converts */

	/* Guarded by images->lock. */
	struct revision_queue
		further;     /* revisions in STATE_CONVERTING of which a further fragment is wanted */
	pthread_cond_t wake; /* something is asked, or over */
	bool stopping;
};

/*
 * All but @eager is set here, and borrowed.
 * @conversions: images that wait for their conversion
 * @remote: those that another host converts
 */
void fragment_queue_init(struct fragment_queue *queue, struct images *images,
			 const struct converter *converter, struct revision_queue *conversions,
			 struct remote_conversions *remote);
void fragment_queue_deinit(struct fragment_queue *queue);

/* Threads that make fragments look again whether they are to go on. */
void fragment_queue_wake(struct fragment_queue *queue);

/* Tells them to end; the caller holds images->lock. */
void fragment_queue_stop(struct fragment_queue *queue);

/* A call was parked on @rev. The caller holds images->lock. */
void fragment_queue_note(struct fragment_queue *queue, struct revision *rev, const struct call *call);

/*
 * Lists addresses that calls wait for, at most @most, all of a call or none, and marks these as asked;
 * @again: also those that were, but not answered. The caller holds images->lock.
 */
size_t fragment_queue_list(struct revision *rev, bool again, struct convert_address *ret, size_t most);

/*
 * Takes over @handle, what the image has at the addresses that were asked, or NULL: their calls are attempted
 * again. @all: so are those with other addresses.
 */
void fragment_queue_answer(struct fragment_queue *queue, struct revision *rev, struct handle *handle,
			   bool all);

/* A conversion has made its fragment, or none: the addresses that are asked from now on are others' work. */
void fragment_queue_pass_on(struct fragment_queue *queue, struct revision *rev);

/*
 * Answers what is asked of an image that is not wanted whole, until it is; or until nothing was asked for a
 * while, or another image waits for the thread.
 */
void fragment_queue_serve(struct fragment_queue *queue, struct revision *rev);

/* The same beside the conversion of @rev, until that ends. Clears rev->served. */
void fragment_queue_serve_converting(struct fragment_queue *queue, struct revision *rev);

#endif

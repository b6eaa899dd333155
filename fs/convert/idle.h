/*
 * idle.h - the rest of images that were answered from fragments, converted while nothing else is to be done.
 *
 * With eager=no an image of which only addresses were asked stays as it is. When no conversion was wanted for
 * a while, and the host's load is low, such images are converted one after the other, beginning with that of
 * the oldest fragment; the first demand for a conversion ends that of an idle host.
 *
 * Nothing is polled unless there is such an image and only the host's load keeps it from being converted.
 */
#ifndef FS_CONVERT_IDLE_H
#define FS_CONVERT_IDLE_H

#include <pthread.h>
#include <stdint.h>

#include "fs/images/images.h"

struct idle {
	/* Set before idle_init(). */
	unsigned load_percent; /* of the processors, below which the host is idle; 0: never */
	unsigned seconds;      /* without a conversion, before one is made */

	struct images *images; /* borrowed */
	int cancel_fd;         /* readable when the conversion of @running must end */

	/* Guarded by images->lock. */
	pthread_cond_t wake;
	unsigned demanded;        /* conversions that are wanted, until they have ended */
	int64_t quiet_since;      /* when there was one last, or the host was busy; monotonic_ms() */
	struct revision *running; /* NULL: none */
	bool stopping;
};

void idle_init(struct idle *idle, struct images *images);
void idle_deinit(struct idle *idle);

/* Before the first call of those below but idle_is_pending(). 0 or a negative errno. */
int idle_start(struct idle *idle);

/* Whether the rest of @rev is converted when the host is idle. The caller holds images->lock. */
bool idle_is_pending(const struct idle *idle, const struct revision *rev);

/* A conversion is wanted, for which what runs is given up. The caller holds images->lock. */
void idle_begin_demand(struct idle *idle);
/* It has ended. The caller holds images->lock. */
void idle_end_demand(struct idle *idle);

/* A call waits for @rev: given up if it runs. The caller holds images->lock. */
void idle_note_wait(struct idle *idle, const struct revision *rev);

/*
 * Waits until the host is idle and there is an image to convert, which enters STATE_OPENING and is the one
 * that runs until idle_end(). NULL when the daemon ends.
 */
struct revision *idle_next(struct idle *idle);

/* The caller holds images->lock. */
void idle_end(struct idle *idle);

/* Ends idle_next() and what runs; the caller holds images->lock. */
void idle_stop(struct idle *idle);

#endif

/*
 * slices.h - work of a call that takes longer than a thread that serves requests may be occupied.
 *
 * A thread that serves requests does a first, short slice of it, while few others do such work. Then the call
 * is handed over to the runners, which continue in turn with the calls of other users.
 */
#ifndef FS_CALL_SLICES_H
#define FS_CALL_SLICES_H

#include <stdbool.h>
#include <stdint.h>

struct call;

/* Kept from one attempt of a call to the next; zero-initialized before the first. */
struct slices {
	int64_t until; /* the end of the slice; CLOCK_MONOTONIC in ns */
	bool slow;     /* the last one was used up: a runner does the next */
};

enum { SLICE_USED_UP = 1 };

/* Begins a slice for the thread that runs @call. */
void slices_begin(struct slices *slices, const struct call *call);

/* Whether the slice is over; any thread may ask. */
bool slices_are_late(const struct slices *slices);

/*
 * Has @step do a slice of @work, in this thread or later in a runner's.
 *
 * @step: sets slices->slow, and returns SLICE_USED_UP if there is more to do, else the result
 *
 * The result of @step; or -EAGAIN with call->wait filled: the call is to be attempted again by a runner.
 */
int call_in_slices(struct call *call, struct slices *slices, int (*step)(void *work, struct call *call),
		   void *work);

#endif

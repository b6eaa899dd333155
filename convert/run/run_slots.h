/*
 * run_slots.h - how many workers convert at once, where more threads than that wait for a shared store: a
 * thread that waits for an answer takes no processor time, and holds no slot.
 */
#ifndef CONVERT_RUN_RUN_SLOTS_H
#define CONVERT_RUN_RUN_SLOTS_H

#include "convert/os/mutex.h"

struct run_slots {
	struct mutex lock;
	pthread_cond_t freed;
	unsigned n_free GUARDED_BY(&lock);
};

/* @n: at least 1. */
void run_slots_init(struct run_slots *slots, unsigned n);
void run_slots_deinit(struct run_slots *slots);

/*
 * Waits for a slot, and gives it back. NULL is allowed: there is no limit. Conversions that have to stop
 * give theirs back soon, so that a wait ends when the daemon does.
 */
void run_slot_take(struct run_slots *slots) EXCLUDES(&slots->lock);
void run_slot_give(struct run_slots *slots) EXCLUDES(&slots->lock);

#endif

/*
 * run_slots.h - how many workers convert at once, where more threads than that wait for a shared store: a
 * thread that waits for an answer takes no processor time, and holds no slot.
 *
 * An eventfd that counts, so that a thread can wait for a slot and for an answer at the same time.
 */
#ifndef WORK_RUN_RUN_SLOTS_H
#define WORK_RUN_RUN_SLOTS_H

#include <stdbool.h>

struct run_slots {
	int fd;
};

/* @n: at least 1. 0 or a negative errno: there is no descriptor for it. */
int run_slots_init(struct run_slots *slots, unsigned n);
void run_slots_deinit(struct run_slots *slots);

/*
 * Waits for a slot: true, and it is to be given back. Conversions that have to stop give theirs back soon, so
 * that a wait ends when the daemon does.
 *
 * @slots: NULL is allowed: there is no limit
 * @event: a descriptor; false once it is readable. Or -1.
 */
bool run_slot_take(struct run_slots *slots, int event);
/* NULL is allowed. */
void run_slot_give(struct run_slots *slots);

#endif

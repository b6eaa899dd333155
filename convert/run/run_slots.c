#include "convert/run/run_slots.h"

void run_slots_init(struct run_slots *slots, unsigned n) NOT_ANALYZED
{
	mutex_init(&slots->lock, LOCK_SLOTS);
	pthread_cond_init(&slots->freed, NULL);
	slots->n_free = n;
}

void run_slots_deinit(struct run_slots *slots)
{
	pthread_cond_destroy(&slots->freed);
	mutex_destroy(&slots->lock);
}

void run_slot_take(struct run_slots *slots)
{
	if (!slots)
		return;
	mutex_lock(&slots->lock);
	while (!slots->n_free)
		mutex_wait(&slots->lock, &slots->freed);
	slots->n_free--;
	mutex_unlock(&slots->lock);
}

void run_slot_give(struct run_slots *slots)
{
	if (!slots)
		return;
	mutex_lock(&slots->lock);
	slots->n_free++;
	pthread_cond_signal(&slots->freed);
	mutex_unlock(&slots->lock);
}

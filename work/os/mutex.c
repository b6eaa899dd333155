/*
 * Debug builds keep, for each thread, a set of the ranks it holds. Locking asserts that no rank in it is as
 * high as the new one, which makes a deadlock by lock order impossible on every path that a test has taken,
 * not only on those that happened to interleave.
 */
#include "work/os/mutex.h"

#include <assert.h>

#ifndef NDEBUG

static _Thread_local uint32_t held_ranks;

static void note_locked(struct mutex *mutex)
{
	held_ranks |= 1U << mutex->rank;
	mutex->holder = pthread_self();
	mutex->held = 1;
}

static void note_unlocking(struct mutex *mutex)
{
	mutex_assert_held(mutex);
	mutex->held = 0;
	held_ranks &= ~(1U << mutex->rank);
}

void mutex_lock(struct mutex *mutex) NOT_ANALYZED
{
	assert(held_ranks >> mutex->rank == 0); /* the lock order, see enum lock_rank */
	pthread_mutex_lock(&mutex->pthread);
	note_locked(mutex);
}

void mutex_unlock(struct mutex *mutex) NOT_ANALYZED
{
	note_unlocking(mutex);
	pthread_mutex_unlock(&mutex->pthread);
}

void mutex_assert_held(const struct mutex *mutex) NOT_ANALYZED
{
	assert(held_ranks >> mutex->rank & 1);
	assert(mutex->held && pthread_equal(mutex->holder, pthread_self()));
}

#else

static void note_locked(struct mutex *mutex)
{
	(void)mutex;
}

static void note_unlocking(struct mutex *mutex)
{
	(void)mutex;
}

#endif

void mutex_init(struct mutex *mutex, enum lock_rank rank)
{
	static_assert(LOCK_RANKS <= 32, "a rank is a bit of held_ranks");
	pthread_mutex_init(&mutex->pthread, NULL);
#ifndef NDEBUG
	mutex->rank = rank;
	mutex->held = 0;
#else
	(void)rank;
#endif
}

void mutex_destroy(struct mutex *mutex)
{
	pthread_mutex_destroy(&mutex->pthread);
}

void mutex_wait(struct mutex *mutex, pthread_cond_t *cond) NOT_ANALYZED
{
	note_unlocking(mutex);
	pthread_cond_wait(cond, &mutex->pthread);
	note_locked(mutex);
}

int mutex_wait_until(struct mutex *mutex, pthread_cond_t *cond, const struct timespec *until) NOT_ANALYZED
{
	note_unlocking(mutex);
	int err = pthread_cond_timedwait(cond, &mutex->pthread, until);
	note_locked(mutex);
	return err;
}

/*
 * wrap_mutex.h - ends the program when a mutex or a condition is used as it must not be: before it is
 * initialized, twice, without the lock. For code with one mutex and at most one condition; tests use
 * semaphores. Links with wrap_mutex of meson.build.
 */
#ifndef TESTS_UNIT_WRAP_MUTEX_H
#define TESTS_UNIT_WRAP_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __real_pthread_cond_destroy(pthread_cond_t *cond);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

static pthread_mutex_t *known_mutex; /* initialized and not destroyed; NULL: none */
static pthread_cond_t *known_cond;
static _Thread_local bool holds_mutex;

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	require(!known_mutex, "a second mutex");
	known_mutex = mutex;
	return __real_pthread_mutex_init(mutex, attr);
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	require(known_mutex == mutex && !holds_mutex, "destroys a mutex that is unknown or held");
	known_mutex = NULL;
	return __real_pthread_mutex_destroy(mutex);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	require(known_mutex == mutex, "locks an unknown mutex");
	require(!holds_mutex, "locks a mutex again");
	holds_mutex = true;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	require(known_mutex == mutex && holds_mutex, "unlocks a mutex that is not held");
	holds_mutex = false;
	return __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	require(!known_cond, "a second condition");
	known_cond = cond;
	return __real_pthread_cond_init(cond, attr);
}

int __wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
	require(known_cond == cond, "destroys an unknown condition");
	known_cond = NULL;
	return __real_pthread_cond_destroy(cond);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	require(known_cond == cond, "waits for an unknown condition");
	require(known_mutex == mutex && holds_mutex, "waits without the lock");
	return __real_pthread_cond_wait(cond, mutex);
}

#endif

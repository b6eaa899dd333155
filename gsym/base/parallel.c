#include "gsym/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256 };

struct loop {
	atomic_size_t next;
	size_t n;
	void (*body)(void *user, size_t index, unsigned thread);
	void *user;
};

struct helper {
	struct loop *loop;
	unsigned thread;
	pthread_t id;
};

unsigned parallel_cpus(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	int n = CPU_COUNT(&set);
	return n > 0 ? (unsigned)n : 1;
}

static void run_loop(struct loop *loop, unsigned thread)
{
	for (size_t i; (i = atomic_fetch_add(&loop->next, 1)) < loop->n;)
		loop->body(loop->user, i, thread);
}

static void *helper_main(void *user)
{
	struct helper *helper = user;
	run_loop(helper->loop, helper->thread);
	return NULL;
}

void parallel_for(unsigned threads, size_t n, void (*body)(void *user, size_t index, unsigned thread),
		  void *user)
{
	struct loop loop = {.n = n, .body = body, .user = user};
	struct helper helpers[THREADS_MAX];
	unsigned started = 0;
	if (threads > n)
		threads = (unsigned)n;
	/* Failure to create a thread is not an error: the others take its share of the indexes. */
	for (unsigned t = 1; t < threads && t < THREADS_MAX; t++) {
		helpers[started] = (struct helper){.loop = &loop, .thread = t};
		if (pthread_create(&helpers[started].id, NULL, helper_main, &helpers[started]))
			break;
		started++;
	}
	run_loop(&loop, 0);
	for (unsigned t = 0; t < started; t++)
		pthread_join(helpers[t].id, NULL);
}

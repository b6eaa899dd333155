/* Threads that run what takes longer: how many, what each is inside of, and how they end. */
#include "fs/call/runners.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { ITEMS = 20, HANGS_AFTER_SECONDS = 60 };

static int threads_left = -1; /* that can be started; negative: as many as wanted */
static unsigned cpus;

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **ret);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left -= threads_left > 0;
	return __real_pthread_create(ret, attr, run, arg);
}

static unsigned joined;

int __wrap_pthread_join(pthread_t thread, void **ret)
{
	joined++;
	return __real_pthread_join(thread, ret);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret)
{
	(void)pid;
	CPU_ZERO_S(size, ret);
	for (unsigned i = 0; i < cpus; i++)
		CPU_SET_S(i, size, ret);
	return 0;
}

struct item {
	struct list link;
	bool is_taken, has_run, was_inside;
};

static struct mutex lock;
static struct runners runners;
static struct readers readers;
static struct item items[ITEMS];
static pthread_cond_t ran = PTHREAD_COND_INITIALIZER;
static unsigned n_ran;

static void take(struct list *at)
{
	mutex_assert_held(&lock);
	LIST_ENTRY(at, struct item)->is_taken = true;
}

static void run(struct list *at)
{
	struct item *item = LIST_ENTRY(at, struct item);
	mutex_lock(&lock);
	item->has_run = item->is_taken;
	item->was_inside = atomic_load(&readers.inside[0]) > 0;
	n_ran++;
	pthread_cond_broadcast(&ran);
	mutex_unlock(&lock);
}

static const struct runner_kind kind = {take, run};

static int set_up(void **state)
{
	(void)state;
	mutex_init(&lock, LOCK_IMAGES);
	runners_init(&runners, &lock, &kind, &readers);
	threads_left = -1;
	n_ran = 0;
	for (size_t i = 0; i < ITEMS; i++)
		items[i] = (struct item){.is_taken = false};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	runners_deinit(&runners);
	mutex_destroy(&lock);
	return 0;
}

/* Ends the threads; how many items had not been run. */
static size_t end(void)
{
	struct list woken;
	size_t n = 0;
	list_init(&woken);
	mutex_lock(&lock);
	runners_stop(&runners, &woken);
	mutex_unlock(&lock);
	for (struct list *at; (at = list_take(&woken)); n++) {
		assert_ptr_equal(at, &items[n].link); /* in their order */
		assert_true(LIST_ENTRY(at, struct item)->is_taken && !LIST_ENTRY(at, struct item)->has_run);
	}
	const unsigned n_threads = runners.n_threads;
	joined = 0;
	runners_join(&runners);
	assert_int_equal(joined, n_threads);
	assert_int_equal(runners.n_threads, 0);
	return n;
}

static void number(unsigned of_cpus, int threads, int err, unsigned running)
{
	assert_int_equal(set_up(NULL), 0);
	cpus = of_cpus;
	threads_left = threads;
	assert_int_equal(runners_start(&runners), err);
	assert_int_equal(runners.n_threads, running);
	assert_int_equal(end(), 0);
	assert_int_equal(tear_down(NULL), 0);
}

/* One a processor; a few suffice where no more can be had. */
TEST(numbers)
{
	number(1, -1, 0, 2);
	number(2, -1, 0, 2);
	number(3, -1, 0, 3);
	number(RUNNERS_MAX, -1, 0, RUNNERS_MAX);
	number(RUNNERS_MAX + 1, -1, 0, RUNNERS_MAX);
	number(4, 0, -EAGAIN, 0);
	number(4, 1, 0, 1);
}

TEST(runs)
{
	struct timespec until;
	assert_int_equal(set_up(NULL), 0);
	cpus = 3;
	assert_int_equal(runners_start(&runners), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANGS_AFTER_SECONDS;
	mutex_lock(&lock);
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(runners_add(&runners, (uid_t)i % 3, &items[i].link), 0);
	while (n_ran < ITEMS)
		assert_true(!mutex_wait_until(&lock, &ran, &until));
	mutex_unlock(&lock);
	assert_int_equal(end(), 0);
	for (size_t i = 0; i < ITEMS; i++)
		assert_true(items[i].has_run && items[i].was_inside);
	assert_int_equal(readers.inside[0] + readers.inside[1], 0);
	assert_int_equal(tear_down(NULL), 0);
}

/* A waiting thread is woken by the next item. */
TEST(one_by_one)
{
	enum { ROUNDS = 200 };
	struct timespec until;
	assert_int_equal(set_up(NULL), 0);
	cpus = 2;
	assert_int_equal(runners_start(&runners), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANGS_AFTER_SECONDS;
	mutex_lock(&lock);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		assert_int_equal(runners_add(&runners, 7, &items[i % ITEMS].link), 0);
		while (n_ran < i)
			assert_true(!mutex_wait_until(&lock, &ran, &until));
	}
	mutex_unlock(&lock);
	assert_int_equal(end(), 0);
	assert_int_equal(tear_down(NULL), 0);
}

/* What is queued when they end is given back, and nothing more is taken. */
TEST(ended)
{
	assert_int_equal(set_up(NULL), 0);
	mutex_lock(&lock);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(runners_add(&runners, 7, &items[i].link), 0);
	mutex_unlock(&lock);
	assert_int_equal(end(), 3);
	mutex_lock(&lock);
	assert_int_equal(runners_add(&runners, 7, &items[3].link), -ENOTCONN);
	mutex_unlock(&lock);
	assert_int_equal(runners_start(&runners), 0); /* they end at once */
	runners_join(&runners);
	assert_int_equal(n_ran, 0);
	assert_int_equal(tear_down(NULL), 0);
}

/* Two FUSE threads may compute for longer. */
TEST(held)
{
	assert_int_equal(set_up(NULL), 0);
	assert_true(runners_hold(&runners));
	assert_true(runners_hold(&runners));
	assert_false(runners_hold(&runners));
	assert_false(runners_hold(&runners));
	runners_release(&runners);
	assert_true(runners_hold(&runners));
	assert_false(runners_hold(&runners));
	assert_int_equal(tear_down(NULL), 0);
}

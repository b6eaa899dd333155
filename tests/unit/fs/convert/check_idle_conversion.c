/* What an idle host converts: from the cache or by a worker, how it is counted, and when it is given up. */
#include "tests/unit/fs/images/images_fixture.h"

#include "work/os/mutex.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/sys/metrics.h"
#include "work/run/run_slots.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum { ALWAYS = 100000 /* per cent of load: a host is idle below that */, GIVEN_UP_MAX = 3, WORKER = 4711 };
enum { HANGS_AFTER_SECONDS = 60 };

struct run {
	struct metrics metrics;
	struct cache cache;
	struct converter converter;
	struct queue queue;
};

static struct run *run;
static struct revision *rev;
/* Of the next conversion: whether the cache has it, and how it ends. */
static bool in_cache;
static struct outcome next_outcome;
/* Seen by the thread of the queue. */
static _Atomic unsigned conversions;
static struct run_slots slots;

/* It has one thread, no slot that others wait for, and ends when it is cancelled. */
static void expect_idle(const struct converter *converter, const struct convert_request *request)
{
	assert_ptr_equal(converter->cache, &run->cache);
	assert_int_equal(converter->threads, 1);
	assert_null(converter->slots);
	assert_string_equal(request->id, ID);
	assert_ptr_equal(request->stop_fd, &run->queue.idle.cancel_fd);
	assert_null(request->asked);
}

static bool find_in_cache(const struct converter *converter, const struct convert_request *request,
			  bool is_known, struct outcome *ret)
{
	expect_idle(converter, request);
	assert_int_equal(is_known, rev->gsym_size != 0);
	if (in_cache)
		*ret = next_outcome;
	return in_cache;
}

static pid_t idle_process;

int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	assert_int_equal(policy, SCHED_IDLE);
	assert_int_equal(param->sched_priority, 0);
	idle_process = pid;
	return 0;
}

/* Its worker gets what processor time no other process wants. */
static void expect_worker_that_gives_way(const struct convert_request *request)
{
	idle_process = 0;
	request->worker(request->user, WORKER);
	assert_int_equal(idle_process, WORKER);
	assert_int_equal(atomic_load(&rev->worker), WORKER);
	idle_process = -1;
	request->worker(request->user, 0);
	assert_int_equal(idle_process, -1);
	assert_int_equal(atomic_load(&rev->worker), 0);
}

static void run_worker(const struct converter *converter, const struct convert_request *request,
		       struct outcome *ret)
{
	expect_idle(converter, request);
	mutex_lock(&run->queue.images->lock);
	assert_int_equal(rev->state, STATE_CONVERTING);
	mutex_unlock(&run->queue.images->lock);
	expect_worker_that_gives_way(request);
	conversions++;
	*ret = next_outcome;
}

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx owner = {.uid = OWNER};
	(void)req;
	return &owner;
}

/* ---- One image, of which only addresses were asked ---- */

static void begin(struct images_fixture *f, struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->cache.dir = -1;
	r->converter.cache = &r->cache;
	r->converter.threads = 8;
	r->converter.slots = &slots;
	r->queue = (struct queue){.images = &f->images,
				  .converter = &r->converter,
				  .work = {find_in_cache, run_worker},
				  .metrics = &r->metrics,
				  .idle.load_percent = ALWAYS};
	run = r;
	conversions = 0;
	put(f, program_file(SOURCE_DWARF));
	rev = current(f);
	queue_init(&r->queue);
	give_fragment(f, rev, new_handle());
}

/* Until as many conversions as @n have ended, and the daemon ends. */
static void convert_when_idle(struct images_fixture *f, unsigned n)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	assert_int_equal(queue_start(&run->queue, 0), 0);
	for (unsigned ms = 0;; ms++) {
		mutex_lock(&f->images.lock);
		uint64_t ended = run->metrics.idle[IDLE_CONVERTED] + run->metrics.idle[IDLE_GIVEN_UP];
		bool over = ended == n && !run->queue.idle.running;
		mutex_unlock(&f->images.lock);
		if (over)
			break;
		assert_true(ended <= n && ms < HANGS_AFTER_SECONDS * 1000);
		nanosleep(&pause, NULL);
	}
	mutex_lock(&f->images.lock);
	queue_stop(&run->queue);
	mutex_unlock(&f->images.lock);
	queue_join(&run->queue);
	queue_deinit(&run->queue);
}

/* How the image itself ends a conversion; such an end is the last one. */
static const struct outcome settled[] = {
	{.verdict = VERDICT_FAILED_FOREVER, .err = -EBADMSG, .diag.text = "why"},
	{.verdict = VERDICT_OUTDATED},
};

static uint64_t counted(void)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(run->metrics.conversions); i++)
		n += run->metrics.conversions[i];
	return n;
}

/* By a worker, or another daemon made it meanwhile, say: then nothing is converted here. */
TEST_OF(settles, struct images_fixture, f)
{
	struct run r;
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(settled); i++) {
		in_cache = i % 2;
		next_outcome = settled[i / 2];
		begin(f, &r);
		unsigned before = rev->image->conversions, made = in_cache ? 0 : 1;
		convert_when_idle(f, 1);
		assert_int_equal(r.metrics.idle[IDLE_CONVERTED], 1);
		assert_int_equal(conversions, made);
		assert_int_equal(rev->image->conversions, before + made);
		assert_int_equal(counted(), made);
		assert_int_equal(rev->n_fragments, 0);
		rev->state = STATE_COLD;
	}
}

/* It keeps what is known of it, is tried a few times, and calls that wait for it look again. */
TEST_OF(given_up, struct images_fixture, f)
{
	static const enum verdict verdicts[] = {VERDICT_TRANSIENT, VERDICT_CRASHED, VERDICT_FAILED,
						VERDICT_ELSEWHERE};
	struct run r;
	in_cache = false;
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		struct runners runners;
		struct list resumed;
		struct call call = {.runners = &runners, .state = CALL_PARKED};
		list_init(&resumed);
		runners_init(&runners, &f->images.lock, &call_runner_kind, &f->images.readers);
		next_outcome = (struct outcome){.verdict = verdicts[i], .err = -EIO};
		begin(f, &r);
		rev->given_up = 0;
		mutex_lock(&f->images.lock);
		list_append(&rev->waiters, &call.link);
		mutex_unlock(&f->images.lock);
		convert_when_idle(f, GIVEN_UP_MAX);
		assert_int_equal(r.metrics.idle[IDLE_GIVEN_UP], GIVEN_UP_MAX);
		assert_int_equal(r.metrics.idle[IDLE_CONVERTED], 0);
		assert_int_equal(conversions, GIVEN_UP_MAX);
		assert_int_equal(counted(), 0);
		mutex_lock(&f->images.lock);
		runners_stop(&runners, &resumed);
		mutex_unlock(&f->images.lock);
		assert_ptr_equal(list_take(&resumed), &call.link);
		runners_deinit(&runners);
		assert_int_equal(rev->state, STATE_COLD);
		assert_int_equal(rev->given_up, GIVEN_UP_MAX);
		assert_true(rev->n_fragments > 0);
	}
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

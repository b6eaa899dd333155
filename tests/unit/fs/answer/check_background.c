/* What is computed for calls by a thread of its own: jobs that are shared, sliced, dropped and failed. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/answer/background.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { CALLS = 12, LOG = 64 };

/* ---- In place of libfuse ---- */

static struct fuse_ctx context;

static int replied[CALLS];

void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t func, void *data)
{
	(void)req;
	(void)data;
	assert_null(func);
}

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	(void)req;
	return &context;
}

int __wrap_fuse_reply_err(fuse_req_t req, int err)
{
	replied[(uintptr_t)req - 1] = err;
	return 0;
}

/* ---- Jobs ---- */

static struct fixture {
	struct images_fixture *f;
	struct runners runners;
	struct background background;
	struct call calls[CALLS];
	struct revision *revs[CALLS];
	/* Of the jobs, by part: how many slices they take, and their errno then. */
	unsigned slices[CALLS], freed[CALLS];
	int err[CALLS];
	bool not_open[CALLS];
	/* In this order parts had slices. */
	unsigned log[LOG], n_log;
} t;

static void *begin(void *user, struct revision *rev, unsigned part)
{
	assert_ptr_equal(user, &t);
	assert_ptr_equal(rev, t.revs[0]);
	return t.not_open[part] ? NULL : &t.slices[part];
}

static int go_on(void *job, int64_t until)
{
	const unsigned part = (unsigned)((unsigned *)job - t.slices);
	assert_true(until > 0);
	t.log[t.n_log++ % LOG] = part;
	return --t.slices[part] ? -EAGAIN : t.err[part];
}

/* With images.lock. */
static void free_job(void *job)
{
	t.freed[(unsigned *)job - t.slices]++;
}

static const struct job_kind kind = {.thread = "jobs", .begin = begin, .go_on = go_on, .free = free_job};

static int set_up(void **state)
{
	void *fixture;
	(void)state;
	memset(&t, 0, sizeof(t));
	memset(replied, -1, sizeof(replied));
	images_fixture_set_up(&fixture);
	t.f = fixture;
	runners_init(&t.runners, &t.f->images.lock, &call_runner_kind, NULL);
	t.background = (struct background){.kind = &kind, .user = &t, .images = &t.f->images};
	background_init(&t.background);
	put(t.f, program_file(SOURCE_DWARF));
	t.revs[0] = current(t.f);
	context.uid = 7;
	for (size_t i = 0; i < CALLS; i++) {
		t.calls[i] = (struct call){
			.runners = &t.runners, .req = (fuse_req_t)(i + 1), .state = CALL_PARKED};
		t.slices[i] = 1;
	}
	return 0;
}

static int tear_down(void **state)
{
	void *fixture = t.f;
	struct list *at;
	(void)state;
	background_deinit(&t.background);
	mutex_lock(&t.f->images.lock);
	while ((at = user_queues_take(&t.runners.waiting)))
		;
	mutex_unlock(&t.f->images.lock);
	runners_deinit(&t.runners);
	images_fixture_tear_down(&fixture);
	return 0;
}

/* Call @i of user @uid waits for @part. */
static int wait_for(size_t i, unsigned part, uid_t uid)
{
	struct call *call = &t.calls[i];
	assert_int_equal(background_await(&t.background, t.revs[0], part, &call->wait), -EAGAIN);
	assert_ptr_equal(call->wait.revision, t.revs[0]);
	assert_int_equal(call->wait.number, t.revs[0]->number);
	context.uid = uid;
	mutex_lock(&t.f->images.lock);
	int err = call->wait.park(call->wait.object, call);
	mutex_unlock(&t.f->images.lock);
	return err;
}

static size_t jobs(void)
{
	mutex_lock(&t.f->images.lock);
	size_t n = background_count(&t.background);
	mutex_unlock(&t.f->images.lock);
	return n;
}

/* Runs the thread until there are no more jobs. */
static void run(void)
{
	struct list woken;
	list_init(&woken);
	assert_int_equal(background_start(&t.background), 0);
	while (jobs())
		sched_yield();
	mutex_lock(&t.f->images.lock);
	background_stop(&t.background, &woken);
	mutex_unlock(&t.f->images.lock);
	background_join(&t.background);
	assert_true(list_empty(&woken));
}

static void expect_log(const unsigned *parts, unsigned n)
{
	assert_int_equal(t.n_log, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(t.log[i], parts[i]);
}

#define EXPECT_LOG(...)                                               \
	do {                                                          \
		const unsigned parts_[] = {__VA_ARGS__};              \
		expect_log(parts_, sizeof(parts_) / sizeof(*parts_)); \
	} while (0)

/* Call @i is to be attempted again. */
static void expect_resumed(size_t i)
{
	mutex_lock(&t.f->images.lock);
	assert_ptr_equal(user_queues_take(&t.runners.waiting), &t.calls[i].link);
	mutex_unlock(&t.f->images.lock);
}

/* ---- Tests ---- */

TEST(shared)
{
	assert_int_equal(wait_for(0, 1, 7), 0);
	assert_int_equal(wait_for(1, 2, 7), 0);
	assert_int_equal(wait_for(2, 1, 8), 0); /* of another user, the same */
	assert_int_equal(jobs(), 2);
	run();
	EXPECT_LOG(1, 2);
	assert_int_equal(t.freed[1], 1);
	assert_int_equal(t.freed[2], 1);
	assert_int_equal(t.background.n_begun, 0);
	expect_resumed(0);
	expect_resumed(2);
	expect_resumed(1);
}

/* One slice each, of each user in turn. */
TEST(sliced)
{
	t.slices[1] = t.slices[2] = t.slices[3] = 2;
	wait_for(0, 1, 7);
	wait_for(1, 2, 7);
	wait_for(2, 3, 8);
	run();
	EXPECT_LOG(1, 3, 2, 3, 1, 2);
}

/* When many have begun they come first, so that not all images are open. */
TEST(many_begun)
{
	for (unsigned i = 0; i < 10; i++) {
		t.slices[i] = 2;
		wait_for(i, i, 7);
	}
	run();
	EXPECT_LOG(0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9, 0, 1, 2, 3, 4, 5, 6);
}

/* Calls that went away take their job with them. */
TEST(dropped)
{
	wait_for(0, 1, 7);
	wait_for(1, 2, 7);
	mutex_lock(&t.f->images.lock);
	list_remove(&t.calls[0].link);
	mutex_unlock(&t.f->images.lock);
	run();
	EXPECT_LOG(2);
	expect_resumed(1);
}

/* The image is not open: the call is attempted again. */
TEST(not_open)
{
	t.not_open[1] = true;
	wait_for(0, 1, 7);
	run();
	assert_int_equal(t.n_log, 0);
	assert_int_equal(t.freed[1], 0);
	assert_int_equal(replied[0], -1);
	expect_resumed(0);
}

TEST(failed)
{
	t.err[1] = -EIO;
	t.err[2] = -ENOMEM;
	t.calls[1].outlives_failure = t.calls[2].outlives_failure = true;
	wait_for(0, 1, 7);
	wait_for(1, 1, 7);
	run();
	assert_int_equal(replied[0], EIO);
	assert_int_equal(t.calls[1].failure, -EIO);
	assert_false(t.calls[1].failed_here);
	assert_int_equal(t.calls[1].failed, t.revs[0]->number + UINT64_C(1));
	expect_resumed(1);
	t.background.stopping = false;
	wait_for(2, 2, 7);
	run();
	assert_int_equal(t.calls[2].failure, -ENOMEM);
	assert_true(t.calls[2].failed_here);
	expect_resumed(2);
}

/* Each allocation fails once: the call does not wait for what will not be done. */
TEST(without_memory)
{
	int err = -ENOMEM;
	list_init(&t.calls[0].link);
	for (long n = 0; err; n++) {
		allowed = n;
		err = wait_for(0, 1, 7);
		assert_true(!err || (err == -ENOMEM && allowed < 0));
		allowed = -1;
		assert_int_equal(jobs(), err ? 0 : 1);
		assert_int_equal(list_empty(&t.calls[0].link), err != 0);
	}
	run();
	expect_resumed(0);
}

/* A call waits for so much work, and no more. */
TEST(limit_of_works)
{
	t.calls[0].works = CALL_WORKS_MAX - 1;
	assert_int_equal(wait_for(0, 1, 7), 0);
	t.calls[1].works = CALL_WORKS_MAX;
	assert_int_equal(wait_for(1, 1, 7), -EIO);
	assert_int_equal(jobs(), 1);
	run();
	expect_resumed(0);
}

/* The daemon ends: all calls are woken, and the revision is used no more. */
TEST(stopped)
{
	struct list woken;
	list_init(&woken);
	uint64_t pins = atomic_load(&t.revs[0]->pins) & UINT32_MAX;
	wait_for(0, 1, 7);
	wait_for(1, 2, 8);
	wait_for(2, 2, 8);
	assert_int_equal(atomic_load(&t.revs[0]->pins) & UINT32_MAX, pins + 2);
	mutex_lock(&t.f->images.lock);
	background_stop(&t.background, &woken);
	mutex_unlock(&t.f->images.lock);
	assert_int_equal(list_count(&woken), 3);
	while (list_take(&woken))
		;
	background_join(&t.background); /* it was not started */
	background_deinit(&t.background);
	assert_int_equal(atomic_load(&t.revs[0]->pins) & UINT32_MAX, pins);
	background_init(&t.background);
}

EACH_TEST(set_up, tear_down)

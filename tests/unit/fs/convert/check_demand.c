/*
 * Which conversions are due: those of an idle host, those that another host may have made by now, and the
 * addresses that calls wait for.
 */
#include "tests/unit/fs/images/images_fixture.h"

#include "work/os/monotonic.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/convert/fragment_queue.h"
#include "fs/convert/remote_conversions.h"
#include "fs/convert/idle.h"
#include "fs/convert/queue.h"
#include "fs/convert/revision_queue.h"
#include "fs/images/revision.h"
#include "fs/scan/scanner.h"
#include "fs/sys/metrics.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { ALWAYS = 100000 /* per cent of load: a host is idle below that */ };

/* ---- On an idle host ---- */

static bool is_cancelled(const struct idle *idle)
{
	struct pollfd fd = {.fd = idle->cancel_fd, .events = POLLIN};
	return poll(&fd, 1, 0) == 1;
}

/* Only what addresses were asked of, is not converted, was not replaced, and not given up too often. */
TEST_OF(pending, struct images_fixture, f)
{
	struct idle idle = {.load_percent = ALWAYS};
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f);
	assert_false(idle_is_pending(&idle, rev));
	give_fragment(f, rev, new_handle());
	assert_true(idle_is_pending(&idle, rev));
	rev->given_up = 2;
	assert_true(idle_is_pending(&idle, rev));
	rev->given_up = 3;
	assert_false(idle_is_pending(&idle, rev));
	rev->given_up = 0;
	rev->stale = true;
	assert_false(idle_is_pending(&idle, rev));
	rev->stale = false;
	for (enum revision_state s = STATE_COLD; s < STATES; s++) {
		rev->state = s;
		assert_int_equal(idle_is_pending(&idle, rev), s == STATE_COLD);
	}
	rev->state = STATE_COLD;
	idle.load_percent = 0;
	assert_false(idle_is_pending(&idle, rev));
	take_fragments(f, rev);
}

/* What an idle host converts is given up for a demand, for a call that waits for it, and at the end. */
TEST_OF(given_up, struct images_fixture, f)
{
	struct idle idle = {.load_percent = ALWAYS};
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f), other = {.state = STATE_COLD};
	idle_init(&idle, &f->images);
	assert_int_equal(idle_start(&idle), 0);
	give_fragment(f, rev, new_handle());
	for (int why = 0; why < 3; why++) {
		assert_ptr_equal(idle_next(&idle), rev);
		assert_int_equal(rev->state, STATE_OPENING);
		assert_ptr_equal(idle.running, rev);
		assert_false(is_cancelled(&idle)); /* as it was the time before */
		mutex_lock(&f->images.lock);
		idle_note_wait(&idle, &other);
		assert_false(is_cancelled(&idle));
		if (why == 0) {
			idle_begin_demand(&idle);
			idle_end_demand(&idle);
		} else if (why == 1) {
			idle_note_wait(&idle, rev);
		} else {
			idle_stop(&idle);
		}
		assert_true(is_cancelled(&idle));
		idle_end(&idle);
		assert_null(idle.running);
		revision_set_state(&f->images, rev, STATE_COLD);
		mutex_unlock(&f->images.lock);
	}
	assert_null(idle_next(&idle)); /* the daemon ends */
	take_fragments(f, rev);
	idle_deinit(&idle);
}

/* Nothing is cancelled that does not run. */
TEST_OF(nothing_to_give_up, struct images_fixture, f)
{
	struct idle idle = {.load_percent = ALWAYS};
	idle_init(&idle, &f->images);
	assert_int_equal(idle.cancel_fd, -1);
	assert_int_equal(idle_start(&idle), 0);
	mutex_lock(&f->images.lock);
	idle_begin_demand(&idle);
	assert_false(is_cancelled(&idle));
	mutex_unlock(&f->images.lock);
	assert_int_equal(idle.demanded, 1);
	idle_deinit(&idle);
}

/* Without a descriptor what runs could not be given up. */
TEST_OF(no_descriptor, struct images_fixture, f)
{
	struct idle idle = {.load_percent = ALWAYS};
	struct rlimit before, none;
	idle_init(&idle, &f->images);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int err = idle_start(&idle);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err, -EMFILE);
	idle_deinit(&idle);
}

struct waiting {
	struct idle *idle;
	struct revision *chosen;
	int64_t at;
};

static void *wait_for_next(void *arg)
{
	struct waiting *w = arg;
	w->chosen = idle_next(w->idle);
	w->at = monotonic_ms();
	return NULL;
}

/* Not while a conversion is wanted, and not before the host was quiet for as long as it should be. */
TEST_OF(after_a_quiet_time, struct images_fixture, f)
{
	struct idle idle = {.load_percent = ALWAYS, .seconds = 1};
	struct waiting w = {.idle = &idle};
	pthread_t thread;
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f);
	idle_init(&idle, &f->images);
	assert_int_equal(idle_start(&idle), 0);
	give_fragment(f, rev, new_handle());
	mutex_lock(&f->images.lock);
	idle_begin_demand(&idle);
	idle_begin_demand(&idle);
	mutex_unlock(&f->images.lock);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_next, &w), 0);
	mutex_lock(&f->images.lock);
	idle_end_demand(&idle);
	assert_null(idle.running);
	idle_end_demand(&idle);
	assert_null(idle.running);
	int64_t since = idle.quiet_since;
	mutex_unlock(&f->images.lock);
	pthread_join(thread, NULL);
	assert_ptr_equal(w.chosen, rev);
	assert_true(w.at >= since + 1000);
	mutex_lock(&f->images.lock);
	idle_end(&idle);
	assert_true(idle.quiet_since >= since + 1000);
	mutex_unlock(&f->images.lock);
	take_fragments(f, rev);
	idle_deinit(&idle);
}

/* ---- On another host ---- */

static int64_t hurried;

static int64_t end_of_hurry(const struct share *share, struct share_turn *turn)
{
	(void)share;
	(void)turn;
	return hurried;
}

static void end_turn(struct share *share, struct share_turn *turn)
{
	(void)share;
	(void)turn;
}

static const struct result_store store = {.hurry = end_of_hurry, .end = end_turn};

static void expect_due(struct remote_conversions *remote, int64_t now, const struct revision *rev)
{
	struct remote_conversion entry = {.rev = NULL};
	int64_t until;
	assert_true(remote_conversions_take(remote, now, &entry, &until));
	assert_ptr_equal(entry.rev, rev);
}

static void expect_none(struct remote_conversions *remote, int64_t now, int64_t next)
{
	struct remote_conversion entry;
	int64_t until;
	assert_false(remote_conversions_take(remote, now, &entry, &until));
	assert_int_equal(until, next);
}

TEST(due_first)
{
	struct remote_conversions remote = {0};
	struct revision revs[4];
	expect_none(&remote, INT64_MAX, INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(revs); i++)
		assert_int_equal(
			remote_conversions_add(&remote, &revs[i], NULL, (int64_t[]){30, 10, 20, 40}[i]), 0);
	expect_none(&remote, 9, 10);
	expect_due(&remote, 10, &revs[1]);
	expect_none(&remote, 10, 20);
	expect_due(&remote, 100, &revs[2]);
	expect_due(&remote, 100, &revs[0]);
	remote_conversions_deinit(&remote, &(struct converter){.store = &store});
}

/* It may become due earlier, never later, and no other with it. */
TEST(hurry)
{
	struct remote_conversions remote = {0};
	struct revision revs[3];
	for (size_t i = 0; i < ARRAY_SIZE(revs); i++)
		assert_int_equal(remote_conversions_add(&remote, &revs[i], NULL, 30 + (int64_t)i), 0);
	hurried = 20;
	remote_conversions_hurry(&remote, &(struct converter){.store = &store}, &revs[1]);
	expect_none(&remote, 19, 20);
	hurried = 25;
	remote_conversions_hurry(&remote, &(struct converter){.store = &store}, &revs[1]);
	expect_due(&remote, 20, &revs[1]);
	remote_conversions_hurry(&remote, &(struct converter){.store = &store},
				 &revs[1]); /* it is not there any more */
	expect_none(&remote, 29, 30);
	remote_conversions_deinit(&remote, &(struct converter){.store = &store});
}

/* ---- Addresses ---- */

enum { CALLS = 5 };

/* Calls that wait for as many addresses: 10, 11, ... of the first, 20, ... of the second. */
struct asked {
	struct revision rev;
	struct call calls[CALLS];
	struct convert_address addresses[CALLS][4];
};

static void ask(struct asked *a, const unsigned n[static CALLS])
{
	*a = (struct asked){.rev = {.number = 0}};
	list_init(&a->rev.waiters);
	list_init(&a->rev.link);
	for (size_t i = 0; i < CALLS; i++) {
		for (unsigned k = 0; k < n[i]; k++)
			a->addresses[i][k].value = 10 * (i + 1) + k;
		a->calls[i].wait.n_addresses = n[i];
		a->calls[i].addresses = a->addresses[i];
		list_append(&a->rev.waiters, &a->calls[i].link);
	}
}

/* @addresses end with 0. */
static void expect_asked(struct asked *a, bool again, size_t most, const uint64_t *addresses)
{
	struct convert_address found[16];
	size_t n = fragment_queue_list(&a->rev, again, found, most);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(found[i].value, addresses[i]);
	assert_int_equal(addresses[n], 0);
}

#define ADDRESSES(...) ((const uint64_t[]){__VA_ARGS__, 0})

TEST(listed)
{
	struct asked a;
	ask(&a, (const unsigned[]){2, 0, 3, 2, 1});
	a.calls[3].early = EARLY_OVER;
	/* All of a call or none. */
	expect_asked(&a, false, 1, ADDRESSES(50));
	expect_asked(&a, false, 4, ADDRESSES(10, 11));
	expect_asked(&a, true, 6, ADDRESSES(10, 11, 30, 31, 32, 50));
	expect_asked(&a, true, 5, ADDRESSES(10, 11, 30, 31, 32));
	assert_int_equal(a.calls[1].early, EARLY_NEW);
	assert_int_equal(a.calls[2].early, EARLY_ASKED);
	assert_int_equal(a.calls[3].early, EARLY_OVER);
	/* Those that a worker was asked for are not asked of another. */
	expect_asked(&a, false, 16, ADDRESSES(0));
	a.calls[2].early = EARLY_NEW;
	expect_asked(&a, false, 16, ADDRESSES(30, 31, 32));
}

static void note(struct fragment_queue *queue, struct asked *a, size_t call, bool whole, size_t waiting)
{
	mutex_lock(&queue->images->lock);
	fragment_queue_note(queue, &a->rev, &a->calls[call]);
	assert_int_equal(a->rev.whole, whole);
	assert_int_equal(revision_queue_count(&queue->further), waiting);
	mutex_unlock(&queue->images->lock);
}

/* A call for more than addresses, or for too many, has the image converted. */
TEST_OF(noted, struct images_fixture, f)
{
	const struct converter converter = {.share = NULL};
	struct remote_conversions remote = {0};
	struct revision_queue conversions;
	struct fragment_queue fragments = {.eager = false};
	struct asked a;
	ask(&a, (const unsigned[]){1, 0, 1, 1, 1});
	revision_queue_init(&conversions);
	fragment_queue_init(&fragments, &f->images, &converter, &conversions, &remote);
	note(&fragments, &a, 0, false, 0);
	a.rev.state = STATE_CONVERTING;
	note(&fragments, &a, 0, false, 0); /* its conversion is to answer first */
	a.rev.fragments_made = FRAGMENTS_MAX - 1;
	a.rev.passed_on = true;
	a.rev.served = true;
	note(&fragments, &a, 0, false, 0);
	a.rev.served = false;
	a.rev.state = STATE_QUEUED;
	note(&fragments, &a, 0, false, 0);
	a.rev.state = STATE_CONVERTING;
	note(&fragments, &a, 0, false, 1);
	note(&fragments, &a, 2, false, 1); /* it waits for the thread already */
	a.rev.fragments_made = FRAGMENTS_MAX;
	note(&fragments, &a, 0, true, 1);
	a.rev.fragments_made = 0;
	a.rev.whole = false;
	fragments.eager = true;
	note(&fragments, &a, 0, true, 1);
	fragments.eager = a.rev.whole = false;
	note(&fragments, &a, 1, true, 1);
	assert_false(a.rev.hurried);
	a.rev.whole = false;
	a.calls[3].early = EARLY_OVER;
	note(&fragments, &a, 3, true, 1);
	assert_true(a.rev.hurried);
	mutex_lock(&f->images.lock);
	assert_ptr_equal(revision_queue_take(&fragments.further), &a.rev);
	mutex_unlock(&f->images.lock);
	fragment_queue_deinit(&fragments);
	revision_queue_deinit(&conversions);
	remote_conversions_deinit(&remote, &(struct converter){.store = &store});
}

/* ---- Threads ---- */

/* First what a call waits for, of each user in turn. */
TEST(revisions_in_a_queue)
{
	enum { N = 5 };
	struct revision revs[N];
	static const struct {
		uid_t uid;
		bool ahead;
	} wanted[N] = {{1, true}, {1, false}, {1, false}, {2, false}, {2, true}};
	static const size_t order[N] = {1, 3, 2, 0, 4};
	struct revision_queue queue;
	revision_queue_init(&queue);
	assert_null(revision_queue_take(&queue));
	for (size_t i = 0; i < N; i++) {
		revs[i] = (struct revision){.requester = wanted[i].uid, .ahead = wanted[i].ahead};
		list_init(&revs[i].link);
		revision_queue_add(&queue, &revs[i]);
		assert_int_equal(revision_queue_count(&queue), i + 1);
	}
	for (size_t i = 0; i < N; i++) {
		assert_ptr_equal(revision_queue_take(&queue), &revs[order[i]]);
		assert_int_equal(revision_queue_count(&queue), N - 1 - i);
	}
	assert_null(revision_queue_take(&queue));
	revision_queue_deinit(&queue);
}

/* What was requested ahead of need waits for a thread, also when the daemon ends; nothing is kept of it. */
TEST_OF(ended_while_waiting, struct images_fixture, f)
{
	const struct converter converter = {.share = NULL};
	struct queue queue = {.images = &f->images, .converter = &converter};
	put(f, program_file(SOURCE_DWARF));
	put_as(f, "fedcba9876543210", WITH(debug_file(), w.ino = 99));
	struct revision *rev = current(f), *late = revision_of(f, "fedcba9876543210");
	queue_init(&queue);
	mutex_lock(&f->images.lock);
	queue_want(&queue, rev, OWNER, false);
	assert_int_equal(rev->state, STATE_OPENING);
	assert_true(rev->ahead);
	assert_int_equal(revision_queue_count(&queue.opening), 1);
	queue_want(&queue, rev, OWNER, true); /* it is under way */
	assert_int_equal(revision_queue_count(&queue.opening), 1);
	assert_true(rev->whole);
	queue.stopping = true;
	queue_want(&queue, late, OWNER, false);
	assert_int_equal(late->state, STATE_COLD);
	list_remove(&rev->link);
	revision_set_state(&f->images, rev, STATE_COLD);
	mutex_unlock(&f->images.lock);
	queue_deinit(&queue);
	assert_false(user_queues_any(&queue.opening.ahead));
	assert_int_equal(queue.opening.ahead.by_uid.n, 0);
}

/* ---- Conversions ---- */

enum { HANGS_AFTER_SECONDS = 60 };

static struct outcome next_outcome; /* of the conversion */
static struct call *waiting_call;   /* for addresses while it runs, or NULL */
static bool in_cache;
static unsigned conversions;
static uint64_t last_told; /* to the last conversion, of the one before */

static bool find_in_cache(const struct converter *converter, const struct convert_request *request,
			  bool is_known, struct outcome *ret)
{
	assert_non_null(converter);
	assert_string_equal(request->id, ID);
	assert_false(is_known);
	if (in_cache)
		*ret = next_outcome;
	return in_cache;
}

static struct images *images_of_rev; /* that is converted */
static struct revision *converted;

/* What is asked from now on is for others, once nothing waits for this worker. */
static void expect_asked_by(const struct convert_request *request, size_t most, size_t n)
{
	struct convert_address found[4];
	assert_int_equal(request->asked(request->asker, found, most), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(found[i].value, 10 + i);
	mutex_lock(&images_of_rev->lock);
	assert_int_equal(converted->passed_on, n == 0);
	mutex_unlock(&images_of_rev->lock);
}

/* What waits is asked of each worker, of one that takes the place of another, too. */
static void run_worker(const struct converter *converter, const struct convert_request *request,
		       struct outcome *ret)
{
	assert_non_null(converter);
	conversions++;
	last_told = request->told;
	if (waiting_call) {
		expect_asked_by(request, 4, 2);
		assert_int_equal(waiting_call->early, EARLY_ASKED);
		expect_asked_by(request, 4, 2);
		list_remove(&waiting_call->link);
	}
	expect_asked_by(request, 4, 0);
	*ret = next_outcome;
}

struct conversions {
	struct metrics metrics;
	struct cache cache;
	struct converter converter;
	struct scanner scanner;
	struct queue queue;
};

static void begin_conversions(struct conversions *c, struct images *images)
{
	memset(c, 0, sizeof(*c));
	c->cache.dir = -1;
	c->converter.cache = &c->cache;
	c->queue = (struct queue){
		.images = images,
		.scanner = &c->scanner,
		.converter = &c->converter,
		.work = {find_in_cache, run_worker},
		.metrics = &c->metrics,
		.fragments.eager = true,
	};
	c->scanner.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(c->scanner.wake_fd >= 0);
	queue_init(&c->queue);
	assert_int_equal(queue_start(&c->queue, 1), 0);
	in_cache = false;
	waiting_call = NULL;
	conversions = 0;
}

static void end_conversions(struct conversions *c)
{
	mutex_lock(&c->queue.images->lock);
	queue_stop(&c->queue);
	mutex_unlock(&c->queue.images->lock);
	queue_join(&c->queue);
	queue_deinit(&c->queue);
	close(c->scanner.wake_fd);
}

/* Has @rev converted, with @outcome, and waits for its end: the state that it has then. */
static enum revision_state convert(struct conversions *c, struct revision *rev, struct outcome outcome)
{
	struct timespec until;
	enum revision_state state;
	next_outcome = outcome;
	images_of_rev = c->queue.images;
	converted = rev;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HANGS_AFTER_SECONDS;
	mutex_lock(&c->queue.images->lock);
	if (waiting_call)
		list_append(&rev->waiters, &waiting_call->link);
	queue_want(&c->queue, rev, OWNER, true);
	while ((state = rev->state) == STATE_OPENING || state == STATE_QUEUED || state == STATE_CONVERTING)
		assert_int_equal(mutex_wait_until(&c->queue.images->lock, &c->queue.fragments.wake, &until),
				 0);
	mutex_unlock(&c->queue.images->lock);
	return state;
}

TEST_OF(asked_again, struct images_fixture, f)
{
	struct conversions c;
	struct convert_address addresses[] = {{.value = 10}, {.value = 11}};
	struct call call = {.wait.n_addresses = 2, .addresses = addresses};
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f);
	begin_conversions(&c, &f->images);
	waiting_call = &call;
	assert_int_equal(convert(&c, rev, (struct outcome){.verdict = VERDICT_TRANSIENT, .err = -EIO}),
			 STATE_FAILED);
	assert_int_equal(conversions, 1);
	end_conversions(&c);
}

/* A fault of the machine: the image fails for 1, 2, 4 s, and is not converted before. */
TEST_OF(passing, struct images_fixture, f)
{
	struct conversions c;
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f);
	begin_conversions(&c, &f->images);
	for (int n = 0; n < 3; n++) {
		int64_t before = time(NULL);
		assert_int_equal(convert(&c, rev,
					 (struct outcome){.verdict = VERDICT_TRANSIENT,
							  .err = -EIO,
							  .told = 5,
							  .inputs = strdup("inputs"),
							  .diag.text = "why"}),
				 STATE_FAILED);
		assert_in_range(rev->again, before + (1 << n), time(NULL) + (1 << n));
		assert_int_equal(rev->failure, -EIO);
		assert_int_equal(rev->image->conversions, n + 1);
		assert_null(rev->inputs);
		assert_int_equal(last_told, n ? 5 : 0);
		mutex_lock(&f->images.lock);
		queue_want(&c.queue, rev, OWNER, true);
		assert_int_equal(rev->state, STATE_FAILED);
		mutex_unlock(&f->images.lock);
		rev->state = STATE_COLD;
	}
	assert_int_equal(convert(&c, rev, (struct outcome){.verdict = VERDICT_CRASHED, .err = -EIO}),
			 STATE_COLD);
	assert_int_equal(rev->passing, 0);
	end_conversions(&c);
}

/* What is remembered of each outcome, and how it is counted. */
TEST_OF(outcomes, struct images_fixture, f)
{
	static const struct {
		enum verdict verdict;
		int err;
		enum revision_state state;
		enum conversion_result counted;
	} rows[] = {
		{VERDICT_CRASHED, -EIO, STATE_COLD, CONVERSION_CRASHED},
		{VERDICT_CRASHED, -EIO, STATE_COLD, CONVERSION_CRASHED},
		{VERDICT_CRASHED, -EIO, STATE_FAILED, CONVERSION_CRASHED},
		{VERDICT_CRASHED, -EIO, STATE_COLD, CONVERSION_CRASHED}, /* counted anew */
		{VERDICT_CRASHED, -EIO, STATE_COLD, CONVERSION_CRASHED},
		{VERDICT_FAILED, -EFBIG, STATE_FAILED, CONVERSION_LIMIT},
		{VERDICT_FAILED_FOREVER, -EBADMSG, STATE_FAILED, CONVERSION_FAILED},
		{VERDICT_OUTDATED, 0, STATE_COLD, CONVERSION_OK},
	};
	struct conversions c;
	put(f, program_file(SOURCE_DWARF));
	struct revision *rev = current(f);
	begin_conversions(&c, &f->images);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t before = c.metrics.conversions[rows[i].counted];
		assert_int_equal(convert(&c, rev,
					 (struct outcome){.verdict = rows[i].verdict,
							  .err = rows[i].err,
							  .seconds = 0.5,
							  .again = 77,
							  .inputs = strdup("inputs"),
							  .diag.text = "why"}),
				 rows[i].state);
		assert_int_equal(c.metrics.conversions[rows[i].counted], before + 1);
		assert_int_equal(c.metrics.cache[CACHE_MISS], i + 1);
		assert_int_equal(rev->image->conversions, i + 1);
		assert_true(rev->seconds > 0.4);
		if (rows[i].err)
			assert_string_equal(rev->reason, "why");
		assert_true(rows[i].state == STATE_FAILED || !rev->inputs);
		if (rows[i].state == STATE_FAILED) {
			assert_int_equal(rev->failure, rows[i].err);
			assert_int_equal(rev->again, 77);
			assert_string_equal(rev->inputs, "inputs");
			mutex_lock(&f->images.lock);
			revision_set_inputs(&f->images, rev, NULL);
			mutex_unlock(&f->images.lock);
			rev->state = STATE_COLD;
		}
	}
	/* The cache knows of it, and what another host made was not converted here. */
	in_cache = true;
	conversions = 0;
	assert_int_equal(
		convert(&c, rev, (struct outcome){.verdict = VERDICT_FAILED_FOREVER, .err = -EBADMSG}),
		STATE_FAILED);
	rev->state = STATE_COLD;
	assert_int_equal(c.metrics.cache[CACHE_FAILURE], 1);
	assert_int_equal(conversions, 0);
	in_cache = false;
	uint64_t counted = c.metrics.conversions[CONVERSION_FAILED], made = rev->image->conversions;
	convert(&c, rev,
		(struct outcome){.verdict = VERDICT_FAILED_FOREVER, .err = -EBADMSG, .adopted = true});
	assert_int_equal(c.metrics.conversions[CONVERSION_FAILED], counted);
	assert_int_equal(rev->image->conversions, made);
	rev->state = STATE_COLD;
	end_conversions(&c);
}

/* ---- Those that wait for a conversion ---- */

void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t function, void *user)
{
	(void)req, (void)function, (void)user;
}

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx owner = {.uid = OWNER};
	(void)req;
	return &owner;
}

/* Has @rev converted while @call waits for it, which outlives a failure. Returns the scans asked for. */
static eventfd_t wait_for(struct images_fixture *f, struct revision *rev, struct outcome outcome,
			  struct runners *runners, struct call *call)
{
	struct conversions c;
	eventfd_t scans = 0;
	*call = (struct call){
		.runners = runners, .state = CALL_PARKED, .wait.revision = rev, .outlives_failure = true};
	begin_conversions(&c, &f->images);
	mutex_lock(&f->images.lock);
	list_append(&rev->waiters, &call->link);
	mutex_unlock(&f->images.lock);
	convert(&c, rev, outcome);
	eventfd_read(c.scanner.wake_fd, &scans);
	end_conversions(&c); /* all was said by then */
	rev->state = STATE_COLD;
	return scans;
}

/* Whether a thread is to continue @call: else it waits for the next scan. */
static bool goes_on(struct images_fixture *f, struct runners *runners, struct call *call)
{
	struct list woken;
	list_init(&woken);
	mutex_lock(&f->images.lock);
	runners_stop(runners, &woken);
	runners->stopping = false;
	const struct list *first = f->images.scan_waiters.next;
	mutex_unlock(&f->images.lock);
	bool resumed = woken.next == &call->link;
	assert_true(resumed || first == &call->link);
	list_remove(&call->link);
	return resumed;
}

TEST_OF(waited_for, struct images_fixture, f)
{
	static const struct {
		struct outcome outcome;
		bool here;
	} rows[] = {
		{{.verdict = VERDICT_TRANSIENT, .err = -EIO}, true},
		{{.verdict = VERDICT_TRANSIENT, .err = -ENOTCONN}, true},
		{{.verdict = VERDICT_FAILED, .err = -ENOSPC}, true},
		{{.verdict = VERDICT_FAILED, .err = -EFBIG}, false},
		{{.verdict = VERDICT_FAILED_FOREVER, .err = -EIO}, false},
		{{.verdict = VERDICT_CRASHED, .err = -EIO}, false},
		{{.verdict = VERDICT_OUTDATED}, false},
	};
	const struct outcome replaced = {.verdict = VERDICT_REPLACED, .err = -ESTALE};
	struct runners runners;
	struct call call;
	runners_init(&runners, &f->images.lock, &call_runner_kind, &f->images.readers);
	put(f, program_file(SOURCE_DWARF));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(wait_for(f, current(f), rows[i].outcome, &runners, &call), 0);
		assert_true(goes_on(f, &runners, &call));
		assert_int_equal(call.failure, rows[i].outcome.err);
		assert_int_equal(call.failed_here, rows[i].here);
	}
	/* For a file that is another one by now, for the next scan. */
	assert_int_equal(wait_for(f, current(f), replaced, &runners, &call), 1);
	assert_false(goes_on(f, &runners, &call));
	/* One that a scan met while the file was converted: they look again. */
	struct revision *rev = current(f);
	scanned(f, 0);
	put(f, WITH(program_file(SOURCE_DWARF), w.size = 1));
	assert_true(rev->stale);
	assert_int_equal(wait_for(f, rev, replaced, &runners, &call), 0);
	assert_true(goes_on(f, &runners, &call));
	assert_int_equal(call.failure, 0);
	/* Without a file the image waits for the next scan, too. */
	rev = current(f);
	scanned(f, 0);
	scanned(f, 0);
	assert_true(rev->stale);
	assert_int_equal(wait_for(f, rev, replaced, &runners, &call), 1);
	assert_false(goes_on(f, &runners, &call));
	runners_deinit(&runners);
}

/* ---- Starting ---- */

static int threads_left =
	-1; /* that can be started, and do nothing; negative: as many as wanted, as they are */

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

static void *do_nothing(void *arg)
{
	return arg;
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left -= threads_left > 0;
	return __real_pthread_create(ret, attr, threads_left < 0 ? run : do_nothing, arg);
}

/* @threads are to be had. Without one of them the daemon does not start, and ends those that run. */
static void expect_start(struct images_fixture *f, bool eager, unsigned jobs, int threads, int err,
			 unsigned running)
{
	const struct converter converter = {.share = NULL};
	struct queue queue = {.images = &f->images, .converter = &converter, .fragments.eager = eager};
	queue_init(&queue);
	threads_left = threads;
	assert_int_equal(queue_start(&queue, jobs), err);
	threads_left = -1;
	assert_int_equal(queue.n_threads, running);
	assert_true(queue.idle.cancel_fd >= 0);
	mutex_lock(&f->images.lock);
	queue_stop(&queue);
	mutex_unlock(&f->images.lock);
	queue_join(&queue);
	assert_int_equal(queue.n_threads, 0);
	queue_deinit(&queue);
}

TEST_OF(started, struct images_fixture, f)
{
	for (int threads = 0; threads < 5; threads++) {
		expect_start(f, false, 2, threads, -EAGAIN, (unsigned)threads);
		expect_start(f, true, 3, threads, -EAGAIN, (unsigned)threads);
	}
	expect_start(f, false, 2, 6, 0, 5);
	expect_start(f, true, 2, 6, 0, 4); /* all is converted at once: nothing is left for an idle host */
	expect_start(f, false, QUEUE_JOBS_MAX + 1, 100, 0, QUEUE_JOBS_MAX + 3);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* The state machine of revisions; see enum revision_state. */
#include "fs/convert/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/os/thread.h"
#include "convert/run/share.h"
#include "fs/call/call.h"
#include "fs/images/revision.h"
#include "fs/images/evicted.h"
#include "fs/images/last_use.h"
#include "fs/scan/scanner.h"
#include "fs/sys/metrics.h"
#include "gsym/base/invariant.h"

enum {
	/*
	 * Crashes of the worker after which an image counts as failed: a crash may be bad luck (the file was
	 * being replaced, memory ran out), but not every time.
	 */
	CRASHES_MAX = 3,
};

/* ---- Stages ---- */

static void stage_init(struct stage *stage)
{
	user_queues_init(&stage->asked);
	user_queues_init(&stage->ahead);
	pthread_cond_init(&stage->wake, NULL);
}

static void stage_deinit(struct stage *stage)
{
	user_queues_deinit(&stage->asked);
	user_queues_deinit(&stage->ahead);
	pthread_cond_destroy(&stage->wake);
}

size_t stage_count(const struct stage *stage)
{
	return user_queues_count(&stage->asked) + user_queues_count(&stage->ahead);
}

static void stage_add(struct stage *stage, struct revision *rev)
{
	invariant(list_empty(&rev->link));
	user_queues_add(rev->ahead ? &stage->ahead : &stage->asked, rev->requester, &rev->link, false);
	pthread_cond_signal(&stage->wake);
}

static struct revision *stage_take(struct stage *stage)
{
	struct list *at = user_queues_take(&stage->asked);
	if (!at)
		at = user_queues_take(&stage->ahead);
	return at ? LIST_ENTRY(at, struct revision) : NULL;
}

void queue_deinit(struct queue *queue)
{
	stage_deinit(&queue->opening);
	stage_deinit(&queue->converting);
}

/* ---- Waiting ---- */

static void begin(struct queue *queue, struct revision *rev, uid_t uid, bool ahead)
	REQUIRES(&queue->images->lock)
{
	revision_set_state(queue->images, rev, STATE_OPENING);
	rev->requester = uid;
	rev->ahead = ahead;
	stage_add(&queue->opening, rev);
}

void queue_want(struct queue *queue, struct revision *rev, uid_t uid)
{
	mutex_assert_held(&queue->images->lock);
	if (rev->state == STATE_COLD && !queue->stopping)
		begin(queue, rev, uid, true);
}

/* A call waits: starts the job of @rev, or moves it ahead of those that were requested ahead of need. */
static void ask(struct queue *queue, struct revision *rev, uid_t uid) REQUIRES(&queue->images->lock)
{
	if (rev->state == STATE_COLD) {
		begin(queue, rev, uid, false);
		return;
	}
	bool moves = rev->ahead && !list_empty(&rev->link);
	rev->ahead = false;
	if (!moves)
		return;
	list_remove(&rev->link);
	rev->requester = uid;
	stage_add(rev->state == STATE_OPENING ? &queue->opening : &queue->converting, rev);
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct queue *queue = object;
	struct revision *rev = call->wait.revision;
	mutex_assert_held(&queue->images->lock);
	if (rev->stale || rev->state == STATE_READY || rev->state == STATE_FAILED)
		return -EAGAIN;
	if (rev->fragment && call->wait.has_address && !call->wait.missed_fragment)
		return -EAGAIN; /* it came meanwhile */
	if (++call->tries > (call->outlives_failure ? CALL_TRIES_MANY : CALL_TRIES_MAX))
		return -EIO;
	ask(queue, rev, fuse_req_ctx(call->req)->uid);
	list_append(&rev->waiters, &call->link);
	return 0;
}

void queue_init(struct queue *queue)
{
	stage_init(&queue->opening);
	stage_init(&queue->converting);
	queue->images->open = park;
	queue->images->opener = queue;
}

/* ---- Settling ---- */

static void remember(struct images *images, struct revision *rev, struct outcome *outcome)
	REQUIRES(&images->lock)
{
	if (outcome->verdict == VERDICT_CRASHED)
		rev->crashes++;
	bool for_good = outcome->verdict == VERDICT_FAILED || outcome->verdict == VERDICT_FAILED_FOREVER ||
			(outcome->verdict == VERDICT_CRASHED && rev->crashes >= CRASHES_MAX);
	if (for_good)
		rev->crashes = 0;
	revision_set_failed(images, rev, for_good ? outcome->err : 0, outcome->diag.text);
	rev->again = outcome->again;
	if (for_good && !rev->stale)
		revision_set_inputs(images, rev, TAKE(outcome->inputs));
}

/* The object file is not the one that was scanned: the calls wait for a scan that sees what it is now. */
static void wait_for_rescan(struct queue *queue, struct revision *rev, struct list *woken)
	REQUIRES(&queue->images->lock)
{
	revision_set_state(queue->images, rev, STATE_COLD);
	if (queue->stopping)
		calls_wake_all(&rev->waiters, woken);
	else
		list_splice(&queue->images->scan_waiters, &rev->waiters);
	scanner_request(queue->scanner);
}

/* It may be remembered for seconds, while there is no room, but not as the file's. */
static bool is_fault_of_machine(const struct outcome *outcome)
{
	return outcome->verdict == VERDICT_TRANSIENT || outcome->err == -ENOSPC;
}

/* Ends a job: the new state, and all calls that waited for it. */
static void settle(struct queue *queue, struct revision *rev, struct outcome *outcome)
{
	struct handle *unused = NULL;
	struct list woken;
	list_init(&woken);
	mutex_lock(&queue->images->lock);
	struct handle *fragment = TAKE(rev->fragment);
	if (outcome->seconds > 0)
		rev->seconds = outcome->seconds;
	if (outcome->adopted)
		rev->image->conversions--;
	if (outcome->verdict == VERDICT_REPLACED) {
		wait_for_rescan(queue, rev, &woken);
	} else if (outcome->verdict == VERDICT_OUTDATED) {
		revision_set_state(queue->images, rev, STATE_COLD);
		revision_renew(queue->images, rev);
		calls_wake_all(&rev->waiters, &woken);
	} else {
		if (outcome->handle)
			unused = revision_set_ready(queue->images, rev, outcome->handle);
		else
			remember(queue->images, rev, outcome);
		calls_wake_all(&rev->waiters, &woken);
	}
	mutex_unlock(&queue->images->lock);
	handle_put(unused);
	handle_put(fragment);
	free(outcome->inputs);
	if (outcome->err)
		calls_fail(&woken, outcome->err, is_fault_of_machine(outcome));
	else
		calls_resume(&woken);
}

/* ---- Fragments ---- */

/* A conversion under way. */
struct asker {
	struct queue *queue;
	struct revision *rev;
};

/* What parked calls wait for; see struct convert_request. */
static size_t list_asked(void *user, struct convert_address *ret, size_t most)
{
	const struct asker *asker = user;
	struct revision *rev = asker->rev;
	size_t n = 0;
	mutex_lock(&asker->queue->images->lock);
	for (struct list *at = rev->waiters.next; at != &rev->waiters && n < most; at = at->next) {
		const struct call *call = LIST_ENTRY(at, struct call);
		if (call->wait.has_address)
			ret[n++] = call->wait.address;
	}
	mutex_unlock(&asker->queue->images->lock);
	return n;
}

/* Calls that the fragment does not answer are parked again. */
static void offer_fragment(void *user, struct handle *handle)
{
	const struct asker *asker = user;
	struct images *images = asker->queue->images;
	struct list woken;
	list_init(&woken);
	mutex_lock(&images->lock);
	invariant(!asker->rev->fragment);
	if (!asker->rev->stale)
		asker->rev->fragment = TAKE(handle);
	calls_wake_addresses(&asker->rev->waiters, &woken);
	mutex_unlock(&images->lock);
	handle_put(handle);
	calls_resume(&woken);
}

/* ---- Threads ---- */

/* A thread has taken @rev from queue.converting. */
static void begin_conversion(struct queue *queue, struct revision *rev) REQUIRES(&queue->images->lock)
{
	revision_set_state(queue->images, rev, STATE_CONVERTING);
	rev->image->conversions++;
	atomic_store(&rev->progress, 0);
}

/* Takes the next revision of @stage; NULL when the queue is being stopped. */
static struct revision *next(struct queue *queue, struct stage *stage)
{
	struct revision *rev = NULL;
	mutex_lock(&queue->images->lock);
	while (!queue->stopping && !(rev = stage_take(stage)))
		mutex_wait(&queue->images->lock, &stage->wake);
	if (rev && stage == &queue->converting)
		begin_conversion(queue, rev);
	mutex_unlock(&queue->images->lock);
	return rev;
}

static void enqueue_conversion(struct queue *queue, struct revision *rev)
{
	mutex_lock(&queue->images->lock);
	revision_set_state(queue->images, rev, STATE_QUEUED);
	stage_add(&queue->converting, rev);
	mutex_unlock(&queue->images->lock);
}

static void count_request(const struct queue *queue, bool there, const struct outcome *outcome)
{
	enum cache_result result = !there || outcome->verdict == VERDICT_OUTDATED ? CACHE_MISS
				   : outcome->verdict == VERDICT_READY            ? CACHE_HIT
										  : CACHE_FAILURE;
	metric_add(&queue->metrics->cache[result], 1);
}

static void count_conversion(const struct queue *queue, const struct outcome *outcome)
{
	static const enum conversion_result results[] = {
		[VERDICT_READY] = CONVERSION_OK,
		[VERDICT_OUTDATED] = CONVERSION_OK,
		[VERDICT_REPLACED] = CONVERSION_REPLACED,
		[VERDICT_TRANSIENT] = CONVERSION_FAILED,
		[VERDICT_CRASHED] = CONVERSION_CRASHED,
		[VERDICT_FAILED] = CONVERSION_LIMIT,
		[VERDICT_FAILED_FOREVER] = CONVERSION_FAILED,
	};
	metrics_add_conversion(queue->metrics, results[outcome->verdict], outcome->seconds);
}

static void *open_images(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	while ((rev = next(queue, &queue->opening))) {
		struct outcome outcome;
		struct convert_request request;
		revision_request(rev, &request);
		bool there = convert_from_cache(queue->converter, &request, rev->gsym_size != 0, &outcome);
		count_request(queue, there, &outcome);
		if (there)
			settle(queue, rev, &outcome);
		else
			enqueue_conversion(queue, rev);
	}
	return NULL;
}

static void *convert_images(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	while ((rev = next(queue, &queue->converting))) {
		struct outcome outcome;
		struct convert_request request;
		last_use_save(queue->images, queue->converter->cache);
		revision_request(rev, &request);
		struct asker asker = {queue, rev};
		request.asked = list_asked;
		request.fragment = offer_fragment;
		request.asker = &asker;
		convert_run(queue->converter, &request, &outcome);
		if (cache_take_evicted(queue->converter->cache))
			images_close_evicted(queue->images, queue->converter->cache);
		if (!outcome.adopted)
			count_conversion(queue, &outcome);
		settle(queue, rev, &outcome);
		share_give(queue->converter->shared, queue->converter->counters, outcome.offer);
	}
	return NULL;
}

static int start(struct queue *queue, const char *name, void *(*run)(void *))
{
	int err = thread_start(&queue->threads[queue->n_threads], name, run, queue);
	if (!err)
		queue->n_threads++;
	return err;
}

int queue_start(struct queue *queue, unsigned jobs)
{
	int err = start(queue, "open", open_images);
	for (unsigned i = 0; i < jobs && i < QUEUE_JOBS_MAX && !err; i++)
		err = start(queue, "convert", convert_images);
	return err;
}

void queue_stop(struct queue *queue)
{
	mutex_assert_held(&queue->images->lock);
	queue->stopping = true;
	pthread_cond_broadcast(&queue->opening.wake);
	pthread_cond_broadcast(&queue->converting.wake);
}

void queue_join(struct queue *queue)
{
	for (unsigned i = 0; i < queue->n_threads; i++)
		pthread_join(queue->threads[i], NULL);
	queue->n_threads = 0;
}

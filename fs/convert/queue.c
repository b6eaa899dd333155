/* The state machine of revisions; see enum revision_state. */
#include "fs/convert/queue.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "work/os/monotonic.h"
#include "work/os/retry.h"
#include "work/os/thread.h"
#include "work/run/zygote.h"
#include "fs/call/call.h"
#include "fs/images/fragments.h"
#include "fs/images/revision.h"
#include "fs/images/image_release.h"
#include "fs/scan/scanner.h"
#include "fs/sys/metrics.h"

enum {
	/*
	 * Crashes of the worker after which an image counts as failed: a crash may be bad luck (the file was
	 * being replaced, memory ran out), but not every time.
	 */
	CRASHES_MAX = 3,
};

void queue_deinit(struct queue *queue)
{
	revision_queue_deinit(&queue->opening);
	revision_queue_deinit(&queue->converting);
	remote_conversions_deinit(&queue->remote, queue->converter);
	fragment_queue_deinit(&queue->fragments);
	idle_deinit(&queue->idle);
}

/* ---- Waiting ---- */

static void begin(struct queue *queue, struct revision *rev, uid_t uid, bool ahead)
	REQUIRES(&queue->images->lock)
{
	revision_set_state(queue->images, rev, STATE_OPENING);
	rev->requester = uid;
	rev->ahead = ahead;
	rev->whole = false;
	revision_queue_add(&queue->opening, rev);
}

void queue_want(struct queue *queue, struct revision *rev, uid_t uid, bool whole)
{
	mutex_assert_held(&queue->images->lock);
	if (rev->state == STATE_COLD && !queue->stopping)
		begin(queue, rev, uid, true);
	rev->whole |= whole || queue->fragments.eager;
	fragment_queue_wake(&queue->fragments);
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
	revision_queue_add(rev->state == STATE_OPENING ? &queue->opening : &queue->converting, rev);
	fragment_queue_wake(&queue->fragments);
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct queue *queue = object;
	struct revision *rev = call->wait.revision;
	mutex_assert_held(&queue->images->lock);
	if (rev->stale || rev->state == STATE_READY || rev->state == STATE_FAILED)
		return -EAGAIN;
	if (call->wait.n_addresses && call->wait.fragments_seen != rev->fragments_made)
		return -EAGAIN; /* one came meanwhile */
	if (++call->tries > (call->outlives_failure ? CALL_TRIES_MANY : CALL_TRIES_MAX))
		return -EIO;
	ask(queue, rev, fuse_req_ctx(call->req)->uid);
	list_append(&rev->waiters, &call->link);
	fragment_queue_note(&queue->fragments, rev, call);
	idle_note_wait(&queue->idle, rev);
	return 0;
}

void queue_init(struct queue *queue)
{
	revision_queue_init(&queue->opening);
	revision_queue_init(&queue->converting);
	fragment_queue_init(&queue->fragments, queue->images, queue->converter, &queue->converting,
			    &queue->remote);
	queue->images->open = park;
	queue->images->opener = queue;
	idle_init(&queue->idle, queue->images);
}

/* ---- Settling ---- */

static void remember(struct images *images, struct revision *rev, struct outcome *outcome)
	REQUIRES(&images->lock)
{
	const bool crashed = outcome->verdict == VERDICT_CRASHED;
	const bool passes = outcome->verdict == VERDICT_TRANSIENT;
	rev->crashes += crashed;
	const bool tries_again = crashed && rev->crashes < CRASHES_MAX;
	if (!passes && !tries_again)
		rev->crashes = 0;
	rev->passing = passes ? rev->passing + 1 : 0;
	rev->told = outcome->told;
	revision_set_failed(images, rev, tries_again ? 0 : outcome->err, outcome->diag.text);
	rev->again = passes ? retry_soon(rev->passing) : outcome->again;
	if (!passes && !tries_again && !rev->stale)
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
	struct list woken, dropped;
	int err = outcome->err;
	list_init(&woken);
	list_init(&dropped);
	mutex_lock(&queue->images->lock);
	fragments_drop(queue->images, rev, &dropped);
	list_remove(&rev->link); /* of queue.fragments.further */
	if (rev->state == STATE_CONVERTING)
		LIST_EACH(struct call, call, &rev->waiters)
			call->tier = TIER_CONVERSION;
	fragment_queue_wake(&queue->fragments);
	if (outcome->seconds > 0)
		rev->seconds = outcome->seconds;
	if (outcome->adopted)
		rev->image->conversions--;
	bool is_known = rev->stale && image_is_there(rev->image); /* a scan has met the other file */
	if (outcome->verdict == VERDICT_REPLACED && !is_known) {
		wait_for_rescan(queue, rev, &woken);
	} else if (outcome->verdict == VERDICT_REPLACED || outcome->verdict == VERDICT_OUTDATED) {
		err = 0; /* there is, or will be, another revision that the calls can ask */
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
	fragments_free(&dropped);
	free(outcome->inputs);
	if (err)
		calls_fail(&woken, err, is_fault_of_machine(outcome));
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
	mutex_lock(&asker->queue->images->lock);
	size_t n = fragment_queue_list(asker->rev, true, ret, most);
	mutex_unlock(&asker->queue->images->lock);
	if (!n)
		fragment_queue_pass_on(&asker->queue->fragments, asker->rev);
	return n;
}

/* Calls that the fragment does not answer are parked again. */
static void offer_fragment(void *user, struct handle *handle)
{
	const struct asker *asker = user;
	fragment_queue_answer(&asker->queue->fragments, asker->rev, handle, true);
	fragment_queue_pass_on(&asker->queue->fragments, asker->rev);
}

/* ---- Threads ---- */

/* A thread has taken @rev from queue.converting. */
static void begin_conversion(struct queue *queue, struct revision *rev) REQUIRES(&queue->images->lock)
{
	revision_set_state(queue->images, rev, STATE_CONVERTING);
	rev->passed_on = rev->hurried = false;
	atomic_store(&rev->elsewhere, false);
	atomic_store(&rev->progress, 0);
}

/* Takes the next revision of @waiting; NULL when the queue is being stopped. */
static struct revision *next(struct queue *queue, struct revision_queue *waiting)
{
	struct revision *rev = NULL;
	mutex_lock(&queue->images->lock);
	while (!queue->stopping && !(rev = revision_queue_take(waiting)))
		mutex_wait(&queue->images->lock, &waiting->wake);
	if (rev && waiting == &queue->fragments.further)
		rev->served = true;
	mutex_unlock(&queue->images->lock);
	return rev;
}

static void await_conversion(struct queue *queue, int64_t until) REQUIRES(&queue->images->lock)
{
	const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
	if (until == INT64_MAX)
		mutex_wait(&queue->images->lock, &queue->converting.wake);
	else
		mutex_wait_until(&queue->images->lock, &queue->converting.wake, &at);
}

/* The next conversion: one that another host may have made by now, or a new one. NULL as of next(). */
static struct revision *next_conversion(struct queue *queue, struct share_turn **ret_turn)
{
	struct remote_conversion entry = {.rev = NULL};
	int64_t until;
	mutex_lock(&queue->images->lock);
	while (!queue->stopping && !remote_conversions_take(&queue->remote, monotonic_ms(), &entry, &until)) {
		entry.rev = revision_queue_take(&queue->converting);
		if (entry.rev) {
			begin_conversion(queue, entry.rev);
			break;
		}
		await_conversion(queue, until);
	}
	mutex_unlock(&queue->images->lock);
	*ret_turn = entry.turn;
	return entry.rev;
}

static void enqueue_conversion(struct queue *queue, struct revision *rev)
{
	mutex_lock(&queue->images->lock);
	revision_set_state(queue->images, rev, STATE_QUEUED);
	revision_queue_add(&queue->converting, rev);
	idle_begin_demand(&queue->idle);
	fragment_queue_wake(&queue->fragments); /* a thread that only waits for addresses takes it */
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
		[VERDICT_READY] = CONVERSION_OK,          [VERDICT_OUTDATED] = CONVERSION_OK,
		[VERDICT_REPLACED] = CONVERSION_REPLACED, [VERDICT_ELSEWHERE] = CONVERSION_FAILED,
		[VERDICT_TRANSIENT] = CONVERSION_FAILED,  [VERDICT_CRASHED] = CONVERSION_CRASHED,
		[VERDICT_FAILED] = CONVERSION_LIMIT,      [VERDICT_FAILED_FOREVER] = CONVERSION_FAILED,
	};
	enum conversion_result result = outcome->killed ? CONVERSION_CRASHED : results[outcome->verdict];
	metrics_add_conversion(queue->metrics, result, outcome->seconds);
}

/* What the cache had may still be to be given to the shared store. */
static void settle_cached(struct queue *queue, struct revision *rev, const struct convert_request *request,
			  struct outcome *outcome)
{
	const struct converter *c = queue->converter;
	struct share_offer *offer = c->store ? c->store->again(c, request, outcome->handle) : NULL;
	settle(queue, rev, outcome);
	if (offer)
		c->store->give(c->share, offer);
}

static void *open_images(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	while ((rev = next(queue, &queue->opening))) {
		struct outcome outcome;
		struct convert_request request;
		revision_request(rev, &request);
		bool there = queue->work.find(queue->converter, &request, rev->gsym_size != 0, &outcome);
		count_request(queue, there, &outcome);
		if (there)
			settle_cached(queue, rev, &request, &outcome);
		else
			enqueue_conversion(queue, rev);
	}
	return NULL;
}

/* With eager=no, whether the image is wanted whole, after all that can be answered by fragments was. */
static bool is_wanted_whole(struct queue *queue, struct revision *rev)
{
	for (;;) {
		mutex_lock(&queue->images->lock);
		bool whole = rev->whole || queue->stopping, idle = !whole && list_empty(&rev->waiters);
		rev->image->conversions += whole;
		if (idle)
			revision_set_state(queue->images, rev, STATE_COLD);
		mutex_unlock(&queue->images->lock);
		if (whole || idle)
			return whole;
		fragment_queue_serve(&queue->fragments, rev);
	}
}

static void run_conversion(struct queue *queue, const struct converter *converter,
			   const struct convert_request *request, struct outcome *ret)
{
	images_save_use(queue->images, converter->cache);
	queue->work.convert(converter, request, ret);
	if (cache_take_evicted(converter->cache))
		images_close_evicted(queue->images, converter->cache);
}

static void finish_conversion(struct queue *queue, struct revision *rev, struct outcome *outcome)
{
	if (!outcome->adopted)
		count_conversion(queue, outcome);
	settle(queue, rev, outcome);
	if (outcome->offer)
		queue->converter->store->give(queue->converter->share, outcome->offer);
}

/* Comes back to @rev later; addresses are answered by fragments meanwhile. False without memory. */
static bool postpone(struct queue *queue, struct revision *rev, struct share_turn *turn, unsigned ms)
{
	fragment_queue_pass_on(&queue->fragments, rev); /* once it is added, another thread may settle it */
	mutex_lock(&queue->images->lock);
	bool added = remote_conversions_add(&queue->remote, rev, turn, monotonic_ms() + ms) == 0;
	atomic_store(&rev->elsewhere, added);
	if (rev->hurried)
		remote_conversions_hurry(&queue->remote, queue->converter, rev);
	pthread_cond_broadcast(&queue->converting.wake);
	mutex_unlock(&queue->images->lock);
	return added;
}

/* Makes a request whose failure is logged unless the last one was the same. */
static void request_conversion(struct queue *queue, struct revision *rev, struct convert_request *ret)
{
	revision_request(rev, ret);
	mutex_lock(&queue->images->lock);
	ret->told = rev->told;
	mutex_unlock(&queue->images->lock);
}

/* @turn: of the last attempt, or NULL. False if another host converts the image. */
static bool convert_image(struct queue *queue, struct revision *rev, struct share_turn *turn)
{
	struct outcome outcome;
	struct convert_request request;
	struct asker asker = {queue, rev};
	request_conversion(queue, rev, &request);
	request.asked = list_asked;
	request.fragment = offer_fragment;
	request.asker = &asker;
	request.turn = &turn;
	run_conversion(queue, queue->converter, &request, &outcome);
	if (outcome.verdict == VERDICT_ELSEWHERE) {
		if (postpone(queue, rev, turn, outcome.wait_ms))
			return false;
		queue->converter->store->end(queue->converter->share, turn);
		outcome.verdict = VERDICT_TRANSIENT;
		outcome.err = -ENOMEM;
	}
	finish_conversion(queue, rev, &outcome);
	return true;
}

static void *convert_images(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	struct share_turn *turn;
	zygote_prepare(queue->converter->zygote);
	while ((rev = next_conversion(queue, &turn))) {
		/* What was postponed was wanted. */
		bool over = !turn && !is_wanted_whole(queue, rev);
		if (!over && !convert_image(queue, rev, turn))
			continue;
		mutex_lock(&queue->images->lock);
		idle_end_demand(&queue->idle);
		mutex_unlock(&queue->images->lock);
	}
	return NULL;
}

/* ---- On an idle host ---- */

/* Whether the image itself, and not the host or what it is used for, decided how the conversion ended. */
static bool is_settled(const struct outcome *outcome)
{
	switch (outcome->verdict) {
	case VERDICT_READY:
	case VERDICT_OUTDATED:
	case VERDICT_REPLACED:
	case VERDICT_FAILED_FOREVER: return true;
	case VERDICT_ELSEWHERE:
	case VERDICT_TRANSIENT:
	case VERDICT_CRASHED:
	case VERDICT_FAILED: break;
	}
	return false;
}

/* The image keeps its fragments; calls that wait for it have it converted as ever. */
static void give_up(struct queue *queue, struct revision *rev, struct outcome *outcome)
{
	struct list woken;
	list_init(&woken);
	free(outcome->inputs);
	mutex_lock(&queue->images->lock);
	rev->given_up++;
	revision_set_state(queue->images, rev, STATE_COLD);
	idle_end(&queue->idle);
	calls_wake_all(&rev->waiters, &woken);
	mutex_unlock(&queue->images->lock);
	calls_resume(&woken);
}

/* The worker gets what processor time no other process wants. */
static void set_idle_worker(void *user, pid_t pid)
{
	const struct sched_param none = {0};
	struct revision *rev = user;
	if (pid)
		sched_setscheduler(pid, SCHED_IDLE, &none);
	atomic_store(&rev->worker, pid);
}

static void begin_idle_conversion(struct queue *queue, struct revision *rev)
{
	mutex_lock(&queue->images->lock);
	revision_set_state(queue->images, rev, STATE_QUEUED);
	begin_conversion(queue, rev);
	rev->image->conversions++;
	mutex_unlock(&queue->images->lock);
}

static void convert_rest(struct queue *queue, struct revision *rev)
{
	struct outcome outcome;
	struct convert_request request;
	struct converter converter = *queue->converter;
	converter.threads = 1;
	converter.slots = NULL; /* it is stopped when a slot is wanted */
	request_conversion(queue, rev, &request);
	request.worker = set_idle_worker;
	request.stop_fd = &queue->idle.cancel_fd;
	bool there = queue->work.find(&converter, &request, rev->gsym_size != 0, &outcome);
	if (!there) {
		begin_idle_conversion(queue, rev);
		run_conversion(queue, &converter, &request, &outcome);
	}
	bool settled = is_settled(&outcome);
	metric_add(&queue->metrics->idle[settled ? IDLE_CONVERTED : IDLE_GIVEN_UP], 1);
	if (!settled) {
		give_up(queue, rev, &outcome);
		return;
	}
	if (there)
		settle_cached(queue, rev, &request, &outcome);
	else
		finish_conversion(queue, rev, &outcome);
	mutex_lock(&queue->images->lock);
	idle_end(&queue->idle);
	mutex_unlock(&queue->images->lock);
}

static void *convert_idle(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	while ((rev = idle_next(&queue->idle)))
		convert_rest(queue, rev);
	return NULL;
}

static void *make_fragments(void *arg)
{
	struct queue *queue = arg;
	struct revision *rev;
	while ((rev = next(queue, &queue->fragments.further)))
		fragment_queue_serve_converting(&queue->fragments, rev);
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
	int err = idle_start(&queue->idle);
	if (!err)
		err = start(queue, "open", open_images);
	if (!err)
		err = start(queue, "fragment", make_fragments);
	if (!err && !queue->fragments.eager)
		err = start(queue, "idle", convert_idle);
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
	fragment_queue_stop(&queue->fragments);
	idle_stop(&queue->idle);
}

void queue_join(struct queue *queue)
{
	for (unsigned i = 0; i < queue->n_threads; i++)
		pthread_join(queue->threads[i], NULL);
	queue->n_threads = 0;
}

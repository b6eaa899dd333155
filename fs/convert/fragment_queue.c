#include "fs/convert/fragment_queue.h"

#include <string.h>
#include <time.h>

#include "work/os/monotonic.h"
#include "work/run/fragment_run.h"
#include "work/worker/worker.h"
#include "fs/call/call.h"
#include "fs/images/fragments.h"
#include "fs/images/revision.h"

static_assert((int)CALL_ADDRESSES_MAX <= (int)WORKER_ASKED_MAX, "the first call that waits can be asked for");

/* An idle worker is kept so long, since it has the image open. */
enum { LINGER_SECONDS = 1 };

void fragment_queue_init(struct fragment_queue *queue, struct images *images,
			 const struct converter *converter, struct revision_queue *conversions,
			 struct remote_conversions *remote)
{
	queue->images = images;
	queue->converter = converter;
	queue->conversions = conversions;
	queue->remote = remote;
	revision_queue_init(&queue->further);
	monotonic_cond_init(&queue->wake);
}

void fragment_queue_deinit(struct fragment_queue *queue)
{
	revision_queue_deinit(&queue->further);
	pthread_cond_destroy(&queue->wake);
}

void fragment_queue_wake(struct fragment_queue *queue)
{
	pthread_cond_broadcast(&queue->wake);
}

void fragment_queue_stop(struct fragment_queue *queue)
{
	mutex_assert_held(&queue->images->lock);
	queue->stopping = true;
	pthread_cond_broadcast(&queue->further.wake);
	fragment_queue_wake(queue);
}

/* ---- What is asked ---- */

static bool is_early(const struct call *call)
{
	return call->wait.n_addresses && call->early != EARLY_OVER;
}

/* Has the thread for it serve @rev, unless a thread does. */
static void request_service(struct fragment_queue *queue, struct revision *rev) REQUIRES(&queue->images->lock)
{
	if (rev->state == STATE_CONVERTING && rev->passed_on && !rev->served && list_empty(&rev->link))
		revision_queue_add(&queue->further, rev);
	pthread_cond_broadcast(&queue->wake);
}

/* A call waits for an answer that no fragment has: another host that converts @rev may not delay it. */
static void hurry(struct fragment_queue *queue, struct revision *rev) REQUIRES(&queue->images->lock)
{
	rev->hurried = true;
	remote_conversions_hurry(queue->remote, queue->converter, rev);
	pthread_cond_broadcast(&queue->conversions->wake);
}

void fragment_queue_note(struct fragment_queue *queue, struct revision *rev, const struct call *call)
{
	mutex_assert_held(&queue->images->lock);
	if (!is_early(call) || queue->eager || rev->fragments_made >= FRAGMENTS_MAX)
		rev->whole = true;
	if (call->wait.n_addresses && call->early == EARLY_OVER)
		hurry(queue, rev);
	request_service(queue, rev);
}

size_t fragment_queue_list(struct revision *rev, bool again, struct convert_address *ret, size_t most)
{
	size_t n = 0;
	for (struct list *at = rev->waiters.next; at != &rev->waiters && n < most; at = at->next) {
		struct call *call = LIST_ENTRY(at, struct call);
		size_t own = call->wait.n_addresses;
		if (!is_early(call) || (call->early == EARLY_ASKED && !again) || own > most - n)
			continue;
		call->early = EARLY_ASKED;
		memcpy(ret + n, call->addresses, own * sizeof(*ret));
		n += own;
	}
	return n;
}

/* ---- Answers ---- */

static bool is_unconverted(const struct revision *rev)
{
	return !rev->stale && rev->state == STATE_CONVERTING;
}

void fragment_queue_answer(struct fragment_queue *queue, struct revision *rev, struct handle *handle,
			   bool all)
{
	struct images *images = queue->images;
	struct list woken, dropped;
	list_init(&woken);
	list_init(&dropped);
	mutex_lock(&images->lock);
	bool kept = handle && is_unconverted(rev);
	if (kept)
		fragments_add(images, rev, handle, &dropped);
	calls_wake_asked(&rev->waiters, all && kept, &woken);
	mutex_unlock(&images->lock);
	if (!kept)
		handle_put(handle);
	fragments_free(&dropped);
	calls_resume(&woken);
}

static bool is_new(const struct call *call)
{
	return is_early(call) && call->early == EARLY_NEW;
}

/* Has the addresses served that were not asked of any worker yet. */
static void pass_on(struct fragment_queue *queue, struct revision *rev) REQUIRES(&queue->images->lock)
{
	for (struct list *at = rev->waiters.next; at != &rev->waiters; at = at->next) {
		if (!is_new(LIST_ENTRY(at, struct call)))
			continue;
		request_service(queue, rev);
		return;
	}
}

void fragment_queue_pass_on(struct fragment_queue *queue, struct revision *rev)
{
	mutex_lock(&queue->images->lock);
	rev->passed_on = true;
	pass_on(queue, rev);
	mutex_unlock(&queue->images->lock);
}

/* ---- Serving ---- */

static struct timespec linger(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += LINGER_SECONDS;
	return t;
}

static bool goes_on(const struct fragment_queue *queue, const struct revision *rev, bool converting)
	REQUIRES(&queue->images->lock)
{
	if (queue->stopping || rev->state != STATE_CONVERTING)
		return false;
	return converting ? rev->passed_on : !rev->whole;
}

static bool others_wait(const struct fragment_queue *queue, bool converting) REQUIRES(&queue->images->lock)
{
	return user_queues_any(converting ? &queue->further.asked : &queue->conversions->asked);
}

/* The next addresses; 0 if there are none for now, or no more. */
static size_t await(struct fragment_queue *queue, struct revision *rev, bool converting,
		    struct convert_address ret[static WORKER_ASKED_MAX])
{
	const struct timespec until = linger();
	size_t n = 0;
	bool over = false;
	mutex_lock(&queue->images->lock);
	while (!over && goes_on(queue, rev, converting)) {
		n = fragment_queue_list(rev, !converting, ret, WORKER_ASKED_MAX);
		over = n || others_wait(queue, converting) ||
		       mutex_wait_until(&queue->images->lock, &queue->wake, &until);
	}
	mutex_unlock(&queue->images->lock);
	return n;
}

/* No fragment can be had: the whole must do. */
static void give_up(struct fragment_queue *queue, struct revision *rev)
{
	mutex_lock(&queue->images->lock);
	rev->whole = true;
	rev->passed_on = false;
	hurry(queue, rev);
	mutex_unlock(&queue->images->lock);
}

static void serve(struct fragment_queue *queue, struct revision *rev, bool converting)
{
	struct convert_address asked[WORKER_ASKED_MAX];
	struct convert_request request;
	struct fragment_run *run = NULL;
	struct handle *handle;
	size_t n;
	int err = 0;
	revision_request(rev, &request);
	while (!err && (n = await(queue, rev, converting, asked))) {
		err = fragment_run(queue->converter, &request, asked, n, &run, &handle);
		if (err)
			give_up(queue, rev);
		fragment_queue_answer(queue, rev, handle, false);
	}
	fragment_run_end(run);
}

void fragment_queue_serve(struct fragment_queue *queue, struct revision *rev)
{
	serve(queue, rev, false);
}

void fragment_queue_serve_converting(struct fragment_queue *queue, struct revision *rev)
{
	serve(queue, rev, true);
	mutex_lock(&queue->images->lock);
	rev->served = false;
	pass_on(queue, rev);
	mutex_unlock(&queue->images->lock);
}

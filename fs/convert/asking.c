#include "fs/convert/asking.h"

#include <errno.h>
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

void asking_init(struct asking *asking, struct images *images, const struct converter *converter,
		 struct stage *conversions, struct elsewhere *elsewhere)
{
	asking->images = images;
	asking->converter = converter;
	asking->conversions = conversions;
	asking->elsewhere = elsewhere;
	stage_init(&asking->stage);
	monotonic_cond_init(&asking->wake);
}

void asking_deinit(struct asking *asking)
{
	stage_deinit(&asking->stage);
	pthread_cond_destroy(&asking->wake);
}

void asking_wake(struct asking *asking)
{
	pthread_cond_broadcast(&asking->wake);
}

void asking_stop(struct asking *asking)
{
	mutex_assert_held(&asking->images->lock);
	asking->stopping = true;
	pthread_cond_broadcast(&asking->stage.wake);
	asking_wake(asking);
}

/* ---- What is asked ---- */

static bool is_early(const struct call *call)
{
	return call->wait.n_addresses && call->early != EARLY_OVER;
}

/* Has the thread for it serve @rev, unless a thread does. */
static void request_service(struct asking *asking, struct revision *rev) REQUIRES(&asking->images->lock)
{
	if (rev->state == STATE_CONVERTING && rev->passed_on && !rev->served && list_empty(&rev->link))
		stage_add(&asking->stage, rev);
	pthread_cond_broadcast(&asking->wake);
}

/* A call waits for an answer that no fragment has: another host that converts @rev may not delay it. */
static void hurry(struct asking *asking, struct revision *rev) REQUIRES(&asking->images->lock)
{
	rev->hurried = true;
	elsewhere_hurry(asking->elsewhere, asking->converter->share, rev);
	pthread_cond_broadcast(&asking->conversions->wake);
}

void asking_note(struct asking *asking, struct revision *rev, const struct call *call)
{
	mutex_assert_held(&asking->images->lock);
	if (!is_early(call) || asking->eager || rev->fragments_made >= FRAGMENTS_MAX)
		rev->whole = true;
	if (call->wait.n_addresses && call->early == EARLY_OVER)
		hurry(asking, rev);
	request_service(asking, rev);
}

size_t asking_list(struct revision *rev, bool again, struct convert_address *ret, size_t most)
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

void asking_answer(struct asking *asking, struct revision *rev, struct handle *handle, bool all)
{
	struct images *images = asking->images;
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
static void pass_on(struct asking *asking, struct revision *rev) REQUIRES(&asking->images->lock)
{
	for (struct list *at = rev->waiters.next; at != &rev->waiters; at = at->next) {
		if (!is_new(LIST_ENTRY(at, struct call)))
			continue;
		request_service(asking, rev);
		return;
	}
}

void asking_pass_on(struct asking *asking, struct revision *rev)
{
	mutex_lock(&asking->images->lock);
	rev->passed_on = true;
	pass_on(asking, rev);
	mutex_unlock(&asking->images->lock);
}

/* ---- Serving ---- */

static struct timespec linger(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += LINGER_SECONDS;
	return t;
}

static bool goes_on(const struct asking *asking, const struct revision *rev, bool converting)
	REQUIRES(&asking->images->lock)
{
	if (asking->stopping || rev->state != STATE_CONVERTING)
		return false;
	return converting ? rev->passed_on : !rev->whole;
}

static bool others_wait(const struct asking *asking, bool converting) REQUIRES(&asking->images->lock)
{
	return user_queues_any(converting ? &asking->stage.asked : &asking->conversions->asked);
}

/* The next addresses; 0 if there are none for now, or no more. */
static size_t await(struct asking *asking, struct revision *rev, bool converting,
		    struct convert_address ret[static WORKER_ASKED_MAX])
{
	const struct timespec until = linger();
	size_t n = 0;
	bool over = false;
	mutex_lock(&asking->images->lock);
	while (!over && goes_on(asking, rev, converting)) {
		n = asking_list(rev, !converting, ret, WORKER_ASKED_MAX);
		over = n || others_wait(asking, converting) ||
		       mutex_wait_until(&asking->images->lock, &asking->wake, &until);
	}
	mutex_unlock(&asking->images->lock);
	return n;
}

/* No fragment can be had: the whole must do. */
static void give_up(struct asking *asking, struct revision *rev)
{
	mutex_lock(&asking->images->lock);
	rev->whole = true;
	rev->passed_on = false;
	hurry(asking, rev);
	mutex_unlock(&asking->images->lock);
}

static void serve(struct asking *asking, struct revision *rev, bool converting)
{
	struct convert_address asked[WORKER_ASKED_MAX];
	struct convert_request request;
	struct fragment_run *run = NULL;
	struct handle *handle;
	size_t n;
	int err = 0;
	revision_request(rev, &request);
	while (!err && (n = await(asking, rev, converting, asked))) {
		err = fragment_run(asking->converter, &request, asked, n, &run, &handle);
		if (err)
			give_up(asking, rev);
		asking_answer(asking, rev, handle, false);
	}
	fragment_run_end(run);
}

void asking_serve(struct asking *asking, struct revision *rev)
{
	serve(asking, rev, false);
}

void asking_serve_converting(struct asking *asking, struct revision *rev)
{
	serve(asking, rev, true);
	mutex_lock(&asking->images->lock);
	rev->served = false;
	pass_on(asking, rev);
	mutex_unlock(&asking->images->lock);
}

/*
 * Parking.
 *
 * libfuse calls the interrupt function of a request with a lock of that request held, and also from within
 * fuse_req_interrupt_func() itself if the interrupt came first. A reply from in there would free the request
 * under libfuse's hands. Hence the states: while a call is CALL_PARKING its interrupt function only leaves a
 * flag. And hence the rule that the interrupt function is unset, without holding our lock, before a call that
 * was taken off a list is answered: after that no interrupt function runs any more.
 */
#include "fs/call/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/call/runners.h"
#include "gsym/base/invariant.h"
#include "work/os/monotonic.h"

static void call_free(struct call *call)
{
	free(call->addresses);
	if (call->draft)
		call->free_draft(call->draft);
	if (call->on_heap)
		free(call);
}

static void answer_error(struct call *call, int err)
{
	fuse_reply_err(call->req, -err);
	call_free(call);
}

/* A copy that outlives the FUSE thread's buffers; NULL without memory. */
static struct call *to_heap(struct call *call)
{
	if (call->on_heap)
		return call;
	size_t name_size = call->name ? strlen(call->name) + 1 : 0;
	struct call *copy = malloc(sizeof(*copy) + name_size);
	if (!copy)
		return NULL;
	*copy = *call;
	copy->on_heap = true;
	if (call->name)
		copy->name = memcpy(copy + 1, call->name, name_size);
	return copy;
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct call *call = data;
	struct runners *runners = call->runners; /* @call may be freed once the lock is released */
	mutex_lock(runners->lock);
	bool parked = call->state == CALL_PARKED;
	if (parked) {
		list_remove(&call->link);
		call->state = CALL_TAKEN;
	}
	call->interrupted = true;
	if (parked && call->pass_turn)
		call->pass_turn(call->turn);
	mutex_unlock(runners->lock);
	if (!parked)
		return;
	fuse_reply_err(req, EINTR);
	call_free(call);
}

static void disarm(struct call *call)
{
	fuse_req_interrupt_func(call->req, NULL, NULL);
}

/* 0 when it is on the list of what it waits for. */
static int add_to_waiting(struct call *call)
{
	mutex_assert_held(call->runners->lock);
	if (call->interrupted)
		return -EINTR;
	if (call->runners->stopping)
		return -ENOTCONN;
	/* EAGAIN may also be what a conversion has failed with. */
	return call->wait.park ? call->wait.park(call->wait.object, call) : -EIO;
}

/* Parks a call and gives up its ownership: NULL. Or returns the call, which must be attempted again. */
static struct call *park(struct call *stack)
{
	struct call *call = to_heap(stack);
	if (!call) {
		answer_error(stack, -ENOMEM);
		return NULL;
	}
	call->state = CALL_PARKING;
	call->interrupted = false;
	fuse_req_interrupt_func(call->req, on_interrupt, call);
	struct runners *runners = call->runners;
	mutex_lock(runners->lock);
	int err = add_to_waiting(call);
	call->state = err ? CALL_TAKEN : CALL_PARKED;
	mutex_unlock(runners->lock); /* if parked, it may have been answered and freed when this returns */
	if (!err)
		return NULL;
	disarm(call);
	if (err == -EAGAIN)
		return call;
	answer_error(call, err);
	return NULL;
}

static int attempt(struct call *call)
{
	call->wait = (struct wait){.revision = NULL};
	return call->attempt(call);
}

void call_run(struct call *call)
{
	int err;
	if (!call->began)
		call->began = monotonic_us();
	while ((err = attempt(call)) == -EAGAIN) {
		call = park(call);
		if (!call)
			return;
	}
	if (err)
		answer_error(call, err);
	else
		call_free(call);
}

void call_wake(struct call *call, struct list *woken)
{
	mutex_assert_held(call->runners->lock);
	invariant(call->state == CALL_PARKED && !list_empty(&call->link));
	list_remove(&call->link);
	list_append(woken, &call->link);
	call->state = CALL_TAKEN;
}

void calls_wake_all(struct list *parked, struct list *woken)
{
	while (!list_empty(parked))
		call_wake(LIST_ENTRY(parked->next, struct call), woken);
}

void calls_wake_id(struct list *parked, const char *id, struct list *woken)
{
	LIST_EACH(struct call, call, parked)
		if (strcmp(call->wait.id, id) == 0)
			call_wake(call, woken);
}

void calls_wake_requested(struct list *parked, uint64_t number, struct list *woken)
{
	LIST_EACH(struct call, call, parked)
		if (call->scan_request == number)
			call_wake(call, woken);
}

void calls_wake_asked(struct list *parked, bool all, struct list *woken)
{
	LIST_EACH(struct call, call, parked) {
		bool asked = call->early == EARLY_ASKED;
		if (asked)
			call->early = EARLY_OVER;
		if (asked || (all && call->wait.n_addresses && call->early == EARLY_NEW))
			call_wake(call, woken);
	}
}

int64_t calls_oldest(const struct list *parked, int64_t at)
{
	LIST_EACH(struct call, call, parked)
		at = call->began < at ? call->began : at;
	return at;
}

void calls_end(struct list *woken, int err)
{
	for (struct list *at; (at = list_take(woken));) {
		struct call *call = LIST_ENTRY(at, struct call);
		disarm(call);
		answer_error(call, err);
	}
}

int call_add_address(struct call *call, const struct convert_address *address)
{
	unsigned n = call->wait.n_addresses;
	if (n == CALL_ADDRESSES_MAX)
		return 0;
	if ((n & (n - 1)) == 0) { /* none, or a power of two: there is room for no more */
		void *more = realloc(call->addresses, (n ? 2 * n : 1) * sizeof(*call->addresses));
		if (!more)
			return -ENOMEM;
		call->addresses = more;
	}
	call->addresses[call->wait.n_addresses++] = *address;
	return 0;
}

/* ---- On a runner ---- */

static int add_to_runners(void *runners, struct call *call)
{
	return runners_add(runners, fuse_req_ctx(call->req)->uid, &call->link);
}

int call_hand_over(struct call *call)
{
	call->wait = (struct wait){.park = add_to_runners, .object = call->runners};
	return -EAGAIN;
}

bool call_is_handed_over(const struct call *call)
{
	return call->wait.park == add_to_runners;
}

void calls_pass_turn(struct list *parked, void (*pass_turn)(void *turn), void *turn)
{
	struct list *at = list_take(parked);
	if (!at)
		return;
	struct call *call = LIST_ENTRY(at, struct call);
	call->pass_turn = pass_turn;
	call->turn = turn;
	add_to_runners(call->runners, call); /* it did wait, so it is not over */
}

/* Parks a call again, until a runner takes it. */
static int park_for_runner(struct call *call)
{
	mutex_assert_held(call->runners->lock);
	int err = call->interrupted ? -EINTR : add_to_runners(call->runners, call);
	if (!err)
		call->state = CALL_PARKED;
	return err;
}

void calls_resume(struct list *woken)
{
	for (struct list *at; (at = list_take(woken));) {
		struct call *call = LIST_ENTRY(at, struct call);
		struct runners *runners = call->runners;
		struct list refused;
		list_init(&refused);
		mutex_lock(runners->lock);
		int err = park_for_runner(call); /* from now on it may end at any moment */
		mutex_unlock(runners->lock);
		if (err) {
			list_append(&refused, at);
			calls_end(&refused, err);
		}
	}
}

void calls_fail(struct list *woken, int err, bool here)
{
	struct list more, ended;
	list_init(&more);
	list_init(&ended);
	for (struct list *at; (at = list_take(woken));) {
		struct call *call = LIST_ENTRY(at, struct call);
		call->failed = call->wait.revision ? (uint64_t)call->wait.number + 1 : 0;
		call->failure = err;
		call->failed_here = here;
		list_append(call->outlives_failure ? &more : &ended, at);
	}
	calls_end(&ended, err);
	calls_resume(&more);
}

static void taken(struct list *at)
{
	struct call *call = LIST_ENTRY(at, struct call);
	mutex_assert_held(call->runners->lock);
	invariant(call->state == CALL_PARKED);
	call->state = CALL_TAKEN;
	call->pass_turn = NULL;
}

static void go_on(struct list *at)
{
	struct call *call = LIST_ENTRY(at, struct call);
	disarm(call);
	call->on_runner = true;
	call_run(call);
}

const struct runner_kind call_runner_kind = {taken, go_on};

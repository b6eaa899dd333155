/* Calls: which are parked, which of these are woken, and what they are answered. */
#include "fs/call/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/call/runners.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

struct parked {
	struct mutex lock;
	struct runners runners;
	struct list calls, woken;
	struct call call[5];
};

/* Parked for these ids, in this order. */
static const char *const ids[] = {"aa", "ab", "", "aa", "aab"};

static void park_all(struct parked *p)
{
	memset(p, 0, sizeof(*p));
	mutex_init(&p->lock, LOCK_IMAGES);
	p->runners.lock = &p->lock;
	list_init(&p->calls);
	list_init(&p->woken);
	for (size_t i = 0; i < ARRAY_SIZE(p->call); i++) {
		p->call[i].runners = &p->runners;
		p->call[i].state = CALL_PARKED;
		snprintf(p->call[i].wait.id, sizeof(p->call[i].wait.id), "%s", ids[i]);
		list_append(&p->calls, &p->call[i].link);
	}
}

/* @numbers: of the calls in @list, in this order. */
static void expect(const struct parked *p, const struct list *list, enum call_state state,
		   const char *numbers)
{
	const struct list *at = list->next;
	for (; *numbers; numbers++, at = at->next) {
		const struct call *call = &p->call[*numbers - '0'];
		assert_ptr_equal(at, &call->link);
		assert_int_equal(call->state, state);
	}
	assert_ptr_equal(at, list);
}

TEST(by_id)
{
	struct parked p;
	park_all(&p);
	mutex_lock(&p.lock);
	calls_wake_id(&p.calls, "a", &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "");
	calls_wake_id(&p.calls, "aa", &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "03");
	expect(&p, &p.calls, CALL_PARKED, "124");
	calls_wake_id(&p.calls, "", &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "032");
	expect(&p, &p.calls, CALL_PARKED, "14");
	calls_wake_id(&p.calls, "aa", &p.woken);
	expect(&p, &p.calls, CALL_PARKED, "14");
	mutex_unlock(&p.lock);
	mutex_destroy(&p.lock);
}

TEST(all)
{
	struct parked p;
	park_all(&p);
	mutex_lock(&p.lock);
	calls_wake_all(&p.calls, &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "01234");
	expect(&p, &p.calls, CALL_PARKED, "");
	mutex_unlock(&p.lock);
	mutex_destroy(&p.lock);
}

/* Those that asked for the same, in their order. */
TEST(by_scan_request)
{
	struct parked p;
	park_all(&p);
	for (size_t i = 0; i < ARRAY_SIZE(p.call); i++)
		p.call[i].scan_request = (const uint64_t[]){7, 0, 8, 7, 7}[i];
	mutex_lock(&p.lock);
	calls_wake_requested(&p.calls, 7, &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "034");
	expect(&p, &p.calls, CALL_PARKED, "12");
	calls_wake_requested(&p.calls, 9, &p.woken);
	expect(&p, &p.calls, CALL_PARKED, "12");
	mutex_unlock(&p.lock);
	mutex_destroy(&p.lock);
}

/* What a worker was asked for is over, whether it was found or not. */
TEST(asked)
{
	static const enum early before[] = {EARLY_NEW, EARLY_ASKED, EARLY_OVER, EARLY_NEW, EARLY_ASKED};
	static const unsigned addresses_before[] = {1, 1, 1, 0, 1};
	struct parked p;
	for (int all = 0; all < 2; all++) {
		park_all(&p);
		for (size_t i = 0; i < ARRAY_SIZE(p.call); i++) {
			p.call[i].early = before[i];
			p.call[i].wait.n_addresses = addresses_before[i];
		}
		mutex_lock(&p.lock);
		calls_wake_asked(&p.calls, all, &p.woken);
		expect(&p, &p.woken, CALL_TAKEN, all ? "014" : "14");
		expect(&p, &p.calls, CALL_PARKED, all ? "23" : "023");
		mutex_unlock(&p.lock);
		assert_int_equal(p.call[0].early, EARLY_NEW);
		assert_int_equal(p.call[1].early, EARLY_OVER);
		assert_int_equal(p.call[2].early, EARLY_OVER);
		assert_int_equal(p.call[3].early, EARLY_NEW);
		assert_int_equal(p.call[4].early, EARLY_OVER);
		mutex_destroy(&p.lock);
	}
}

/* ---- Parking: in place of libfuse's functions ---- */

static int replied;                        /* errno of the last answer */
static unsigned replies, attempts, agains; /* how many; agains: attempts that are to fail with EAGAIN */
static int parks[4];                       /* what parking gives, in turn */
enum { USER = 1234 };
static bool has_name = true;
static bool interrupted_before; /* the interrupt came before there was a function for it */
static fuse_interrupt_func_t on_interrupt;
static void *interrupted_call;

int fuse_reply_err(fuse_req_t req, int err)
{
	(void)req;
	replied = err;
	replies++;
	return 0;
}

void fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t func, void *data)
{
	(void)req;
	on_interrupt = func;
	interrupted_call = data;
	if (func && interrupted_before)
		func(req, data);
}

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx ctx = {.uid = USER};
	(void)req;
	return &ctx;
}

static struct parked *waiting;

static int park_here(void *object, struct call *call)
{
	int err = parks[attempts - 1];
	assert_ptr_equal(object, waiting);
	if (!err)
		list_append(&waiting->calls, &call->link);
	return err;
}

static int try_again(struct call *call)
{
	call->wait = (struct wait){.park = park_here, .object = waiting};
	return ++attempts <= agains ? -EAGAIN : 0;
}

static int fail_at_once(struct call *call)
{
	(void)call;
	return -EISDIR;
}

static int wait_for_nothing(struct call *call)
{
	(void)call;
	attempts++;
	return -EAGAIN;
}

/* Runs a call that has to wait @n times, where parking gives @first and @second. */
static void run(struct parked *p, int (*attempt)(struct call *call), unsigned n, int first, int second)
{
	char name[] = "name";
	struct call call = {.runners = &p->runners, .attempt = attempt, .name = has_name ? name : NULL};
	attempts = replies = 0;
	replied = -1;
	agains = n;
	parks[0] = first;
	parks[1] = second;
	waiting = p;
	call_run(&call);
	memset(&call, 0, sizeof(call)); /* a parked call is a copy on the heap */
	memset(name, 'x', sizeof(name));
}

TEST(parking)
{
	struct parked p = {.runners = {.stopping = false}};
	mutex_init(&p.lock, LOCK_IMAGES);
	p.runners.lock = &p.lock;
	list_init(&p.calls);
	list_init(&p.woken);
	run(&p, try_again, 0, 0, 0);
	assert_int_equal(attempts, 1);
	assert_int_equal(replies, 0); /* it answered itself */
	/* What it would wait for is there meanwhile. */
	run(&p, try_again, 2, -EAGAIN, -EAGAIN);
	assert_int_equal(attempts, 3);
	assert_int_equal(replies, 0);
	assert_null(on_interrupt);
	run(&p, try_again, 2, -EAGAIN, -EACCES);
	assert_int_equal(attempts, 2);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EACCES);
	run(&p, fail_at_once, 0, 0, 0);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EISDIR);
	run(&p, wait_for_nothing, 0, 0, 0);
	assert_int_equal(replied, EIO);
	p.runners.stopping = true;
	run(&p, try_again, 1, 0, 0);
	assert_int_equal(replied, ENOTCONN);
	p.runners.stopping = false;
	interrupted_before = true;
	run(&p, try_again, 1, 0, 0);
	interrupted_before = false;
	assert_int_equal(replied, EINTR);
	assert_int_equal(replies, 1);
	assert_null(on_interrupt);
	allowed = 0;
	run(&p, try_again, 1, 0, 0);
	assert_int_equal(allowed, -1);
	assert_int_equal(replied, ENOMEM);
	assert_true(list_empty(&p.calls));
	assert_int_equal(live, 0);
	mutex_destroy(&p.lock);
}

TEST(interrupted)
{
	struct parked p = {.runners = {.stopping = false}};
	mutex_init(&p.lock, LOCK_IMAGES);
	p.runners.lock = &p.lock;
	list_init(&p.calls);
	run(&p, try_again, 1, 0, 0);
	assert_int_equal(replies, 0);
	assert_false(list_empty(&p.calls));
	assert_non_null(on_interrupt);
	struct call *call = LIST_ENTRY(p.calls.next, struct call);
	assert_ptr_equal(interrupted_call, call);
	assert_string_equal(call->name, "name");
	assert_ptr_equal(call->name, call + 1); /* its own memory */
	assert_int_equal(call_add_address(call, &(struct convert_address){.value = 1}), 0);
	assert_int_equal(call->state, CALL_PARKED);
	on_interrupt(NULL, interrupted_call);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EINTR);
	assert_true(list_empty(&p.calls));
	assert_int_equal(live, 0);
	has_name = false;
	run(&p, try_again, 1, 0, 0);
	has_name = true;
	call = LIST_ENTRY(p.calls.next, struct call);
	assert_null(call->name);
	on_interrupt(NULL, interrupted_call);
	assert_int_equal(live, 0);
	mutex_destroy(&p.lock);
}

/* ---- Going on ---- */

static void set_up_runners(struct parked *p)
{
	memset(p, 0, sizeof(*p));
	mutex_init(&p->lock, LOCK_IMAGES);
	runners_init(&p->runners, &p->lock, &call_runner_kind, NULL);
	list_init(&p->calls);
	list_init(&p->woken);
}

static void tear_down_runners(struct parked *p)
{
	runners_deinit(&p->runners);
	mutex_destroy(&p->lock);
	assert_int_equal(live, 0);
}

/* Takes what is next for a runner, as its thread does; NULL if there is nothing. */
static struct call *take_for_runner(struct parked *p)
{
	mutex_lock(&p->lock);
	struct list *at = user_queues_take(&p->runners.waiting);
	if (at)
		call_runner_kind.taken(at);
	mutex_unlock(&p->lock);
	return at ? LIST_ENTRY(at, struct call) : NULL;
}

static int hand_over_once(struct call *call)
{
	if (++attempts > 1)
		return call->on_runner && !call_is_handed_over(call) ? 0 : -EXDEV;
	int err = call_hand_over(call);
	return call_is_handed_over(call) ? err : -EXDEV;
}

TEST(handed_over)
{
	struct parked p;
	set_up_runners(&p);
	run(&p, hand_over_once, 0, 0, 0);
	assert_int_equal(replies, 0);
	assert_int_equal(attempts, 1);
	assert_non_null(on_interrupt);
	mutex_lock(&p.lock);
	assert_int_equal(user_queues_count(&p.runners.waiting), 1);
	mutex_unlock(&p.lock);
	struct call *call = take_for_runner(&p);
	assert_int_equal(call->state, CALL_TAKEN);
	call_runner_kind.run(&call->link);
	assert_null(on_interrupt);
	assert_int_equal(attempts, 2);
	assert_int_equal(replies, 0); /* by itself */
	p.runners.stopping = true;
	attempts = 0;
	run(&p, hand_over_once, 0, 0, 0);
	assert_int_equal(replied, ENOTCONN);
	tear_down_runners(&p);
}

/* A call that waits, as the only one. */
static struct call *park_one(struct parked *p)
{
	run(p, try_again, 1, 0, 0);
	assert_int_equal(replies, 0);
	return LIST_ENTRY(p->calls.next, struct call);
}

static void wake(struct parked *p)
{
	mutex_lock(&p->lock);
	calls_wake_all(&p->calls, &p->woken);
	mutex_unlock(&p->lock);
}

TEST(resumed)
{
	struct parked p;
	set_up_runners(&p);
	struct call *call = park_one(&p);
	wake(&p);
	calls_resume(&p.woken);
	assert_int_equal(call->state, CALL_PARKED);
	assert_ptr_equal(take_for_runner(&p), call);
	call_runner_kind.run(&call->link);
	assert_int_equal(attempts, 2);
	/* Interrupted while it was on no list. */
	park_one(&p);
	wake(&p);
	on_interrupt(NULL, interrupted_call);
	assert_int_equal(replies, 0);
	calls_resume(&p.woken);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EINTR);
	assert_null(take_for_runner(&p));
	/* At the end. */
	park_one(&p);
	wake(&p);
	p.runners.stopping = true;
	calls_resume(&p.woken);
	assert_int_equal(replied, ENOTCONN);
	assert_null(on_interrupt);
	assert_int_equal(attempts, 1);
	tear_down_runners(&p);
}

/* The failure of one image is the answer, unless the call has to do with others, too. */
TEST(failed)
{
	struct parked p;
	set_up_runners(&p);
	park_one(&p);
	wake(&p);
	calls_fail(&p.woken, -EBADMSG, false);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EBADMSG);
	for (int here = 0; here < 2; here++) {
		struct call *call = park_one(&p);
		call->outlives_failure = true;
		call->wait.revision = here ? (struct revision *)&p : NULL;
		call->wait.number = 41;
		wake(&p);
		calls_fail(&p.woken, -EFBIG, here);
		assert_int_equal(replies, 0);
		assert_int_equal(call->failed, here ? 42 : 0);
		assert_int_equal(call->failure, -EFBIG);
		assert_int_equal(call->failed_here, here);
		assert_ptr_equal(take_for_runner(&p), call);
		call_runner_kind.run(&call->link);
	}
	tear_down_runners(&p);
}

static unsigned passed;

static void pass(void *turn)
{
	assert_ptr_equal(turn, &passed);
	passed++;
}

/* One of several goes on; if it is interrupted before, the next one may. */
TEST(turns)
{
	struct parked p;
	set_up_runners(&p);
	mutex_lock(&p.lock);
	calls_pass_turn(&p.calls, pass, &passed);
	assert_int_equal(user_queues_count(&p.runners.waiting), 0);
	mutex_unlock(&p.lock);
	struct call *call = park_one(&p);
	run(&p, try_again, 1, 0, 0);
	mutex_lock(&p.lock);
	calls_pass_turn(&p.calls, pass, &passed);
	assert_int_equal(user_queues_count(&p.runners.waiting), 1);
	mutex_unlock(&p.lock);
	passed = 0;
	on_interrupt(NULL, call);
	assert_int_equal(passed, 1);
	assert_int_equal(replied, EINTR);
	assert_null(take_for_runner(&p));
	call = LIST_ENTRY(p.calls.next, struct call);
	mutex_lock(&p.lock);
	calls_pass_turn(&p.calls, pass, &passed);
	assert_true(list_empty(&p.calls));
	mutex_unlock(&p.lock);
	assert_ptr_equal(take_for_runner(&p), call);
	assert_null(call->pass_turn); /* it has its turn */
	on_interrupt(NULL, call);
	assert_int_equal(passed, 1);
	call_runner_kind.run(&call->link);
	tear_down_runners(&p);
}

TEST(no_memory_for_addresses)
{
	struct call call = {.wait = {.n_addresses = 0}};
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(call_add_address(&call, &(struct convert_address){.value = i}), 0);
	allowed = 0;
	assert_int_equal(call_add_address(&call, &(struct convert_address){.value = 4}), -ENOMEM);
	assert_int_equal(call.wait.n_addresses, 4);
	assert_int_equal(call.addresses[3].value, 3);
	free(call.addresses);
	assert_int_equal(live, 0);
}

TEST(addresses)
{
	struct call call = {.wait = {.n_addresses = 0}};
	for (uint64_t i = 0; i < CALL_ADDRESSES_MAX + 10; i++)
		assert_int_equal(call_add_address(&call, &(struct convert_address){.value = i}), 0);
	assert_int_equal(call.wait.n_addresses, CALL_ADDRESSES_MAX);
	for (unsigned i = 0; i < CALL_ADDRESSES_MAX; i++)
		assert_int_equal(call.addresses[i].value, i);
	free(call.addresses);
}

/* Calls: which are parked, which of these are woken, and what they are answered. */
#include "fs/call/call.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fs/call/runners.h"
#include "gsym/base/vec.h"

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

static void by_id(void **state)
{
	struct parked p;
	(void)state;
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

static void all(void **state)
{
	struct parked p;
	(void)state;
	park_all(&p);
	mutex_lock(&p.lock);
	calls_wake_all(&p.calls, &p.woken);
	expect(&p, &p.woken, CALL_TAKEN, "01234");
	expect(&p, &p.calls, CALL_PARKED, "");
	mutex_unlock(&p.lock);
	mutex_destroy(&p.lock);
}

/* ---- Parking: in place of libfuse's functions ---- */

static int replied;                        /* errno of the last answer */
static unsigned replies, attempts, agains; /* how many; agains: attempts that are to fail with EAGAIN */
static int parks[4];                       /* what parking gives, in turn */
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

static int wait_for_nothing(struct call *call)
{
	(void)call;
	attempts++;
	return -EAGAIN;
}

/* Runs a call that has to wait @n times, where parking gives @first and @second. */
static void run(struct parked *p, int (*attempt)(struct call *call), unsigned n, int first, int second)
{
	struct call call = {.runners = &p->runners, .attempt = attempt, .name = "name"};
	attempts = replies = 0;
	replied = -1;
	agains = n;
	parks[0] = first;
	parks[1] = second;
	waiting = p;
	call_run(&call);
}

static void parking(void **state)
{
	struct parked p = {.runners = {.stopping = false}};
	(void)state;
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
	run(&p, wait_for_nothing, 0, 0, 0);
	assert_int_equal(replied, EIO);
	p.runners.stopping = true;
	run(&p, try_again, 1, 0, 0);
	assert_int_equal(replied, ENOTCONN);
	p.runners.stopping = false;
	assert_true(list_empty(&p.calls));
	mutex_destroy(&p.lock);
}

static void interrupted(void **state)
{
	struct parked p = {.runners = {.stopping = false}};
	(void)state;
	mutex_init(&p.lock, LOCK_IMAGES);
	p.runners.lock = &p.lock;
	list_init(&p.calls);
	run(&p, try_again, 1, 0, 0);
	assert_int_equal(replies, 0);
	assert_false(list_empty(&p.calls));
	assert_non_null(on_interrupt);
	on_interrupt(NULL, interrupted_call);
	assert_int_equal(replies, 1);
	assert_int_equal(replied, EINTR);
	assert_true(list_empty(&p.calls));
	mutex_destroy(&p.lock);
}

static void addresses(void **state)
{
	struct call call = {.wait = {.n_addresses = 0}};
	(void)state;
	for (uint64_t i = 0; i < CALL_ADDRESSES_MAX + 10; i++)
		assert_int_equal(call_add_address(&call, &(struct convert_address){.value = i}), 0);
	assert_int_equal(call.wait.n_addresses, CALL_ADDRESSES_MAX);
	for (unsigned i = 0; i < CALL_ADDRESSES_MAX; i++)
		assert_int_equal(call.addresses[i].value, i);
	free(call.addresses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_id),       cmocka_unit_test(all),       cmocka_unit_test(parking),
		cmocka_unit_test(interrupted), cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

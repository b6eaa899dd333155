/* Which of the parked calls are woken. */
#include "fs/call/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_id),
		cmocka_unit_test(all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

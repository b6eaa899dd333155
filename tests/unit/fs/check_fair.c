/* Shares of memory, and turns: what one user takes leaves something for the next. */
#include "fs/answer/account.h"
#include "fs/sys/user_queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- Accounts ---- */

/* Takes blocks as long as there is room; how many bytes those are. */
static size_t take_all(struct account *account, size_t block, size_t *counted)
{
	while (account_has_room(account, ACCOUNT_FILES, block))
		account_charge(account, ACCOUNT_FILES, *counted + block, counted);
	return *counted;
}

static void half_of_what_is_left(void **state)
{
	(void)state;
	enum { USERS = 40, BLOCK = 1 << 16 };
	struct accounts accounts;
	struct account *users[USERS];
	size_t counted[USERS] = {0}, left = ACCOUNT_FILES_MAX, all = 0;
	accounts_init(&accounts);
	for (size_t i = 0; i < USERS; i++) {
		users[i] = account_get(&accounts, (uid_t)(1000 + i));
		size_t got = take_all(users[i], BLOCK, &counted[i]), half = left / 2;
		assert_true(got <= half || got <= ACCOUNT_MIN);
		assert_true(got + BLOCK > half || got >= ACCOUNT_MIN);
		assert_false(account_is_over(users[i], ACCOUNT_FILES));
		left -= got < left ? got : left;
		all += got;
	}
	assert_int_equal(atomic_load(&accounts.charged[ACCOUNT_FILES]), all);
	assert_true(account_has_room(users[3], ACCOUNT_BATCHES, BLOCK));
	for (size_t i = 0; i < USERS; i++) {
		account_charge(users[i], ACCOUNT_FILES, 0, &counted[i]);
		account_put(users[i]);
	}
	assert_int_equal(atomic_load(&accounts.charged[ACCOUNT_FILES]), 0);
	mutex_lock(&accounts.lock);
	assert_int_equal(accounts.by_uid.n, 0);
	mutex_unlock(&accounts.lock);
	accounts_deinit(&accounts);
}

static void one_account_each(void **state)
{
	(void)state;
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *a = account_get(&accounts, 0), *b = account_get(&accounts, 0),
		       *c = account_get(&accounts, 1);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	account_put(a);
	assert_ptr_equal(account_get(&accounts, 0), b);
	account_put(b);
	account_put(b);
	account_put(c);
	accounts_deinit(&accounts);
}

/* The little that everybody may have comes to an end when there are very many. */
static void an_end(void **state)
{
	(void)state;
	enum { USERS = 1000 };
	struct accounts accounts;
	struct account *users[USERS];
	size_t counted[USERS] = {0};
	accounts_init(&accounts);
	for (size_t i = 0; i < USERS; i++) {
		users[i] = account_get(&accounts, (uid_t)i);
		take_all(users[i], 1 << 16, &counted[i]);
	}
	assert_true(atomic_load(&accounts.charged[ACCOUNT_FILES]) <= ACCOUNT_TOTAL_MAX);
	assert_int_equal(counted[USERS - 1], 0);
	for (size_t i = 0; i < USERS; i++) {
		account_charge(users[i], ACCOUNT_FILES, 0, &counted[i]);
		account_put(users[i]);
	}
	accounts_deinit(&accounts);
}

/* ---- Lanes ---- */

struct item {
	struct list link;
	int number;
};

static int take(struct user_queues *queues)
{
	struct list *at = user_queues_take(queues);
	return at ? LIST_ENTRY(at, struct item)->number : -1;
}

static void in_turn(void **state)
{
	(void)state;
	struct user_queues queues;
	struct item items[10];
	user_queues_init(&queues);
	assert_int_equal(take(&queues), -1);
	for (int i = 0; i < 10; i++) {
		items[i].number = i;
		if (i < 6)
			user_queues_add(&queues, 7, &items[i].link, false);
	}
	assert_int_equal(take(&queues), 0);
	user_queues_add(&queues, 8, &items[6].link, false);
	user_queues_add(&queues, 9, &items[7].link, false);
	user_queues_add(&queues, 9, &items[8].link, false);
	user_queues_add(&queues, 9, &items[9].link, true);
	assert_int_equal(user_queues_count(&queues), 9);
	const int want[] = {1, 6, 9, 2, 7, 3, 8, 4, 5, -1};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(user_queues_any(&queues), want[i] >= 0);
		assert_int_equal(take(&queues), want[i]);
	}
	assert_int_equal(queues.by_uid.n, 0);
	user_queues_deinit(&queues);
}

/* Who leaves by himself leaves nothing behind. */
static void leaving(void **state)
{
	(void)state;
	struct user_queues queues;
	struct item items[4];
	user_queues_init(&queues);
	for (int i = 0; i < 4; i++) {
		items[i].number = i;
		user_queues_add(&queues, (uid_t)i / 2, &items[i].link, false);
	}
	list_remove(&items[0].link);
	list_remove(&items[1].link);
	list_remove(&items[3].link);
	assert_int_equal(take(&queues), 2);
	assert_int_equal(take(&queues), -1);
	assert_false(user_queues_any(&queues));
	user_queues_add(&queues, 5, &items[0].link, false);
	list_remove(&items[0].link);
	user_queues_deinit(&queues);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_what_is_left),
		cmocka_unit_test(one_account_each),
		cmocka_unit_test(an_end),
		cmocka_unit_test(in_turn),
		cmocka_unit_test(leaving),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Shares of memory, and turns: what one user takes leaves something for the next. */
#include "fs/answer/account.h"
#include "fs/sys/user_queues.h"

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

/* ---- Accounts ---- */

/* Takes blocks as long as there is room; how many bytes those are. */
static size_t take_all(struct account *account, size_t block, size_t *counted)
{
	while (account_has_room(account, ACCOUNT_FILES, block))
		account_charge(account, ACCOUNT_FILES, *counted + block, counted);
	return *counted;
}

TEST(half_of_what_is_left)
{
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

TEST(one_account_each)
{
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *a = account_get(&accounts, 7), *b = account_get(&accounts, 7),
		       *c = account_get(&accounts, 8);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	account_put(a);
	assert_ptr_equal(account_get(&accounts, 7), b);
	account_put(b);
	account_put(b);
	account_put(c);
	accounts_deinit(&accounts);
}

/* There is none then, and nothing is left of it. */
TEST(without_memory)
{
	struct accounts accounts;
	struct account *account = NULL;
	long before = live;
	accounts_init(&accounts);
	account_put(NULL);
	for (long n = 0; !account; n++) {
		allowed = n;
		account = account_get(&accounts, 7);
		allowed = -1;
		if (!account)
			assert_int_equal(live, before);
		assert_in_range(n, 0, 10);
	}
	assert_int_equal(account->uid, 7);
	account_put(account);
	accounts_deinit(&accounts);
	assert_int_equal(live, before);
}

/* The little that everybody may have comes to an end when there are very many. */
TEST(an_end)
{
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

/* What account.h says of a user who holds @own bytes while others hold @others. */
static uint64_t limit_beside(uint64_t others)
{
	uint64_t most = UINT64_C(1) << 30, half = others < most ? (most - others) / 2 : 0, least = 4 << 20;
	return half > least ? half : least;
}

static void expect_limits(const struct account *account, uint64_t own, uint64_t others)
{
	const uint64_t limit = limit_beside(others), total = INT32_MAX, grace = 16 << 20;
	const uint64_t room = own < limit ? limit - own : 0,
		       left = own + others < total ? total - own - others : 0;
	const uint64_t most = room < left ? room : left;
	const bool is_full = own > limit || own + others > total;
	assert_int_equal(account_has_room(account, ACCOUNT_BATCHES, 0), !is_full);
	assert_int_equal(account_has_room(account, ACCOUNT_BATCHES, most), !is_full);
	assert_false(account_has_room(account, ACCOUNT_BATCHES, most + 1));
	assert_int_equal(account_is_short(account, ACCOUNT_BATCHES), own > limit / 2);
	assert_int_equal(account_is_over(account, ACCOUNT_BATCHES),
			 own > limit + (limit / 2 > grace ? limit / 2 : grace) || own + others > total);
}

/* To the byte, on both sides of each limit. */
TEST(exact_limits)
{
	static const uint64_t others[] = {
		0,
		1,
		2,
		(1 << 30) - (32 << 20),
		(1 << 30) - (8 << 20),
		(1 << 30) - 1,
		1 << 30,
		INT32_MAX - (4 << 20),
		INT32_MAX,
	};
	struct accounts accounts;
	size_t of_user = 0, of_others = 0;
	accounts_init(&accounts);
	struct account *user = account_get(&accounts, 1), *other = account_get(&accounts, 2);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const uint64_t limit = limit_beside(others[i]);
		const uint64_t edges[] = {limit / 2, limit, limit + limit / 2, limit + (16 << 20),
					  INT32_MAX - others[i]};
		account_charge(other, ACCOUNT_BATCHES, others[i], &of_others);
		for (size_t k = 0; k < sizeof(edges) / sizeof(*edges); k++)
			for (uint64_t own = edges[k] ? edges[k] - 1 : 0; own <= edges[k] + 1; own++) {
				account_charge(user, ACCOUNT_BATCHES, own, &of_user);
				assert_int_equal(of_user, own);
				expect_limits(user, own, others[i]);
			}
	}
	account_charge(user, ACCOUNT_BATCHES, 0, &of_user);
	account_charge(other, ACCOUNT_BATCHES, 0, &of_others);
	account_put(user);
	account_put(other);
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

TEST(in_turn)
{
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
TEST(leaving)
{
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

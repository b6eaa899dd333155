#include "fs/answer/account.h"

#include <stdlib.h>

#include "gsym/base/invariant.h"

static const size_t limits[ACCOUNT_KINDS] = {
	[ACCOUNT_FILES] = ACCOUNT_FILES_MAX,
	[ACCOUNT_BATCHES] = ACCOUNT_BATCHES_MAX,
	[ACCOUNT_HELD] = ACCOUNT_HELD_MAX,
};

void accounts_init(struct accounts *accounts)
{
	*accounts = (struct accounts){.by_uid = {0}};
	mutex_init(&accounts->lock, LOCK_ACCOUNT);
}

void accounts_deinit(struct accounts *accounts)
{
	for (unsigned kind = 0; kind < ACCOUNT_KINDS; kind++)
		invariant(atomic_load(&accounts->charged[kind]) == 0);
	table_deinit(&accounts->by_uid);
	mutex_destroy(&accounts->lock);
}

/* ---- Users ---- */

static uint64_t hash_of(uid_t uid)
{
	uint64_t mixed = uid * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 32;
}

static struct account *find(const struct accounts *accounts, uid_t uid) REQUIRES(&accounts->lock)
{
	return TABLE_FIND(struct account, account, &accounts->by_uid, hash_of(uid), account->uid == uid);
}

static struct account *add(struct accounts *accounts, uid_t uid) REQUIRES(&accounts->lock)
{
	struct account *account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->all = accounts;
	account->uid = uid;
	if (table_add(&accounts->by_uid, &account->table, hash_of(uid)) == 0)
		return account;
	free(account);
	return NULL;
}

struct account *account_get(struct accounts *accounts, uid_t uid)
{
	mutex_lock(&accounts->lock);
	struct account *account = find(accounts, uid);
	if (!account)
		account = add(accounts, uid);
	if (account)
		account->refs++;
	mutex_unlock(&accounts->lock);
	return account;
}

void account_put(struct account *account)
{
	if (!account)
		return;
	struct accounts *accounts = account->all;
	mutex_lock(&accounts->lock);
	invariant(account->refs);
	bool last = --account->refs == 0;
	if (last)
		table_remove(&accounts->by_uid, &account->table);
	mutex_unlock(&accounts->lock);
	if (!last)
		return;
	for (unsigned kind = 0; kind < ACCOUNT_KINDS; kind++)
		invariant(atomic_load(&account->charged[kind]) == 0);
	free(account);
}

/* ---- Sums ---- */

void account_charge(struct account *account, enum account_kind kind, size_t now, size_t *charged)
{
	size_t more = now - *charged; /* wraps around when it is less */
	invariant(*charged <= atomic_load(&account->charged[kind]));
	if (!more)
		return;
	atomic_fetch_add(&account->charged[kind], more);
	atomic_fetch_add(&account->all->charged[kind], more);
	*charged = now;
}

/* How many bytes the user may hold now. */
static size_t limit_of(const struct account *account, enum account_kind kind)
{
	size_t all = atomic_load(&account->all->charged[kind]), own = atomic_load(&account->charged[kind]);
	size_t others = all > own ? all - own : 0;
	size_t half = others < limits[kind] ? (limits[kind] - others) / 2 : 0;
	return half > ACCOUNT_MIN ? half : ACCOUNT_MIN;
}

static bool exceeds_total(const struct account *account, enum account_kind kind, size_t more)
{
	size_t all = atomic_load(&account->all->charged[kind]);
	return all > ACCOUNT_TOTAL_MAX || more > ACCOUNT_TOTAL_MAX - all;
}

bool account_has_room(const struct account *account, enum account_kind kind, size_t size)
{
	size_t own = atomic_load(&account->charged[kind]), limit = limit_of(account, kind);
	return own <= limit && size <= limit - own && !exceeds_total(account, kind, size);
}

bool account_is_short(const struct account *account, enum account_kind kind)
{
	return atomic_load(&account->charged[kind]) > limit_of(account, kind) / 2;
}

bool account_is_over(const struct account *account, enum account_kind kind)
{
	size_t limit = limit_of(account, kind), more = limit / 2 > ACCOUNT_GRACE ? limit / 2 : ACCOUNT_GRACE;
	return atomic_load(&account->charged[kind]) > limit + more || exceeds_total(account, kind, 0);
}

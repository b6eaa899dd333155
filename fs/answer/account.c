#include "fs/answer/account.h"

#include <stdlib.h>

static const size_t limits[ACCOUNT_KINDS] = {
	[ACCOUNT_FILES] = ACCOUNT_FILES_MAX,
	[ACCOUNT_BATCHES] = ACCOUNT_BATCHES_MAX,
};

void accounts_init(struct accounts *accounts)
{
	*accounts = (struct accounts){.by_uid = {0}};
	mutex_init(&accounts->lock, LOCK_ACCOUNT);
}

void accounts_deinit(struct accounts *accounts)
{
	table_deinit(&accounts->by_uid);
	mutex_destroy(&accounts->lock);
}

/* ---- Users ---- */

static uint64_t hash_of(uid_t uid)
{
	uint64_t mixed = uid * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 32;
}

static struct account *find(const struct accounts *accounts, uid_t uid)
{
	uint64_t hash = hash_of(uid);
	for (struct table_link *l = table_first(&accounts->by_uid, hash); l; l = table_next(l, hash))
		if (TABLE_ENTRY(l, struct account)->uid == uid)
			return TABLE_ENTRY(l, struct account);
	return NULL;
}

static struct account *add(struct accounts *accounts, uid_t uid)
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
	bool last = --account->refs == 0;
	if (last)
		table_remove(&accounts->by_uid, &account->table);
	mutex_unlock(&accounts->lock);
	if (last)
		free(account);
}

/* ---- Sums ---- */

void account_count(struct account *account, enum account_kind kind, size_t now, size_t *counted)
{
	size_t more = now - *counted; /* wraps, on purpose, when it is less */
	if (!more)
		return;
	atomic_fetch_add(&account->held[kind], more);
	atomic_fetch_add(&account->all->held[kind], more);
	*counted = now;
}

size_t account_limit(const struct account *account, enum account_kind kind)
{
	size_t all = atomic_load(&account->all->held[kind]), own = atomic_load(&account->held[kind]);
	size_t others = all > own ? all - own : 0;
	size_t half = others < limits[kind] ? (limits[kind] - others) / 2 : 0;
	return half > ACCOUNT_LEAST ? half : ACCOUNT_LEAST;
}

static bool is_the_end(const struct account *account, enum account_kind kind, size_t more)
{
	size_t all = atomic_load(&account->all->held[kind]);
	return all > ACCOUNT_END || more > ACCOUNT_END - all;
}

bool account_has_room(const struct account *account, enum account_kind kind, size_t size)
{
	size_t own = atomic_load(&account->held[kind]), limit = account_limit(account, kind);
	return own <= limit && size <= limit - own && !is_the_end(account, kind, size);
}

bool account_is_short(const struct account *account, enum account_kind kind)
{
	return atomic_load(&account->held[kind]) > account_limit(account, kind) / 2;
}

bool account_is_over(const struct account *account, enum account_kind kind)
{
	size_t limit = account_limit(account, kind),
	       more = limit / 2 > ACCOUNT_MORE ? limit / 2 : ACCOUNT_MORE;
	return atomic_load(&account->held[kind]) > limit + more || is_the_end(account, kind, 0);
}

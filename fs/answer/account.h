/*
 * account.h - per-user accounting of the memory and disk space that open files share.
 *
 * A user may hold up to half of what the others leave, so that the next user always finds some, and at least
 * ACCOUNT_MIN whatever the others hold. The user is the one who opened the file. The sums are atomics without
 * a lock: a limit may be exceeded by what other threads charge at the same moment.
 */
#ifndef FS_ANSWER_ACCOUNT_H
#define FS_ANSWER_ACCOUNT_H

#include "work/os/mutex.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "gsym/base/hash_table.h"

enum account_kind {
	ACCOUNT_FILES,   /* open files: input and results */
	ACCOUNT_BATCHES, /* decoded functions that open q files cache */
	ACCOUNT_HELD,    /* cache files that open q and log files keep from being deleted */
	ACCOUNT_KINDS,
};

enum {
	ACCOUNT_FILES_MAX = 1 << 30, /* bytes of all users together */
	ACCOUNT_BATCHES_MAX = 1 << 30,
	ACCOUNT_HELD_MAX = 1 << 30,
	ACCOUNT_MIN = 4 << 20,    /* bytes of each kind that every user may hold */
	ACCOUNT_GRACE = 16 << 20, /* bytes above the limit, for results of input that was accepted below it */
};

/* Hard limit of all users together, since ACCOUNT_MIN times many users has no bound. */
#define ACCOUNT_TOTAL_MAX ((size_t)(1U << 31) - 1)

struct accounts {
	struct mutex lock; /* guards @by_uid and account.refs; no other is locked while it is held */
	struct table by_uid GUARDED_BY(&lock);
	atomic_size_t charged[ACCOUNT_KINDS]; /* bytes, all users */
};

struct account {
	struct table_link table;
	struct accounts *all;
	uid_t uid;
	size_t refs;                          /* guarded by all->lock */
	atomic_size_t charged[ACCOUNT_KINDS]; /* bytes */
};

void accounts_init(struct accounts *accounts);
/* All references must be gone. */
void accounts_deinit(struct accounts *accounts);

/* The account of a user, with a reference. NULL when out of memory. */
struct account *account_get(struct accounts *accounts, uid_t uid);
/* NULL is allowed. The last reference may only go when nothing is charged. */
void account_put(struct account *account);

/* Changes the charge of an object from *@charged to @now bytes, and updates *@charged. */
void account_charge(struct account *account, enum account_kind kind, size_t now, size_t *charged);

/* Whether @size more bytes stay within the limits. */
bool account_has_room(const struct account *account, enum account_kind kind, size_t size);

/* Memory pressure: the user holds more than half of the limit; optional memory should be freed. */
bool account_is_short(const struct account *account, enum account_kind kind);

/* Whether the user holds more than the limit and the grace for accepted input. */
bool account_is_over(const struct account *account, enum account_kind kind);

#endif

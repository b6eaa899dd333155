/*
 * account.h - what each user holds of the memory that all open files share.
 *
 * A user may hold half of what the others leave, so that there is always something left for whoever comes
 * next, and a little whatever the others hold. Users are those who opened the files. No locks for the sums:
 * who is over a limit by what another thread takes at the same moment is so once.
 */
#ifndef FS_ANSWER_ACCOUNT_H
#define FS_ANSWER_ACCOUNT_H

#include "convert/os/mutex.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "gsym/base/hash_table.h"

enum account_kind {
	ACCOUNT_FILES,   /* open files: what was written to them and what they answer */
	ACCOUNT_BATCHES, /* what q remember of images, to be faster */
	ACCOUNT_KINDS,
};

enum {
	ACCOUNT_FILES_MAX = 1 << 30, /* bytes of all users together */
	ACCOUNT_BATCHES_MAX = 1 << 30,
	ACCOUNT_LEAST = 4 << 20, /* that a user may always hold of either kind */
	ACCOUNT_MORE = 16 << 20, /* beyond the limit, to answer what was asked when there was room */
};

/* Beyond it nobody gets more: the little that each may hold is too much of many users. */
#define ACCOUNT_END ((size_t)(1U << 31) - 1)

struct accounts {
	struct mutex lock; /* innermost; guards by_uid and the counts of references */
	struct table by_uid;
	atomic_size_t held[ACCOUNT_KINDS]; /* by all */
};

struct account {
	struct table_link table;
	struct accounts *all;
	uid_t uid;
	size_t refs;
	atomic_size_t held[ACCOUNT_KINDS];
};

void accounts_init(struct accounts *accounts);
void accounts_deinit(struct accounts *accounts);

/* The account of a user, with a reference. NULL without memory. */
struct account *account_get(struct accounts *accounts, uid_t uid);
/* NULL is allowed. */
void account_put(struct account *account);

/* @now bytes are held by what has counted *@counted so far. */
void account_count(struct account *account, enum account_kind kind, size_t now, size_t *counted);

/* How many bytes the user may hold now. */
size_t account_limit(const struct account *account, enum account_kind kind);

/* Whether there is room for @size bytes more. */
bool account_has_room(const struct account *account, enum account_kind kind, size_t size);

/* Whether the user holds so much that nothing should be kept that need not be. */
bool account_is_short(const struct account *account, enum account_kind kind);

/* Whether the user holds too much even of what was asked for when there was room. */
bool account_is_over(const struct account *account, enum account_kind kind);

#endif

#include "fs/images/digests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SAVED_PART = 16 /* one of so many is worth saving */ };

static const uint64_t size_max = INT64_MAX >> 1; /* bytes; no file is larger */

/* There may be 100,000 of them: 88 bytes, of which malloc() makes 96. */
struct digest_entry {
	struct table_link table;
	uint64_t dev, ino;
	uint64_t size : 62, known : 1, seen : 1;
	int64_t mtime_ns, ctime_ns;
	union {
		uint8_t digest[STORE_DIGEST]; /* if it is known */
		int64_t again;                /* if not */
	};
};

void digests_init(struct digests *digests) NOT_ANALYZED
{
	*digests = (struct digests){.pending = DIGESTS_UNCOUNTED};
	mutex_init(&digests->lock, LOCK_DIGESTS);
}

void digests_deinit(struct digests *digests) NOT_ANALYZED
{
	for (struct table_link *at = table_after(&digests->files, NULL), *next; at; at = next) {
		next = table_after(&digests->files, at);
		free(TABLE_ENTRY(at, struct digest_entry));
	}
	table_deinit(&digests->files);
	mutex_destroy(&digests->lock);
}

static uint64_t hash_of(uint64_t dev, uint64_t ino)
{
	const uint64_t both[2] = {dev, ino};
	return XXH3_64bits(both, sizeof(both));
}

/* In whatever state. */
static struct digest_entry *find_file(const struct digests *digests, uint64_t dev, uint64_t ino)
	REQUIRES(&digests->lock)
{
	uint64_t hash = hash_of(dev, ino);
	for (struct table_link *l = table_first(&digests->files, hash); l; l = table_next(l, hash)) {
		struct digest_entry *e = TABLE_ENTRY(l, struct digest_entry);
		if (e->dev == dev && e->ino == ino)
			return e;
	}
	return NULL;
}

static struct digest_entry *find(const struct digests *digests, const struct file_key *key)
	REQUIRES(&digests->lock)
{
	struct digest_entry *e = find_file(digests, key->dev, key->ino);
	bool same = e && e->size == key->size && e->mtime_ns == key->mtime_ns && e->ctime_ns == key->ctime_ns;
	return same ? e : NULL;
}

bool digests_find(struct digests *digests, const struct file_key *key, uint8_t ret[static STORE_DIGEST])
{
	mutex_lock(&digests->lock);
	const struct digest_entry *e = find(digests, key);
	bool known = e && e->known;
	if (known)
		memcpy(ret, e->digest, STORE_DIGEST);
	mutex_unlock(&digests->lock);
	return known;
}

/* An entry of the file, which is in the state @key from now on; NULL without memory. */
static struct digest_entry *enter(struct digests *digests, const struct file_key *key)
	REQUIRES(&digests->lock)
{
	struct digest_entry *e = find_file(digests, key->dev, key->ino);
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e || table_add(&digests->files, &e->table, hash_of(key->dev, key->ino))) {
			free(e);
			return NULL;
		}
	}
	e->dev = key->dev;
	e->ino = key->ino;
	e->size = key->size & size_max;
	e->mtime_ns = key->mtime_ns;
	e->ctime_ns = key->ctime_ns;
	e->seen = true;
	return e;
}

int digests_set(struct digests *digests, const struct file_key *key,
		const uint8_t digest[static STORE_DIGEST], bool saved)
{
	if (key->size > size_max)
		return -EINVAL;
	mutex_lock(&digests->lock);
	struct digest_entry *e = enter(digests, key);
	if (e) {
		e->known = true;
		memcpy(e->digest, digest, STORE_DIGEST);
		digests->unsaved += !saved;
	}
	mutex_unlock(&digests->lock);
	return e ? 0 : -ENOMEM;
}

int digests_fail(struct digests *digests, const struct file_key *key, int64_t again)
{
	mutex_lock(&digests->lock);
	struct digest_entry *e = enter(digests, key);
	if (e) {
		e->known = false;
		e->again = again;
	}
	mutex_unlock(&digests->lock);
	return e ? 0 : -ENOMEM;
}

int64_t digests_due(struct digests *digests, const struct file_key *key)
{
	mutex_lock(&digests->lock);
	struct digest_entry *e = find(digests, key);
	int64_t due = !e ? 0 : e->known ? INT64_MAX : e->again;
	if (e)
		e->seen = true;
	mutex_unlock(&digests->lock);
	return due;
}

static void drop(struct digests *digests, struct digest_entry *e) REQUIRES(&digests->lock)
{
	table_remove(&digests->files, &e->table);
	free(e);
}

void digests_sweep(struct digests *digests)
{
	mutex_lock(&digests->lock);
	for (struct table_link *at = table_after(&digests->files, NULL), *next; at; at = next) {
		struct digest_entry *e = TABLE_ENTRY(at, struct digest_entry);
		next = table_after(&digests->files, at);
		if (e->seen)
			e->seen = false;
		else
			drop(digests, e);
	}
	mutex_unlock(&digests->lock);
}

void digests_forget(struct digests *digests, uint64_t dev, uint64_t ino)
{
	mutex_lock(&digests->lock);
	struct digest_entry *e = find_file(digests, dev, ino);
	if (e)
		drop(digests, e);
	mutex_unlock(&digests->lock);
}

size_t digests_unsaved(struct digests *digests)
{
	mutex_lock(&digests->lock);
	size_t n = digests->unsaved;
	mutex_unlock(&digests->lock);
	return n;
}

bool digests_worth_saving(struct digests *digests)
{
	mutex_lock(&digests->lock);
	bool all = atomic_load(&digests->pending) == 0;
	bool worth = digests->unsaved && (all || digests->unsaved >= digests->files.n / SAVED_PART);
	mutex_unlock(&digests->lock);
	return worth;
}

void digests_saved(struct digests *digests, size_t n)
{
	mutex_lock(&digests->lock);
	digests->unsaved -= n;
	mutex_unlock(&digests->lock);
}

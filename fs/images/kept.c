#include "fs/images/kept.h"

#include <stdlib.h>

#include "fs/images/revision.h"

/* A file in memory. */
struct kept_file {
	uid_t owner;
	uint64_t size;
	int64_t used;
	struct revision *rev;
};

typedef VEC(struct kept_file) kept_vec;

/* The files of one owner. */
struct kept_share {
	bool is_own; /* of the owner for whom room is made */
	uint64_t size;
	struct revision *first; /* to go; NULL: none can be closed */
};

/* Each owner's together, least recently used first. */
static int by_owner(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->used < y->used ? -1 : x->used > y->used;
}

static void list_kept(const struct images *images, kept_vec *ret) REQUIRES(&images->lock)
{
	if (vec_reserve(ret, images->ready.n))
		return;
	for (size_t i = 0; i < images->ready.n; i++) {
		struct revision *rev = images->ready.v[i];
		if (rev->handle->in_memory)
			ret->v[ret->n++] =
				(struct kept_file){rev->source.uid, rev->handle->map_size, rev->used, rev};
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_owner);
}

/* All other references are taken with the lock held. */
static bool can_go(const struct revision *rev)
{
	return (!rev->fresh || rev->ahead) && atomic_load(&rev->handle->refs) == 1;
}

/* The share that begins at @i, which moves to the end of it. */
static struct kept_share next_share(const kept_vec *kept, size_t *i, uid_t owner, uint64_t size)
{
	const uid_t whose = kept->v[*i].owner;
	struct kept_share share = {.is_own = whose == owner, .size = whose == owner ? size : 0};
	for (; *i < kept->n && kept->v[*i].owner == whose; ++*i) {
		share.size += kept->v[*i].size;
		if (!share.first && can_go(kept->v[*i].rev))
			share.first = kept->v[*i].rev;
	}
	return share;
}

static bool is_before(const struct kept_share *a, const struct kept_share *b)
{
	return !b->first || a->size > b->size || (a->size == b->size && a->is_own);
}

static struct revision *choose(const kept_vec *kept, uid_t owner, uint64_t size)
{
	struct kept_share most = {.first = NULL};
	uint64_t own = size;
	for (size_t i = 0; i < kept->n;) {
		struct kept_share share = next_share(kept, &i, owner, size);
		if (share.is_own)
			own = share.size;
		if (share.first && is_before(&share, &most))
			most = share;
	}
	return most.size >= own ? most.first : NULL;
}

bool images_drop_kept(void *arg, uid_t owner, uint64_t size)
{
	struct images *images = arg;
	struct handle *dropped = NULL;
	kept_vec kept = {0};
	mutex_lock(&images->lock);
	list_kept(images, &kept);
	struct revision *rev = choose(&kept, owner, size);
	if (rev)
		dropped = revision_set_cold(images, rev);
	mutex_unlock(&images->lock);
	handle_put(dropped);
	vec_free(&kept);
	return dropped;
}

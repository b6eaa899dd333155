#include "fs/images/image_release.h"

#include <stdlib.h>

#include "work/cache/publish.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/images/revision.h"

/* ---- Files in the cache ---- */

/* An open image, with a reference to its file. */
struct open_image {
	struct revision *rev;
	struct handle *handle;
	int64_t used;
};

typedef VEC(struct open_image) open_image_vec;

static void list_open(struct images *images, open_image_vec *ret)
{
	mutex_lock(&images->lock);
	if (vec_reserve(ret, images->ready.n) == 0)
		for (size_t i = 0; i < images->ready.n; i++) {
			struct revision *rev = images->ready.v[i];
			ret->v[ret->n++] = (struct open_image){rev, handle_get(rev->handle), rev->used};
		}
	mutex_unlock(&images->lock);
}

/* The key of a revision that was opened never changes. */
void images_save_use(struct images *images, struct cache *cache)
{
	open_image_vec open = {0};
	if (!cache_is_tight(cache))
		return;
	unsigned inside = readers_enter(&images->readers);
	list_open(images, &open);
	for (size_t i = 0; i < open.n; i++) {
		cache_touch(cache, &open.v[i].rev->key, open.v[i].used);
		handle_put(open.v[i].handle);
	}
	readers_leave(&images->readers, inside);
	vec_free(&open);
}

/*
 * Unless it was closed, and maybe opened again, meanwhile; or the calls that wait for it did not use it yet.
 */
static void close_image(struct images *images, const struct open_image *image)
{
	struct revision *rev = image->rev;
	struct handle *unused = NULL;
	mutex_lock(&images->lock);
	if (rev->handle == image->handle && !rev->fresh)
		unused = revision_set_cold(images, rev);
	else if (rev->handle == image->handle)
		rev->fresh = false;
	mutex_unlock(&images->lock);
	handle_put(unused);
}

/* Whether the file was evicted, or could be published only now: then it is opened again from the cache. */
static bool must_close(struct cache *cache, const struct open_image *image)
{
	if (image->handle->in_memory)
		return cache_publish_kept(cache, image->handle) == 0;
	return !cache_holds(cache, &image->rev->key, image->handle);
}

void images_close_evicted(struct images *images, struct cache *cache)
{
	open_image_vec open = {0};
	unsigned inside = readers_enter(&images->readers);
	list_open(images, &open);
	for (size_t i = 0; i < open.n; i++) {
		if (must_close(cache, &open.v[i]))
			close_image(images, &open.v[i]);
		handle_put(open.v[i].handle);
	}
	readers_leave(&images->readers, inside);
	vec_free(&open);
}

/* ---- Files in memory ---- */

/* A file in memory. */
struct kept_file {
	uid_t owner;
	uint64_t size;
	int64_t used;
	struct revision *rev;
};

typedef VEC(struct kept_file) kept_vec;

/* The files of one owner. */
struct owner_files {
	bool is_own; /* of the owner for whom room is made */
	uint64_t size;
	struct revision *first; /* to go; NULL: none can be closed */
};

/* Each owner's together, least recently used first. */
static int compare_owners(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;
	return COMPARE(x->owner, y->owner) ?: COMPARE(x->used, y->used);
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
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_owners);
}

/* All other references are taken with the lock held. */
static bool is_unused(const struct revision *rev)
{
	return (!rev->fresh || rev->ahead) && atomic_load(&rev->handle->refs) == 1;
}

/* The share that begins at @i, which moves to the end of it. */
static struct owner_files next_owner(const kept_vec *kept, size_t *i, uid_t owner, uint64_t size)
{
	const uid_t whose = kept->v[*i].owner;
	struct owner_files share = {.is_own = whose == owner, .size = whose == owner ? size : 0};
	for (; *i < kept->n && kept->v[*i].owner == whose; ++*i) {
		share.size += kept->v[*i].size;
		if (!share.first && is_unused(kept->v[*i].rev))
			share.first = kept->v[*i].rev;
	}
	return share;
}

static bool goes_before(const struct owner_files *a, const struct owner_files *b)
{
	return !b->first || a->size > b->size || (a->size == b->size && a->is_own);
}

static struct revision *choose_kept(const kept_vec *kept, uid_t owner, uint64_t size)
{
	struct owner_files most = {.first = NULL};
	uint64_t own = size;
	for (size_t i = 0; i < kept->n;) {
		struct owner_files share = next_owner(kept, &i, owner, size);
		if (share.is_own)
			own = share.size;
		if (share.first && goes_before(&share, &most))
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
	struct revision *rev = choose_kept(&kept, owner, size);
	if (rev)
		dropped = revision_set_cold(images, rev);
	mutex_unlock(&images->lock);
	handle_put(dropped);
	vec_free(&kept);
	return dropped;
}

/* ---- Revisions and images ---- */

enum { ROUNDS = 3 /* revisions, then their images, of which the last round has none */ };

/* What may be freed without the lock. */
struct freed {
	struct list revisions;
	VEC(struct image *) images;
};

/* No call waits for it and no thread is at work on it. */
static bool is_idle(const struct revision *rev)
{
	return (rev->state == STATE_COLD || rev->state == STATE_FAILED) && !rev->served &&
	       list_empty(&rev->waiters) && list_empty(&rev->link);
}

/*
 * Calls whose conversion found another file wait for a scan, and remember what they had waited for: see
 * drop_replaced() in catalogue.c.
 */
static void forget_waiting(struct images *images, const struct revision *rev) REQUIRES(&images->lock)
{
	for (struct list *at = images->scan_waiters.next; at != &images->scan_waiters; at = at->next) {
		struct wait *wait = &LIST_ENTRY(at, struct call)->wait;
		if (wait->revision == rev)
			wait->revision = NULL;
	}
}

/* From now on neither these revisions nor the images that are leaving can be found. */
static void begin_grace(struct images *images) REQUIRES(&images->lock)
{
	for (struct list *at = images->retired.next, *next; at != &images->retired; at = next) {
		struct revision *rev = LIST_ENTRY_OF(at, struct revision, retired);
		next = at->next;
		if (!is_idle(rev) || revision_is_pinned(rev))
			continue;
		forget_waiting(images, rev);
		slots_remove(&images->revisions, rev->number);
		table_remove(&images->by_place, &rev->table);
		list_remove(at);
		list_append(&images->leaving, at);
	}
	for (struct list *at = images->leaving.next; at != &images->leaving; at = at->next) {
		struct revision *rev = LIST_ENTRY_OF(at, struct revision, retired);
		rev->pins_seen = atomic_load(&rev->pins);
	}
	for (size_t i = 0; i < images->leaving_images.n; i++)
		images->leaving_images.v[i]->touched = false;
	images->leaving_begun = images->leaving_images.n;
	images->grace = (struct grace){.over = {false}};
}

/* Nothing but pins leads to them. One that was pinned meanwhile has another turn. */
static void end_revisions(struct images *images, struct freed *freed) REQUIRES(&images->lock)
{
	for (struct list *at = images->leaving.next, *next; at != &images->leaving; at = next) {
		struct revision *rev = LIST_ENTRY_OF(at, struct revision, retired);
		next = at->next;
		if (revision_is_pinned(rev) || atomic_load(&rev->pins) != rev->pins_seen)
			continue;
		list_remove(at);
		list_append(&freed->revisions, at);
		image_unpin_locked(images, rev->image);
	}
}

static void end_images(struct images *images, struct freed *freed) REQUIRES(&images->lock)
{
	size_t kept = 0, n = images->leaving_images.n;
	for (size_t i = 0; i < n; i++) {
		struct image *image = images->leaving_images.v[i];
		bool over = i < images->leaving_begun && !image->pins && !image->touched;
		if (!over || vec_push(&freed->images, image))
			images->leaving_images.v[kept++] = image;
	}
	images->leaving_images.n = kept;
	if (!kept)
		vec_free(&images->leaving_images);
}

/* Whether there is more to come. */
static bool free_step(struct images *images, struct freed *freed) REQUIRES(&images->lock)
{
	if (!readers_grace(&images->readers, &images->grace))
		return false;
	end_images(images, freed);
	end_revisions(images, freed);
	begin_grace(images);
	return !list_empty(&images->leaving) || images->leaving_images.n;
}

static void free_freed(struct freed *freed)
{
	for (struct list *at; (at = list_take(&freed->revisions));)
		revision_free(LIST_ENTRY_OF(at, struct revision, retired));
	for (size_t i = 0; i < freed->images.n; i++)
		image_free(freed->images.v[i]);
	vec_free(&freed->images);
}

void images_free_retired(struct images *images)
{
	bool more = true;
	for (int i = 0; i < ROUNDS && more; i++) {
		struct freed freed = {.images = {0}};
		list_init(&freed.revisions);
		mutex_lock(&images->lock);
		more = free_step(images, &freed);
		mutex_unlock(&images->lock);
		free_freed(&freed);
	}
}

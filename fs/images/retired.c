#include "fs/images/retired.h"

#include <stdlib.h>

#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/images/revision.h"

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
static void begin(struct images *images) REQUIRES(&images->lock)
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
static bool step(struct images *images, struct freed *freed) REQUIRES(&images->lock)
{
	if (!readers_grace(&images->readers, &images->grace))
		return false;
	end_images(images, freed);
	end_revisions(images, freed);
	begin(images);
	return !list_empty(&images->leaving) || images->leaving_images.n;
}

static void free_all(struct freed *freed)
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
		more = step(images, &freed);
		mutex_unlock(&images->lock);
		free_all(&freed);
	}
}

#include "fs/images/evicted.h"

#include "work/cache/publish.h"
#include "fs/images/revision.h"

/* An open image, with a reference to its file. */
struct open_image {
	struct revision *rev;
	struct handle *handle;
};

typedef VEC(struct open_image) open_image_vec;

static void list_open(struct images *images, open_image_vec *ret)
{
	mutex_lock(&images->lock);
	if (vec_reserve(ret, images->ready.n) == 0)
		for (size_t i = 0; i < images->ready.n; i++) {
			struct revision *rev = images->ready.v[i];
			ret->v[ret->n++] = (struct open_image){rev, handle_get(rev->handle)};
		}
	mutex_unlock(&images->lock);
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
	/* The key of a revision that was opened never changes. */
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

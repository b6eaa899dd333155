/* Open images whose file is no longer in the cache, or could not be published: which are closed, and when. */
#include "images_fixture.h"

#include "work/cache/publish.h"
#include "fs/images/evicted.h"
#include "tests/lib/unit.h"

#include <errno.h>

static bool in_cache;
static int publish_result;
static struct images_fixture *reopens; /* while the cache is asked, its image is closed and opened again */

bool __wrap_cache_holds(const struct cache *cache, const struct cache_key *key, const struct handle *handle);
int __wrap_cache_publish_kept(struct cache *cache, const struct handle *handle);

bool __wrap_cache_holds(const struct cache *cache, const struct cache_key *key, const struct handle *handle)
{
	assert_null(cache);
	assert_non_null(key);
	assert_null(handle->in_memory);
	if (reopens) {
		struct revision *rev = current(reopens);
		mutex_lock(&reopens->images.lock);
		handle_put(revision_set_cold(&reopens->images, rev));
		mutex_unlock(&reopens->images.lock);
		assert_null(make_ready(reopens, rev, new_handle()));
	}
	return in_cache;
}

int __wrap_cache_publish_kept(struct cache *cache, const struct handle *handle)
{
	assert_null(cache);
	assert_non_null(handle->in_memory);
	return publish_result;
}

/* The image ID, converted; @in_memory may be NULL. */
static struct revision *open_image(struct images_fixture *f, _Atomic uint64_t *in_memory)
{
	struct handle *handle = new_handle();
	handle->in_memory = in_memory;
	handle->map_size = in_memory ? GSYM_SIZE : 0;
	put_new(f, debug_file());
	assert_null(make_ready(f, current(f), handle));
	return current(f);
}

TEST(an_evicted_image_is_closed)
{
	struct images_fixture *f = *state;
	struct revision *rev = open_image(f, NULL);
	rev->fresh = false;
	in_cache = true;
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_READY);
	assert_int_equal(atomic_load(&rev->handle->refs), 1);
	in_cache = false;
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_COLD);
	assert_null(rev->handle);
}

TEST(one_that_was_not_used_yet_has_a_second_chance)
{
	struct images_fixture *f = *state;
	struct revision *rev = open_image(f, NULL);
	assert_true(rev->fresh);
	in_cache = true;
	images_close_evicted(&f->images, NULL);
	assert_true(rev->fresh);
	in_cache = false;
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_READY);
	assert_false(rev->fresh);
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_COLD);
}

/* What was opened again while the cache was asked may be in it, and its chance is still to come. */
TEST(one_that_was_opened_again_meanwhile_stays)
{
	struct images_fixture *f = *state;
	struct revision *rev = open_image(f, NULL);
	rev->fresh = false;
	in_cache = false;
	reopens = f;
	images_close_evicted(&f->images, NULL);
	reopens = NULL;
	assert_int_equal(rev->state, STATE_READY);
	assert_true(rev->fresh);
	assert_int_equal(atomic_load(&rev->handle->refs), 1);
}

/* It is read from the cache from then on; without room there it stays in memory. */
TEST(one_in_memory_is_closed_once_it_is_published)
{
	struct images_fixture *f = *state;
	static _Atomic uint64_t in_memory = GSYM_SIZE;
	struct revision *rev = open_image(f, &in_memory);
	rev->fresh = false;
	publish_result = -ENOSPC;
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_READY);
	assert_int_equal(in_memory, GSYM_SIZE);
	publish_result = 0;
	images_close_evicted(&f->images, NULL);
	assert_int_equal(rev->state, STATE_COLD);
	assert_int_equal(in_memory, 0);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* The times of last use of open images, as they reach the cache: which, when, and with what locked. */
#include "images_fixture.h"

#include "fs/images/last_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { IMAGES = 20 };

static struct {
	struct images *images;
	bool tight;
	unsigned asked, n;
	struct cache_key keys[IMAGES];
	int64_t when[IMAGES];
} touched;

static struct cache cache;

bool __wrap_cache_is_tight(struct cache *of);
void __wrap_cache_touch(struct cache *of, const struct cache_key *key, int64_t when);

bool __wrap_cache_is_tight(struct cache *of)
{
	assert_ptr_equal(of, &cache);
	touched.asked++;
	return touched.tight;
}

/* Does file I/O: others must be able to take the lock. */
void __wrap_cache_touch(struct cache *of, const struct cache_key *key, int64_t when)
{
	assert_ptr_equal(of, &cache);
	assert_int_equal(pthread_mutex_trylock(&touched.images->lock.pthread), 0);
	pthread_mutex_unlock(&touched.images->lock.pthread);
	assert_true(touched.n < IMAGES);
	touched.keys[touched.n] = *key;
	touched.when[touched.n++] = when;
}

/* Images that were used at 100, 101 and so on are open, and one is not. */
static void open_images(struct images_fixture *f, unsigned n)
{
	f->images.ready_max = IMAGES;
	for (unsigned i = 0; i <= n; i++) {
		char id[24], name[24];
		snprintf(id, sizeof(id), "%016x", i + 1);
		snprintf(name, sizeof(name), "file%u", i);
		put_as(f, id, WITH(source_file(name, SOURCE_DWARF), w.ino = i + 1));
		struct revision *rev = revision_of(f, id);
		if (i == n)
			continue;
		assert_null(make_ready(f, rev, new_handle()));
		mutex_lock(&f->images.lock);
		rev->used = 100 + i;
		mutex_unlock(&f->images.lock);
	}
	memset(&touched, 0, sizeof(touched));
	touched.images = &f->images;
	touched.tight = true;
}

static void saved(struct images_fixture *f, unsigned n)
{
	bool seen[IMAGES] = {false};
	last_use_save(&f->images, &cache);
	assert_int_equal(touched.asked, 1);
	assert_int_equal(touched.n, n);
	for (unsigned i = 0; i < n; i++) {
		char id[24];
		unsigned which = (unsigned)(touched.when[i] - 100);
		assert_true(which < n && !seen[which]);
		seen[which] = true;
		snprintf(id, sizeof(id), "%016x", which + 1);
		assert_string_equal(touched.keys[i].text, revision_of(f, id)->key.text);
	}
}

TEST(none_is_open)
{
	open_images(*state, 0);
	saved(*state, 0);
}

TEST(one_is_open)
{
	open_images(*state, 1);
	saved(*state, 1);
}

TEST(many_are_open)
{
	const long before = live;
	open_images(*state, IMAGES);
	const long with_images = live;
	assert_true(with_images > before);
	saved(*state, IMAGES);
	assert_int_equal(live, with_images);
}

/* A cache with room evicts nothing: the times do not matter. */
TEST(not_tight)
{
	struct images_fixture *f = *state;
	open_images(f, 3);
	touched.tight = false;
	last_use_save(&f->images, &cache);
	assert_int_equal(touched.asked, 1);
	assert_int_equal(touched.n, 0);
}

/* Without memory no time is saved. */
TEST(without_memory)
{
	struct images_fixture *f = *state;
	open_images(f, 3);
	allowed = 0;
	last_use_save(&f->images, &cache);
	assert_int_equal(allowed, -1); /* one was refused */
	assert_int_equal(touched.n, 0);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

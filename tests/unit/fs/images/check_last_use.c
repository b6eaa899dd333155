/* The times of last use of open images, as they reach the cache: which, when, and with what locked. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/image_release.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "work/cache/cache_entry.h"
#include "tests/unit/wrap_malloc.h"

enum { IMAGES = 20 };

static struct {
	struct images *images;
	unsigned n;
	char names[2 * IMAGES][CACHE_NAME_SIZE];
	int64_t when[2 * IMAGES];
} touched;

static struct cache cache;

/* Others must be able to take the lock meanwhile. */
int __wrap_utimensat(int dir, const char *name, const struct timespec times[2], int flags)
{
	(void)dir, (void)flags;
	assert_int_equal(pthread_mutex_trylock(&touched.images->lock.pthread), 0);
	pthread_mutex_unlock(&touched.images->lock.pthread);
	assert_true(touched.n < 2 * IMAGES);
	strcpy(touched.names[touched.n], name);
	touched.when[touched.n++] = times[1].tv_sec;
	return 0;
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
	cache = (struct cache){.dir = -1, .limit = 1000, .bytes = 501};
}

/* A file has one of two names. */
static void saved(struct images_fixture *f, unsigned n)
{
	bool seen[2 * IMAGES] = {false};
	images_save_use(&f->images, &cache);
	assert_int_equal(touched.n, 2 * n);
	for (unsigned i = 0; i < 2 * n; i++) {
		char id[24], name[CACHE_NAME_SIZE];
		unsigned which = (unsigned)(touched.when[i] - 100);
		assert_true(which < n && !seen[2 * which + i % 2]);
		seen[2 * which + i % 2] = true;
		snprintf(id, sizeof(id), "%016x", which + 1);
		cache_entry_name(name, &revision_of(f, id)->key, i % 2);
		assert_string_equal(touched.names[i], name);
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
TEST_OF(not_tight, struct images_fixture, f)
{
	open_images(f, 3);
	cache.bytes = 500;
	images_save_use(&f->images, &cache);
	assert_int_equal(touched.n, 0);
}

/* Without memory no time is saved. */
TEST_OF(without_memory, struct images_fixture, f)
{
	open_images(f, 3);
	allowed = 0;
	images_save_use(&f->images, &cache);
	assert_int_equal(allowed, -1); /* one was refused */
	assert_int_equal(touched.n, 0);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

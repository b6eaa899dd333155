/* Fragments of images that are not converted: the newest ones of each, and a bounded number of all. */
#include "tests/unit/fs/images/images_fixture.h"

#include "work/cache/handle.h"
#include "fs/images/fragments.h"
#include "gsym/read/reader.h"
#include "tests/lib/unit.h"

#include <stdio.h>

enum {
	MIB = 1 << 20,
	ALL_MIB = 256,
	ALL = 1024,
};

/* An image of its own. */
static struct revision *image(struct images_fixture *f)
{
	char id[24], name[24];
	unsigned n = (unsigned)++f->ino;
	snprintf(id, sizeof(id), "%016x", n);
	snprintf(name, sizeof(name), "file%u", n);
	put_as(f, id, WITH(program_file(SOURCE_DWARF), w.path = name, w.ino = n));
	return revision_of(f, id);
}

/* Adds one of @size bytes; how many it displaced. */
static size_t add(struct images_fixture *f, struct revision *rev, size_t size)
{
	struct handle *handle = new_handle();
	struct list dropped;
	list_init(&dropped);
	handle->map_size = size;
	mutex_lock(&f->images.lock);
	fragments_add(&f->images, rev, handle, &dropped);
	mutex_unlock(&f->images.lock);
	size_t n = list_count(&dropped);
	fragments_free(&dropped);
	return n;
}

static size_t drop_all(struct images_fixture *f, struct revision *rev)
{
	struct list dropped;
	list_init(&dropped);
	mutex_lock(&f->images.lock);
	fragments_drop(&f->images, rev, &dropped);
	mutex_unlock(&f->images.lock);
	size_t n = list_count(&dropped);
	fragments_free(&dropped);
	return n;
}

/* There are @n, of sizes that begin with @newest and descend. */
static void expect_fragments(struct images_fixture *f, const struct revision *rev, size_t n, size_t newest,
			     unsigned made)
{
	struct handle *got[FRAGMENTS_MAX];
	unsigned so_far;
	assert_int_equal(fragments_get(&f->images, rev, got, &so_far), n);
	assert_int_equal(so_far, made);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i]->map_size, newest - i);
		handle_put(got[i]);
	}
}

/* Of all images together. */
static void expect_all(struct images_fixture *f, size_t n, size_t bytes)
{
	mutex_lock(&f->images.lock);
	assert_int_equal(f->images.n_fragments, n);
	assert_int_equal(f->images.fragment_bytes, bytes);
	mutex_unlock(&f->images.lock);
}

TEST_OF(newest_of_each, struct images_fixture, f)
{
	struct revision *a = image(f), *b = image(f);
	expect_fragments(f, a, 0, 0, 0);
	for (size_t i = 1; i <= FRAGMENTS_MAX; i++) {
		assert_int_equal(add(f, a, i), 0);
		assert_int_equal(add(f, b, 100 + i), 0);
		expect_fragments(f, a, i, i, (unsigned)i);
	}
	assert_int_equal(add(f, a, FRAGMENTS_MAX + 1), 1);
	assert_int_equal(a->n_fragments, FRAGMENTS_MAX);
	expect_fragments(f, a, FRAGMENTS_MAX, FRAGMENTS_MAX + 1, FRAGMENTS_MAX + 1);
	expect_fragments(f, b, FRAGMENTS_MAX, 100 + FRAGMENTS_MAX, FRAGMENTS_MAX);
	b->stale = true; /* what was replaced is not asked any more */
	expect_fragments(f, b, 0, 0, FRAGMENTS_MAX);
	assert_int_equal(drop_all(f, a), FRAGMENTS_MAX);
	expect_fragments(f, a, 0, 0, FRAGMENTS_MAX + 1);
	assert_int_equal(b->n_fragments, FRAGMENTS_MAX);
	assert_int_equal(drop_all(f, b), FRAGMENTS_MAX);
	expect_all(f, 0, 0);
}

TEST_OF(bounded_bytes, struct images_fixture, f)
{
	struct revision *a = image(f), *b = image(f);
	assert_int_equal(add(f, a, 100 * MIB), 0);
	assert_int_equal(add(f, b, 100 * MIB), 0);
	assert_int_equal(add(f, a, (ALL_MIB - 200) * MIB), 0);
	assert_int_equal(add(f, b, 1), 1);
	assert_int_equal(a->n_fragments, 1); /* the oldest one went */
	assert_int_equal(b->n_fragments, 2);
	assert_int_equal(add(f, b, 200 * MIB), 2);
	assert_int_equal(a->n_fragments, 0);
	assert_int_equal(b->n_fragments, 2);
	expect_all(f, 2, 200 * MIB + 1);
	assert_int_equal(drop_all(f, b), 2);
}

TEST_OF(bounded_number, struct images_fixture, f)
{
	struct revision *revs[ALL / FRAGMENTS_MAX + 1];
	for (size_t i = 0; i < ALL / FRAGMENTS_MAX; i++) {
		revs[i] = image(f);
		for (size_t k = 0; k < FRAGMENTS_MAX; k++)
			assert_int_equal(add(f, revs[i], 1), 0);
	}
	revs[ALL / FRAGMENTS_MAX] = image(f);
	assert_int_equal(add(f, revs[ALL / FRAGMENTS_MAX], 1), 1);
	expect_all(f, ALL, ALL);
	assert_int_equal(revs[0]->n_fragments, FRAGMENTS_MAX - 1);
	for (size_t i = 0; i <= ALL / FRAGMENTS_MAX; i++)
		drop_all(f, revs[i]);
	expect_all(f, 0, 0);
}

static bool is_not(const void *user, const struct revision *rev)
{
	return rev != user;
}

TEST_OF(oldest_wanted, struct images_fixture, f)
{
	struct revision *a = image(f), *b = image(f), *c = image(f);
	mutex_lock(&f->images.lock);
	assert_null(fragments_oldest(&f->images, is_not, NULL));
	mutex_unlock(&f->images.lock);
	add(f, b, 1);
	add(f, a, 1);
	add(f, b, 1);
	mutex_lock(&f->images.lock);
	assert_ptr_equal(fragments_oldest(&f->images, is_not, c), b);
	assert_ptr_equal(fragments_oldest(&f->images, is_not, b), a);
	mutex_unlock(&f->images.lock);
	drop_all(f, b);
	drop_all(f, a);
}

TEST_OF(functions, struct images_fixture, f)
{
	struct revision *a = image(f), *b = image(f);
	struct gsym_reader three = {.info.num_addresses = 3}, five = {.info.num_addresses = 5};
	struct handle *got[FRAGMENTS_MAX];
	unsigned made;
	for (size_t i = 0; i < 3; i++)
		add(f, i == 1 ? b : a, 1);
	assert_int_equal(fragments_get(&f->images, a, got, &made), 2);
	got[0]->reader = &three;
	got[1]->reader = &five;
	mutex_lock(&f->images.lock);
	assert_int_equal(fragments_functions(&f->images, a), 8);
	mutex_unlock(&f->images.lock);
	for (size_t i = 0; i < 2; i++) {
		got[i]->reader = NULL;
		handle_put(got[i]);
	}
	drop_all(f, a);
	drop_all(f, b);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

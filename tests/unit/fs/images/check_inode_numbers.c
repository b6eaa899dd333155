/* Inode numbers that another daemon finds again; and when two things would have the same. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/image_release.h"
#include "fs/images/inode_numbers.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A file of @id, called so, whose inode number says which of them it is. */
static void add(struct images_fixture *f, const char *id, ino_t ino)
{
	put_as(f, id, WITH(program_file(SOURCE_DWARF), w.path = (char *)id, w.ino = ino));
}

static uint64_t ino_of(struct images_fixture *f, const char *id)
{
	mutex_lock(&f->images.lock);
	uint64_t ino = image_ino(images_find(&f->images, id));
	mutex_unlock(&f->images.lock);
	return ino;
}

static uint32_t generation_of(struct images_fixture *f, const char *id)
{
	mutex_lock(&f->images.lock);
	uint32_t generation = image_generation(&f->images, images_find(&f->images, id));
	mutex_unlock(&f->images.lock);
	return generation;
}

/* The id of the image that the number leads to, or "". */
static const char *found(struct images_fixture *f, uint64_t ino)
{
	mutex_lock(&f->images.lock);
	const struct image *image = images_at(&f->images, ino);
	mutex_unlock(&f->images.lock);
	return image ? image->id : "";
}

/* Two catalogues of the same files, found in another order. */
TEST(order_does_not_matter)
{
	struct images_fixture *a = *state, *b;
	void *other;
	assert_int_equal(images_fixture_set_up(&other), 0);
	b = other;
	add(a, "aaaa", 1);
	add(a, "bbbb", 2);
	add(b, "cccc", 3);
	add(b, "bbbb", 2);
	add(b, "aaaa", 1);
	assert_int_equal(ino_of(a, "aaaa"), ino_of(b, "aaaa"));
	assert_int_equal(ino_of(a, "bbbb"), ino_of(b, "bbbb"));
	assert_int_equal(generation_of(a, "bbbb"), generation_of(b, "bbbb"));
	assert_int_not_equal(generation_of(a, "bbbb"), generation_of(b, "aaaa"));
	assert_string_equal(found(b, ino_of(a, "aaaa")), "aaaa");
	assert_string_equal(found(a, ino_of(b, "cccc")), "");
	const struct revision *rev = images_revision(&b->images, revision_of(a, "bbbb")->ino);
	assert_string_equal(rev->image->id, "bbbb");
	assert_int_equal(rev->stamp, revision_of(a, "bbbb")->stamp);
	images_fixture_tear_down(&other);
}

struct hashed {
	uint32_t end;
	unsigned i;
};

static int by_end(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void name_of(unsigned i, char ret[static 24])
{
	snprintf(ret, 24, "%016x", i);
}

/* Two ids whose hashes end alike. */
static void find_two(char a[static 24], char b[static 24])
{
	enum { COUNT = 200000 };
	struct hashed *all = calloc(COUNT, sizeof(*all));
	assert_non_null(all);
	for (unsigned i = 0; i < COUNT; i++) {
		name_of(i, a);
		all[i] = (struct hashed){XXH3_64bits(a, strlen(a)) & ((1U << INODE_KEY_BITS) - 1), i};
	}
	qsort(all, COUNT, sizeof(*all), by_end);
	unsigned i = 1;
	while (all[i].end != all[i - 1].end)
		assert_true(++i < COUNT);
	name_of(all[i - 1].i, a);
	name_of(all[i].i, b);
	free(all);
}

/* The second has another number, and for the other order the generation tells them apart. */
TEST(two_with_one_key)
{
	const struct request request = {.kind = REQUEST_ADDRESS, .address = 0x1234};
	struct images_fixture *f = *state, *g;
	void *other;
	char a[24], b[24];
	find_two(a, b);
	assert_int_equal(images_fixture_set_up(&other), 0);
	g = other;
	add(f, a, 1);
	add(f, b, 2);
	add(g, b, 2);
	add(g, a, 1);
	assert_string_equal(found(f, ino_of(f, a)), a);
	assert_string_equal(found(f, ino_of(f, b)), b);
	assert_int_equal(ino_a(ino_of(f, a)), ino_a(ino_of(g, b)));
	assert_int_not_equal(generation_of(f, a), generation_of(g, b));
	assert_int_not_equal(answer_id(revision_of(f, a), &request, 0, 7).ino, 0);
	assert_int_equal(answer_id(revision_of(f, b), &request, 0, 7).ino, 0);
	/* They are the names of their files, too. */
	mutex_lock(&f->images.lock);
	struct basename *x = images_find_basename(&f->images, a), *y = images_find_basename(&f->images, b);
	assert_int_not_equal(basename_ino(x), basename_ino(y));
	assert_ptr_equal(basename_at(&f->images, basename_ino(x)), x);
	assert_ptr_equal(basename_at(&f->images, basename_ino(y)), y);
	assert_true(y->odd && !x->odd);
	y->odd = false; /* a number that was given to another is no name's */
	assert_null(basename_at(&f->images, ino_make(NODE_NAME, inode_key(0, true, y->number), 0)));
	y->odd = true;
	assert_null(basename_at(&f->images, ino_make(NODE_NAME, inode_key(0, true, y->number + 1), 0)));
	mutex_unlock(&f->images.lock);
	/* What is left of the two keeps its number. */
	uint64_t ino = ino_of(f, b);
	f->pass++;
	add(f, b, 2);
	scanned(f, 0);
	assert_string_equal(found(f, ino), b);
	images_fixture_tear_down(&other);
}

/* The number of an answer leads to its image, and the generation to what it was made of. */
TEST_OF(answers, struct images_fixture, f)
{
	const struct request request = {.kind = REQUEST_ADDRESS, .address = 0x1234, .format = RENDER_JSON};
	struct answer_place place;
	add(f, "aaaa", 1);
	add(f, "bbbb", 2);
	struct node_id id = answer_id(revision_of(f, "bbbb"), &request, 0x1000, 7);
	assert_true(ino_answer_place(id.ino, &place));
	mutex_lock(&f->images.lock);
	assert_string_equal(images_by_key_end(&f->images, &place)->id, "bbbb");
	place.key ^= 1;
	assert_null(images_by_key_end(&f->images, &place));
	mutex_unlock(&f->images.lock);
	assert_int_not_equal(answer_id(revision_of(f, "bbbb"), &request, 0x1000, 8).generation,
			     id.generation);
	assert_int_not_equal(answer_id(revision_of(f, "aaaa"), &request, 0x1000, 7).generation,
			     id.generation);
	assert_int_equal(answer_id(revision_of(f, "bbbb"), &request, 0x1000, 7).generation, id.generation);
}

/* However the files change and change back, no number is used twice, and each leads to what it was. */
TEST_OF(versions, struct images_fixture, f)
{
	enum { COUNT = 500 };
	static uint64_t inos[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		put_as(f, "aaaa", WITH(debug_file(), w.ino = 1, w.size = i % 40));
		scanned(f, 0);
		inos[i] = ino_of(f, "aaaa");
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(inos[k], inos[i]);
		assert_string_equal(found(f, inos[i]), "aaaa");
		assert_string_equal(i ? found(f, inos[i - 1]) : "", "");
	}
}

/* An image that was asked for something, and comes back, has other numbers than it had. */
TEST_OF(gone_and_back, struct images_fixture, f)
{
	add(f, "bbbb", 2);
	add(f, "aaaa", 1);
	uint64_t ino = revision_of(f, "aaaa")->ino;
	f->pass++;
	add(f, "bbbb", 2);
	scanned(f, 0);
	images_free_retired(&f->images);
	assert_string_equal(found(f, ino), "");
	add(f, "aaaa", 1);
	assert_int_not_equal(ino_of(f, "aaaa"), ino);
	assert_string_equal(found(f, ino), "");
	assert_string_equal(found(f, ino_of(f, "aaaa")), "aaaa");
}

/* Names and paths lead back, too. */
TEST_OF(links, struct images_fixture, f)
{
	add(f, "aaaa", 1);
	add(f, "bbbb", 2);
	mutex_lock(&f->images.lock);
	struct images *images = &f->images;
	const struct path_file *file = path_tree_find(&images->paths, f->top, "bbbb");
	uint64_t link = path_link_ino(images, file, NODE_PATH_LINK);
	assert_ptr_equal(path_file_at(images, link), file);
	assert_null(path_file_at(images, link ^ 1));
	assert_int_not_equal(link_generation(images, link), 0);
	assert_int_equal(link_generation(images, link ^ 1), 0);
	assert_int_not_equal(link_generation(images, INO_BY_PATH), 0);
	assert_int_equal(link_generation(images, ino_make(NODE_NAME, 12345, 0)), 0);
	assert_int_equal(link_generation(images, ino_make(NODE_ALIAS, 12345, 0)), 0);
	mutex_unlock(&f->images.lock);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* Further ids of images: their texts, the table of them as files come and go, and memory that fails. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/other_ids.h"

#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

#define A   "aaaaaaaaaaaaaaaa"
#define B   "bbbbbbbbbbbbbbbb"
#define GO  "foh3mEXu7BLZjsN9pOwG/kATcXlDEFFyYpSUXsoOy"
#define X11 "11111111111111111111111111111111"
#define X22 "22222222222222222222222222222222"
#define X33 "33333333333333333333333333333333"

/* A file of @id; @htlhash 0 and @go_id NULL: it has none of these. */
static void add(struct images_fixture *f, const char *id, ino_t ino, uint8_t htlhash, const char *go_id)
{
	put_as(f, id,
	       WITH(source_file("file", SOURCE_BARE), w.ino = ino, w.go_id = (char *)go_id,
		    memset(w.htlhash, htlhash, sizeof(w.htlhash))));
}

/* @other names this image; NULL: none. */
static void names(struct images_fixture *f, const char *other, const char *id)
{
	mutex_lock(&f->images.lock);
	const struct image *image = images_find_other(&f->images, other);
	mutex_unlock(&f->images.lock);
	if (!id)
		assert_null(image);
	else
		assert_string_equal(image ? image->id : "none", id);
}

/* The table is there, or not, and has so many. */
static void table_has(struct images_fixture *f, bool there, size_t n)
{
	mutex_lock(&f->images.lock);
	assert_int_equal(f->images.has_other_ids, there);
	assert_int_equal(f->images.by_other_id.n, n);
	mutex_unlock(&f->images.lock);
}

/* ---- Texts ---- */

TEST(hashes)
{
	char text[HTLHASH_TEXT_SIZE];
	struct source source = {.path = NULL};
	strcpy(text, "before");
	assert_false(source_htlhash(&source, text));
	assert_string_equal(text, "");
	for (unsigned i = 0; i < HTLHASH_SIZE; i++)
		source.htlhash[i] = (uint8_t)(i * 0x11 ^ 0x0f);
	assert_true(source_htlhash(&source, text));
	assert_string_equal(text, "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
	/* One byte that is not 0 is enough, wherever it is. */
	for (unsigned i = 0; i < HTLHASH_SIZE; i++) {
		memset(source.htlhash, 0, sizeof(source.htlhash));
		source.htlhash[i] = 1;
		assert_true(source_htlhash(&source, text));
		assert_int_equal(strlen(text), HTLHASH_TEXT_SIZE - 1);
		assert_int_equal(text[2 * i + 1], '1');
	}
}

TEST_OF(spellings, struct images_fixture, f)
{
	static const struct {
		const char *id;
		bool may_be;
	} rows[] = {
		{X11, true},
		{"0123456789abcdef0123456789abcdef", true},
		{"1111111111111111111111111111111", false},
		{"111111111111111111111111111111111", false},
		{"0123456789ABCDEF0123456789ABCDEF", false},
		{"0123456789abcdef-0123456789abcde", false},
		{"", false},
		{"/", true},
		{"a/b", true},
		{GO, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(id_may_be_other(rows[i].id) == rows[i].may_be);
		names(f, rows[i].id, NULL);
		table_has(f, rows[i].may_be || i > 0, 0); /* made when it is needed */
	}
}

/* ---- Files that come and go ---- */

TEST_OF(before_the_table, struct images_fixture, f)
{
	add(f, A, 1, 0x11, GO);
	add(f, B, 2, 0x22, NULL);
	add(f, B, 3, 0, "b/b");
	table_has(f, false, 0);
	names(f, "11111111", NULL); /* no beginnings */
	table_has(f, false, 0);
	names(f, X33, NULL);
	table_has(f, true, 4);
	names(f, X11, A);
	names(f, GO, A);
	names(f, X22, B);
	names(f, "b/b", B);
	table_has(f, true, 4);
	mutex_lock(&f->images.lock);
	images_free_other(&f->images);
	mutex_unlock(&f->images.lock);
	table_has(f, false, 0);
	names(f, GO, A);
	table_has(f, true, 4);
}

TEST_OF(with_the_table, struct images_fixture, f)
{
	names(f, X11, NULL);
	table_has(f, true, 0);
	add(f, A, 1, 0x11, GO);
	table_has(f, true, 2);
	add(f, A, 1, 0x11, GO); /* is still there */
	table_has(f, true, 2);
	add(f, A, 2, 0x11, NULL); /* another file of the same */
	table_has(f, true, 3);
	names(f, X11, A);
	names(f, GO, A);
	add(f, A, 3, 0, NULL); /* has none */
	table_has(f, true, 3);
	/* Of two images none. */
	add(f, B, 4, 0x11, "b/b");
	table_has(f, true, 5);
	names(f, X11, NULL);
	names(f, "b/b", B);
	/* What the next scan does not meet goes. */
	scanned(f, 0);
	add(f, A, 2, 0x11, NULL);
	scanned(f, 0);
	table_has(f, true, 1);
	names(f, X11, A);
	names(f, GO, NULL);
	names(f, "b/b", NULL);
	scanned(f, 0);
	table_has(f, true, 0);
	names(f, X11, NULL);
}

/* Of two files of an image with the same id, one may go. */
TEST_OF(one_of_two, struct images_fixture, f)
{
	struct source source = {.go_id = (char *)"b/b"};
	add(f, A, 1, 0, GO);
	add(f, A, 2, 0, GO);
	add(f, B, 3, 0x22, "b/b");
	names(f, GO, A);
	table_has(f, true, 4);
	struct image *image = revision_of(f, B)->image;
	const long before = live;
	mutex_lock(&f->images.lock);
	images_drop_source(&f->images, image, &source);
	mutex_unlock(&f->images.lock);
	assert_int_equal(live, before - 1);
	table_has(f, true, 3);
	names(f, "b/b", NULL);
	names(f, X22, B);
	mutex_lock(&f->images.lock);
	images_note_source(&f->images, image, &source);
	mutex_unlock(&f->images.lock);
	names(f, "b/b", B);
	scanned(f, 0);
	add(f, A, 2, 0, GO);
	scanned(f, 0);
	table_has(f, true, 1);
	names(f, GO, A);
}

/* ---- Memory ---- */

/* Without memory for all of the table there is none, and nothing of it stays; the next lookup makes it. */
TEST_OF(without_memory, struct images_fixture, f)
{
	add(f, A, 1, 0x11, GO);
	add(f, B, 2, 0x22, NULL);
	const long before = live;
	for (long n = 0; n < 4; n++) { /* buckets, and an entry for each id */
		allowed = n;
		names(f, GO, NULL);
		allowed = -1;
		table_has(f, false, 0);
		assert_int_equal(live, before);
	}
	names(f, GO, A);
	table_has(f, true, 3);
}

/* A file that comes and finds no memory for its entries takes the table with it. */
TEST_OF(comes_without_memory, struct images_fixture, f)
{
	const struct source source = {.go_id = (char *)"b/b", .htlhash = {7}};
	add(f, A, 1, 0x11, GO);
	add(f, B, 2, 0x22, NULL);
	struct image *image = revision_of(f, B)->image;
	const long before = live;
	for (long n = 0; n < 2; n++) {
		names(f, GO, A);
		table_has(f, true, 3);
		allowed = n;
		mutex_lock(&f->images.lock);
		images_note_source(&f->images, image, &source);
		mutex_unlock(&f->images.lock);
		allowed = -1;
		table_has(f, false, 0);
		assert_int_equal(live, before);
	}
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* Which image a spelling of an id names: a wrong one answers for another program, of other readers. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/scan_request.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A      "aabbccdd00112233445566778899aabbccddeeff"
#define B      "aabbccdd99112233445566778899aabbccddeeff"
#define PADDED "0123456789abcdef0123456789ab"

static void add(struct images_fixture *f, const char *id)
{
	put_as(f, id, WITH(source_file("file", SOURCE_BARE), w.ino = ++f->ino));
}

/* A file of the image with further ids; @go_id: NULL, or Go's. */
static void add_other(struct images_fixture *f, const char *id, ino_t ino, uint8_t htlhash, const char *go_id)
{
	put_as(f, id,
	       WITH(source_file("file", SOURCE_BARE), w.ino = ino, w.go_id = (char *)go_id,
		    memset(w.htlhash, htlhash, sizeof(w.htlhash))));
}

/* The id of the image that @spelling names, or the errno. */
static int find(struct images_fixture *f, const char *spelling, const char **ret)
{
	struct request request = {.kind = REQUEST_ID};
	struct image *image = NULL;
	struct wait wait;
	strcpy(request.id, spelling);
	mutex_lock(&f->images.lock);
	int err = images_lookup(&f->images, &request, &image, &wait);
	mutex_unlock(&f->images.lock);
	*ret = image ? image->id : "none";
	return err;
}

static void expect_id(struct images_fixture *f, const char *spelling, const char *id)
{
	const char *found;
	assert_int_equal(find(f, spelling, &found), 0);
	assert_string_equal(found, id);
}

static void expect_none(struct images_fixture *f, const char *spelling, int err)
{
	const char *found;
	assert_int_equal(find(f, spelling, &found), err);
	assert_string_equal(found, "none");
}

TEST_OF(beginnings, struct images_fixture, f)
{
	add(f, A);
	add(f, B);
	add(f, PADDED);
	scanned(f, 0);
	expect_id(f, A, A);
	expect_id(f, "aabbccdd0", A);
	expect_id(f, "aabbccdd9", B);
	expect_id(f, "01234567", PADDED);
	expect_none(f, "aabbccdd", -ENOENT); /* two */
	expect_none(f, "0123456", -ENOENT);  /* too short */
	expect_none(f, "aabbccdd5", -ENOENT);
	expect_none(f, A "00", -ENOENT);
}

TEST_OF(images_that_are_gone, struct images_fixture, f)
{
	add(f, A);
	add(f, B);
	scanned(f, 0);
	expect_id(f, "aabbccdd0", A);
	add(f, B);
	scanned(f, 0);
	expect_none(f, A, -ENOENT);
	mutex_lock(&f->images.lock);
	assert_int_equal(f->images.sorted.n, 1); /* it leaves nothing */
	mutex_unlock(&f->images.lock);
	expect_none(f, "aabbccdd0", -ENOENT);
	expect_id(f, "aabbccdd", B); /* the only one left */
	mutex_lock(&f->images.lock);
	assert_true(images_has_prefix(&f->images, "aa"));
	assert_false(images_has_prefix(&f->images, "aabbccdd0"));
	assert_false(images_has_prefix(&f->images, "ab"));
	mutex_unlock(&f->images.lock);
}

/* What is not known before the first scan is over; then as the last scan ended. */
TEST_OF(what_is_not_there, struct images_fixture, f)
{
	static const struct {
		int scan, lookup;
	} table[] = {{-EIO, -EIO},
		     {-ETIMEDOUT, -ETIMEDOUT},
		     {-EHOSTUNREACH, -EHOSTUNREACH},
		     {-ENOMEM, -EIO},
		     {0, -ENOENT},
		     {-EIO, -EIO}};
	expect_none(f, A, -EAGAIN);
	for (uint32_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		scanned(f, table[i].scan);
		expect_none(f, A, table[i].lookup);
	}
	add(f, A);
	expect_id(f, A, A);
}

/* Breakpad's debug ids: with an age, bytes swapped or not, cut to 16 bytes or filled up with zeros. */
TEST_OF(breakpad_ids, struct images_fixture, f)
{
	add(f, A);
	add(f, PADDED);
	scanned(f, 0);
	expect_id(f,
		  "ddccbbaa110033224455667788"
		  "99aabb0",
		  A);
	expect_id(f, "aabbccdd00112233445566778899aabb0", A);
	expect_id(f, "aabbccdd00112233445566778899aabb1f", A);
	expect_id(f, "67452301ab89efcd0123456789ab00000", PADDED);
	expect_none(f, "ddccbbaa11003322445566778899aabc0", -ENOENT);
}

/* Text symbols that name only the beginning of a build id belong to the one image that has all of it. */
TEST_OF(truncated_ids, struct images_fixture, f)
{
	struct image *whole[2];
	add(f, A);
	add(f, PADDED);
	put_as(f, "aabbccdd00112233445566778899aabb",
	       WITH(source_file("file", SOURCE_BARE), w.ino = ++f->ino, w.id_is_truncated = true));
	scanned(f, 0);
	mutex_lock(&f->images.lock);
	assert_int_equal(images_find_whole(&f->images, "aabbccdd00112233445566778899aabb", 0, whole, 2), 1);
	assert_string_equal(whole[0]->id, A);
	assert_int_equal(images_find_whole(&f->images, "aabbccdd00112233445566778899aabb", 1, whole, 2), 1);
	assert_int_equal(images_find_whole(&f->images, "aabbccdd00112233445566778899aabb", 2, whole, 2), 0);
	assert_int_equal(images_find_whole(&f->images, "aabbccdd00112233445566778899aabc", 0, whole, 2), 0);
	assert_int_equal(images_find_whole(&f->images, "aabbccdd", 0, whole, 2), 0);
	assert_int_equal(images_find_whole(&f->images, PADDED "0000", 0, whole, 2), 1);
	assert_string_equal(whole[0]->id, PADDED);
	assert_int_equal(images_find_whole(&f->images, PADDED "0000", 2, whole, 2), 0);
	assert_int_equal(images_find_whole(&f->images, PADDED "0001", 0, whole, 2), 0);
	mutex_unlock(&f->images.lock);
}

/* Ids of files, of which an image may have several, and several images may have the same. */
TEST_OF(other_ids, struct images_fixture, f)
{
	static const char go[] = "foh3mEXu7BLZjsN9pOwG/kATcXlDEFFyYpSUXsoOy";
	static const char x11[] = "11111111111111111111111111111111",
			  x22[] = "22222222222222222222222222222222";
	add_other(f, A, 1, 0x11, go);
	add_other(f, B, 2, 0, NULL);
	expect_none(f, x11, -EAGAIN); /* before the scan is over */
	scanned(f, 0);
	expect_id(f, x11, A);
	expect_id(f, go, A);
	expect_none(f, x22, -ENOENT);
	expect_none(f, "00000000000000000000000000000000", -ENOENT);
	expect_none(f, "11111111", -ENOENT); /* no beginnings */
	add_other(f, A, 3, 0x22, NULL);      /* from now on with the table */
	add_other(f, A, 4, 0x22, go);
	expect_id(f, x22, A);
	expect_id(f, go, A);
	add_other(f, B, 2, 0x22, NULL);
	expect_none(f, x22, -ENOENT); /* two */
	expect_id(f, x11, A);
	scanned(f, 0); /* drops the first file */
	expect_none(f, x11, -ENOENT);
	expect_id(f, go, A);
	add_other(f, A, 4, 0x33, NULL); /* changed */
	add_other(f, B, 2, 0x11, NULL);
	expect_none(f, go, -ENOENT);
	expect_id(f, x22, A); /* the third file still has it */
	expect_id(f, x11, B);
	scanned(f, 0);
	expect_none(f, x22, -ENOENT);
	expect_id(f, "33333333333333333333333333333333", A);
	mutex_lock(&f->images.lock);
	assert_int_equal(f->images.by_other_id.n, 2); /* of the two files that are left */
	mutex_unlock(&f->images.lock);
}

/* A file that was fetched takes its further ids with it. */
TEST_OF(other_ids_of_fetched, struct images_fixture, f)
{
	struct list woken;
	struct finding finding = {
		.id = A,
		.source = {.path = (char *)"/fetched", .go_id = (char *)"a/b", .mode = 0444, .fetched = true},
	};
	const char *found;
	list_init(&woken);
	scanned(f, 0);
	expect_none(f, "a/b", -ENOENT); /* from now on with the table */
	assert_int_equal(images_add(&f->images, &finding, &woken), 0);
	expect_id(f, "a/b", A);
	images_drop_fetched(&f->images, A);
	mutex_lock(&f->images.lock);
	assert_int_equal(f->images.by_other_id.n, 0);
	mutex_unlock(&f->images.lock);
	assert_int_equal(find(f, A, &found), -ENOENT);
}

/* What calls ask for during the first scan: each thing once, in order, and not without bound. */
TEST_OF(asked_for, struct images_fixture, f)
{
	const struct path_attr attr = {.mode = 0555};
	struct call a = {.ino = 0}, b = a, calls[300] = {a};
	struct scan_request request;
	char id[ID_TEXT_SIZE];
	uint32_t sub = images_add_directory(&f->images, f->top, "sub", &attr);
	assert_false(scan_request_any(&f->images));
	mutex_lock(&f->images.lock);
	scan_request_add_path(&f->images, &a, sub, "file");
	scan_request_add_id(&f->images, &b, A);
	uint64_t first = a.scan_request, second = b.scan_request;
	assert_true(first && second && first != second);
	scan_request_add_path(&f->images, &b, sub, "file");
	assert_int_equal(b.scan_request, first);
	scan_request_add_path(&f->images, &a, f->top, "sub");
	mutex_unlock(&f->images.lock);
	assert_true(scan_request_take(&f->images, &request));
	assert_string_equal(request.path, "sub/file");
	assert_int_equal(request.number, first);
	free(request.path);
	assert_true(scan_request_take(&f->images, &request));
	assert_string_equal(request.id, A);
	assert_true(scan_request_take(&f->images, &request));
	assert_string_equal(request.path, "sub");
	free(request.path);
	assert_false(scan_request_any(&f->images) || scan_request_take(&f->images, &request));

	mutex_lock(&f->images.lock);
	scan_request_add_path(&f->images, &a, f->top, "sub"); /* as before: it waits for the scan */
	mutex_unlock(&f->images.lock);
	assert_false(scan_request_any(&f->images));
	mutex_lock(&f->images.lock);
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++) {
		snprintf(id, sizeof(id), "%040x", i);
		scan_request_add_id(&f->images, &calls[i], id);
	}
	assert_true(calls[255].scan_request && !calls[256].scan_request);
	assert_int_equal(f->images.scan_requests.n, 256);
	mutex_unlock(&f->images.lock);
	scanned(f, 0);
	assert_false(scan_request_any(&f->images));
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

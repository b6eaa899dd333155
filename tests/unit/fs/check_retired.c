/* Files and revisions that are gone: what is freed of them, and when. */
#include "images_fixture.h"

#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/retired.h"
#include "fs/images/stable.h"
#include "tests/lib/unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

/* What is known of all files and images together. */
static size_t known(struct images_fixture *f)
{
	mutex_lock(&f->images.lock);
	size_t n = f->images.all.n + f->images.names.n + f->images.paths.files.n + f->images.by_id.n +
		   f->images.by_basename.n + f->images.by_member.n + f->images.paths.by_file.n;
	mutex_unlock(&f->images.lock);
	return n;
}

static void note_gone(void *user, dev_t dev, ino_t ino)
{
	(void)dev;
	*(ino_t *)user = ino;
}

/* A file that comes in scan @f->pass and goes in the next one. */
static void come_and_go(struct images_fixture *f, unsigned i, bool walk)
{
	char id[24], name[24];
	ino_t gone = 0;
	snprintf(id, sizeof(id), "%016x", i);
	snprintf(name, sizeof(name), "f%u", i % 7);
	put_as(f, id, WITH(program_file(SOURCE_SYMBOLS), w.path = name, w.ino = 1000 + i));
	if (i % 3 == 0) {
		mutex_lock(&f->images.lock);
		images_has_prefix(&f->images, "f"); /* which sorts them */
		mutex_unlock(&f->images.lock);
	}
	f->pass++;
	put(f, WITH(debug_file(), w.ino = 1));
	if (walk) {
		scanned(f, 0);
	} else {
		assert_true(images_forget_path(&f->images, name, f->pass, note_gone, &gone));
		assert_int_equal(gone, 1000 + i);
	}
}

TEST(files_that_come_and_go_leave_nothing)
{
	struct images_fixture *f = *state;
	put_new(f, debug_file());
	scanned(f, 0);
	size_t before = known(f);
	for (unsigned i = 0; i < 2000; i++) {
		come_and_go(f, i, i % 10 == 0);
		assert_int_equal(known(f), before);
	}
	expect(f, "debug", NULL);
}

static size_t retired(struct images_fixture *f)
{
	mutex_lock(&f->images.lock);
	size_t n =
		list_count(&f->images.retired) + list_count(&f->images.leaving) + f->images.leaving_images.n;
	mutex_unlock(&f->images.lock);
	return n;
}

/* Something is asked of a file, which is gone in the next scan. */
static struct revision *ask_and_go(struct images_fixture *f, unsigned i)
{
	char id[24], name[24];
	snprintf(id, sizeof(id), "%016x", i);
	snprintf(name, sizeof(name), "f%u", i % 7);
	put_as(f, id, WITH(program_file(SOURCE_SYMBOLS), w.path = name, w.ino = 1000 + i));
	struct revision *rev = revision_of(f, id);
	f->pass++;
	put(f, WITH(debug_file(), w.ino = 1));
	scanned(f, 0);
	assert_null(revision_of(f, id));
	assert_true(rev->stale);
	return rev;
}

static uint64_t ino_of(const struct revision *rev)
{
	return rev_ino(rev, NODE_CONTEXT, 1);
}

/* Asks of a hundred files, from the number @first on, and frees what is left of them. */
static void ask_of_many(struct images_fixture *f, unsigned first)
{
	for (unsigned i = first; i < first + 100; i++)
		ask_and_go(f, i);
	images_free_retired(&f->images);
}

TEST(files_that_were_asked_leave_nothing)
{
	struct images_fixture *f = *state;
	put_new(f, debug_file());
	scanned(f, 0);
	ask_of_many(f, 0); /* lists keep their capacity */
	const size_t before = known(f), made = revisions(f);
	const size_t bytes = mallinfo2().uordblks;
	for (unsigned i = 1; i <= 100; i++) {
		ask_of_many(f, i * 100);
		assert_int_equal(known(f), before);
		assert_int_equal(revisions(f), made);
		assert_int_equal(retired(f), 0);
	}
	const size_t now = mallinfo2().uordblks;
	assert_true(now < bytes + 10000 * 4); /* numbers that are never used again */
	expect(f, "debug", NULL);
}

TEST(a_reader_keeps_what_it_found)
{
	struct images_fixture *f = *state;
	put_new(f, debug_file());
	unsigned inside = readers_enter(&f->images.readers);
	struct revision *rev = ask_and_go(f, 1);
	for (int i = 0; i < 5; i++) {
		images_free_retired(&f->images);
		unsigned other = readers_enter(&f->images.readers);
		assert_string_equal(rev->source.path, "f1");
		assert_string_equal(rev->image->id, "0000000000000001");
		readers_leave(&f->images.readers, other);
	}
	const uint64_t ino = ino_of(rev);
	readers_leave(&f->images.readers, inside);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
	assert_null(images_revision(&f->images, ino));
}

TEST(a_pin_keeps_a_revision)
{
	struct images_fixture *f = *state;
	put_new(f, debug_file());
	struct revision *rev = ask_and_go(f, 1);
	revision_pin(rev);
	images_free_retired(&f->images);
	assert_ptr_equal(images_revision(&f->images, ino_of(rev)), rev);
	struct image *image = rev->image;
	image_pin(&f->images, image);
	revision_unpin(rev);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
	assert_string_equal(image->id, "0000000000000001");
	image_unpin(&f->images, image);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
}

/* By a thread that had found it before its number was given up. */
TEST(pinned_when_it_is_to_be_freed)
{
	struct images_fixture *f = *state;
	put_new(f, debug_file());
	unsigned inside = readers_enter(&f->images.readers);
	struct revision *rev = ask_and_go(f, 1);
	struct image *image = rev->image;
	images_free_retired(&f->images);
	revision_pin(rev);
	image_pin(&f->images, image);
	readers_leave(&f->images.readers, inside);
	images_free_retired(&f->images);
	assert_int_equal(rev->number, 0);
	revision_unpin(rev);
	images_free_retired(&f->images);
	assert_string_equal(image->id, "0000000000000001");
	image_unpin(&f->images, image);
	images_free_retired(&f->images);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
}

/* A call waits for a scan because the file was replaced while it was converted, and then replaced again. */
TEST(a_call_forgets_what_it_waited_for)
{
	struct images_fixture *f = *state;
	struct call call = {.wait = {.revision = NULL}};
	put_new(f, debug_file());
	call.wait.revision = ask_and_go(f, 1);
	mutex_lock(&f->images.lock);
	list_append(&f->images.scan_waiters, &call.link);
	mutex_unlock(&f->images.lock);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
	assert_null(call.wait.revision);
	list_remove(&call.link);
}

/* A thread is at work on it, or calls wait for it. */
TEST(a_revision_in_use_is_kept)
{
	struct images_fixture *f = *state;
	struct list waiter;
	put_new(f, debug_file());
	struct revision *rev = ask_and_go(f, 1);
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, rev, STATE_OPENING);
	mutex_unlock(&f->images.lock);
	images_free_retired(&f->images);
	assert_ptr_equal(images_revision(&f->images, ino_of(rev)), rev);
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, rev, STATE_COLD);
	list_append(&rev->waiters, &waiter);
	mutex_unlock(&f->images.lock);
	images_free_retired(&f->images);
	assert_ptr_equal(images_revision(&f->images, ino_of(rev)), rev);
	list_remove(&waiter);
	images_free_retired(&f->images);
	assert_int_equal(retired(f), 0);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* When a file that changes or goes makes another revision of its image. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/call/runners.h"
#include "fs/images/catalogue.h"
#include "fs/images/inode_numbers.h"
#include "tests/lib/unit.h"

/* The next scan sees the one file so: whether it is another revision then. */
static bool is_replaced(struct images_fixture *f, struct source s)
{
	struct revision *old = current(f);
	uint64_t ino = image_ino(old->image);
	s.ino = 1;
	put(f, s);
	scanned(f, 0);
	struct revision *now = current(f);
	assert_int_equal(old->stale, old != now);
	assert_int_equal(image_ino(now->image) != ino, old != now);
	if (old != now)
		assert_string_not_equal(old->key.text, now->key.text);
	return old != now;
}

TEST_OF(what_makes_another_revision, struct images_fixture, f)
{
	put_new(f, debug_file());
	scanned(f, 0);
	assert_false(is_replaced(f, debug_file()));
	assert_true(is_replaced(f, WITH(debug_file(), w.mode = 0400)));
	assert_false(is_replaced(f, WITH(debug_file(), w.mode = 0400)));
	assert_true(is_replaced(f, WITH(debug_file(), w.mode = 0400, w.uid = 0)));
	assert_true(is_replaced(f, WITH(debug_file(), w.mode = 0400, w.uid = 0, w.gid = 0)));
	assert_true(is_replaced(f, WITH(debug_file(), w.size = 1)));
	assert_true(is_replaced(f, WITH(debug_file(), w.size = 1, w.mtime_ns = 1)));
	assert_true(is_replaced(f, WITH(debug_file(), w.size = 1, w.mtime_ns = 1, w.ctime_ns = 1)));
	assert_false(is_replaced(f, WITH(debug_file(), w.size = 1, w.mtime_ns = 1, w.ctime_ns = 1)));
}

TEST_OF(program_that_changes, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_new(f, program_file(SOURCE_SYMBOLS));
	scanned(f, 0);
	struct revision *old = current(f);
	put(f, WITH(debug_file(), w.ino = 1));
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 2, w.ctime_ns = 1));
	scanned(f, 0);
	assert_true(old->stale);
	assert_string_not_equal(old->key.text, current(f)->key.text);
}

/* Nothing is made before something is asked. */
TEST_OF(revisions_are_made_when_asked_for, struct images_fixture, f)
{
	put_new(f, program_file(SOURCE_SYMBOLS));
	put_new(f, debug_file());
	scanned(f, 0);
	assert_int_equal(revisions(f), 0);
	struct revision *rev = current(f);
	assert_int_equal(revisions(f), 1);
	assert_ptr_equal(current(f), rev);
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 1));
	put(f, WITH(debug_file(), w.ino = 2, w.size = 1));
	scanned(f, 0);
	assert_int_equal(revisions(f), 1);
	assert_true(rev->stale);
	assert_int_not_equal(image_ino(rev->image), rev->ino);
	expect(f, "debug", "program");
}

TEST_OF(files_that_go, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_new(f, program_file(SOURCE_SYMBOLS));
	scanned(f, 0);
	scanned(f, -EIO); /* what an incomplete scan did not see may be there */
	expect(f, "debug", "program");
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 2));
	scanned(f, 0);
	expect(f, "program", NULL);
	scanned(f, 0);
	assert_null(current(f));
}

static void note_gone(void *user, dev_t dev, ino_t ino)
{
	(void)dev;
	*(ino_t *)user = ino;
}

static enum call_state looked(struct images_fixture *f, const struct call *call)
{
	struct list woken;
	list_init(&woken);
	f->pass++;
	images_looked(&f->images, &woken);
	return call->state;
}

/* It is resumed after a look that has met another file of the image, and not while the image has none. */
TEST_OF(a_call_waits_for_a_file_that_was_replaced, struct images_fixture, f)
{
	ino_t gone = 0;
	put_new(f, debug_file());
	put_new(f, program_file(SOURCE_SYMBOLS));
	scanned(f, 0);
	struct runners runners = {.lock = &f->images.lock};
	struct call call = {.runners = &runners, .state = CALL_PARKED, .wait.revision = current(f)};
	struct call other = {.runners = &runners, .state = CALL_PARKED};
	mutex_lock(&f->images.lock);
	list_append(&f->images.scan_waiters, &call.link);
	list_append(&f->images.scan_waiters, &other.link);
	mutex_unlock(&f->images.lock);
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 2));
	put_as(f, "00", source_file("other", SOURCE_DWARF));
	assert_int_equal(looked(f, &call), CALL_PARKED);
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 2));
	assert_true(images_forget_path(&f->images, "debug", f->pass, note_gone, &gone));
	f->pass++;
	assert_true(images_forget_path(&f->images, "program", f->pass, note_gone, &gone));
	assert_true(call.wait.revision->stale);
	assert_int_equal(looked(f, &call), CALL_PARKED);
	put(f, WITH(debug_file(), w.ino = 1, w.size = 1));
	assert_int_equal(call.state, CALL_PARKED);
	assert_int_equal(looked(f, &call), CALL_TAKEN);
	assert_int_equal(looked(f, &other), CALL_PARKED);
	list_remove(&other.link);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

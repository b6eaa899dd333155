/* What images give back: files that were evicted, files in memory, and revisions and images that are gone. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/image_release.h"
#include "fs/images/inode_numbers.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

/* ---- Open images whose file is no longer in the cache, or could not be published ---- */

static bool in_cache;
static int publish_result;
static struct images_fixture *reopens; /* while the cache is asked, its image is closed and opened again */

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

TEST_OF(an_evicted_image_is_closed, struct images_fixture, f)
{
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

TEST_OF(one_that_was_not_used_yet_has_a_second_chance, struct images_fixture, f)
{
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
TEST_OF(one_that_was_opened_again_meanwhile_stays, struct images_fixture, f)
{
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
TEST_OF(one_in_memory_is_closed_once_it_is_published, struct images_fixture, f)
{
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

/* ---- Converted files in memory: whose goes for another ---- */

/* That of a file of @owner, converted to @size bytes in memory and used at @used. */
static struct revision *keep(struct images_fixture *f, uid_t owner, size_t size, int64_t used)
{
	static _Atomic uint64_t sum;
	char id[24], name[24];
	unsigned n = (unsigned)++f->ino;
	snprintf(id, sizeof(id), "%016x", n);
	snprintf(name, sizeof(name), "kept%u", n);
	put_as(f, id, WITH(program_file(SOURCE_DWARF), w.path = name, w.ino = n, w.uid = owner));
	struct revision *rev = revision_of(f, id);
	struct handle *handle = new_handle();
	handle->in_memory = &sum;
	handle->map_size = size;
	assert_null(make_ready(f, rev, handle));
	rev->used = used;
	rev->fresh = false;
	return rev;
}

static bool drop(struct images_fixture *f, uid_t owner, uint64_t size)
{
	return images_drop_kept(&f->images, owner, size);
}

TEST_OF(the_least_used_in_memory_goes, struct images_fixture, f)
{
	struct revision *c = keep(f, OWNER, 10, 3), *a = keep(f, OWNER, 10, 1), *b = keep(f, OWNER, 10, 2);
	put_new(f, debug_file());
	assert_null(make_ready(f, current(f), new_handle())); /* in the cache, and used long ago */
	current(f)->used = 0;
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(a->state, STATE_COLD);
	struct handle *used = handle_get(b->handle);
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(b->state, STATE_READY);
	assert_int_equal(c->state, STATE_COLD);
	assert_false(drop(f, OWNER, 1));
	handle_put(used);
	b->fresh = true; /* for calls that are about to use it */
	assert_false(drop(f, OWNER, 1));
	b->ahead = true;
	assert_true(drop(f, OWNER, 1));
	assert_int_equal(current(f)->state, STATE_READY);
}

TEST_OF(owners_have_shares_of_memory, struct images_fixture, f)
{
	struct revision *small = keep(f, STRANGER, 30, 1), *old = keep(f, OWNER, 40, 2);
	struct revision *more = keep(f, OWNER, 40, 3);
	/* The other one has more, also with what f is made for. */
	assert_true(drop(f, STRANGER, 20));
	assert_int_equal(old->state, STATE_COLD);
	/* Who would have the most gives it, whatever others used longer ago. */
	assert_true(drop(f, OWNER, 40));
	assert_int_equal(more->state, STATE_COLD);
	/* And takes nothing from one who has less. */
	assert_false(drop(f, OWNER, 40));
	assert_int_equal(small->state, STATE_READY);
	assert_true(drop(f, OWNER, 20));
	assert_int_equal(small->state, STATE_COLD);
	assert_false(drop(f, OWNER, 1));
}

/* ---- Files and revisions that are gone: what is freed of them, and when ---- */

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

TEST_OF(files_that_come_and_go_leave_nothing, struct images_fixture, f)
{
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

TEST_OF(files_that_were_asked_leave_nothing, struct images_fixture, f)
{
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

TEST_OF(a_reader_keeps_what_it_found, struct images_fixture, f)
{
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

TEST_OF(a_pin_keeps_a_revision, struct images_fixture, f)
{
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
TEST_OF(pinned_when_it_is_to_be_freed, struct images_fixture, f)
{
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
TEST_OF(a_call_forgets_what_it_waited_for, struct images_fixture, f)
{
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
TEST_OF(a_revision_in_use_is_kept, struct images_fixture, f)
{
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

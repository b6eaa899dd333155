/* Revisions in use: opened, closed, failed, and what they remember. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/catalogue.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int use(struct images_fixture *f, struct wait *ret_wait)
{
	struct handle *handle;
	*ret_wait = (struct wait){.revision = NULL};
	return revision_use(&f->images, current(f), &handle, ret_wait);
}

static void settle_failed(struct images_fixture *f, int err, int64_t again)
{
	struct revision *rev = current(f);
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, rev, STATE_OPENING);
	revision_set_failed(&f->images, rev, err, "reason");
	rev->again = again;
	mutex_unlock(&f->images.lock);
}

TEST_OF(waits, struct images_fixture, f)
{
	struct wait wait;
	put_new(f, program_file(SOURCE_SYMBOLS));
	assert_int_equal(use(f, &wait), -EAGAIN); /* the scan may find its debug file */
	assert_null(wait.revision);
	assert_string_equal(wait.id, ID);
	scanned(f, 0);
	assert_int_equal(use(f, &wait), -EAGAIN);
	assert_ptr_equal(wait.revision, current(f));
}

TEST_OF(failures, struct images_fixture, f)
{
	struct wait wait;
	put_new(f, debug_file());
	settle_failed(f, -EFBIG, 0);
	assert_int_equal(use(f, &wait), -EFBIG);
	assert_string_equal(current(f)->reason, "reason");
	assert_int_equal(current(f)->state, STATE_FAILED);
	assert_false(wait.failed_here);
	current(f)->again = INT64_MAX;
	assert_int_equal(use(f, &wait), -EFBIG);
	current(f)->again = time(NULL) + 60;
	current(f)->passing = 1;
	assert_int_equal(use(f, &wait), -EFBIG);
	assert_true(wait.failed_here);
	current(f)->again = 1;
	assert_int_equal(use(f, &wait), -EAGAIN);
	assert_int_equal(current(f)->state, STATE_COLD);
	settle_failed(f, -EIO, time(NULL) + 3600); /* by a clock that was set back since */
	assert_int_equal(use(f, &wait), -EAGAIN);
	settle_failed(f, 0, 0); /* to be tried again at once */
	assert_int_equal(use(f, &wait), -EAGAIN);
	current(f)->stale = true;
	assert_int_equal(use(f, &wait), -ESTALE);
}

enum { OPEN_MAX_IMAGES = 4096 };

static struct handle *make_cold(struct images_fixture *f, struct revision *rev)
{
	mutex_lock(&f->images.lock);
	struct handle *handle = revision_set_cold(&f->images, rev);
	mutex_unlock(&f->images.lock);
	return handle;
}

TEST_OF(open_and_closed, struct images_fixture, f)
{
	struct handle *handle = new_handle(), *used;
	struct wait wait;
	put_new(f, debug_file());
	struct revision *rev = current(f);
	assert_int_equal(rev->gsym_size, 0);
	assert_null(make_ready(f, rev, handle));
	rev->used = 0;
	assert_int_equal(revision_use(&f->images, rev, &used, &wait), 0);
	assert_ptr_equal(used, handle);
	assert_true(rev->used > 0);
	assert_ptr_equal(make_cold(f, rev), handle);
	assert_int_equal(rev->state, STATE_COLD);
	assert_int_equal(rev->gsym_size, GSYM_SIZE);
	assert_null(rev->handle);
	handle_put(handle);
	handle_put(used);
}

TEST_OF(a_stale_revision_is_not_opened, struct images_fixture, f)
{
	struct handle *handle = new_handle();
	put_new(f, debug_file());
	struct revision *rev = current(f);
	rev->stale = true;
	assert_ptr_equal(make_ready(f, rev, handle), handle);
	assert_int_equal(rev->state, STATE_COLD);
	assert_null(rev->handle);
	handle_put(handle);
}

TEST_OF(replaced_while_open, struct images_fixture, f)
{
	put_new(f, debug_file());
	struct revision *rev = current(f);
	assert_null(make_ready(f, rev, new_handle()));
	scanned(f, -EIO);
	put(f, WITH(debug_file(), w.ino = 1, w.ctime_ns = 1));
	assert_true(rev->stale);
	assert_int_equal(rev->state, STATE_COLD);
	assert_int_equal(current(f)->state, STATE_COLD);
	assert_int_equal(current(f)->gsym_size, 0);
}

/* Until then a path may still lead to it, by the entry of its directory that the kernel has. */
TEST_OF(expires_after_it_was_replaced, struct images_fixture, f)
{
	put_new(f, debug_file());
	struct revision *rev = current(f);
	assert_false(revision_is_expired(rev));
	scanned(f, -EIO);
	int64_t before = monotonic_ms();
	put(f, WITH(debug_file(), w.ino = 1, w.ctime_ns = 1));
	assert_true(revision_is_stale(rev));
	assert_in_range(rev->stale_since, before, monotonic_ms());
	assert_false(revision_is_expired(current(f)));
	/* An hour, so that a busy machine makes no difference. */
	rev->stale_since = monotonic_ms() + 3600000;
	assert_false(revision_is_expired(rev));
	rev->stale_since = monotonic_ms() - 2 * IMAGE_ENTRY_MS - 1;
	assert_true(revision_is_expired(rev));
}

/* A reader that finds the cache file damaged closes the image, unless it was opened anew meanwhile. */
TEST_OF(lost, struct images_fixture, f)
{
	struct cache cache = {.dir = -1};
	struct handle *handle = new_handle(), *before = new_handle();
	put_new(f, debug_file());
	struct revision *rev = current(f);
	assert_null(make_ready(f, rev, handle));
	assert_false(revision_lose(&f->images, &cache, rev, before, "reason"));
	assert_int_equal(rev->state, STATE_READY);
	assert_true(revision_lose(&f->images, &cache, rev, handle, "reason"));
	assert_int_equal(rev->state, STATE_COLD);
	assert_string_equal(rev->reason, "reason");
	handle_put(before);
}

TEST_OF(the_least_used_is_closed, struct images_fixture, f)
{
	struct revision *all[OPEN_MAX_IMAGES + 1];
	for (int i = 0; i <= OPEN_MAX_IMAGES; i++) {
		char id[24];
		snprintf(id, sizeof(id), "%020d", i);
		put_as(f, id, WITH(debug_file(), w.ino = ++f->ino));
		all[i] = revision_of(f, id);
		struct handle *evicted = make_ready(f, all[i], new_handle());
		all[i]->used = i == 77 ? 5 : 1000 + i;
		assert_int_equal(evicted != NULL, i == OPEN_MAX_IMAGES);
		handle_put(evicted);
	}
	for (int i = 0; i <= OPEN_MAX_IMAGES; i++)
		assert_int_equal(all[i]->state, i == 77 ? STATE_COLD : STATE_READY);
}

/* What failed images remember is bounded, and given back. */
TEST_OF(inputs_are_bounded, struct images_fixture, f)
{
	enum { MANY = 40 << 20 };
	put_new(f, debug_file());
	struct revision *rev = current(f);
	mutex_lock(&f->images.lock);
	for (int i = 0; i < 3; i++) {
		char *inputs = malloc(MANY + 1);
		memset(inputs, 'x', MANY);
		inputs[MANY] = 0;
		revision_set_inputs(&f->images, rev, inputs);
		assert_non_null(rev->inputs);
		assert_int_equal(f->images.inputs_bytes, MANY);
	}
	struct revision other = {.image = rev->image};
	char *inputs = malloc(MANY + 1);
	memset(inputs, 'x', MANY);
	inputs[MANY] = 0;
	revision_set_inputs(&f->images, &other, inputs);
	assert_null(other.inputs);
	assert_int_equal(f->images.inputs_bytes, MANY);
	revision_set_inputs(&f->images, rev, NULL);
	assert_int_equal(f->images.inputs_bytes, 0);
	mutex_unlock(&f->images.lock);
}

TEST_OF(one_complaint_a_minute, struct images_fixture, f)
{
	put_new(f, debug_file());
	struct revision *rev = current(f);
	assert_true(revision_complain(&f->images, rev, "first"));
	assert_false(revision_complain(&f->images, rev, "second"));
	assert_string_equal(rev->reason, "second");
	rev->complained -= 60;
	assert_true(revision_complain(&f->images, rev, "third"));
	rev->complained = INT64_MAX / 2; /* the clock was set back */
	assert_true(revision_complain(&f->images, rev, "fourth"));
}

/* Those that wait for a worker or have one. */
TEST_OF(conversions_are_counted, struct images_fixture, f)
{
	static const enum revision_state states[] = {STATE_OPENING, STATE_QUEUED, STATE_CONVERTING,
						     STATE_COLD};
	static const unsigned counts[] = {0, 1, 1, 0};
	put_new(f, debug_file());
	struct revision *rev = current(f);
	mutex_lock(&f->images.lock);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		revision_set_state(&f->images, rev, states[i]);
		assert_int_equal(atomic_load(&f->images.converting), counts[i]);
	}
	mutex_unlock(&f->images.lock);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/*
 * Images through a file that answers for all: which one an id or a name means, whether its opener may use it,
 * and which conversions stay open meanwhile.
 */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/answer/requester.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_ID "fedcba9876543210"

enum { MIB = 1 << 20 };

struct asking_user {
	struct images_fixture *f;
	struct answers answers;
	struct requester requester;
	struct call call;
};

static int set_up(void **state)
{
	struct asking_user *u = calloc(1, sizeof(*u));
	void *fixture;
	images_fixture_set_up(&fixture);
	u->f = fixture;
	u->answers.images = &u->f->images;
	accounts_init(&u->answers.accounts);
	u->requester.answers = &u->answers;
	u->requester.caller = (struct caller){.uid = OWNER, .gid = GROUP};
	u->requester.held.account = account_get(&u->answers.accounts, OWNER);
	*state = u;
	return 0;
}

static int tear_down(void **state)
{
	struct asking_user *u = *state;
	void *fixture = u->f;
	struct account *account = u->requester.held.account;
	requester_deinit(&u->requester);
	assert_int_equal(atomic_load(&u->answers.accounts.charged[ACCOUNT_HELD]), 0);
	account_put(account);
	accounts_deinit(&u->answers.accounts);
	images_fixture_tear_down(&fixture);
	free(u);
	return 0;
}

static struct span span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

/* ---- Which image ---- */

static int find_id(struct asking_user *u, const char *id, struct image **ret)
{
	u->call.wait = (struct wait){.revision = NULL};
	return requester_find_image(&u->requester, span_of(id), &u->call, ret);
}

static void expect_unknown(struct asking_user *u, struct span id)
{
	struct image *image = (struct image *)u;
	assert_int_equal(requester_find_image(&u->requester, id, &u->call, &image), 0);
	assert_null(image);
}

TEST_OF(by_id, struct asking_user, u)
{
	struct image *image, *again;
	put_new(u->f, debug_file());
	assert_int_equal(find_id(u, OTHER_ID, &image), -EAGAIN); /* the scan may find it */
	assert_string_equal(u->call.wait.id, OTHER_ID);
	assert_int_equal(find_id(u, ID, &image), 0);
	assert_true(image->kept); /* from now on it is used without the lock */
	assert_ptr_equal(image, current(u->f)->image);
	scanned(u->f, 0);
	assert_int_equal(find_id(u, OTHER_ID, &again), 0);
	assert_null(again);
	assert_int_equal(find_id(u, ID, &again), 0);
	assert_ptr_equal(image, again);
	assert_int_equal(find_id(u, ID, &again), 0); /* named last */
	assert_ptr_equal(image, again);
	assert_int_equal(find_id(u, "0123456789ABCDEF", &again), 0);
	assert_ptr_equal(image, again);
}

TEST_OF(no_ids, struct asking_user, u)
{
	char text[NAME_BYTES_MAX + 2];
	put_new(u->f, debug_file());
	scanned(u->f, 0);
	expect_unknown(u, span_of(""));
	expect_unknown(u, span_of("status"));
	expect_unknown(u, span_of("0x1000"));
	expect_unknown(u, (struct span){(const uint8_t *)ID "\0", sizeof(ID)});
	memset(text, 'a', sizeof(text));
	expect_unknown(u, (struct span){(const uint8_t *)text, NAME_BYTES_MAX});
	expect_unknown(u, (struct span){(const uint8_t *)text, NAME_BYTES_MAX + 1});
}

/* Nothing of another attempt is used: the image may have gone. */
TEST_OF(each_attempt, struct asking_user, u)
{
	struct image *image, *again;
	put_new(u->f, debug_file());
	assert_int_equal(find_id(u, ID, &image), 0);
	scanned(u->f, 0);
	scanned(u->f, 0); /* it is not there any more */
	assert_null(current(u->f));
	assert_int_equal(find_id(u, ID, &again), 0);
	assert_ptr_equal(again, image);
	requester_begin(&u->requester);
	assert_int_equal(find_id(u, ID, &again), 0);
	assert_null(again);
}

/* A name means the only file that the requester may know of: that may be in a directory of other users. */
TEST_OF(by_name, struct asking_user, u)
{
	struct image *image = NULL;
	const struct path_attr attr = {.mode = 0500, .uid = OWNER};
	put_new(u->f, debug_file());
	assert_int_equal(requester_find_name(&u->requester, "debug", &u->call, &image), -EAGAIN);
	scanned(u->f, 0);
	assert_int_equal(requester_find_name(&u->requester, "other", &u->call, &image), -ENOENT);
	assert_null(image);
	assert_int_equal(requester_find_name(&u->requester, "debug", &u->call, &image), 0);
	assert_true(image->kept);
	assert_ptr_equal(image, current(u->f)->image);
	u->f->top = images_add_directory(&u->f->images, u->f->top, "private", &attr);
	put_as(u->f, OTHER_ID, WITH(debug_file(), w.ino = 100));
	assert_int_equal(requester_find_name(&u->requester, "debug", &u->call, &image), -ENOTUNIQ);
	u->requester.caller = (struct caller){.uid = STRANGER, .gid = STRANGER};
	assert_int_equal(requester_find_name(&u->requester, "debug", &u->call, &image), 0);
	assert_ptr_equal(image, current(u->f)->image);
}

/* ---- Whether it may be used ---- */

static int open_current(struct asking_user *u, struct handle **ret)
{
	struct revision *rev = NULL, *expected = current(u->f);
	struct image *image = expected->image;
	u->call.wait = (struct wait){.revision = NULL};
	int err = requester_open_image(&u->requester, image, &u->call, &rev, ret);
	if (!err)
		assert_ptr_equal(rev, expected);
	return err;
}

static void set_failed(struct asking_user *u, int err)
{
	struct revision *rev = current(u->f);
	mutex_lock(&u->f->images.lock);
	if (rev->state == STATE_FAILED)
		revision_set_state(&u->f->images, rev, STATE_COLD);
	revision_set_state(&u->f->images, rev, STATE_OPENING);
	revision_set_failed(&u->f->images, rev, err, "reason");
	rev->again = INT64_MAX;
	mutex_unlock(&u->f->images.lock);
}

TEST_OF(opened, struct asking_user, u)
{
	struct handle *handle = new_handle(), *got;
	put_new(u->f, WITH(debug_file(), w.mode = 0400));
	assert_int_equal(open_current(u, &got), -EAGAIN);
	assert_ptr_equal(u->call.wait.revision, current(u->f));
	assert_null(make_ready(u->f, current(u->f), handle));
	assert_int_equal(open_current(u, &got), 0);
	assert_ptr_equal(got, handle);
	assert_int_equal(u->requester.held.n, 1);
	assert_int_equal(atomic_load(&handle->refs),
			 3); /* the revision's, the call's, and that of what is held */
	handle_put(got);
	u->requester.caller.uid = STRANGER;
	assert_int_equal(open_current(u, &got), -EACCES);
	assert_int_equal(atomic_load(&handle->refs), 2);
	assert_false(u->requester.failed_here);
}

/* The image of a mount's memory is not for one user to hold. */
TEST_OF(in_memory, struct asking_user, u)
{
	static _Atomic uint64_t sum;
	struct handle *handle = new_handle(), *got;
	handle->in_memory = &sum;
	put_new(u->f, debug_file());
	assert_null(make_ready(u->f, current(u->f), handle));
	assert_int_equal(open_current(u, &got), 0);
	assert_int_equal(u->requester.held.n, 0);
	handle_put(got);
}

/* What was evicted from the cache meanwhile is still used. */
TEST_OF(evicted, struct asking_user, u)
{
	struct handle *handle = new_handle(), *got;
	put_new(u->f, debug_file());
	assert_null(make_ready(u->f, current(u->f), handle));
	assert_int_equal(open_current(u, &got), 0);
	handle_put(got);
	struct revision *rev = current(u->f);
	mutex_lock(&u->f->images.lock);
	struct handle *closed = revision_set_cold(&u->f->images, rev);
	mutex_unlock(&u->f->images.lock);
	handle_put(closed);
	assert_int_equal(open_current(u, &got), 0);
	assert_ptr_equal(got, handle);
	handle_put(got);
	held_handles_drop(&u->requester.held, handle);
	assert_int_equal(u->requester.held.n, 0);
	assert_int_equal(open_current(u, &got), -EAGAIN);
}

/* Only a fault of the machine says nothing of the image. */
TEST_OF(failures, struct asking_user, u)
{
	struct handle *got;
	put_new(u->f, WITH(debug_file(), w.mode = 0400));
	set_failed(u, -EFBIG);
	assert_int_equal(open_current(u, &got), -EFBIG);
	assert_false(u->requester.failed_here);
	set_failed(u, -ENOSPC);
	assert_int_equal(open_current(u, &got), -ENOSPC);
	assert_true(u->requester.failed_here);
	u->requester.caller.uid = STRANGER;
	assert_int_equal(open_current(u, &got), -EACCES);
	assert_false(u->requester.failed_here);
}

/* That the call has waited for a conversion which failed is the answer, of that revision alone. */
TEST_OF(failed_for_the_call, struct asking_user, u)
{
	struct handle *got;
	put_new(u->f, debug_file());
	u->call.failed = current(u->f)->number + UINT64_C(1);
	u->call.failure = -ENOMEM;
	u->call.failed_here = true;
	assert_int_equal(open_current(u, &got), -ENOMEM);
	assert_true(u->requester.failed_here);
	u->call.failed_here = false;
	assert_int_equal(open_current(u, &got), -ENOMEM);
	assert_false(u->requester.failed_here);
	u->call.failed++;
	assert_int_equal(open_current(u, &got), -EAGAIN);
}

/* ---- What stays open ---- */

static struct revision numbered[HELD_HANDLES + 1];

/* Holds a file of @size bytes; the caller's reference is given back. */
static struct handle *hold(struct asking_user *u, uint32_t number, size_t size)
{
	struct handle *handle = new_handle();
	numbered[number].number = number;
	handle->map_size = size;
	held_handles_add(&u->requester.held, &numbered[number], handle);
	handle_put(handle);
	return handle;
}

static size_t charged(const struct asking_user *u)
{
	return atomic_load(&u->answers.accounts.charged[ACCOUNT_HELD]);
}

TEST_OF(least_recently_used, struct asking_user, u)
{
	struct held_handles *held = &u->requester.held;
	struct handle *handles[HELD_HANDLES + 1];
	numbered[HELD_HANDLES].number = HELD_HANDLES;
	for (uint32_t i = 0; i < HELD_HANDLES; i++)
		handles[i] = hold(u, i, 1);
	assert_int_equal(held->n, HELD_HANDLES);
	assert_int_equal(charged(u), HELD_HANDLES);
	assert_ptr_equal(held_handles_find(held, &numbered[0]), handles[0]);
	assert_ptr_equal(held->v[0].handle, handles[0]);
	assert_ptr_equal(held->v[1].handle, handles[HELD_HANDLES - 1]);
	assert_null(held_handles_find(held, &numbered[HELD_HANDLES]));
	handles[HELD_HANDLES] = hold(u, HELD_HANDLES, 1); /* the second one goes */
	assert_int_equal(held->n, HELD_HANDLES);
	assert_null(held_handles_find(held, &numbered[1]));
	assert_ptr_equal(held_handles_find(held, &numbered[2]), handles[2]);
	assert_ptr_equal(held_handles_find(held, &numbered[0]), handles[0]);
	assert_ptr_equal(held_handles_find(held, &numbered[HELD_HANDLES]), handles[HELD_HANDLES]);
	assert_int_equal(charged(u), HELD_HANDLES);
	held_handles_add(held, &numbered[0], handles[0]); /* it is held already */
	assert_int_equal(held->n, HELD_HANDLES);
	assert_int_equal(atomic_load(&handles[0]->refs), 1);
	struct handle *newer = hold(u, 0, 5);
	assert_int_equal(held->n, HELD_HANDLES);
	assert_ptr_equal(held_handles_find(held, &numbered[0]), newer);
	assert_int_equal(charged(u), HELD_HANDLES + 4);
	held_handles_drop(held, newer);
	assert_int_equal(held->n, HELD_HANDLES - 1);
	assert_int_equal(charged(u), HELD_HANDLES - 1);
	assert_null(held_handles_find(held, &numbered[0]));
	held_handles_clear(held);
	assert_int_equal(charged(u), 0);
}

/* A file that is larger than all that a user may hold is held alone. */
TEST_OF(large_files, struct asking_user, u)
{
	struct held_handles *held = &u->requester.held;
	hold(u, 0, MIB);
	hold(u, 1, MIB);
	assert_int_equal(held->n, 2);
	const size_t more = (size_t)ACCOUNT_HELD_MAX + 1;
	struct handle *large = hold(u, 2, more);
	assert_int_equal(held->n, 1);
	assert_ptr_equal(held_handles_find(held, &numbered[2]), large);
	assert_int_equal(charged(u), more);
	hold(u, 3, MIB);
	assert_int_equal(held->n, 1);
	assert_int_equal(charged(u), MIB);
}

EACH_TEST(set_up, tear_down)

/* Content that is made in slices: by which thread, for whose account, and what is left however it ends. */
#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/draft.h"
#include "fs/call/call.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>

enum { BYTES = 1000 /* of a slice */ };

static struct {
	struct answer_fixture a;
	struct call call;
	unsigned slices;    /* until it is made */
	int err;            /* at its end */
	bool none;          /* there is no memory for it */
	unsigned made, n;   /* slices, and drafts that are not freed */
	size_t slice_bytes; /* that each slice takes */
} t;

struct own_draft {
	struct draft draft;
	unsigned made;
};

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx owner = {.uid = OWNER};
	(void)req;
	return &owner;
}

static struct draft *begin(struct answers *answers, fuse_req_t req)
{
	assert_ptr_equal(answers, &t.a.answers);
	assert_ptr_equal(req, t.call.req);
	struct own_draft *d = t.none ? NULL : calloc(1, sizeof(*d));
	t.n += d != NULL;
	return d ? &d->draft : NULL;
}

static int go_on(struct draft *draft, struct content **ret)
{
	struct own_draft *d = (struct own_draft *)draft;
	t.made++;
	assert_false(draft_is_late(draft)); /* it has just begun */
	if (++d->made < t.slices) {
		draft->slices.until = 0;
		assert_true(draft_is_late(draft));
		return SLICE_USED_UP;
	}
	*ret = t.err ? NULL : content_new("made", 4);
	return t.err;
}

static size_t bytes(const struct draft *draft)
{
	return ((const struct own_draft *)draft)->made * t.slice_bytes;
}

static void free_draft(struct draft *draft)
{
	free(draft);
	t.n--;
}

static const struct draft_kind kind = {begin, go_on, bytes, free_draft};

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	answer_fixture_set_up(&t.a, NULL, NULL);
	t.call = (struct call){.runners = &t.a.runners, .req = (fuse_req_t)&t};
	t.slices = 1;
	t.slice_bytes = BYTES;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(t.n, 0);
	assert_int_equal(atomic_load(&t.a.runners.held), 0);
	answer_fixture_tear_down(&t.a); /* nothing is charged any more */
	return 0;
}

/* One attempt of the call. */
static int attempt(bool on_runner)
{
	struct content *content = NULL;
	t.call.on_runner = on_runner;
	int err = draft_content(&t.call, &t.a.answers, &kind, &content);
	assert_int_equal(content != NULL, !err);
	assert_int_equal(t.call.draft != NULL, err == -EAGAIN);
	assert_int_equal(err == -EAGAIN, t.n);
	if (err == -EAGAIN)
		assert_true(call_is_handed_over(&t.call));
	content_put(content);
	return err;
}

TEST(in_one_slice)
{
	assert_int_equal(attempt(false), 0);
	assert_int_equal(attempt(true), 0);
	assert_int_equal(t.made, 2);
}

/* A thread that serves requests does the first slice, a runner each of the others. */
TEST(in_several)
{
	t.slices = 4;
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(attempt(i > 1), -EAGAIN);
		assert_int_equal(t.made, i);
		assert_int_equal(charged_to_all(&t.a, ACCOUNT_FILES), i * BYTES);
	}
	assert_int_equal(attempt(false), -EAGAIN);
	assert_int_equal(t.made, 3);
	assert_int_equal(attempt(true), 0);
	assert_int_equal(t.made, 4);
}

/* A draft waits while as many others as allowed are being made. */
TEST(while_others_compute)
{
	unsigned held = 0;
	while (runners_hold(&t.a.runners))
		held++;
	assert_true(held > 0);
	assert_int_equal(attempt(false), -EAGAIN);
	assert_int_equal(t.made, 0);
	assert_int_equal(attempt(true), 0);
	while (held--)
		runners_release(&t.a.runners);
}

TEST(that_fails)
{
	t.slices = 2;
	t.err = -EIO;
	assert_int_equal(attempt(false), -EAGAIN);
	assert_int_equal(attempt(true), -EIO);
	t.none = true;
	assert_int_equal(attempt(false), -ENOMEM);
	assert_int_equal(attempt(true), -ENOMEM);
}

/* A user who holds too much gets no more slices; what was complete by then is given. */
TEST(of_too_much)
{
	t.slice_bytes = ACCOUNT_FILES_MAX + 1;
	assert_int_equal(attempt(true), 0);
	t.slices = 2;
	assert_int_equal(attempt(true), -ENOMEM);
	assert_int_equal(t.made, 2);
}

/* What a call has made that is interrupted is freed with it. */
TEST(interrupted)
{
	t.slices = 2;
	assert_int_equal(attempt(true), -EAGAIN);
	t.call.free_draft(t.call.draft);
}

EACH_TEST(set_up, tear_down)

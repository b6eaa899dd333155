/* Calls that wait for an image of the queue: which may, what starts for them, and what moves ahead. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/call/call.h"
#include "fs/convert/queue.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <poll.h>

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx ctx = {.uid = STRANGER};
	(void)req;
	return &ctx;
}

struct waiting {
	struct converter converter;
	struct queue queue;
	struct revision *rev;
	struct call call;
};

/* A queue without threads, and a call for an image. Its lock is held until end(). */
static void begin(struct images_fixture *f, struct waiting *w) NOT_ANALYZED
{
	*w = (struct waiting){.queue = {.images = &f->images, .converter = &w->converter}};
	queue_init(&w->queue);
	put(f, program_file(SOURCE_DWARF));
	w->rev = current(f);
	w->call.wait.revision = w->rev;
	list_init(&w->call.link);
	mutex_lock(&f->images.lock);
}

static void end(struct images_fixture *f, struct waiting *w) NOT_ANALYZED
{
	list_remove(&w->call.link);
	list_remove(&w->rev->link);
	w->rev->state = STATE_COLD;
	mutex_unlock(&f->images.lock);
	queue_deinit(&w->queue);
}

static int park(struct images_fixture *f, struct waiting *w)
{
	return f->images.open(f->images.opener, &w->call);
}

TEST_OF(a_closed_image_is_opened, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	assert_int_equal(park(f, &w), 0);
	assert_ptr_equal(w.rev->waiters.next, &w.call.link);
	assert_int_equal(w.rev->state, STATE_OPENING);
	assert_int_equal(revision_queue_count(&w.queue.opening), 1);
	assert_int_equal(w.rev->requester, STRANGER);
	assert_false(w.rev->ahead);
	assert_true(w.rev->whole);
	end(f, &w);
}

/* What it would wait for is there, or will never be: nothing would wake it. */
TEST_OF(nothing_to_wait_for, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	for (enum revision_state s = STATE_COLD; s < STATES; s++)
		for (int stale = 0; stale < 2; stale++) {
			bool waits = !stale && s != STATE_READY && s != STATE_FAILED;
			w.rev->state = s;
			w.rev->stale = stale;
			w.call.tries = 0;
			assert_int_equal(park(f, &w), waits ? 0 : -EAGAIN);
			assert_int_equal(!list_empty(&w.rev->waiters), waits);
			assert_int_equal(w.call.tries, waits);
			list_remove(&w.call.link);
			list_remove(&w.rev->link);
		}
	w.rev->stale = false;
	end(f, &w);
}

/* Addresses: another fragment than those that the call has looked at may have them. */
TEST_OF(another_fragment, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	w.rev->fragments_made = 2;
	w.call.wait.n_addresses = 1;
	w.call.wait.fragments_seen = 1;
	assert_int_equal(park(f, &w), -EAGAIN);
	assert_true(list_empty(&w.rev->waiters));
	w.call.wait.fragments_seen = 2;
	assert_int_equal(park(f, &w), 0);
	list_remove(&w.call.link);
	/* One that needs the whole image does not care. */
	w.call.wait.n_addresses = w.call.wait.fragments_seen = 0;
	assert_int_equal(park(f, &w), 0);
	end(f, &w);
}

/* An image that is closed again and again ends a call, one that can wait for other images later. */
TEST_OF(tries, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	for (int many = 0; many < 2; many++) {
		unsigned most = many ? CALL_TRIES_MANY : CALL_TRIES_MAX;
		w.call.outlives_failure = many;
		w.call.tries = 0;
		for (unsigned i = 0; i < most; i++) {
			assert_int_equal(park(f, &w), 0);
			list_remove(&w.call.link);
		}
		assert_int_equal(park(f, &w), -EIO);
		assert_true(list_empty(&w.rev->waiters));
	}
	end(f, &w);
}

/* What was wanted of an image when it was open last does not count. */
TEST_OF(whole, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	w.rev->whole = true;
	queue_want(&w.queue, w.rev, OWNER, false);
	assert_false(w.rev->whole);
	queue_want(&w.queue, w.rev, OWNER, true);
	assert_true(w.rev->whole);
	end(f, &w);
	begin(f, &w);
	w.queue.fragments.eager = true;
	queue_want(&w.queue, w.rev, OWNER, false);
	assert_true(w.rev->whole);
	end(f, &w);
}

/* What an idle host converts is needed now: it is given up, and converted without waiting for idle time. */
TEST_OF(idle_conversion, struct images_fixture, f)
{
	struct waiting w;
	begin(f, &w);
	assert_int_equal(idle_start(&w.queue.idle), 0);
	struct pollfd cancel = {.fd = w.queue.idle.cancel_fd, .events = POLLIN};
	assert_int_equal(park(f, &w), 0);
	assert_int_equal(poll(&cancel, 1, 0), 0);
	list_remove(&w.call.link);
	w.queue.idle.running = w.rev;
	assert_int_equal(park(f, &w), 0);
	assert_int_equal(poll(&cancel, 1, 0), 1);
	w.queue.idle.running = NULL;
	end(f, &w);
}

/* What was requested ahead of need is not, once a call waits for it, and counts as that of the caller. */
TEST_OF(needed_now, struct images_fixture, f)
{
	for (int converting = 0; converting < 2; converting++) {
		struct waiting w;
		begin(f, &w);
		queue_want(&w.queue, w.rev, OWNER, false);
		assert_true(w.rev->ahead);
		assert_int_equal(w.rev->requester, OWNER);
		struct revision_queue *queue = &w.queue.opening;
		if (converting) {
			list_remove(&w.rev->link);
			w.rev->state = STATE_QUEUED;
			queue = &w.queue.converting;
			revision_queue_add(queue, w.rev);
		}
		assert_int_equal(park(f, &w), 0);
		assert_false(w.rev->ahead);
		assert_int_equal(w.rev->requester, STRANGER);
		assert_ptr_equal(revision_queue_take(queue), w.rev);
		/* It is under way: it has no place any more that could be moved. */
		w.rev->ahead = true;
		w.rev->requester = OWNER;
		list_remove(&w.call.link);
		assert_int_equal(park(f, &w), 0);
		assert_false(w.rev->ahead);
		assert_int_equal(w.rev->requester, OWNER);
		assert_null(revision_queue_take(&w.queue.opening));
		assert_null(revision_queue_take(&w.queue.converting));
		end(f, &w);
	}
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)

/* What a result means: for counters, for the breaker, for what the server can do, and for who waits. */
#include "store/client/store_call.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { START = 1000000 /* ms */, TOOK = 70, READ_ONLY = 600000, AGAIN = 60000 };

static int64_t now_ms;
static unsigned n_woken;
static struct store_counters counters;
static struct store store;
static struct store_call call;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	assert_ptr_equal(cond, &store.ended);
	n_woken++;
	return 0;
}

NOT_ANALYZED static int set_up(void **state)
{
	(void)state;
	memset(&store, 0, sizeof(store));
	memset(&counters, 0, sizeof(counters));
	mutex_init(&store.lock, LOCK_STORE);
	store.counters = &counters;
	store.n_calls = 3;
	call = (struct store_call){.store = &store, .state = CALL_SENT, .started = START, .fd = -1};
	call.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(call.event >= 0);
	now_ms = START + TOOK;
	n_woken = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(call.event);
	mutex_destroy(&store.lock);
	return 0;
}

static void again(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static void end(enum store_operation operation, int err, uint64_t size, bool is_news)
{
	struct store_reply reply = {.err = err, .size = size, .etag = "tag"};
	call.message.operation = operation;
	call.message.size = 40;
	mutex_lock(&store.lock);
	store_call_done(&store, &call, &reply, is_news);
	mutex_unlock(&store.lock);
}

/* ---- One request ---- */

TEST(done)
{
	eventfd_t count = 0;
	end(STORE_GET, 0, 500, true);
	assert_int_equal(call.state, CALL_DONE);
	assert_int_equal(call.reply.size, 500);
	assert_string_equal(call.reply.etag, "tag");
	assert_int_equal(store.n_calls, 2);
	assert_int_equal(n_woken, 1);
	assert_int_equal(eventfd_read(call.event, &count), 0);
	assert_int_equal(count, 1);
	again();
	mutex_lock(&store.lock);
	store_call_failed(&store, &call, -EREMOTEIO, "why", true);
	mutex_unlock(&store.lock);
	assert_int_equal(call.state, CALL_DONE);
	assert_int_equal(call.reply.err, -EREMOTEIO);
	assert_int_equal(call.reply.size, 0);
	assert_string_equal(call.reply.text, "why");
	assert_int_equal(store.n_calls, 2);
	assert_int_equal(counters.requests[STORE_GET][STORE_FAILED], 1);
}

/* Each is counted as one of these, and says one of three things of the server. */
static const struct {
	int err;
	enum store_result result;
	enum { WORKS, FAILS, SAYS_NOTHING } says;
} meanings[] = {
	{0, STORE_OK, WORKS},
	{-ENOENT, STORE_MISSING, WORKS},
	{-EEXIST, STORE_CONDITION, WORKS},
	{-EAGAIN, STORE_CONDITION, WORKS},
	{-EACCES, STORE_FORBIDDEN, WORKS},
	{-EBADMSG, STORE_DAMAGED, WORKS},
	{-EFBIG, STORE_DAMAGED, WORKS},
	{-EOPNOTSUPP, STORE_FAILED, WORKS},
	{-ETIMEDOUT, STORE_LATE, FAILS},
	{-EHOSTUNREACH, STORE_FAILED, FAILS},
	{-EREMOTEIO, STORE_FAILED, FAILS},
	{-ELIBACC, STORE_FAILED, FAILS},
	{-ENETDOWN, STORE_SKIPPED, SAYS_NOTHING},
	{-ECANCELED, STORE_CANCELED, SAYS_NOTHING},
	{-ENOMEM, STORE_FAILED, SAYS_NOTHING},
	{-ENOSPC, STORE_FAILED, SAYS_NOTHING},
	{-EPERM, STORE_FAILED, SAYS_NOTHING},
};

TEST(counted)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		end(STORE_GET, meanings[i].err, 0, true);
		store_count(&store, STORE_PUT, meanings[i].err);
		store_count(&store, STORE_PUT, meanings[i].err);
		for (unsigned k = 0; k < STORE_RESULTS; k++) {
			assert_int_equal(counters.requests[STORE_GET][k], k == meanings[i].result);
			assert_int_equal(counters.requests[STORE_PUT][k], 2 * (k == meanings[i].result));
		}
		assert_int_equal(counters.milliseconds, TOOK);
		assert_int_equal(store_is_answer(meanings[i].err), meanings[i].says == WORKS);
		again();
	}
}

TEST(bytes)
{
	static const struct {
		enum store_operation operation;
		int err;
		uint64_t body, sent, received;
	} rows[] = {
		{STORE_GET, 0, 0, 0, 500},  {STORE_GET, 0, 300, 0, 300},   {STORE_GET, -ENOENT, 300, 0, 0},
		{STORE_PUT, 0, 0, 40, 0},   {STORE_PUT, -EEXIST, 0, 0, 0}, {STORE_HEAD, 0, 0, 0, 0},
		{STORE_DELETE, 0, 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		call.body = rows[i].body;
		end(rows[i].operation, rows[i].err, 500, true);
		assert_int_equal(counters.sent, rows[i].sent);
		assert_int_equal(counters.received, rows[i].received);
		again();
	}
}

/* Where nothing may be written that is not tried again for a while. */
TEST(read_only)
{
	end(STORE_PUT, -EACCES, 0, true);
	assert_int_equal(store.read_only_until, now_ms + READ_ONLY);
	again();
	end(STORE_PUT, -EEXIST, 0, true);
	assert_int_equal(store.read_only_until, 0);
	again();
	end(STORE_GET, -EACCES, 0, true);
	assert_int_equal(store.read_only_until, 0);
}

/* ---- The breaker ---- */

NOT_ANALYZED static void try_once(void)
{
	store.breaker = (struct breaker){.state = BREAKER_HALF_OPEN, .trying = true, .changes = 5};
	call.changes = 5;
}

NOT_ANALYZED static void expect_tried(unsigned says, const char *reason)
{
	static const enum breaker_state states[] = {
		[WORKS] = BREAKER_CLOSED, [FAILS] = BREAKER_OPEN, [SAYS_NOTHING] = BREAKER_HALF_OPEN};
	assert_int_equal(store.breaker.state, states[says]);
	assert_int_equal(store.log_opened, says == FAILS);
	assert_int_equal(store.log_closed, says == WORKS);
	assert_int_equal(counters.breaker_opened, says == FAILS);
	assert_string_equal(store.reason, says == FAILS ? reason : "");
	if (says == SAYS_NOTHING)
		assert_false(store.breaker.trying);
	if (says == FAILS)
		assert_true(store.breaker.until >= now_ms + 10000);
}

TEST(one_that_decides)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		try_once();
		end(STORE_GET, meanings[i].err, 0, true);
		expect_tried(meanings[i].says, strerror(-meanings[i].err));
		again();
		/* It says nothing, or of another time. */
		try_once();
		end(STORE_GET, meanings[i].err, 0, false);
		expect_tried(SAYS_NOTHING, "");
		again();
		for (unsigned is_news = 0; is_news < 2; is_news++) {
			try_once();
			call.changes = 4;
			end(STORE_GET, meanings[i].err, 0, is_news);
			assert_int_equal(store.breaker.state, BREAKER_HALF_OPEN);
			assert_true(store.breaker.trying);
			assert_false(store.log_opened || store.log_closed);
			assert_string_equal(store.reason, "");
			again();
		}
	}
}

TEST(closed)
{
	static const unsigned in_a_row[] = {[WORKS] = 0, [FAILS] = 2, [SAYS_NOTHING] = 1};
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		store.breaker.in_a_row = 1;
		end(STORE_GET, meanings[i].err, 0, true);
		assert_int_equal(store.breaker.in_a_row, in_a_row[meanings[i].says]);
		assert_false(store.log_opened || store.log_closed);
		again();
	}
}

TEST(released)
{
	for (unsigned is_same = 0; is_same < 2; is_same++) {
		try_once();
		call.changes = is_same ? 5 : 4;
		mutex_lock(&store.lock);
		store_call_release(&store, &call);
		mutex_unlock(&store.lock);
		assert_int_equal(store.breaker.trying, !is_same);
		assert_int_equal(store.breaker.state, BREAKER_HALF_OPEN);
	}
}

/* What the server says goes before what the errno says. */
TEST(reasons)
{
	mutex_lock(&store.lock);
	store_call_failed(&store, &call, -EREMOTEIO, "503", true);
	mutex_unlock(&store.lock);
	assert_string_equal(store.reason, "503");
	end(STORE_GET, 0, 0, true);
	assert_string_equal(store.reason, "503"); /* of the last failure */
	end(STORE_GET, -EHOSTUNREACH, 0, true);
	assert_string_equal(store.reason, strerror(EHOSTUNREACH));
}

/* ---- The probe ---- */

TEST(probes)
{
	static const struct {
		int err;
		bool holds, was_known, is_known, has_leases;
		int64_t again, read_only; /* ms from now; INT64_MAX: never */
	} rows[] = {
		{0, true, false, true, true, INT64_MAX, 0},
		{0, false, false, true, false, INT64_MAX, 0},
		{-EOPNOTSUPP, true, false, true, false, INT64_MAX, 0},
		{-EACCES, true, false, false, false, READ_ONLY, READ_ONLY},
		{-ETIMEDOUT, true, false, false, false, AGAIN, 0},
		{-ETIMEDOUT, true, true, true, false, AGAIN, 0},
		{-ENOENT, false, false, false, false, AGAIN, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		store.is_probing = true;
		store.is_known = rows[i].was_known;
		store.has_leases = true;
		mutex_lock(&store.lock);
		store_probe_done(&store, rows[i].err, rows[i].holds, "reason");
		assert_string_equal(store.refusal, rows[i].read_only ? "reason" : "");
		mutex_unlock(&store.lock);
		assert_false(store.is_probing);
		assert_int_equal(store.is_known, rows[i].is_known);
		assert_int_equal(store.has_leases, rows[i].has_leases);
		assert_int_equal(store.probe_at,
				 rows[i].again == INT64_MAX ? INT64_MAX : now_ms + rows[i].again);
		assert_int_equal(store.read_only_until, rows[i].read_only ? now_ms + rows[i].read_only : 0);
		again();
	}
}

EACH_TEST(set_up, tear_down)

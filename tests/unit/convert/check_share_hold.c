/* Leases that are held: when each is renewed or deleted, and what is asked of the store for that. */
#include "store/share/share_hold.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { START = 1000000, SECONDS = 12, RENEW = 4000 /* ms */ };

/* ---- In place of the store, and of time ---- */

static int64_t now_ms;
static char did[512];
static int start_err, reply_err, memfd_err;
static bool is_late;     /* no answer */
static int64_t wait_end; /* until when was waited last */
static const char *reply_etag = "new";
static struct store_call *const some_call = (struct store_call *)&now_ms;
static struct share share;
static unsigned rounds; /* of the thread, until it is told to end */
static int64_t slept_until[8];
static unsigned n_slept;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
struct store_call *__wrap_store_start(struct store *store, const struct store_request *request, int *ret_err);
bool __wrap_store_wait(struct store_call *call, int64_t until, struct store_reply *ret);
void __wrap_store_call_end(struct store_call *call);
void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret);
void __wrap_mutex_wait(struct mutex *mutex, pthread_cond_t *cond);
int __wrap_mutex_wait_until(struct mutex *mutex, pthread_cond_t *cond, const struct timespec *until);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
	if (!memfd_err)
		return __real_memfd_create(name, flags);
	errno = memfd_err;
	return -1;
}

static bool has_memory = true;

void *__wrap_calloc(size_t n, size_t size)
{
	return has_memory ? __real_calloc(n, size) : NULL;
}

static unsigned woken;

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	woken += cond == &share.held;
	return 0;
}

static void note_request(const struct store_request *request)
{
	static const char *const operations[] = {"get", "head", "put", "delete", "list"};
	static const char *const conditions[] = {"", "-absent", "-match:"};
	size_t n = strlen(did);
	snprintf(did + n, sizeof(did) - n, "%s%s%s%s %s", n ? ", " : "", operations[request->operation],
		 conditions[request->condition], request->condition == STORE_IF_MATCH ? request->etag : "",
		 request->name);
}

static void expect_body(const struct store_request *request)
{
	char text[128] = "", want[128], host[256] = "";
	gethostname(host, sizeof(host) - 1);
	assert_int_equal(pread(request->fd, text, sizeof(text) - 1, 0), request->size);
	snprintf(want, sizeof(want), "gsymfs-lease 1\nseconds %u\nhost %.24s\n", SECONDS, host);
	assert_string_equal(text, want);
}

struct store_call *__wrap_store_start(struct store *store, const struct store_request *request, int *ret_err)
{
	assert_ptr_equal(store, &share);
	note_request(request);
	if (request->operation == STORE_PUT)
		expect_body(request);
	else
		assert_int_equal(request->fd, -1);
	if (!start_err)
		return some_call;
	*ret_err = start_err;
	return NULL;
}

bool __wrap_store_wait(struct store_call *call, int64_t until, struct store_reply *ret)
{
	assert_ptr_equal(call, some_call);
	wait_end = until;
	if (is_late)
		return false;
	*ret = (struct store_reply){.err = reply_err};
	snprintf(ret->etag, sizeof(ret->etag), "%s", reply_etag);
	return true;
}

static unsigned ended;

void __wrap_store_call_end(struct store_call *call)
{
	ended += call != NULL;
}

void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret)
{
	assert_ptr_equal(store, &share);
	assert_int_equal(ms, 5000);
	note_request(request);
	*ret = (struct store_reply){.err = reply_err};
}

static void sleep_until(int64_t until)
{
	if (n_slept < ARRAY_SIZE(slept_until))
		slept_until[n_slept++] = until;
	if (rounds == 0 || --rounds == 0)
		atomic_store(&share.stopping, true);
	else if (until != INT64_MAX)
		now_ms = until;
}

void __wrap_mutex_wait(struct mutex *mutex, pthread_cond_t *cond)
{
	assert_ptr_equal(mutex, &share.lock);
	assert_ptr_equal(cond, &share.held);
	sleep_until(INT64_MAX);
}

int __wrap_mutex_wait_until(struct mutex *mutex, pthread_cond_t *cond, const struct timespec *until)
{
	assert_ptr_equal(mutex, &share.lock);
	assert_ptr_equal(cond, &share.held);
	sleep_until((int64_t)until->tv_sec * 1000 + until->tv_nsec / 1000000);
	return ETIMEDOUT;
}

/* ---- Leases ---- */

static int set_up(void **state)
{
	(void)state;
	memset(&share, 0, sizeof(share));
	share.store = (struct store *)&share;
	mutex_init(&share.lock, LOCK_SHARE);
	list_init(&share.holds);
	now_ms = START;
	did[0] = 0;
	start_err = reply_err = memfd_err = 0;
	is_late = false;
	reply_etag = "new";
	ended = n_slept = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	share_holds_free(&share);
	mutex_destroy(&share.lock);
	return 0;
}

static struct lease held_lease(void)
{
	return (struct lease){.step = LEASE_CONVERT, .seconds = SECONDS, .held = true, .etag = "old"};
}

static struct share_hold *hold_one(const char *name)
{
	const struct lease lease = held_lease();
	struct share_hold *hold = share_hold_new(&share, name, &lease, NULL);
	assert_non_null(hold);
	return hold;
}

/* Has the thread run until it has slept @n times. */
static void run(unsigned n)
{
	rounds = n;
	n_slept = 0;
	did[0] = 0;
	atomic_store(&share.stopping, false);
	share_holder(&share);
	assert_int_equal(n_slept, n);
}

static unsigned n_holds(void)
{
	mutex_lock(&share.lock);
	unsigned n = share.n_holds;
	mutex_unlock(&share.lock);
	return n;
}

TEST(beginning)
{
	struct lease lease = {.step = LEASE_TAKE, .seconds = SECONDS};
	assert_ptr_equal(share_lease_begin(&share, "a", &lease), some_call);
	assert_string_equal(did, "put-absent a");
	did[0] = 0;
	lease.step = LEASE_TAKE_OVER;
	strcpy(lease.etag, "theirs");
	assert_ptr_equal(share_lease_begin(&share, "a", &lease), some_call);
	assert_string_equal(did, "put-match:theirs a");
	/* It cannot be begun: convert without. */
	start_err = -EBUSY;
	assert_null(share_lease_begin(&share, "a", &lease));
	assert_int_equal(lease.step, LEASE_CONVERT);
	assert_false(lease.held);
	memfd_err = EMFILE;
	lease.step = LEASE_TAKE;
	did[0] = 0;
	assert_null(share_lease_begin(&share, "a", &lease));
	assert_int_equal(lease.step, LEASE_CONVERT);
	assert_string_equal(did, "");
	assert_int_equal(lseek(3, 0, SEEK_CUR), -1); /* nothing is left open */
}

TEST(noting)
{
	static const struct {
		enum lease_step step;
		int err;
		bool held;
		enum lease_step after;
		unsigned taken, broken;
	} rows[] = {
		{LEASE_TAKE, 0, true, LEASE_CONVERT, 1, 0},
		{LEASE_TAKE_OVER, 0, true, LEASE_CONVERT, 0, 1},
		{LEASE_CONVERT, 0, true, LEASE_CONVERT, 0, 0}, /* renewed */
		{LEASE_TAKE, -EEXIST, false, LEASE_LOOK, 0, 0},
		{LEASE_TAKE, -ENOENT, false, LEASE_CONVERT, 0, 0}, /* there is no place for it */
		{LEASE_TAKE_OVER, -ENOENT, false, LEASE_LOOK, 0, 0},
		{LEASE_TAKE, -ETIMEDOUT, false, LEASE_CONVERT, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lease lease = {.step = rows[i].step, .seconds = SECONDS};
		const struct store_reply reply = {.err = rows[i].err, .etag = "tag"};
		share.counters.leases_taken = share.counters.leases_broken = 0;
		share_lease_note(&share, &lease, &reply);
		assert_int_equal(lease.held, rows[i].held);
		assert_int_equal(lease.step, rows[i].after);
		assert_int_equal(share.counters.leases_taken, rows[i].taken);
		assert_int_equal(share.counters.leases_broken, rows[i].broken);
	}
}

/* At a third of its time, again and again, with the tag of the last time. */
TEST(renewed)
{
	hold_one("a");
	assert_int_equal(n_holds(), 1);
	run(3);
	assert_string_equal(did, "put-match:old a, put-match:new a");
	assert_int_equal(slept_until[0], START + RENEW);
	assert_int_equal(slept_until[1], START + 2 * RENEW);
	assert_int_equal(slept_until[2], START + 3 * RENEW);
	assert_int_equal(wait_end, START + 2 * RENEW + 5000);
	assert_int_equal(ended, 2);
	/* Another host has it: nothing more is asked for, nor deleted. */
	reply_err = -EEXIST;
	run(3);
	assert_string_equal(did, "put-match:new a");
	assert_int_equal(slept_until[2], INT64_MAX);
	run(1);
	assert_string_equal(did, "");
}

TEST(let_go)
{
	woken = 0;
	share_hold_end(&share, NULL);
	assert_int_equal(woken, 0);
	struct share_hold *hold = hold_one("a");
	hold_one("b");
	assert_int_equal(woken, 2);
	share_hold_end(&share, hold);
	assert_int_equal(woken, 3);
	run(1);
	assert_string_equal(did, "delete a"); /* it is ours for longer than a request takes */
	assert_int_equal(n_holds(), 1);
	assert_int_equal(slept_until[0], START + RENEW);
	/* Nearly over: only if it still is ours. */
	reply_err = -EEXIST;
	now_ms = START + SECONDS * 1000 - 5000;
	share_hold_end(&share, hold_one("c"));
	run(1);
	assert_string_equal(did, "put-match:old b, delete c");
}

TEST(nearly_over)
{
	share_hold_end(&share, hold_one("a"));
	now_ms = START + SECONDS * 1000 - 5001;
	run(1);
	assert_string_equal(did, "delete a");
	now_ms = START;
	share_hold_end(&share, hold_one("b"));
	now_ms = START + SECONDS * 1000 - 5000;
	run(1);
	assert_string_equal(did, "delete-match:old b");
	assert_int_equal(n_holds(), 0);
}

/* While the store is not there, until the lease is over by itself. */
TEST(deleted_later)
{
	static const int passing[] = {-ETIMEDOUT, -EHOSTUNREACH, -EREMOTEIO, -ENETDOWN, -EBUSY};
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
		now_ms = START;
		reply_err = passing[i];
		share_hold_end(&share, hold_one("a"));
		run(1);
		assert_string_equal(did, "delete a");
		assert_int_equal(slept_until[0], START + 2000);
		assert_int_equal(n_holds(), 0); /* no conversion waits for it */
		now_ms = START + SECONDS * 1000 - 2000;
		run(1);
		assert_string_equal(did, "delete-match:old a");
		assert_int_equal(slept_until[0], now_ms + 2000);
		now_ms = START + SECONDS * 1000;
		run(1);
		assert_string_equal(did, "delete-match:old a");
		assert_int_equal(slept_until[0], INT64_MAX);
		assert_int_equal(n_holds(), 0);
	}
	reply_err = -EACCES;
	now_ms = START;
	share_hold_end(&share, hold_one("a"));
	run(1);
	assert_int_equal(slept_until[0], INT64_MAX);
}

/* One that was asked for before, and may come to be. */
TEST(not_answered)
{
	struct lease lease = {.step = LEASE_TAKE, .seconds = SECONDS};
	is_late = true;
	struct share_hold *hold = share_hold_new(&share, "a", &lease, some_call);
	run(2);
	assert_string_equal(did, "");
	assert_int_equal(slept_until[0], START + RENEW);
	assert_int_equal(slept_until[1], START + RENEW + 100);
	share_hold_end(&share, hold);
	run(1);
	assert_int_equal(slept_until[0], START + RENEW + 100);
	assert_int_equal(n_holds(), 1);
	assert_int_equal(ended, 0);
	is_late = false;
	now_ms += 100;
	run(1);
	assert_string_equal(did, "delete a");
	assert_int_equal(ended, 1);
	assert_int_equal(share.counters.leases_taken, 1);
	assert_int_equal(n_holds(), 0);
	/* It was refused. */
	reply_err = -EEXIST;
	share_hold_end(&share, share_hold_new(&share, "b", &lease, some_call));
	run(1);
	assert_string_equal(did, "");
	assert_int_equal(n_holds(), 0);
}

TEST(no_memory)
{
	const struct lease lease = {.step = LEASE_TAKE, .seconds = SECONDS};
	has_memory = false;
	assert_null(share_hold_new(&share, "a", &lease, some_call));
	has_memory = true;
	assert_int_equal(ended, 1);
	assert_int_equal(n_holds(), 0);
}

/* At the end all are deleted, many at a time. */
TEST(released)
{
	struct lease none = {.step = LEASE_CONVERT, .seconds = SECONDS};
	struct lease asked = {.step = LEASE_TAKE, .seconds = SECONDS};
	hold_one("a");
	share_hold_new(&share, "b", &none, NULL);
	hold_one("c");
	share_holds_release(&share, START + 77);
	assert_string_equal(did, "delete a, delete c");
	assert_int_equal(wait_end, START + 77);
	assert_int_equal(ended, 2);
	share_holds_free(&share);
	enum { MANY = STORE_QUEUE_MAX + 1 };
	for (unsigned i = 0; i < MANY; i++)
		hold_one("d");
	ended = 0;
	share_holds_release(&share, START);
	assert_int_equal(ended, MANY);
	share_holds_free(&share);
	/* No answer yet. */
	is_late = true;
	share_hold_new(&share, "e", &asked, some_call);
	did[0] = 0;
	share_holds_release(&share, START);
	assert_string_equal(did, "");
	ended = 0;
	share_holds_free(&share);
	assert_int_equal(ended, 1);
}

EACH_TEST(set_up, tear_down)

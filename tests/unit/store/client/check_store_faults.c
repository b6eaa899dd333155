/* The client of a store whose process is stopped, killed, or cannot be started: no caller waits for it. */
#include "tests/unit/store/client/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/open_descriptors.h"
#include "work/os/monotonic.h"
#include "store/client/lease.h"
#include "gsym/base/vec.h"

static bool has_no_threads;

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return has_no_threads ? EAGAIN : __real_pthread_create(ret, attr, run, arg);
}

/* A store whose process runs, and is stopped now. */
static pid_t open_stopped(struct fixture *f)
{
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	pid_t pid = store_process();
	stop_process(pid);
	return pid;
}

static struct store_call *begin(struct store *store, int fd)
{
	const struct store_request request = {.operation = STORE_GET, .name = "x", .fd = fd, .size = 100};
	int err = 0;
	struct store_call *ret = store_start(store, &request, &err);
	assert_int_equal(err, 0);
	assert_non_null(ret);
	return ret;
}

/* Begins requests, and waits until they are sent: the client then closes its copies of the file. */
static void begin_and_send(struct store *store, int fd, struct store_call **ret, unsigned n)
{
	const unsigned before = count_open_descriptors();
	for (unsigned i = 0; i < n; i++)
		ret[i] = begin(store, fd);
	while (count_open_descriptors() > before + n) /* each keeps the one that is to be waited for */
		poll(NULL, 0, 1);
}

static int result(struct store_call *call)
{
	struct store_reply reply;
	struct pollfd end = {.fd = store_call_fd(call), .events = POLLIN};
	assert_true(store_wait(call, monotonic_ms() + SOON_MS, &reply));
	assert_int_equal(poll(&end, 1, 0), 1); /* both ways to wait agree */
	store_call_end(call);
	return reply.err;
}

/* The process ends in the middle: a failure, and the next request finds another process. */
TEST_OF(killed, struct fixture, f)
{
	struct store_call *calls[5];
	pid_t pid = open_stopped(f);
	begin_and_send(f->store, f->fd, calls, ARRAY_SIZE(calls));
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_int_equal(result(calls[i]), -EREMOTEIO);
	/* However many were under way: one failure, which opens no breaker. */
	assert_true(store_is_up(f->store));
	assert_int_equal(get(f->store, "x", 100, f->fd, NULL), 0);
	assert_true(store_process() != pid);
}

/* Another directory takes the place of the store's: each request says so, and the next is for the new one. */
TEST_OF(replaced, struct fixture, f)
{
	struct store_call *calls[5];
	char away[512];
	pid_t pid = open_stopped(f);
	begin_and_send(f->store, f->fd, calls, ARRAY_SIZE(calls));
	snprintf(away, sizeof(away), "%s.away", f->directory);
	assert_int_equal(rename(f->directory, away), 0);
	assert_int_equal(mkdir(f->directory, 0700), 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct store_reply reply;
		assert_true(store_wait(calls[i], monotonic_ms() + SOON_MS, &reply));
		assert_string_equal(reply.text, "the directory was replaced or removed");
		assert_int_equal(result(calls[i]), -EREMOTEIO);
	}
	assert_true(store_is_up(f->store)); /* one failure */
	assert_int_equal(get(f->store, "x", 100, f->fd, NULL), -ENOENT);
	assert_true(store_process() != pid);
	remove_all(away);
}

/* One that crashes each time is left alone. */
TEST_OF(crashes, struct fixture, f)
{
	char text[400];
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
		stop_process(store_process());
		struct store_call *call;
		begin_and_send(f->store, f->fd, &call, 1);
		kill(store_process(), SIGKILL);
		assert_int_equal(result(call), -EREMOTEIO);
		if (i < 2)
			assert_int_equal(f->counters.breaker_opened, 0);
	}
	/* The successes between them keep it closed: it is not three in a row. */
	assert_true(store_is_up(f->store));
	store_describe_breaker(f->store, text, sizeof(text));
	assert_string_equal(text, "closed");
}

/* While the process says nothing requests end in their time, and it is replaced in the end. */
TEST_OF(stopped, struct fixture, f)
{
	struct store_reply reply;
	pid_t pid = open_stopped(f);
	struct store_call *late = begin(f->store, f->fd), *left = begin(f->store, f->fd);
	assert_false(store_wait(left, monotonic_ms() + 10, &reply)); /* a caller may wait as it likes */
	store_call_end(left);
	assert_int_equal(result(late), -ETIMEDOUT);
	/* The one that is left may be overdue by then, on a busy machine. */
	assert_in_range(f->counters.requests[STORE_GET][STORE_LATE], 1, 2);
	assert_int_equal(f->counters.requests[STORE_GET][STORE_LATE] +
				 f->counters.requests[STORE_GET][STORE_CANCELED],
			 2);
	assert_int_equal(kill(pid, 0), 0);
	/* It waits until the process that owes an answer is killed, and another one has started. */
	struct store_call *next = begin(f->store, f->fd);
	int err = result(next);
	if (err && err != -ETIMEDOUT)
		fail_msg("%s", strerror(-err));
	while (get(f->store, "x", 100, f->fd, NULL) != 0)
		poll(NULL, 0, 10); /* on a slow machine the breaker has opened meanwhile */
	assert_true(store_process() != pid);
}

/* A client that ends does not wait for a process that is stopped. */
TEST_OF(closes, struct fixture, f)
{
	struct store_reply reply;
	struct store_call *calls[20];
	open_stopped(f);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		calls[i] = begin(f->store, f->fd);
	store_close(f->store);
	f->store = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		assert_true(store_wait(calls[i], 0, &reply));
		assert_int_equal(reply.err, -ECANCELED);
		store_call_end(calls[i]);
	}
}

/* Nor does one that cancels its requests, of which only so many are kept. */
TEST_OF(queue, struct fixture, f)
{
	struct store_call *calls[STORE_QUEUE_MAX];
	int err = 0;
	pid_t pid = open_stopped(f);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		calls[i] = begin(f->store, f->fd);
	const struct store_request request = {.operation = STORE_HEAD, .name = "x"};
	assert_null(store_start(f->store, &request, &err));
	assert_int_equal(err, -EBUSY);
	const size_t half = ARRAY_SIZE(calls) / 2; /* those after it were not sent yet */
	for (size_t i = half; i < ARRAY_SIZE(calls); i++)
		store_call_end(calls[i]);
	assert_int_equal(kill(pid, SIGCONT), 0);
	for (size_t i = 0; i < half; i++)
		assert_int_equal(result(calls[i]), 0);
	assert_int_equal(f->counters.requests[STORE_GET][STORE_CANCELED], STORE_QUEUE_MAX / 2);
	/* The slots of those that were cancelled are free again. */
	assert_int_equal(head(f->store, "x", NULL), 0);
}

/* Callers that find another way before an answer comes: a server that makes them is not asked any more. */
TEST_OF(overdue, struct fixture, f)
{
	pid_t pid = open_stopped(f);
	for (unsigned i = 0; i < 3; i++) {
		struct store_reply reply;
		struct store_call *call;
		assert_true(store_is_up(f->store));
		begin_and_send(f->store, f->fd, &call, 1); /* from then on the server has the request */
		assert_false(store_wait(call, monotonic_ms() + LEASE_HEDGE_MS, &reply));
		store_call_end(call);
	}
	assert_false(store_is_up(f->store));
	assert_int_equal(f->counters.requests[STORE_GET][STORE_LATE], 3);
	assert_int_equal(kill(pid, SIGCONT), 0);
}

/* Those that a server has at the same time are one failure, however many they are. */
TEST_OF(overdue_together, struct fixture, f)
{
	struct store_call *calls[5];
	struct store_reply reply;
	pid_t pid = open_stopped(f);
	begin_and_send(f->store, f->fd, calls, ARRAY_SIZE(calls));
	assert_false(store_wait(calls[0], monotonic_ms() + LEASE_HEDGE_MS, &reply));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		store_call_end(calls[i]);
	assert_int_equal(f->counters.requests[STORE_GET][STORE_LATE], 1);
	assert_int_equal(f->counters.requests[STORE_GET][STORE_CANCELED], ARRAY_SIZE(calls) - 1);
	assert_true(store_is_up(f->store));
	assert_int_equal(kill(pid, SIGCONT), 0);
}

/* Started before the first request, so that this does not wait for the process. */
TEST_OF(prepared, struct fixture, f)
{
	pid_t found;
	store_prepare(f->store);
	for (int64_t until = monotonic_ms() + SOON_MS; !children(&found, 1); poll(NULL, 0, 1))
		assert_true(monotonic_ms() < until);
	assert_int_equal(head(f->store, "x", NULL), -ENOENT);
	assert_int_equal(store_process(), found);
}

/* That no thread can be started is a fault of this machine: not "another host was first", as -EAGAIN says. */
TEST_OF(no_thread, struct fixture, f)
{
	has_no_threads = true;
	store_prepare(f->store);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(put(f->store, "x", "1", STORE_IF_ABSENT, NULL, NULL), -EBUSY);
	has_no_threads = false;
	assert_true(store_is_up(f->store));
	assert_int_equal(put(f->store, "x", "1", STORE_IF_ABSENT, NULL, NULL), 0);
	assert_int_equal(put(f->store, "x", "2", STORE_IF_ABSENT, NULL, NULL), -EEXIST);
}

/* A program that cannot be started is a store that fails, and is not asked again for a while. */
TEST_OF(no_program, struct fixture, f)
{
	const char *program = fixture_program;
	char text[400];
	store_close(f->store);
	fixture_program = "/nonexistent/gsym";
	f->store = fixture_store(f);
	fixture_program = program;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(head(f->store, "x", NULL), -EREMOTEIO);
	assert_int_equal(head(f->store, "x", NULL), -ENETDOWN);
	assert_false(store_is_up(f->store));
	assert_int_equal(f->counters.breaker_opened, 1);
	assert_int_equal(f->counters.requests[STORE_HEAD][STORE_SKIPPED], 1);
	store_describe_breaker(f->store, text, sizeof(text));
	assert_non_null(strstr(text, "open for "));
	assert_non_null(strstr(text, "/nonexistent/gsym"));
}

/* Nor one that is no worker. */
TEST_OF(other_program, struct fixture, f)
{
	const char *program = fixture_program;
	store_close(f->store);
	fixture_program = "/bin/true";
	f->store = fixture_store(f);
	fixture_program = program;
	assert_int_equal(head(f->store, "x", NULL), -EREMOTEIO);
}

/* The directory went away, or to another user, after it was checked. */
TEST_OF(directory_changes, struct fixture, f)
{
	assert_int_equal(chmod(f->directory, 0777), 0);
	assert_true(head(f->store, "x", NULL) < 0);
	assert_int_equal(chmod(f->directory, 0700), 0);
	assert_int_equal(head(f->store, "x", NULL), -ENOENT);
}

EACH_TEST(fixture_set_up, fixture_tear_down)

int main(int argc, char **argv)
{
	fixture_program = argc > 1 ? argv[1] : "gsym";
	return unit_run();
}

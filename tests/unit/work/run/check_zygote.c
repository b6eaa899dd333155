/*
 * The process that forks workers: what it is asked, whom its client believes, and when it is ended. Linked
 * with --wrap.
 */
#include "tests/unit/work/run/zygote_fixture.h"

#include "work/run/zygote.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

enum { FORKS = 100 /* by one zygote */ };

/* ---- Starting ---- */

TEST(prepared)
{
	zygote_prepare(NULL);
	assert_int_equal(n_spawned, 0);
	zygote_prepare(&zygote);
	zygote_prepare(&zygote);
	assert_int_equal(n_spawned, 1);
	assert_int_equal(now_ms, START_MS);
	expect_forked(1);
	assert_int_equal(n_spawned, 1);
	assert_int_equal(n_kills, 0);
}

TEST(workers)
{
	for (size_t n = 0; n <= FILES; n++)
		expect_forked(n);
	/* One that has ended already: its client finds out. */
	with.has_ended = true;
	expect_forked(0);
	with.has_ended = false;
	assert_int_equal(n_spawned, 1);
	assert_int_equal(now_ms, START_MS);
	zygote_deinit(&zygote);
	for (size_t i = 0; i < n_processes; i++)
		assert_int_equal(processes[i].is_killed, processes[i].is_zygote);
	zygote_init(&zygote);
}

TEST(without_a_zygote)
{
	struct child child;
	struct gsym_diag diag = {""};
	assert_int_equal(order_worker(NULL, 1, &child, &diag), 0);
	assert_int_equal(child.pid, STARTED_PID);
	with.start_err = -ECHILD;
	assert_int_equal(order_worker(NULL, 1, &child, &diag), -ECHILD);
	assert_string_equal(diag.text, "no worker");
	assert_string_equal(said, "");
	/* Neither way. */
	with.spawn_err = -EAGAIN;
	assert_int_equal(order_worker(&zygote, 1, &child, &diag), -ECHILD);
	assert_string_equal(diag.text, "no worker");
	assert_string_equal(said, "cannot fork a worker: no process; starting one");
	assert_int_equal(n_started, 3);
	assert_int_equal(n_spawned, 1);
}

TEST(nothing_to_fork_it)
{
	with.sockets_err = -EMFILE;
	expect_started("no socket", 1);
	assert_int_equal(n_spawned, 0);
	with.sockets_err = 0;
	allowed = 0;
	expect_started("Cannot allocate memory", 1);
	assert_true(allowed < 0);
	assert_int_equal(n_spawned, 0);
	with.spawn_err = -ECHILD;
	zygote_prepare(&zygote); /* says nothing */
	expect_started("no process", 1);
	assert_int_equal(n_spawned, 2);
	with.spawn_err = 0;
	expect_forked(1);
}

/* ---- Answers ---- */

/* Whatever is no worker of the zygote: both are ended at once, another zygote is used from then on. */
TEST(bad_answers)
{
	static const struct {
		struct zygote_script with;
		const char *reason;
	} table[] = {
		{{.got = 1, .type = WORKER_FAILED}, "fork: Too many open files"},
		{{.got = 0}, "no answer"},
		{{.got = 0, .leaves = true}, "no answer"},
		{{.got = -ETIMEDOUT}, "no answer in time"},
		{{.got = -EPROTO}, "no answer"},
		{{.got = 1, .type = WORKER_DONE}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .newer = 1}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .whose = NOBODYS}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .whose = NEGATIVE}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .whose = ZYGOTES}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .whose = STRANGERS}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .whose = FOREIGNERS}, "no answer"},
		{{.got = 1, .type = WORKER_READY, .cannot_leave = true}, "no answer"},
	};
	const struct zygote_script good = with;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned n = n_spawned;
		expect_forked(1);
		assert_int_equal(n_spawned, n + 1);
		int64_t begin = now_ms;
		with = table[i].with;
		with.ends_at = NEVER;
		n_kills = 0;
		expect_started(table[i].reason, 2);
		assert_true(n_kills > 0);
		assert_int_equal(killed_at, begin);
		assert_in_range(now_ms - begin, 0, 10);
		for (size_t k = 0; k < n_processes; k++)
			assert_false(processes[k].is_zygote && processes[k].state != REAPED);
		with = good;
	}
}

/* Files that cannot be sent, and a zygote that has ended by itself. */
TEST(bad_files)
{
	expect_forked(1);
	int file = files[1];
	files[1] = 4096;
	expect_started("Bad file descriptor", 2);
	files[1] = file;
	expect_forked(2);
	assert_int_equal(n_spawned, 2);
	end_process(&processes[3]);
	assert_true(processes[3].is_zygote);
	expect_started("Broken pipe", 1);
	expect_forked(1);
	assert_int_equal(n_spawned, 3);
}

/* The daemon ends: nothing is started, and the zygote is left for zygote_deinit(). */
TEST(shutting_down)
{
	struct child child = {.pid = 1, .sock = 2};
	struct gsym_diag diag = {""};
	with.got = -ECANCELED;
	assert_int_equal(order_worker(&zygote, 2, &child, &diag), -ECANCELED);
	assert_string_equal(diag.text, "the daemon is shutting down");
	assert_int_equal(n_started, 0);
	assert_int_equal(n_kills, 0);
	assert_string_equal(said, "");
	assert_true(child.pid == 1 && child.sock == 2);
	with.got = 1;
	expect_forked(1);
	assert_int_equal(n_spawned, 1);
}

/* ---- Ending ---- */

TEST(crashed_workers)
{
	static const struct {
		int status;
		bool is_suspect; /* a crash may have been an attempt to guess addresses */
	} table[] = {
		{0, false},      {0x0100, false}, {0xff00, false},
		{SIGSEGV, true}, {SIGKILL, true}, {SIGABRT | 0x80, true},
	};
	zygote_note_end(NULL, SIGSEGV);
	zygote_note_end(&zygote, SIGSEGV); /* there is none */
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		zygote_prepare(&zygote);
		unsigned n = n_spawned;
		zygote_note_end(&zygote, table[i].status);
		assert_int_equal(n_spawned, n);
		expect_forked(1);
		assert_int_equal(n_spawned, n + table[i].is_suspect);
	}
	assert_int_equal(n_kills, 0);
}

/* A worker without a waiter ends by itself, or is killed at its time limit. */
TEST(ends_in_time)
{
	static const struct {
		int64_t lag, takes;
		bool is_killed;
	} table[] = {
		{0, 0, false},
		{1, 1, false},
		{500, 500, false},
		{ANSWER_MS + 1, ANSWER_MS + 1, false},
		{ANSWER_MS + 50, ANSWER_MS + 3, true},
		{NEVER, ANSWER_MS + 3, true},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int64_t begin = now_ms = START_MS;
		n_kills = 0;
		with.lag = table[i].lag;
		expect_forked(0);
		zygote_note_end(&zygote, SIGSEGV);
		assert_int_equal(now_ms - begin, table[i].takes);
		assert_int_equal(n_kills > 0, table[i].is_killed);
		if (table[i].is_killed)
			assert_int_equal(killed_at - begin, ANSWER_MS + 1);
	}
}

/* It was killed before it was in a group of its own: it is waited for all the same. */
TEST(without_a_group)
{
	with.has_no_group = true;
	zygote_prepare(&zygote);
	zygote_note_end(&zygote, SIGSEGV);
	assert_int_equal(processes[0].state, REAPED);
	zygote_prepare(&zygote);
	zygote_deinit(&zygote);
	assert_int_equal(processes[1].state, REAPED);
	assert_true(processes[1].is_killed);
	zygote_init(&zygote);
}

/* ---- Wear ---- */

static void wear(void)
{
	unsigned n = n_spawned;
	with.has_ended = true; /* no need for their sockets */
	for (unsigned i = 0; i < FORKS; i++)
		expect_forked(0);
	with.has_ended = false;
	assert_int_equal(n_spawned, n + 1);
}

TEST(worn_out)
{
	wear();
	expect_forked(1);
	assert_int_equal(n_spawned, 2);
	assert_int_equal(processes[0].state, REAPED);
	assert_int_equal(n_kills, 0);
	assert_int_equal(now_ms, START_MS);
}

/* Replaced before anything is asked of it. */
TEST(worn_out_when_prepared)
{
	wear();
	zygote_prepare(&zygote);
	assert_int_equal(n_spawned, 2);
	assert_int_equal(processes[0].state, REAPED);
	assert_int_equal(n_kills, 0);
	expect_forked(1);
	assert_int_equal(n_spawned, 2);
}

/* There is no other: it is not used any more, and ended once. */
TEST(worn_out_without_another)
{
	wear();
	with.spawn_err = -EAGAIN;
	expect_started("no process", 1);
	assert_int_equal(processes[0].state, REAPED);
	assert_int_equal(n_spawned, 2);
	expect_started("no process", 1);
	assert_int_equal(n_spawned, 3);
	with.spawn_err = 0;
	wear();
	allowed = 0;
	zygote_prepare(&zygote);
	assert_int_equal(n_kills, 0);
	expect_forked(1);
	assert_int_equal(n_spawned, 5);
}

/* ---- Two threads ---- */

static void *wait_for_worker(void *arg)
{
	const char *reason = arg;
	if (reason)
		expect_started(reason, 1);
	else
		expect_forked(1);
	sem_post(&is_through);
	return NULL;
}

/*
 * A worker of the zygote crashes while a thread waits for another, which it gets, or not for that @reason,
 * after @sleeps ms, which is when the zygote may be killed.
 */
static void crash_meanwhile(const char *reason, int64_t sleeps)
{
	pthread_t thread;
	with.in_thread = true;
	with.let_go_after = sleeps;
	assert_int_equal(sem_init(&waits, 0, 0) | sem_init(&go_on, 0, 0) | sem_init(&is_through, 0, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_worker, (void *)reason), 0);
	sem_wait(&waits);
	zygote_note_end(&zygote, SIGSEGV);
	pthread_join(thread, NULL);
	with.in_thread = false;
	assert_int_equal(processes[0].state, REAPED);
	assert_true(!n_kills || killed_at - START_MS >= sleeps);
}

TEST(forks_what_was_asked)
{
	with.lag = 10;
	crash_meanwhile(NULL, 3 * ANSWER_MS);
	assert_int_equal(n_kills, 0);
	assert_int_equal(processes[1].state, RUNS);
	expect_forked(1);
	assert_int_equal(n_spawned, 2);
}

/* It has forked, but nothing is heard of the worker: that ends with the zygote. */
TEST(forks_in_vain)
{
	with.lag = 10;
	with.got = -ETIMEDOUT;
	crash_meanwhile("no answer in time", 2 * ANSWER_MS);
	assert_int_equal(killed_at - START_MS, 2 * ANSWER_MS);
	assert_int_equal(processes[1].state, REAPED);
	with.got = 1;
	expect_forked(1);
	assert_int_equal(n_spawned, 2);
}

/* All of it has ended while the thread waits, which still looks at it. */
TEST(ends_while_waited_for)
{
	with.got = 0;
	with.ends_at = START_MS + 5;
	crash_meanwhile("no answer", 2 * ANSWER_MS);
	assert_int_equal(n_kills, 0);
	assert_int_equal(processes[1].state, REAPED);
}

/* Two wait, and one does not get its worker: the zygote is killed at once, the other's worker is not. */
TEST(fails_while_another_waits)
{
	struct child child;
	pthread_t thread;
	with.in_thread = true;
	with.let_go_after = ANSWER_MS;
	with.got = -ETIMEDOUT;
	assert_int_equal(sem_init(&waits, 0, 0) | sem_init(&go_on, 0, 0) | sem_init(&is_through, 0, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_worker, (void *)"no answer in time"), 0);
	sem_wait(&waits);
	with.in_thread = false;
	assert_int_equal(order_worker(&zygote, 1, &child, NULL), 0);
	assert_int_equal(child.pid, STARTED_PID);
	pthread_join(thread, NULL);
	assert_int_equal(killed_at, START_MS);
	assert_int_equal(now_ms, START_MS + ANSWER_MS + 2);
	for (size_t i = 0; i < n_processes; i++)
		assert_int_equal(processes[i].state, REAPED);
	with.got = 1;
	expect_forked(1);
	assert_int_equal(n_spawned, 2);
}

EACH_TEST(zygote_set_up, zygote_tear_down)

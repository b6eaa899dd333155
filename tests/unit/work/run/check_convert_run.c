/*
 * Conversions with a worker process and a real cache: which messages decide the outcome, what becomes of it
 * in the cache, and what a store changes. The worker is this program itself, which does what $SCRIPT says, a
 * word each. log_say() is wrapped: its lines would go to standard error, which is cmocka's.
 */
#include "tests/unit/work/run/job_fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/run/convert_run.h"
#include "work/run/debuginfod.h"
#include "work/run/run_slots.h"
#include "work/types/convert_types.h"

enum {
	SECONDS = 90, /* the limit of a conversion */
	FUNCTIONS = 11,
	HUNG_SECONDS = 100,
	SERVER_MS = 1500, /* that a debuginfod server takes */
};

/* ---- The worker ---- */

static void say(struct worker_header *head, enum worker_type type)
{
	worker_send(WORKER_SOCKET_FD, head, type, -1);
}

static void ask(struct worker_header *head, enum worker_type type)
{
	union worker_message msg;
	int fd;
	say(head, type);
	worker_receive(WORKER_SOCKET_FD, &msg, &fd);
}

static void await_close(void)
{
	char byte;
	while (recv(WORKER_SOCKET_FD, &byte, 1, 0) > 0)
		;
}

static void act(const char *word)
{
	struct stat st;
	union worker_message m = {.head = {0}};
	if (!strcmp(word, "progress")) {
		m.progress.done = m.progress.total = 1;
		say(&m.head, WORKER_PROGRESS);
	} else if (!strcmp(word, "warning")) {
		m.warning.count = 2;
		strcpy(m.warning.kind, "odd");
		say(&m.head, WORKER_WARNING);
	} else if (!strcmp(word, "missing")) {
		strcpy(m.missing.name, "other.debug");
		say(&m.head, WORKER_MISSING);
	} else if (!strcmp(word, "section")) {
		strcpy(m.section.name, ".init.text");
		say(&m.head, WORKER_SECTION);
	} else if (!strcmp(word, "segment")) {
		m.segment.size = 0x1000;
		say(&m.head, WORKER_SEGMENT);
	} else if (!strcmp(word, "open")) {
		strcpy(m.open.path, "/none/such");
		ask(&m.head, WORKER_OPEN);
	} else if (!strcmp(word, "fetch")) {
		m.fetch.id_size = 20;
		ask(&m.head, WORKER_FETCH);
	} else if (!strcmp(word, "fragment")) {
		m.fragment.output_size = job_write_gsym(WORKER_FRAGMENT_FD);
		say(&m.head, WORKER_FRAGMENT);
	} else if (!strcmp(word, "nothing")) {
		say(&m.head, WORKER_FRAGMENT);
	} else if (!strcmp(word, "bad-fragment")) {
		m.fragment.output_size = 100;
		say(&m.head, WORKER_FRAGMENT);
	} else if (!strcmp(word, "done")) {
		m.done.output_size = job_write_gsym(WORKER_OUTPUT_FD);
		m.done.functions = FUNCTIONS;
		say(&m.head, WORKER_DONE);
	} else if (!strcmp(word, "failed")) {
		m.failed.error = EBADMSG;
		strcpy(m.failed.text, "damaged");
		say(&m.head, WORKER_FAILED);
	} else if (!strcmp(word, "full") && !fstat(WORKER_OUTPUT_FD, &st) && st.st_nlink) {
		m.failed.error = ENOSPC;
		say(&m.head, WORKER_FAILED);
		_exit(1);
	} else if (!strcmp(word, "identity")) {
		say(&m.head, WORKER_IDENTITY);
	} else if (!strcmp(word, "hangs")) {
		await_close();
	} else if (!strcmp(word, "crashes")) {
		kill(getpid(), SIGSYS); /* which no sanitizer takes */
	}
}

static int work(void)
{
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	union worker_message order;
	char *script = getenv("SCRIPT");
	alarm(HUNG_SECONDS);
	say(&ready.head, WORKER_READY);
	if (!script || !strncmp(script, "leaves", 6) || worker_receive(WORKER_SOCKET_FD, &order, NULL) != 1)
		return 0;
	for (const char *word = strtok(script, " "); word; word = strtok(NULL, " "))
		act(word);
	return 0;
}

/* A debuginfod server that has nothing, and takes its time to say so. */
static int serve(void)
{
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	struct worker_opened none = {.error = ENOENT};
	say(&ready.head, WORKER_READY);
	usleep(SERVER_MS * 1000);
	say(&none.head, WORKER_OPENED);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "worker"))
		_exit(strcmp(argv[2], "fetch") ? work() : serve());
	return unit_run();
}

/* ---- The store ---- */

static struct {
	enum share_step step;
	unsigned arrives_at; /* the number of the look at which the store has it, from 1; 0: never */
	unsigned looks;
	bool is_ready; /* the descriptor */
	int fd;
	char did[64];
} store;

static void store_did(const char *what)
{
	snprintf(store.did + strlen(store.did), sizeof(store.did) - strlen(store.did), "%s ", what);
}

static enum share_step store_take(struct convert_job *job, struct share_turn **turn)
{
	*turn = (struct share_turn *)&store;
	if (store.step == SHARE_ELSEWHERE)
		job_fail(job->out, VERDICT_ELSEWHERE, 0);
	if (store.step == SHARE_TAKEN)
		job_fail(job->out, VERDICT_FAILED_FOREVER, -EIO);
	return store.step;
}

static int store_pending_fd(const struct share_turn *turn)
{
	return turn ? store.fd : -1;
}

static bool store_has_arrived(struct convert_job *job, struct share_turn *turn)
{
	assert_true(job && turn);
	return ++store.looks == store.arrives_at;
}

static void store_adopt(struct convert_job *job, struct share_turn *turn)
{
	assert_non_null(turn);
	store_did("adopt");
	job_fail(job->out, VERDICT_TRANSIENT, -EIO);
	job->out->adopted = true;
}

static struct share_offer *store_offer(const struct convert_job *job, struct share_turn *turn)
{
	assert_true(job && turn);
	store_did("offer");
	return (struct share_offer *)&store;
}

static void store_end_turn(struct share *share, struct share_turn *turn)
{
	(void)share;
	if (turn)
		store_did("end");
}

static const struct result_store the_store = {
	.take = store_take,
	.pending_fd = store_pending_fd,
	.has_arrived = store_has_arrived,
	.adopt = store_adopt,
	.offer = store_offer,
	.end = store_end_turn,
};

/* ---- A conversion ---- */

static char said[512], heard[256]; /* the last line of the log; what the client was told, a word each */

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list list;
	(void)log, (void)level;
	va_start(list, fmt);
	vsnprintf(said, sizeof(said), fmt, list);
	va_end(list);
}

static void hear(const char *what)
{
	snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s ", what);
}

static void progress(void *user, unsigned percent)
{
	(void)user;
	assert_int_equal(percent, 95); /* all is read, nothing written */
	hear("progress");
}

static void worker(void *user, pid_t pid)
{
	(void)user;
	hear(pid ? "begins" : "ends");
}

static size_t list_asked(void *asker, struct convert_address *ret, size_t most)
{
	(void)asker;
	assert_true(most >= 1);
	ret[0] = (struct convert_address){.value = 0x1000};
	return 1;
}

static void fragment(void *asker, struct handle *handle)
{
	(void)asker;
	hear(handle ? "fragment" : "nothing");
	handle_put(handle);
}

static int set_up(void **state)
{
	static const char *const no_dirs[] = {NULL};
	int err = job_set_up(state);
	struct job_fixture *f = *state;
	f->request.binary.path = NULL;
	f->request.asked = list_asked;
	f->request.fragment = fragment;
	f->request.progress = progress;
	f->request.worker = worker;
	f->converter.worker = "/proc/self/exe";
	f->converter.search.dirs = no_dirs;
	f->converter.seconds = SECONDS;
	f->converter.threads = 1;
	memset(&store, 0, sizeof(store));
	return err;
}

/* Runs what @script says. The one slot for workers is free again then, and nothing is left in the cache. */
static struct outcome run(struct job_fixture *f, const char *script)
{
	struct run_slots slots;
	struct outcome ret;
	assert_int_equal(run_slots_init(&slots, 1), 0);
	f->converter.slots = &slots;
	said[0] = heard[0] = store.did[0] = 0;
	store.looks = 0;
	store.fd = eventfd(store.is_ready, EFD_CLOEXEC);
	assert_int_equal(setenv("SCRIPT", script, 1), 0);
	convert_run(&f->converter, &f->request, &ret);
	close(store.fd);
	struct pollfd slot = {.fd = slots.fd, .events = POLLIN};
	assert_int_equal(poll(&slot, 1, 0), 1);
	run_slots_deinit(&slots);
	assert_true(!ret.handle == (ret.verdict != VERDICT_READY));
	assert_int_equal(ret.handle && !ret.handle->in_memory, job_take_cached(f, ".gsym"));
	assert_int_equal(ret.verdict == VERDICT_FAILED_FOREVER, job_take_cached(f, ".failed"));
	free(ret.inputs);
	return ret;
}

TEST_OF(messages, struct job_fixture, f)
{
	static const char exited[] = "the worker exited without a result";
	static const char violated[] = "the worker violated the protocol";
	static const struct {
		const char *script, *heard;
		enum verdict verdict;
		const char *text; /* notes of the image, or what is wrong */
	} table[] = {
		{"done", "", VERDICT_READY, ""},
		{"open fetch done", "", VERDICT_READY, ""},
		{"progress done", "progress ", VERDICT_READY, ""},
		{"warning done", "", VERDICT_READY, "odd"},
		{"missing done", "", VERDICT_READY, "other.debug"},
		{"section done", "", VERDICT_READY, ".init.text"},
		{"segment done", "", VERDICT_READY, "segment"},
		{"failed", "", VERDICT_FAILED_FOREVER, "damaged"},
		/* Without a word, before the order has come or after it. */
		{"leaves", "", VERDICT_CRASHED, exited},
		{"", "", VERDICT_CRASHED, exited},
		{"done crashes", "", VERDICT_CRASHED, "signal 31"},
		/* Nothing follows the last word, and other processes' messages are not its. */
		{"done done hangs", "", VERDICT_CRASHED, violated},
		{"failed open hangs", "", VERDICT_CRASHED, violated},
		{"done progress hangs", "", VERDICT_CRASHED, violated},
		{"identity hangs", "", VERDICT_CRASHED, violated},
		/* One fragment, which may be empty, but not damaged. */
		{"fragment done", "fragment ", VERDICT_READY, ""},
		{"nothing done", "nothing ", VERDICT_READY, ""},
		{"bad-fragment hangs", "", VERDICT_CRASHED, violated},
		{"fragment fragment hangs", "fragment ", VERDICT_CRASHED, violated},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char want[64];
		snprintf(want, sizeof(want), "begins %sends ", table[i].heard);
		struct outcome out = run(f, table[i].script);
		if (out.verdict != table[i].verdict)
			fail_msg("'%s': verdict %d, '%s'", table[i].script, out.verdict, out.diag.text);
		assert_string_equal(heard, want);
		const char *text = out.diag.text;
		if (out.handle) {
			text = strndupa((const char *)out.handle->notes.data, out.handle->notes.size);
			assert_non_null(strstr(said, "converted 'source'"));
			assert_non_null(strstr(said, ": 11 functions"));
			assert_true(out.seconds > 0);
		}
		assert_non_null(strstr(text, table[i].text));
		handle_put(out.handle);
	}
}

TEST_OF(no_worker, struct job_fixture, f)
{
	f->converter.worker = "/none";
	struct outcome out = run(f, "done");
	assert_int_equal(out.verdict, VERDICT_TRANSIENT);
	assert_int_equal(out.err, -EIO);
	assert_string_equal(heard, "");
	job_write_file(f, "source", "changed");
	assert_int_equal(run(f, "done").verdict, VERDICT_REPLACED);
	assert_string_equal(said, "");
}

/* Time that servers take is not charged. */
TEST_OF(too_slow, struct job_fixture, f)
{
	char directory[] = "/";
	struct run_counters counters = {0};
	struct fetcher fetcher = {.counters = &counters,
				  .directory = directory,
				  .worker = "/proc/self/exe",
				  .log = &f->log,
				  .seconds = SECONDS,
				  .stop_fd = -1};
	mutex_init(&fetcher.lock, LOCK_FETCH);
	assert_int_equal(fetch_servers_read(&fetcher, "http://127.0.0.1:1"), 0);
	f->converter.seconds = 1;
	f->converter.fetcher = &fetcher;
	assert_int_equal(run(f, "hangs").verdict, VERDICT_FAILED);
	assert_non_null(strstr(said, "took longer than convert_time=1 seconds"));
	f->converter.search.servers = 1;
	struct outcome out = run(f, "fetch done");
	assert_int_equal(out.verdict, VERDICT_READY);
	assert_true(out.seconds > SERVER_MS / 1000.0);
	handle_put(out.handle);
	fetch_servers_free(&fetcher);
}

/* By the daemon, or for the sake of another file. */
TEST_OF(stopped, struct job_fixture, f)
{
	int stop = eventfd(1, EFD_CLOEXEC);
	for (unsigned own = 0; own < 2; own++) {
		f->converter.stop_fd = own ? -1 : stop;
		f->request.stop_fd = own ? &stop : NULL;
		struct outcome out = run(f, "hangs");
		assert_int_equal(out.verdict, VERDICT_TRANSIENT);
		if (own) /* else none is started */
			assert_int_equal(out.err, -ENOTCONN);
	}
	assert_string_equal(heard, "begins ends ");
	assert_string_equal(said, "stopped converting 'source' (000102030405060708090a0b0c0d0e0f10111213)");
	close(stop);
}

/* Where there is no room in the directory for this file, once more. */
TEST_OF(in_memory, struct job_fixture, f)
{
	f->cache.memory = CACHE_MEMORY_MAX;
	struct outcome out = run(f, "full done");
	assert_int_equal(out.verdict, VERDICT_READY);
	assert_non_null(out.handle->in_memory);
	assert_string_equal(heard, "begins ends begins ends ");
	handle_put(out.handle);
	f->cache.memory = 0;
	out = run(f, "full done");
	assert_int_equal(out.verdict, VERDICT_FAILED);
	assert_int_equal(out.err, -ENOSPC);
	assert_non_null(strstr(said, "make room or set another -o cache=DIR"));
}

/* While a worker converts, the store may still send it. */
TEST_OF(store_and_worker, struct job_fixture, f)
{
	static const struct {
		const char *script;
		enum share_step step;
		bool is_ready;
		unsigned arrives_at;
		const char *heard, *did;
		enum verdict verdict;
	} table[] = {
		{"done", SHARE_CONVERT, false, 0, "begins ends ", "offer end ", VERDICT_READY},
		{"done", SHARE_CONVERT, true, 0, "begins ends ", "offer end ", VERDICT_READY},
		{"failed", SHARE_CONVERT, false, 0, "begins ends ", "offer end ", VERDICT_FAILED_FOREVER},
		{"hangs", SHARE_CONVERT, true, 3, "begins ends ", "adopt offer end ", VERDICT_TRANSIENT},
		{"hangs", SHARE_CONVERT, false, 1, "", "adopt offer end ", VERDICT_TRANSIENT},
		{"hangs", SHARE_TAKEN, false, 0, "", "end ", VERDICT_FAILED_FOREVER},
		{"hangs", SHARE_ELSEWHERE, false, 0, "", "", VERDICT_ELSEWHERE},
	};
	static struct share_turn *turn;
	f->converter.store = &the_store;
	f->request.turn = &turn;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		store.step = table[i].step;
		store.is_ready = table[i].is_ready;
		store.arrives_at = table[i].arrives_at;
		turn = NULL;
		struct outcome out = run(f, table[i].script);
		assert_string_equal(heard, table[i].heard);
		assert_string_equal(store.did, table[i].did);
		assert_int_equal(out.verdict, table[i].verdict);
		assert_int_equal(out.adopted, table[i].arrives_at != 0);
		assert_int_equal(out.offer != NULL, table[i].step == SHARE_CONVERT);
		/* It is kept for the next try. */
		assert_int_equal(turn != NULL, table[i].step == SHARE_ELSEWHERE);
		handle_put(out.handle);
	}
}

EACH_TEST(set_up, job_tear_down)

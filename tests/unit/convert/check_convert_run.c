/* A conversion between its worker and the store: which messages and answers decide it. Linked with --wrap. */
#include "work/run/convert_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/unit.h"
#include "work/cache/failure_record.h"
#include "work/types/convert_types.h"
#include "work/run/convert_job.h"
#include "work/run/job_files.h"
#include "work/run/order.h"
#include "work/run/run_slots.h"
#include "store/share/share_turn.h"
#include "work/run/verdict.h"
#include "work/run/zygote.h"
#include "work/worker/child.h"

/* ---- In place of the worker, the store, and the time ---- */

enum {
	STORE = 1, /* bits of what poll(2) finds readable */
	WORKER = 2,
	STOP = 4,
	FAILS = 8, /* poll(2) itself, with @err */
	STORE_FD = 71,
	WORKER_FD = 72,
	STOP_FD = 73,
	PID = 4711,
	START_MS = 1000000,
	SECONDS = 90, /* the limit of a conversion */
	TEMP_FD = 74,
	FUNCTIONS = 11,
};

struct step {
	unsigned found;
	int err;
	int64_t ms; /* that it takes */
};

struct receipt {
	int got;
	uint32_t type;
};

static struct script {
	int prepare_err, start_err, send_err, take_fragment_err;
	enum share_step share;
	unsigned arrives_at; /* the number of the look at which the store has it, from 1; 0: never */
	bool has_store;
	bool no_room; /* the first time */
	struct step polls[8];
	struct receipt messages[8]; /* then the socket is closed */
} with;

static int64_t now_ms;
static unsigned n_polls, n_messages, n_looks, n_given, n_noted;
static bool slot_taken;
static char did[512], said[512]; /* what was done, a word each; the last line of the log */
static char one_handle;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_job_prepare(struct convert_job *job);
void __wrap_job_close(struct convert_job *job);
int __wrap_job_take_fragment(const struct convert_job *job, const struct worker_fragment *m,
			     struct handle **ret);
int __wrap_job_open_neighbour(struct convert_job *job, const struct child *child,
			      const struct worker_open *m);
int __wrap_job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m);
int __wrap_order_start_worker(struct convert_job *job, int output, struct child *ret);
int __wrap_order_send(const struct convert_job *job, const struct child *child,
		      const struct convert_address *asked, size_t n_asked, bool fragments_only);
int __wrap_child_receive(const struct child *child, int stop_fd, int64_t deadline_ms,
			 union worker_message *ret);
void __wrap_child_kill(const struct child *child);
int __wrap_child_finish(struct child *child, struct rusage *ret_usage);
bool __wrap_run_slot_take(struct run_slots *slots, int event);
void __wrap_run_slot_give(struct run_slots *slots);
void __wrap_zygote_note_end(struct zygote *zygote, int status);
void __wrap_verdict_decide(struct convert_job *job, int why_killed, int status, const struct rusage *usage);
void __wrap_failure_record_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
				 struct span inputs);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	size_t n = strlen(did);
	va_list list;
	va_start(list, fmt);
	if (n)
		did[n++] = ' ';
	vsnprintf(did + n, sizeof(did) - n, fmt, list);
	va_end(list);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static const int expected[] = {STORE_FD, WORKER_FD, STOP_FD};
	assert_true(n_polls < sizeof(with.polls) / sizeof(*with.polls));
	const struct step *step = &with.polls[n_polls++];
	int ready = 0;
	assert_int_equal(n, 3);
	assert_in_range(timeout, 0, 60000);
	note("poll");
	now_ms += step->ms ? step->ms : timeout;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fds[i].fd, expected[i]);
		assert_int_equal(fds[i].events, POLLIN);
		fds[i].revents = step->found >> i & 1 ? POLLIN : 0;
		ready += fds[i].revents != 0;
	}
	errno = step->err;
	return step->found & FAILS ? -1 : ready;
}

int __wrap_job_prepare(struct convert_job *job)
{
	note(job->in_memory ? "prepare-in-memory" : "prepare");
	job->temp.fd = TEMP_FD;
	if (with.prepare_err)
		job_fail(job->out, VERDICT_TRANSIENT, with.prepare_err);
	return with.prepare_err;
}

void __wrap_job_close(struct convert_job *job)
{
	text_deinit(&job->notes);
	text_deinit(&job->inputs);
	note("close");
}

int __wrap_job_take_fragment(const struct convert_job *job, const struct worker_fragment *m,
			     struct handle **ret)
{
	assert_true(job->has_fragment);
	assert_int_equal(m->head.type, WORKER_FRAGMENT);
	if (!with.take_fragment_err)
		*ret = (struct handle *)&one_handle;
	return with.take_fragment_err;
}

int __wrap_job_open_neighbour(struct convert_job *job, const struct child *child, const struct worker_open *m)
{
	assert_true(job && child->sock == WORKER_FD && m->head.type == WORKER_OPEN);
	note("open");
	return 0;
}

int __wrap_job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m)
{
	assert_true(job && child->sock == WORKER_FD && m->head.type == WORKER_FETCH);
	note("fetch");
	job->waited_ms += 1000; /* not charged */
	return 0;
}

int __wrap_order_start_worker(struct convert_job *job, int output, struct child *ret)
{
	assert_int_equal(output, job->temp.fd);
	assert_true(slot_taken);
	note("start");
	*ret = (struct child){.sock = WORKER_FD, .pid = PID};
	return with.start_err;
}

int __wrap_order_send(const struct convert_job *job, const struct child *child,
		      const struct convert_address *asked, size_t n_asked, bool fragments_only)
{
	assert_true(job && child->sock == WORKER_FD && !fragments_only);
	assert_int_equal(n_asked, 1);
	assert_int_equal(asked[0].value, 0x1000);
	return with.send_err;
}

int __wrap_child_receive(const struct child *child, int stop_fd, int64_t deadline_ms,
			 union worker_message *ret)
{
	static const struct receipt closed = {0, 0};
	const struct receipt *next = n_messages < 8 ? &with.messages[n_messages++] : &closed;
	assert_int_equal(child->sock, WORKER_FD);
	assert_int_equal(stop_fd, STOP_FD);
	int64_t waited = strstr(did, "fetch") ? 1000 : 0;
	assert_int_equal(deadline_ms, START_MS + SECONDS * 1000 + waited);
	note("receive");
	if (next->type) {
		memset(ret, 0, sizeof(*ret));
		ret->head.type = next->type;
		ret->progress.done = ret->progress.total = next->type == WORKER_PROGRESS;
		if (next->type == WORKER_DONE)
			ret->done.functions = FUNCTIONS;
	}
	return next->type ? 1 : next->got;
}

void __wrap_child_kill(const struct child *child)
{
	assert_int_equal(child->pid, PID);
	note("kill");
}

int __wrap_child_finish(struct child *child, struct rusage *ret_usage)
{
	assert_int_equal(child->pid, PID);
	ret_usage->ru_maxrss = 7;
	note("finish");
	return 42;
}

static enum share_step store_take(struct convert_job *job, struct share_turn **turn)
{
	if (with.has_store && !*turn)
		*turn = (struct share_turn *)&with;
	if (with.share == SHARE_ELSEWHERE)
		job_fail(job->out, VERDICT_ELSEWHERE, 0);
	if (with.share == SHARE_TAKEN)
		job->out->handle = (struct handle *)&one_handle;
	return with.share;
}

static int store_pending_fd(const struct share_turn *turn)
{
	return turn ? STORE_FD : -1;
}

static bool store_has_arrived(struct convert_job *job, struct share_turn *turn)
{
	assert_true(job && turn);
	return ++n_looks == with.arrives_at;
}

static void store_adopt(struct convert_job *job, struct share_turn *turn)
{
	assert_non_null(turn);
	note("adopt");
	job->out->handle = (struct handle *)&one_handle;
	job->out->adopted = true;
}

static struct share_offer *store_offer(const struct convert_job *job, struct share_turn *turn)
{
	assert_true(job && !turn == !with.has_store);
	note("offer");
	return NULL;
}

static void store_end_turn(struct share *share, struct share_turn *turn)
{
	(void)share;
	if (turn)
		note("end-turn");
}

static const struct result_store the_store = {
	.take = store_take,
	.pending_fd = store_pending_fd,
	.has_arrived = store_has_arrived,
	.adopt = store_adopt,
	.offer = store_offer,
	.end = store_end_turn,
};

bool __wrap_run_slot_take(struct run_slots *slots, int event)
{
	(void)slots;
	assert_int_equal(event, -1);
	slot_taken = true;
	return true;
}

void __wrap_run_slot_give(struct run_slots *slots)
{
	(void)slots;
	assert_true(slot_taken);
	slot_taken = false;
	n_given++;
}

void __wrap_zygote_note_end(struct zygote *zygote, int status)
{
	(void)zygote;
	assert_int_equal(status, 42);
	n_noted++;
}

/* As if only the worker's last word, or why it was killed, decided. */
void __wrap_verdict_decide(struct convert_job *job, int why_killed, int status, const struct rusage *usage)
{
	assert_true(status == 42 && usage->ru_maxrss == 7);
	assert_int_equal(n_noted, 1);
	n_noted = 0;
	note("decide(%s)", strerrorname_np(-why_killed));
	job->no_room = with.no_room && !job->in_memory;
	if (job->no_room)
		job_fail(job->out, VERDICT_TRANSIENT, -ENOSPC);
	else if (!why_killed && job->has_done)
		job->out->handle = (struct handle *)&one_handle;
	else if (!why_killed && job->has_failed)
		job_fail(job->out, VERDICT_FAILED_FOREVER, -EIO);
	else
		job_fail(job->out, VERDICT_CRASHED, why_killed ? why_killed : -EIO);
}

void __wrap_failure_record_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
				 struct span inputs)
{
	(void)cache;
	(void)key;
	(void)text;
	(void)inputs;
	note("record(%s)", strerrorname_np(-err));
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list list;
	(void)log;
	(void)level;
	va_start(list, fmt);
	vsnprintf(said, sizeof(said), fmt, list);
	va_end(list);
}

/* ---- A conversion ---- */

static unsigned last_percent;

static void progress(void *user, unsigned percent)
{
	(void)user;
	note("progress");
	last_percent = percent;
}

static void worker(void *user, pid_t pid)
{
	(void)user;
	note("pid(%d)", (int)pid);
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
	note(handle ? "fragment" : "no-fragment");
}

/* Runs what the script says; @want: what is done. The outcome, whose texts are freed. */
static struct outcome run(const char *want)
{
	const int stop_fd = STOP_FD;
	const struct converter converter = {.store = &the_store, .seconds = SECONDS, .stop_fd = -1};
	struct share_turn *turn = NULL;
	const struct convert_request request = {.id = "0123",
						.source = {.path = "a"},
						.asked = list_asked,
						.fragment = fragment,
						.stop_fd = &stop_fd,
						.progress = progress,
						.worker = worker,
						.turn = &turn};
	struct outcome ret;
	did[0] = said[0] = 0;
	n_polls = n_messages = n_looks = n_given = n_noted = 0;
	now_ms = START_MS;
	convert_run(&converter, &request, &ret);
	assert_string_equal(did, want);
	assert_false(slot_taken);
	assert_true(!ret.handle == (ret.verdict != VERDICT_READY));
	free(ret.inputs);
	return ret;
}

#define BEGIN "prepare start pid(4711) "
#define END   " pid(0) finish "
#define LAST  " offer close"

TEST(messages)
{
	static const struct {
		struct receipt messages[8];
		int take_fragment_err;
		const char *want;
		enum verdict verdict;
	} table[] = {
		{{{0, WORKER_DONE}}, 0, BEGIN "receive receive" END "decide(0)" LAST, VERDICT_READY},
		{{{0, WORKER_OPEN}, {0, WORKER_FETCH}, {0, WORKER_DONE}},
		 0,
		 BEGIN "receive open receive fetch receive receive" END "decide(0)" LAST,
		 VERDICT_READY},
		{{{0, WORKER_PROGRESS}, {0, WORKER_DONE}},
		 0,
		 BEGIN "receive progress receive receive" END "decide(0)" LAST,
		 VERDICT_READY},
		{{{0, WORKER_ODDITY},
		  {0, WORKER_MISSING},
		  {0, WORKER_SECTION},
		  {0, WORKER_SEGMENT},
		  {0, WORKER_DONE}},
		 0,
		 BEGIN "receive receive receive receive receive receive" END "decide(0)" LAST,
		 VERDICT_READY},
		{{{0, WORKER_FAILED}},
		 0,
		 BEGIN "receive receive" END "decide(0) offer record(EIO) close",
		 VERDICT_FAILED_FOREVER},
		/* It went without a word. */
		{{{0, 0}}, 0, BEGIN "receive" END "decide(0)" LAST, VERDICT_CRASHED},
		{{{-ETIMEDOUT, 0}}, 0, BEGIN "receive kill" END "decide(ETIMEDOUT)" LAST, VERDICT_CRASHED},
		/* Nothing follows the last word, and other processes' messages are not its. */
		{{{0, WORKER_DONE}, {0, WORKER_DONE}},
		 0,
		 BEGIN "receive receive kill" END "decide(EPROTO)" LAST,
		 VERDICT_CRASHED},
		{{{0, WORKER_FAILED}, {0, WORKER_OPEN}},
		 0,
		 BEGIN "receive receive kill" END "decide(EPROTO)" LAST,
		 VERDICT_CRASHED},
		{{{0, WORKER_IDENTITY}}, 0, BEGIN "receive kill" END "decide(EPROTO)" LAST, VERDICT_CRASHED},
		/* One fragment, which this machine may have no memory for. */
		{{{0, WORKER_FRAGMENT}, {0, WORKER_DONE}},
		 0,
		 BEGIN "receive fragment receive receive" END "decide(0)" LAST,
		 VERDICT_READY},
		{{{0, WORKER_FRAGMENT}, {0, WORKER_DONE}},
		 -ENOMEM,
		 BEGIN "receive no-fragment receive receive" END "decide(0)" LAST,
		 VERDICT_READY},
		{{{0, WORKER_FRAGMENT}},
		 -EPROTO,
		 BEGIN "receive kill" END "decide(EPROTO)" LAST,
		 VERDICT_CRASHED},
		{{{0, WORKER_FRAGMENT}, {0, WORKER_FRAGMENT}},
		 0,
		 BEGIN "receive fragment receive kill" END "decide(EPROTO)" LAST,
		 VERDICT_CRASHED},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		with = (struct script){.share = SHARE_CONVERT,
				       .take_fragment_err = table[i].take_fragment_err};
		memcpy(with.messages, table[i].messages, sizeof(with.messages));
		assert_int_equal(run(table[i].want).verdict, table[i].verdict);
		assert_int_equal(n_given, 1);
	}
	assert_int_equal(last_percent, 95); /* all is read, nothing written */
}

/* While the store may still send it. */
TEST(either)
{
	static const struct {
		struct step polls[8];
		unsigned arrives_at;
		const char *want;
		bool fetches;
		int64_t ms; /* that all takes */
	} table[] = {
		{{{STORE, 0, 5}}, 2, BEGIN "poll kill" END "adopt offer end-turn close"},
		{{{STORE, 0, 5}, {WORKER, 0, 5}, {WORKER, 0, 5}},
		 0,
		 BEGIN "poll poll receive poll receive" END "decide(0) offer end-turn close"},
		/* A minute without either, or a signal, is no reason to forget the store. */
		{{{0, 0, 0}, {STORE, 0, 5}}, 2, BEGIN "poll poll kill" END "adopt offer end-turn close"},
		{{{FAILS, EINTR, 5}, {STORE, 0, 5}},
		 2,
		 BEGIN "poll poll kill" END "adopt offer end-turn close"},
		/* What is received then says what is wrong. */
		{{{FAILS, ENOMEM, 5}, {WORKER, 0, 5}},
		 0,
		 BEGIN "poll receive poll receive" END "decide(0) offer end-turn close"},
		{{{STOP, 0, 5}, {STOP, 0, 5}},
		 0,
		 BEGIN "poll receive poll receive" END "decide(0) offer end-turn close"},
		/* Until the limit, then nothing; who waited for a server has more time. */
		{{{0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 1}},
		 0,
		 BEGIN "poll poll poll receive poll receive" END "decide(0) offer end-turn close",
		 false,
		 90002},
		{{{WORKER, 0, 5}, {0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 1}},
		 0,
		 BEGIN "poll receive fetch poll poll poll receive poll receive" END
		       "decide(0) offer end-turn close",
		 true,
		 91002},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		with = (struct script){
			.share = SHARE_CONVERT, .has_store = true, .arrives_at = table[i].arrives_at};
		with.messages[0].type = table[i].fetches ? WORKER_FETCH : WORKER_DONE;
		with.messages[1].type = table[i].fetches ? WORKER_DONE : 0;
		memcpy(with.polls, table[i].polls, sizeof(with.polls));
		struct outcome out = run(table[i].want);
		assert_int_equal(out.verdict, VERDICT_READY);
		assert_int_equal(out.adopted, table[i].arrives_at != 0);
		assert_true(out.adopted ? out.seconds == 0 : out.seconds > 0);
		assert_true(!table[i].ms || now_ms == START_MS + table[i].ms);
		assert_non_null(
			strstr(said, out.adopted ? "took 'a' (0123)" : "converted 'a' (0123): 11 functions"));
	}
}

/* What ends it before a worker works. */
TEST(before)
{
	with = (struct script){.prepare_err = -EACCES};
	struct outcome out = run("prepare close");
	assert_true(out.verdict == VERDICT_TRANSIENT && out.err == -EACCES && n_given == 0);
	with = (struct script){.share = SHARE_TAKEN};
	assert_int_equal(run("prepare close").verdict, VERDICT_READY);
	with = (struct script){.share = SHARE_ELSEWHERE, .has_store = true};
	assert_int_equal(run("prepare close").verdict, VERDICT_ELSEWHERE); /* the request has the turn */
	with = (struct script){.share = SHARE_CONVERT, .has_store = true, .arrives_at = 1};
	assert_true(run("prepare adopt offer end-turn close").adopted && n_given == 1);
	with = (struct script){.share = SHARE_CONVERT, .start_err = -EMFILE};
	out = run("prepare start offer close");
	assert_true(out.verdict == VERDICT_TRANSIENT && out.err == -EIO && n_given == 1);
}

/* Its exit status tells why it has gone; what else is wrong with the order does not. */
TEST(order_that_fails)
{
	with = (struct script){.share = SHARE_CONVERT, .send_err = -EPIPE};
	assert_int_equal(run(BEGIN "receive" END "decide(0)" LAST).verdict, VERDICT_CRASHED);
	with = (struct script){.share = SHARE_CONVERT, .send_err = -ENOBUFS};
	assert_int_equal(run(BEGIN "kill" END "decide(ENOBUFS)" LAST).err, -ENOBUFS);
}

/* Where the cache is full, once more. */
TEST(in_memory)
{
	with = (struct script){.share = SHARE_CONVERT,
			       .no_room = true,
			       .messages = {{0, WORKER_DONE}, {0, 0}, {0, WORKER_DONE}}};
	struct outcome out =
		run(BEGIN "receive receive" END "decide(0)" LAST
			  " prepare-in-memory start pid(4711) receive receive" END "decide(0)" LAST);
	assert_true(out.verdict == VERDICT_READY && n_given == 2);
}

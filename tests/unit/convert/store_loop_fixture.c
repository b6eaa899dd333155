#include "store_loop_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum {
	WAKE_FD = 901,
	STOP_FD = 902,
	SOCKET = 903,
	POLLS = 300,
	INBOX = 256,
	SERIALS = 64,
	END_MS = 100, /* after the last event */
};

struct loop_script with;
char did[4096];
unsigned most_at_once;
struct store store;
struct store_call calls[26];

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
static const struct log one_log;
static struct store_counters counters;
static const struct breaker untouched = {.changes = 5, .in_a_row = 1, .until = 1 << 20};
static int64_t now_ms, noted_ms;
static size_t n_events; /* that have happened */
static unsigned n_polls, n_sent, n_inbox, n_left, at_once;
static bool is_woken, is_stopped, holds_lock;
static char names[SERIALS]; /* what the requests of each serial number are */
static struct inbox_message {
	int got; /* what worker_receive() returns */
	union worker_message message;
} inbox[INBOX];

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *fmt, ...)
{
	char *at = did + strlen(did), *end = did + sizeof(did);
	va_list list;
	if (now_ms != noted_ms)
		at += snprintf(at, (size_t)(end - at), "%s%lld:", at > did ? " " : "",
			       (long long)(now_ms - START_MS));
	else
		at += snprintf(at, (size_t)(end - at), "%s", at > did ? " " : "");
	noted_ms = now_ms;
	va_start(list, fmt);
	assert_true(vsnprintf(at, (size_t)(end - at), fmt, list) < end - at - 32);
	va_end(list);
}

static const char *name_of(int err)
{
	static const struct {
		int err;
		const char *name;
	} names_of[] = {
		{0, "ok"},
		{-ENOENT, "ENOENT"},
		{-EEXIST, "EEXIST"},
		{-EIO, "EIO"},
		{-EACCES, "EACCES"},
		{-ENOMEM, "ENOMEM"},
		{-ELIBACC, "ELIBACC"},
		{-ENETDOWN, "ENETDOWN"},
		{-EREMOTEIO, "EREMOTEIO"},
		{-ETIMEDOUT, "ETIMEDOUT"},
		{-ECANCELED, "ECANCELED"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names_of); i++)
		if (names_of[i].err == err)
			return names_of[i].name;
	return strerror(-err);
}

/* ---- Events ---- */

struct store_call *call_of(char letter)
{
	assert_true(letter >= 'a' && letter <= 'z');
	return &calls[letter - 'a'];
}

static char letter_of(const struct store_call *call)
{
	assert_true(call >= calls && call < calls + ARRAY_SIZE(calls));
	return letters[call - calls];
}

struct flight *flight_of(char letter)
{
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (letter == 'P' ? store.flights[i].is_probe : store.flights[i].call == call_of(letter))
			return &store.flights[i];
	return NULL;
}

/* The last number that a request of that name was sent with. */
static uint64_t serial_of(char name)
{
	if (name == 0)
		return 0;
	for (uint64_t i = SERIALS; --i > 0;)
		if (names[i] == name)
			return i;
	return SERIALS;
}

static void ask(const struct loop_event *event) REQUIRES(&store.lock)
{
	static const enum store_operation operations[] = {[GET] = STORE_GET,
							  [HEAD] = STORE_HEAD,
							  [PUT] = STORE_PUT,
							  [DELETE] = STORE_DELETE,
							  [LIST] = STORE_LIST};
	struct store_call *call = call_of(event->call);
	*call = (struct store_call){
		.store = &store, .fd = -1, .event = -1, .ms = event->ms, .started = now_ms};
	call->message.operation = operations[event->what];
	call->message.condition = event->condition;
	call->message.size = event->size ? event->size : ASKED;
	if (event->fd)
		call->fd = event->fd < 0 ? 0 : event->fd;
	call->changes = store.breaker.changes;
	store.n_calls++;
	store_enqueue(&store, call);
	is_woken = true;
}

static void leave(const struct loop_event *event)
{
	struct flight *flight = flight_of(event->call);
	assert_non_null(flight);
	flight->call->state = CALL_DONE;
	store.n_calls--;
	flight->changes = 7;
	flight->call = NULL;
	flight->is_over = true;
	flight->is_watched = event->what == WATCH;
	flight->until = now_ms;
	is_woken = true;
}

static void receive(const struct loop_event *event)
{
	static const uint32_t types[] = {[READY] = WORKER_READY,
					 [OPENED] = WORKER_REPLY,
					 [BEGUN] = WORKER_BEGUN,
					 [REPLY] = WORKER_REPLY,
					 [PROGRESS] = WORKER_PROGRESS};
	struct inbox_message *in = &inbox[n_inbox++];
	assert_true(n_inbox < INBOX);
	*in = (struct inbox_message){.got = 1};
	if (event->what == CLOSED) {
		in->got = event->err;
		return;
	}
	in->message.head.type = types[event->what];
	in->message.head.serial = serial_of(event->call);
	if (event->what == READY)
		in->message.ready.protocol = WORKER_PROTOCOL + event->ms;
	if (event->what == BEGUN)
		in->message.begun.size = event->size;
	if (event->what != OPENED && event->what != REPLY)
		return;
	struct worker_reply *m = &in->message.reply;
	m->error = -event->err;
	m->size = event->size;
	m->now = 11;
	m->modified = 12;
	strcpy(m->etag, "tag");
	if (event->err)
		strcpy(m->text, "why");
}

static void happen(const struct loop_event *event)
{
	mutex_lock(&store.lock);
	switch (event->what) {
	case NOTHING: break;
	case GET:
	case HEAD:
	case PUT:
	case DELETE:
	case LIST: ask(event); break;
	case LEAVE:
	case WATCH: leave(event); break;
	case READY:
	case OPENED:
	case BEGUN:
	case REPLY:
	case PROGRESS:
	case CLOSED: receive(event); break;
	case PREPARE: store.wants_process = is_woken = true; break;
	case ABILITIES: store.wants_abilities = is_woken = true; break;
	case BREAK:
		store.breaker.state = BREAKER_OPEN;
		is_woken = true;
		strcpy(store.reason, "reason");
		break;
	case NEWS:
	case MORE_NEWS:
		store.log_opened = event->what == NEWS;
		store.log_closed = event->what == MORE_NEWS;
		store.breaker.open_ms = 12999;
		strcpy(store.reason, "reason");
		is_woken = true;
		break;
	case STOP: is_stopped = true; break;
	case CLOSE:
		store.is_closing = is_woken = true;
		store.close_by = now_ms + event->ms;
		break;
	}
	mutex_unlock(&store.lock);
}

static const struct loop_event *next_event(void)
{
	static struct loop_event end;
	if (n_events < EVENTS && with.events[n_events].what)
		return &with.events[n_events];
	int64_t last = n_events ? with.events[n_events - 1].at : 0;
	end = (struct loop_event){.at = with.end ? with.end : last + END_MS,
				  .what = store.is_closing ? NOTHING : CLOSE};
	return &end;
}

static int64_t since_start(void)
{
	return now_ms - START_MS;
}

/* All that happens at the same time is seen together. */
static void happen_at(int64_t at)
{
	do {
		const struct loop_event *event = next_event();
		bool is_listed = event->what && n_events < EVENTS && event == &with.events[n_events];
		happen(event);
		if (!is_listed)
			return;
		n_events++;
	} while (n_events < EVENTS && with.events[n_events].what && with.events[n_events].at == at);
}

/* ---- In place of the kernel ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size); /* with _FORTIFY_SOURCE */
int __wrap_eventfd_read(int fd, eventfd_t *ret);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	now_ms += with.clock_step;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

static int look_at(struct pollfd *fds)
{
	fds[0].revents = is_woken ? POLLIN : 0;
	fds[1].revents = fds[1].fd >= 0 && n_inbox ? POLLIN : 0;
	fds[2].revents = fds[2].fd >= 0 && is_stopped ? POLLIN : 0;
	return !!fds[0].revents + !!fds[1].revents + !!fds[2].revents;
}

/* Sleeps from one event to the next, until the thread is concerned or its time is over. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const int64_t end = since_start() + timeout;
	assert_false(holds_lock);
	assert_true(n == 3 && timeout >= 0 && ++n_polls < POLLS);
	at_once = 0;
	assert_int_equal(fds[0].fd, WAKE_FD);
	assert_int_equal(fds[1].fd, store.process.child.pid ? SOCKET : -1);
	assert_int_equal(fds[2].fd, store.sees_stop ? -1 : STOP_FD);
	assert_int_equal(fds[0].events & fds[1].events & fds[2].events, POLLIN);
	if (n_polls <= with.interrupts) {
		fds[0].revents = fds[1].revents = fds[2].revents = POLLIN; /* says nothing */
		errno = EINTR;
		return -1;
	}
	for (;;) {
		const struct loop_event *next = next_event();
		int ready = look_at(fds);
		if (ready)
			return ready;
		if (!next->what || next->at > end) {
			now_ms = START_MS + end;
			note("wake");
			return 0;
		}
		now_ms = START_MS + next->at;
		happen_at(next->at);
	}
}

int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	assert_true(n * sizeof(*fds) <= size);
	return __wrap_poll(fds, n, timeout);
}

int __wrap_eventfd_read(int fd, eventfd_t *ret)
{
	assert_int_equal(fd, WAKE_FD);
	*ret = is_woken;
	is_woken = false;
	return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	assert_false(holds_lock);
	holds_lock = true;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	assert_true(holds_lock);
	holds_lock = false;
	return __real_pthread_mutex_unlock(mutex);
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	char text[200];
	va_list list;
	assert_ptr_equal(log, &one_log);
	assert_false(holds_lock);
	va_start(list, fmt);
	vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	note("log%u(%s)", level, text);
}

/* ---- In place of the process ---- */

int __wrap_store_process_start(struct store_process *process, const char *program,
			       struct worker_store *config, struct gsym_diag *diag);
void __wrap_store_process_kill(struct store_process *process);
void __wrap_store_process_reap(struct store_process *process);
void __wrap_store_process_end(struct store_process *process, unsigned ms);
void __wrap_store_process_note_rate(struct store_process *process, uint64_t bytes, int64_t ms);
unsigned __wrap_store_process_limit(const struct store_process *process, uint64_t bytes);
int __wrap_worker_send(int sock, struct worker_header *head, uint32_t type, int pass);
int __wrap_worker_receive(int sock, union worker_message *ret, int *ret_fd);

void open_process(void)
{
	store.process.child.pid = PID;
	store.process.child.sock = SOCKET;
	store.process.is_open = true;
	store.process.started = store.process.heard = now_ms;
}

int __wrap_store_process_start(struct store_process *process, const char *program,
			       struct worker_store *config, struct gsym_diag *diag)
{
	assert_true(process == &store.process && !process->child.pid && !holds_lock);
	assert_ptr_equal(program, store.program);
	assert_ptr_equal(config, &store.config);
	note("start");
	if (with.start_err)
		return diag_set(diag, with.start_err, "cannot be run");
	open_process();
	process->is_open = false;
	n_inbox = 0;
	return 0;
}

void __wrap_store_process_kill(struct store_process *process)
{
	assert_true(process == &store.process && !holds_lock);
	if (!process->child.pid)
		return;
	note("kill");
	process->child.pid = 0;
	process->n_left = 1;
}

/* Whenever it was not asked before. */
void __wrap_store_process_reap(struct store_process *process)
{
	assert_true(process == &store.process && !holds_lock);
	if (process->n_left && !with.hangs)
		process->n_left = 0;
	n_left = process->n_left;
}

void __wrap_store_process_end(struct store_process *process, unsigned ms)
{
	assert_true(process == &store.process && !holds_lock);
	assert_int_equal(process->n_left, with.hangs ? n_left : 0);
	note("end(%u)", ms);
}

void __wrap_store_process_note_rate(struct store_process *process, uint64_t bytes, int64_t ms)
{
	assert_ptr_equal(process, &store.process);
	note("rate(%llu,%lld)", (unsigned long long)bytes, (long long)ms);
}

unsigned __wrap_store_process_limit(const struct store_process *process, uint64_t bytes)
{
	assert_ptr_equal(process, &store.process);
	return bytes == UINT64_MAX ? LIMIT_ANY_MS : LIMIT_MS + (unsigned)bytes;
}

static void note_request(const struct worker_request *m, int pass)
{
	static const char *const operations[] = {"get", "head", "put", "delete", "list"};
	if (m->operation == WORKER_STORE_PROBE) {
		assert_int_equal(pass, -1);
		names[m->head.serial] = 'P';
		note("P:%u", m->ms);
		return;
	}
	const struct store_call *call =
		(const void *)((const char *)m - offsetof(struct store_call, message));
	assert_int_equal(call->fd, pass);
	assert_int_equal(call->state, CALL_SENT);
	names[m->head.serial] = letter_of(call);
	note("%c:%s:%u%s", letter_of(call), operations[m->operation], m->ms,
	     pass >= 0 && fcntl(pass, F_GETFD) >= 0 ? "+file" : "");
}

int __wrap_worker_send(int sock, struct worker_header *head, uint32_t type, int pass)
{
	assert_int_equal(sock, SOCKET);
	assert_true(head->serial > 0 && head->serial < SERIALS && holds_lock);
	if (++n_sent == with.send_fails_at)
		return -EPIPE;
	if (type == WORKER_CANCEL) {
		assert_int_equal(pass, -1);
		note("cancel:%c", names[head->serial]);
		return 0;
	}
	assert_int_equal(type, WORKER_REQUEST);
	assert_int_equal(names[head->serial], 0);
	note_request((struct worker_request *)head, pass);
	return 0;
}

int __wrap_worker_receive(int sock, union worker_message *ret, int *ret_fd)
{
	assert_true(sock == SOCKET && !ret_fd && !holds_lock);
	if (!n_inbox)
		return -EAGAIN;
	most_at_once = ++at_once > most_at_once ? at_once : most_at_once;
	int got = inbox[0].got;
	*ret = inbox[0].message;
	if (with.floods && with.floods--) {
		inbox[0].message.ready =
			(struct worker_ready){.head = {.type = WORKER_READY}, .protocol = WORKER_PROTOCOL};
		return got;
	}
	memmove(inbox, inbox + 1, --n_inbox * sizeof(*inbox));
	return got;
}

/* ---- Results ---- */

void __wrap_store_call_done(struct store *in, struct store_call *call, const struct store_reply *reply,
			    bool is_news);
void __wrap_store_call_failed(struct store *in, struct store_call *call, int err, const char *text,
			      bool is_news);
void __wrap_store_note_left(struct store *in, unsigned changes, int err, const char *text);
void __wrap_store_probe_done(struct store *in, int err, bool holds);
bool __wrap_store_is_too_slow(struct store *in, const struct flight *flight, int64_t now);

void __wrap_store_call_done(struct store *in, struct store_call *call, const struct store_reply *reply,
			    bool is_news)
{
	assert_true(in == &store && holds_lock);
	assert_true(call->state != CALL_DONE);
	note("%c=%s%s", letter_of(call), name_of(reply->err), is_news ? "!" : "");
	call->reply = *reply;
	call->state = CALL_DONE;
	store.n_calls--;
}

void __wrap_store_call_failed(struct store *in, struct store_call *call, int err, const char *text,
			      bool is_news)
{
	struct store_reply reply = {.err = err};
	snprintf(reply.text, sizeof(reply.text), "%s", text);
	__wrap_store_call_done(in, call, &reply, is_news);
}

void __wrap_store_note_left(struct store *in, unsigned changes, int err, const char *text)
{
	assert_true(in == &store && holds_lock);
	assert_true(!err || *text);
	note("left(%u):%s", changes, name_of(err));
}

void __wrap_store_probe_done(struct store *in, int err, bool holds)
{
	assert_true(in == &store && holds_lock && in->is_probing);
	note("P=%s%s", name_of(err), holds ? "+" : "");
	store.is_probing = false;
	store.probe_at = INT64_MAX;
}

bool __wrap_store_is_too_slow(struct store *in, const struct flight *flight, int64_t now)
{
	assert_true(in == &store && flight->sent <= now);
	assert_int_equal(now, now_ms);
	return !with.is_fast;
}

/* ---- The thread ---- */

int set_up(void **state)
{
	(void)state;
	memset(&with, 0, sizeof(with));
	memset(&store, 0, sizeof(store));
	memset(calls, 0, sizeof(calls));
	memset(names, 0, sizeof(names));
	mutex_init(&store.lock, LOCK_STORE);
	strcpy(store.config.address, "/srv");
	store.log = &one_log;
	store.counters = &counters;
	store.stop_fd = STOP_FD;
	store.wake_fd = WAKE_FD;
	store.last = &store.first;
	store.wait_by = INT64_MAX;
	store.breaker = untouched;
	now_ms = START_MS;
	noted_ms = 0;
	n_events = 0;
	n_polls = n_sent = n_inbox = n_left = most_at_once = at_once = 0;
	is_woken = is_stopped = holds_lock = false;
	*did = 0;
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	mutex_destroy(&store.lock);
	return 0;
}

void expect(const char *want)
{
	assert_null(store_loop(&store));
	assert_string_equal(did, want);
	assert_int_equal(store.n_calls, 0);
	assert_null(store.first);
	assert_int_equal(store.breaker.changes, untouched.changes); /* it is only looked at */
	assert_int_equal(store.breaker.in_a_row, untouched.in_a_row);
	assert_int_equal(store.breaker.until, untouched.until);
	tear_down(NULL);
	set_up(NULL);
}

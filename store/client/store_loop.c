/*
 * The thread of the client: sends what is queued, takes answers, and ends what takes too long.
 *
 * It trusts the process with nothing but the content of files: a message that violates the protocol ends it.
 * The engines of the process have limits of their own, which are shorter than those here; these are for a
 * process that is stopped, or hangs in the kernel.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/client/store_call.h"
#include "gsym/base/diag.h"

enum {
	OPEN_MS = 20000,      /* until the process says that it can use the store */
	FIRST_BYTE_MS = 4000, /* of an answer: 1 s to connect, 2 s to wait, 1 s for this machine */
	GRACE_MS = 1000,      /* after the limit that the engine was given */
	PROBE_MS = 10000,
	STUCK_MS = 5000,    /* a process that says nothing for so long when an answer is due is killed */
	LAST_WAIT_MS = 200, /* for the process to end when the client does */
	REAP_MS = 1000,
	POLL_MAX_MS = 60000,
	MESSAGES_MAX = 64,
	REAP_POLL_MS = 1,
	BODY_MS = 600000, /* of a request with a body; engines end one that stands still long before */
	BARE_MS = 10000,  /* of others */
};

static const char ended[] = "the process of the store has ended", late[] = "no answer in time",
		  canceled[] = "cancelled";

/* ---- The process ---- */

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

static void reap(struct store_process *process)
{
	unsigned n = 0;
	for (unsigned i = 0; i < process->n_left; i++)
		if (!has_ended(process->left[i]))
			process->left[n++] = process->left[i];
	process->n_left = n;
}

static void await_end(struct store_process *process, unsigned ms)
{
	for (int64_t until = monotonic_ms() + ms;;) {
		reap(process);
		if (!process->n_left || monotonic_ms() >= until)
			return;
		poll(NULL, 0, REAP_POLL_MS);
	}
}

/* Forgets the process, which is to end. */
static void forget_process(struct store_process *process)
{
	close(process->child.sock);
	process->left[process->n_left++] = process->child.pid;
	process->child.pid = 0;
}

static void end_process(struct store_process *process, unsigned ms)
{
	if (process->child.pid)
		forget_process(process);
	await_end(process, ms);
	for (unsigned i = 0; i < process->n_left; i++)
		kill(process->left[i], SIGKILL);
	await_end(process, ms);
}

static int spawn_process(struct store_process *process, const char *program, struct worker_store *config,
			 struct gsym_diag *diag)
{
	const struct child_order order = {
		.program = program, .mode = "store", .stop_fd = -1, .has_credentials = true};
	reap(process);
	if (process->n_left == STORE_PROCESSES_MAX)
		return diag_set(diag, -EBUSY, "%u processes of the store were killed and do not end",
				process->n_left);
	int err = child_spawn(&order, &process->child, diag);
	if (err)
		return err;
	process->is_open = false;
	process->started = process->heard = monotonic_ms();
	/* If it has ended already, that is noticed when its answer is waited for. */
	worker_send(process->child.sock, &config->head, WORKER_STORE, -1);
	return 0;
}

static void kill_process(struct store_process *process)
{
	if (!process->child.pid)
		return;
	child_kill(&process->child);
	forget_process(process);
	reap(process);
}

/* ---- Ending what is under way ---- */

/* The request is over, but not for the process. */
static void abandon(struct flight *flight)
{
	flight->call = NULL;
	flight->is_over = true;
	flight->until = monotonic_ms();
}

static void end_flight(struct store *store, struct flight *flight, int err, const char *text, bool is_news)
	REQUIRES(&store->lock)
{
	struct store_call *call = flight->call;
	bool is_probe = flight->is_probe && !flight->is_over;
	abandon(flight);
	if (call)
		store_call_failed(store, call, err, text, is_news);
	if (is_probe)
		store_probe_done(store, err, false, text);
}

/* The process is gone: a failure, but one, however many requests were under way. */
static void end_flights(struct store *store, int err, const char *text) REQUIRES(&store->lock)
{
	bool is_news = true;
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++) {
		bool has_call = store->flights[i].call;
		if (store->flights[i].serial)
			end_flight(store, &store->flights[i], err, text, is_news);
		store->flights[i] = (struct flight){0};
		is_news = is_news && !has_call;
	}
	store->probe_at = 0; /* what the engine has found out is lost with it */
}

/* Likewise all that waits to be sent. */
static void end_queue(struct store *store, int err, const char *text) REQUIRES(&store->lock)
{
	bool is_news = true;
	for (struct store_call *call; (call = store_dequeue(store)); is_news = false)
		store_call_failed(store, call, err, text, is_news);
}

/* What only reads has no use when the client ends; what writes may spare other hosts work. */
static bool writes(const struct store_call *call)
{
	return call->message.operation == STORE_PUT || call->message.operation == STORE_DELETE;
}

static void cancel_readers(struct store *store) REQUIRES(&store->lock)
{
	struct store_call *next;
	for (struct store_call *call = store->first; call; call = next) {
		next = call->next;
		if (writes(call))
			continue;
		store_remove(store, call);
		store_call_failed(store, call, -ECANCELED, canceled, false);
	}
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (store->flights[i].call && !writes(store->flights[i].call))
			end_flight(store, &store->flights[i], -ECANCELED, canceled, false);
}

/* A probe that is ended in the middle leaves its object in the store. */
static bool has_writers(const struct store *store) REQUIRES(&store->lock)
{
	if (store->is_probing)
		return true;
	for (const struct store_call *call = store->first; call; call = call->next)
		if (writes(call))
			return true;
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (store->flights[i].call && writes(store->flights[i].call))
			return true;
	return false;
}

/* It ended, or is to end. @all: what waits to be sent fails as well, since the next would fare no better. */
static void lose_process(struct store *store, int err, const char *text, bool all)
{
	kill_process(&store->process);
	mutex_lock(&store->lock);
	end_flights(store, err, text);
	if (all)
		end_queue(store, err, text);
	mutex_unlock(&store->lock);
}

static void start_process(struct store *store)
{
	struct gsym_diag diag = {""};
	if (!spawn_process(&store->process, store->program, &store->config, &diag))
		return;
	mutex_lock(&store->lock);
	end_queue(store, -EREMOTEIO, diag.text);
	mutex_unlock(&store->lock);
}

/* ---- Sending ---- */

static struct flight *free_flight(struct store *store) REQUIRES(&store->lock)
{
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (!store->flights[i].serial)
			return &store->flights[i];
	return NULL;
}

/* What is left of the limit that the caller gave, of which waiting is a part; or that of its kind. */
static unsigned limit_of(const struct store_call *call)
{
	const unsigned operation = call->message.operation;
	int64_t left = call->ms ? call->started + call->ms - monotonic_ms() : 0;
	if (!call->ms)
		return operation == STORE_GET || operation == STORE_PUT ? BODY_MS : BARE_MS;
	return left < 1 ? 1 : (unsigned)left;
}

static int send_call(struct store *store, struct flight *flight, struct store_call *call)
	REQUIRES(&store->lock)
{
	struct worker_request *m = &call->message;
	m->ms = limit_of(call);
	m->head.serial = ++store->serial;
	*flight = (struct flight){.serial = store->serial, .call = call, .sent = monotonic_ms()};
	flight->until = flight->sent + m->ms + GRACE_MS;
	call->state = CALL_SENT;
	int err = worker_send(store->process.child.sock, &m->head, WORKER_REQUEST, call->fd);
	if (call->fd >= 0)
		close(call->fd);
	call->fd = -1;
	return err;
}

static int send_probe(struct store *store, struct flight *flight) REQUIRES(&store->lock)
{
	struct worker_request m = {.operation = WORKER_STORE_PROBE, .ms = PROBE_MS};
	m.head.serial = ++store->serial;
	*flight = (struct flight){.serial = store->serial, .is_probe = true, .sent = monotonic_ms()};
	flight->until = flight->sent + m.ms + GRACE_MS;
	store->is_probing = true;
	return worker_send(store->process.child.sock, &m.head, WORKER_REQUEST, -1);
}

static int send_cancels(struct store *store) REQUIRES(&store->lock)
{
	int err = 0;
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS && !err; i++) {
		struct flight *flight = &store->flights[i];
		struct worker_cancel m = {.head.serial = flight->serial};
		if (!flight->is_over || flight->is_canceled)
			continue;
		flight->is_canceled = true;
		err = worker_send(store->process.child.sock, &m.head, WORKER_CANCEL, -1);
	}
	return err;
}

/* Who only reads leaves nothing in a store, not even for a moment. */
static bool wants_probe(const struct store *store) REQUIRES(&store->lock)
{
	return store->wants_abilities && !store->is_probing && !store->is_stopped &&
	       store->breaker.state == BREAKER_CLOSED && monotonic_ms() >= store->probe_at;
}

/* So that objects of a server without conditions are written on none. */
static bool waits_for_probe(const struct store *store, const struct store_call *call) REQUIRES(&store->lock)
{
	return store->is_probing && call->message.operation == STORE_PUT &&
	       call->message.condition == STORE_IF_ABSENT;
}

static struct store_call *next_call(struct store *store) REQUIRES(&store->lock)
{
	struct store_call *call = store->first;
	while (call && waits_for_probe(store, call))
		call = call->next;
	if (call)
		store_remove(store, call);
	return call;
}

static int send_queued(struct store *store) REQUIRES(&store->lock)
{
	struct flight *flight;
	struct store_call *call;
	int err = send_cancels(store);
	if (!err && wants_probe(store) && (flight = free_flight(store)))
		err = send_probe(store, flight);
	while (!err && (flight = free_flight(store)) && (call = next_call(store)))
		err = send_call(store, flight, call);
	return err;
}

/* ---- Receiving ---- */

static struct flight *find_flight(struct store *store, uint64_t serial) REQUIRES(&store->lock)
{
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (serial && store->flights[i].serial == serial)
			return &store->flights[i];
	return NULL;
}

/* The server answers @flight now. */
static void note_begun(struct store *store, struct flight *flight) REQUIRES(&store->lock)
{
	const int64_t now = monotonic_ms();
	if (!flight->begun && now - flight->sent < STORE_OVERDUE_MS)
		store->prompt = now;
	flight->begun = true;
}

static int take_begun(struct store *store, struct flight *flight, uint64_t size) REQUIRES(&store->lock)
{
	if (flight->begun)
		return -EPROTO;
	note_begun(store, flight);
	if (flight->call)
		flight->call->body = size;
	return 0;
}

static bool is_possible(const struct worker_request *request, const struct worker_reply *m)
{
	return m->error || request->operation != STORE_GET || m->size <= request->size;
}

static int take_reply(struct store *store, struct flight *flight, const struct worker_reply *m)
	REQUIRES(&store->lock)
{
	static_assert(sizeof(m->etag) == STORE_ETAG_SIZE, "one size");
	struct store_call *call = flight->call;
	struct store_reply reply = {
		.err = -m->error, .size = m->size, .now = m->now, .modified = m->modified};
	if (call && !is_possible(&call->message, m))
		return -EPROTO;
	memcpy(reply.etag, m->etag, sizeof(reply.etag));
	memcpy(reply.text, m->text, sizeof(reply.text));
	if (store_is_answer(reply.err))
		note_begun(store, flight);
	if (call)
		store_call_done(store, call, &reply, true);
	else if (flight->is_probe && !flight->is_over)
		store_probe_done(store, reply.err, m->size == 1, reply.text);
	*flight = (struct flight){0};
	return 0;
}

/* 0; -ESTALE: the process is of no use any more; another errno: it cannot open the store; -EPROTO. */
static int take_message(struct store *store, const union worker_message *msg) REQUIRES(&store->lock)
{
	struct flight *flight = find_flight(store, msg->head.serial);
	if (msg->head.type == WORKER_READY)
		return msg->ready.protocol == WORKER_PROTOCOL ? 0 : -EPROTO;
	if (msg->head.type == WORKER_REPLY && !msg->head.serial && !store->process.is_open) {
		store->process.is_open = !msg->reply.error;
		return -msg->reply.error;
	}
	if (!flight || !store->process.is_open)
		return -EPROTO;
	if (msg->head.type == WORKER_REPLY && msg->reply.error == ESTALE)
		return -ESTALE;
	if (msg->head.type == WORKER_REPLY)
		return take_reply(store, flight, &msg->reply);
	if (msg->head.type != WORKER_BEGUN)
		return -EPROTO;
	return take_begun(store, flight, msg->begun.size);
}

/*
 * Why the process cannot use the store, as an error of requests: what says that no object is there, or that
 * none may be written, would be no failure, and each request would start a process.
 */
static int open_error(int err)
{
	return err == -ELIBACC || err == -ENOMEM ? err : -EREMOTEIO;
}

/* What it has open is the store no more: the next request has another open what is at the address now. */
static void leave_process(struct store *store, const char *why)
{
	log_warning(store->log, "store '%s': %s: opening it again", store->config.address, why);
	lose_process(store, -EREMOTEIO, why, false);
}

/* Takes what has come, but not for ever from a process that never ends to speak. */
static void receive(struct store *store)
{
	union worker_message msg;
	for (unsigned i = 0; i < MESSAGES_MAX && store->process.child.pid; i++) {
		int got = worker_receive(store->process.child.sock, &msg, NULL);
		if (got == -EAGAIN)
			return;
		if (got != 1) {
			lose_process(store, -EREMOTEIO, ended, !store->process.is_open);
			return;
		}
		store->process.heard = monotonic_ms();
		mutex_lock(&store->lock);
		int err = take_message(store, &msg);
		mutex_unlock(&store->lock);
		if (err && msg.head.type == WORKER_REPLY && !msg.head.serial && err != -EPROTO)
			lose_process(store, open_error(err), msg.reply.text, true);
		else if (err == -ESTALE)
			leave_process(store, msg.reply.text);
		else if (err)
			lose_process(store, -EREMOTEIO,
				     "the process of the store is not of this version, "
				     "or violates the protocol",
				     true);
	}
}

/* ---- Time ---- */

/* When @flight is too late. */
static int64_t due(const struct flight *flight)
{
	if (flight->is_over)
		return flight->until + STUCK_MS;
	bool waits = flight->call && !flight->begun && flight->call->message.operation != STORE_PUT;
	int64_t first = flight->sent + FIRST_BYTE_MS;
	return waits && first < flight->until ? first : flight->until;
}

static void expire_queue(struct store *store, int64_t now) REQUIRES(&store->lock)
{
	struct store_call *next;
	for (struct store_call *call = store->first; call; call = next) {
		next = call->next;
		if (!call->ms || now < call->started + call->ms)
			continue;
		store_remove(store, call);
		store_call_failed(store, call, -ETIMEDOUT, late, false);
	}
}

/* Ends what is late. True if the process is stuck: it owes answers, and says nothing, or can take no more. */
static bool expire(struct store *store, int64_t now) REQUIRES(&store->lock)
{
	bool is_silent = false, has_room = false;
	expire_queue(store, now);
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++) {
		struct flight *flight = &store->flights[i];
		bool is_late = flight->serial && now > due(flight);
		has_room |= !flight->serial || !flight->is_over || !is_late;
		is_silent |= is_late && flight->is_over && store->process.heard <= flight->until;
		if (is_late && !flight->is_over)
			end_flight(store, flight, -ETIMEDOUT, late, true);
	}
	if (store->process.child.pid && !store->process.is_open)
		return now > store->process.started + OPEN_MS;
	return is_silent || !has_room;
}

static void earlier(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

/* How long there is nothing to do unless something happens, ms. */
static int rest(const struct store *store, int64_t now) REQUIRES(&store->lock)
{
	int64_t at = now + (store->process.n_left ? REAP_MS : POLL_MAX_MS);
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		if (store->flights[i].serial && due(&store->flights[i]) >= now)
			earlier(&at,
				due(&store->flights[i]) + 1); /* one that hangs alone is not waited for */
	for (const struct store_call *call = store->first; call; call = call->next)
		if (call->ms)
			earlier(&at, call->started + call->ms);
	if (store->process.child.pid && !store->process.is_open)
		earlier(&at, store->process.started + OPEN_MS + 1);
	if (store->is_closing)
		earlier(&at, store->close_by);
	return at > now ? (int)(at - now) : 0;
}

/* ---- The loop ---- */

static void say(struct store *store, bool opened, bool closed, const char *reason, int64_t ms)
{
	if (opened)
		log_warning(store->log, "store '%s': not used for %lld s: %s", store->config.address,
			    (long long)ms / 1000, reason);
	if (closed)
		log_info(store->log, "store '%s': used again", store->config.address);
}

static void take_news(struct store *store)
{
	char reason[sizeof(store->reason)];
	mutex_lock(&store->lock);
	bool opened = store->log_opened, closed = store->log_closed;
	int64_t ms = store->breaker.open_ms;
	memcpy(reason, store->reason, sizeof(reason));
	store->log_opened = store->log_closed = false;
	mutex_unlock(&store->lock);
	say(store, opened, closed, reason, ms);
}

/* Waits for the process, for requests, and for the end. */
static void await(struct store *store, int ms)
{
	const bool has_process = store->process.child.pid != 0;
	struct pollfd fds[] = {
		{.fd = store->wake_fd, .events = POLLIN},
		{.fd = has_process ? store->process.child.sock : -1, .events = POLLIN},
		{.fd = store->sees_stop ? -1 : store->stop_fd, .events = POLLIN},
	};
	eventfd_t count;
	if (poll(fds, 3, ms) <= 0)
		return;
	if (fds[0].revents)
		(void)eventfd_read(store->wake_fd, &count);
	if (fds[1].revents)
		receive(store);
	if (!fds[2].revents)
		return;
	store->sees_stop = true;
	mutex_lock(&store->lock);
	store->is_stopped = true;
	mutex_unlock(&store->lock);
}

/* One round. False at the end. */
static bool step(struct store *store)
{
	const int64_t now = monotonic_ms();
	int err = 0;
	mutex_lock(&store->lock);
	if (store->is_stopped || store->is_closing)
		cancel_readers(store);
	bool is_stuck = expire(store, now);
	if (store->breaker.state == BREAKER_OPEN)
		end_queue(store, -ENETDOWN, store->reason);
	bool goes_on = !store->is_closing || (has_writers(store) && now < store->close_by);
	if (store->process.is_open && store->process.child.pid && !is_stuck)
		err = send_queued(store);
	bool is_wanted = store->first != NULL || store->wants_process;
	store->wants_process = false;
	int ms = rest(store, now);
	mutex_unlock(&store->lock);
	if (is_stuck || err)
		lose_process(store, is_stuck ? -ETIMEDOUT : -EREMOTEIO, is_stuck ? late : ended,
			     !store->process.is_open);
	else if (goes_on && is_wanted && !store->process.child.pid)
		start_process(store);
	else if (goes_on)
		await(store, ms);
	reap(&store->process);
	take_news(store);
	return goes_on;
}

void *store_loop(void *arg)
{
	struct store *store = arg;
	while (step(store))
		;
	mutex_lock(&store->lock);
	end_flights(store, -ECANCELED, canceled);
	end_queue(store, -ECANCELED, canceled);
	mutex_unlock(&store->lock);
	end_process(&store->process, LAST_WAIT_MS);
	return NULL;
}

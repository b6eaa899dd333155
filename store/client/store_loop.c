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
	STUCK_MS = 5000,      /* a process that says nothing for so long when an answer is due is killed */
	LAST_WAIT_MS = 200,   /* for the process to end when the client does */
	TICK_MS = 100,        /* limits are looked at as often */
	REAP_MS = 1000,
	POLL_MAX_MS = 60000,
	MESSAGES_MAX = 64,
	REAP_POLL_MS = 1,
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

/*
 * Ends the calls that were sent, or those that wait for it, or both; the process owes no answer to the first
 * any more. That is a failure, but one, however many they are.
 */
static void end_calls(struct store *store, bool sent, bool queued, int err, const char *text)
	REQUIRES(&store->lock)
{
	bool is_news = true;
	LIST_EACH(struct store_call, call, &store->calls) {
		if (call->sent ? !sent : !queued)
			continue;
		if (!call->over) {
			store_call_failed(store, call, err, text, is_news);
			is_news = false;
		}
		store_call_unlist(store, call);
	}
}

static void cancel_readers(struct store *store) REQUIRES(&store->lock)
{
	LIST_EACH(struct store_call, call, &store->calls) {
		if (call->over || store_writes(call->message.operation))
			continue;
		store_call_failed(store, call, -ECANCELED, canceled, false);
		if (!call->sent)
			store_call_unlist(store, call);
	}
}

static bool has_writers(struct store *store) REQUIRES(&store->lock)
{
	LIST_EACH(struct store_call, call, &store->calls)
		if (!call->over && store_writes(call->message.operation))
			return true;
	return false;
}

/* It ended, or is to end. @all: what waits to be sent fails as well, since the next would fare no better. */
static void lose_process(struct store *store, int err, const char *text, bool all)
{
	kill_process(&store->process);
	mutex_lock(&store->lock);
	end_calls(store, true, all, err, text);
	mutex_unlock(&store->lock);
}

static void start_process(struct store *store)
{
	struct gsym_diag diag = {""};
	if (!spawn_process(&store->process, store->program, &store->config, &diag))
		return;
	mutex_lock(&store->lock);
	end_calls(store, true, true, -EREMOTEIO, diag.text);
	mutex_unlock(&store->lock);
}

/* ---- Sending ---- */

static int send_call(struct store *store, struct store_call *call) REQUIRES(&store->lock)
{
	call->message.head.serial = ++store->serial;
	call->sent = monotonic_ms();
	int err = worker_send(store->process.child.sock, &call->message.head, WORKER_REQUEST, call->fd);
	if (call->fd >= 0)
		close(call->fd);
	call->fd = -1;
	return err;
}

static int send_cancel(struct store *store, struct store_call *call) REQUIRES(&store->lock)
{
	struct worker_cancel m = {.head.serial = call->message.head.serial};
	call->is_canceled = true;
	return worker_send(store->process.child.sock, &m.head, WORKER_CANCEL, -1);
}

static int send_all(struct store *store) REQUIRES(&store->lock)
{
	unsigned n = 0;
	int err = 0;
	LIST_EACH(struct store_call, call, &store->calls) {
		if (call->sent && call->over && !call->is_canceled)
			err = send_cancel(store, call);
		else if (!call->sent && n < WORKER_STORE_TRANSFERS)
			err = send_call(store, call);
		if (err)
			return err;
		n += call->sent != 0;
	}
	return 0;
}

/* ---- Receiving ---- */

static struct store_call *find_sent(struct store *store, uint64_t serial) REQUIRES(&store->lock)
{
	LIST_EACH(struct store_call, call, &store->calls)
		if (call->sent && call->message.head.serial == serial)
			return call;
	return NULL;
}

/* The server answers @call now. */
static void note_begun(struct store *store, struct store_call *call) REQUIRES(&store->lock)
{
	const int64_t now = monotonic_ms();
	if (!call->begun && now - call->sent < STORE_OVERDUE_MS)
		store->prompt = now;
	call->begun = true;
}

static bool is_possible(const struct worker_request *request, const struct worker_reply *m)
{
	return m->error || request->operation != STORE_GET || m->size <= request->size;
}

static int take_reply(struct store *store, struct store_call *call, const struct worker_reply *m)
	REQUIRES(&store->lock)
{
	static_assert(sizeof(m->etag) == STORE_ETAG_SIZE, "one size");
	struct store_reply reply = {
		.err = -m->error, .size = m->size, .now = m->now, .modified = m->modified};
	if (!is_possible(&call->message, m))
		return -EPROTO;
	memcpy(reply.etag, m->etag, sizeof(reply.etag));
	memcpy(reply.text, m->text, sizeof(reply.text));
	if (store_is_answer(reply.err))
		note_begun(store, call);
	if (!call->over)
		store_call_over(store, call, &reply, true);
	store_call_unlist(store, call);
	return 0;
}

/* 0; -ESTALE: the process is of no use any more; another errno: it cannot open the store; -EPROTO. */
static int take_message(struct store *store, const union worker_message *msg) REQUIRES(&store->lock)
{
	struct store_call *call = find_sent(store, msg->head.serial);
	if (msg->head.type == WORKER_READY)
		return msg->ready.protocol == WORKER_PROTOCOL ? 0 : -EPROTO;
	if (msg->head.type == WORKER_REPLY && !msg->head.serial && !store->process.is_open) {
		store->process.is_open = !msg->reply.error;
		return -msg->reply.error;
	}
	if (!call || !store->process.is_open)
		return -EPROTO;
	if (msg->head.type == WORKER_REPLY && msg->reply.error == ESTALE)
		return -ESTALE;
	if (msg->head.type == WORKER_REPLY)
		return take_reply(store, call, &msg->reply);
	if (msg->head.type != WORKER_BEGUN || call->begun)
		return -EPROTO;
	note_begun(store, call);
	return 0;
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

/* When the answer to @call is too late. */
static int64_t due(const struct store_call *call)
{
	bool waits = !call->begun && call->message.operation != STORE_PUT;
	return call->sent + (waits ? FIRST_BYTE_MS : (int64_t)call->message.ms + GRACE_MS);
}

/*
 * Ends what is late. True if the process is stuck: it says nothing though it owes an answer, or can take no
 * more. One transfer that hangs alone, as that of a file may, is not waited for.
 */
static bool expire(struct store *store, int64_t now) REQUIRES(&store->lock)
{
	bool is_silent = false;
	unsigned n_hanging = 0;
	LIST_EACH(struct store_call, call, &store->calls) {
		if (call->sent && !call->over && now > due(call))
			store_call_failed(store, call, -ETIMEDOUT, late, true);
		if (!call->sent || !call->over || now <= call->over + STUCK_MS)
			continue;
		n_hanging++;
		is_silent |= store->process.heard <= call->over;
	}
	if (store->process.child.pid && !store->process.is_open)
		return now > store->process.started + OPEN_MS;
	return is_silent || n_hanging == WORKER_STORE_TRANSFERS;
}

/* How long there is nothing to do unless something happens, ms. */
static int rest(const struct store *store) REQUIRES(&store->lock)
{
	bool is_opening = store->process.child.pid && !store->process.is_open;
	if (!list_empty(&store->calls) || is_opening || store->is_closing)
		return TICK_MS;
	return store->process.n_left ? REAP_MS : POLL_MAX_MS;
}

/* ---- The loop ---- */

/* Logs what the breaker did, without the lock. */
static void log_news(struct store *store)
{
	char reason[sizeof(store->reason)];
	mutex_lock(&store->lock);
	bool opened = store->log_opened, closed = store->log_closed;
	long long seconds = store->breaker.open_ms / 1000;
	memcpy(reason, store->reason, sizeof(reason));
	store->log_opened = store->log_closed = false;
	mutex_unlock(&store->lock);
	if (opened)
		log_warning(store->log, "store '%s': not used for %lld s: %s", store->config.address, seconds,
			    reason);
	if (closed)
		log_info(store->log, "store '%s': used again", store->config.address);
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
		end_calls(store, false, true, -ENETDOWN, store->reason);
	bool goes_on = !store->is_closing || (has_writers(store) && now < store->close_by);
	if (store->process.is_open && store->process.child.pid && !is_stuck)
		err = send_all(store);
	bool is_wanted = !list_empty(&store->calls) || store->wants_process;
	store->wants_process = false;
	int ms = rest(store);
	mutex_unlock(&store->lock);
	if (is_stuck || err)
		lose_process(store, is_stuck ? -ETIMEDOUT : -EREMOTEIO, is_stuck ? late : ended,
			     !store->process.is_open);
	else if (goes_on && is_wanted && !store->process.child.pid)
		start_process(store);
	else if (goes_on)
		await(store, ms);
	reap(&store->process);
	log_news(store);
	return goes_on;
}

void *store_loop(void *arg)
{
	struct store *store = arg;
	while (step(store))
		;
	mutex_lock(&store->lock);
	end_calls(store, true, true, -ECANCELED, canceled);
	mutex_unlock(&store->lock);
	end_process(&store->process, LAST_WAIT_MS);
	return NULL;
}

/*
 * Requests in the queue and at their end, and what a result means: for the counters, the breaker, and what
 * the server is known to be able to do.
 */
#include "store/client/store_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gsym/base/invariant.h"
#include "gsym/base/fault.h"

enum { READ_ONLY_MS = 600000, PROBE_AGAIN_MS = 60000 };

/* ---- What is kept ---- */

static void free_store(struct store *store)
{
	if (store->wake_fd >= 0)
		close(store->wake_fd);
	pthread_cond_destroy(&store->ended);
	mutex_destroy(&store->lock);
	free(store->program);
	free(store);
}

void store_release(struct store *store)
{
	if (atomic_fetch_sub(&store->refs, 1) == 1)
		free_store(store);
}

void store_call_free(struct store_call *call)
{
	if (call->fd >= 0)
		close(call->fd);
	if (call->event >= 0)
		close(call->event);
	if (call->store)
		store_release(call->store);
	free(call);
}

/* ---- The queue ---- */

void store_enqueue(struct store *store, struct store_call *call)
{
	call->next = NULL;
	*store->last = call;
	store->last = &call->next;
}

void store_remove(struct store *store, struct store_call *call)
{
	struct store_call **at = &store->first;
	while (*at != call) {
		invariant(*at);
		at = &(*at)->next;
	}
	*at = call->next;
	if (!*at)
		store->last = at;
}

struct store_call *store_dequeue(struct store *store)
{
	struct store_call *call = store->first;
	if (call)
		store_remove(store, call);
	return call;
}

bool store_is_overdue(const struct flight *flight, int64_t now)
{
	return !flight->begun && now - flight->sent >= STORE_OVERDUE_MS;
}

bool store_is_too_slow(struct store *store, const struct flight *flight, int64_t now)
{
	if (now - store->prompt < STORE_OVERDUE_MS || flight->sent < store->late)
		return false;
	store->late = now;
	return true;
}

/* ---- Results ---- */

static enum store_result result_of(int err)
{
	switch (err) {
	case 0: return STORE_OK;
	case -ENOENT: return STORE_MISSING;
	case -EEXIST:
	case -EAGAIN: return STORE_CONDITION;
	case -EACCES: return STORE_FORBIDDEN;
	case -EBADMSG:
	case -EFBIG: return STORE_DAMAGED;
	case -ETIMEDOUT: return STORE_LATE;
	case -ENETDOWN: return STORE_SKIPPED;
	case -ECANCELED: return STORE_CANCELED;
	default: return STORE_FAILED;
	}
}

void store_count(struct store *store, unsigned operation, int err)
{
	atomic_fetch_add_explicit(&store->counters->requests[operation][result_of(err)], 1,
				  memory_order_relaxed);
}

static void count(struct store *store, const struct store_call *call, const struct store_reply *reply)
{
	struct store_counters *c = store->counters;
	const struct worker_request *m = &call->message;
	store_count(store, m->operation, reply->err);
	atomic_fetch_add_explicit(&c->milliseconds, (uint64_t)(monotonic_ms() - call->started),
				  memory_order_relaxed);
	if (!reply->err && m->operation == STORE_PUT)
		atomic_fetch_add_explicit(&c->sent, m->size, memory_order_relaxed);
	if (!reply->err && m->operation == STORE_GET)
		atomic_fetch_add_explicit(&c->received, call->body ? call->body : reply->size,
					  memory_order_relaxed);
}

/* Whether the server failed; 0 if it did not, and -1 if this says nothing of it. */
static int verdict(int err)
{
	if (!err || err == -EEXIST || err == -EAGAIN) /* another host was first */
		return 0;
	switch (fault_of(err)) {
	case FAULT_NETWORK: return err == -ENETDOWN ? -1 : 1; /* -ENETDOWN: it was not asked */
	case FAULT_FILE:
	case FAULT_LIMIT:
	case FAULT_ABSENT:
	case FAULT_DENIED: return err == -EPERM ? -1 : 0; /* -EPERM: a rule of this machine */
	default:
		return err == -ELIBACC ? 1
				       : -1; /* -ELIBACC: nor does it get better by asking again at once */
	}
}

bool store_is_answer(int err)
{
	return verdict(err) == 0;
}

void store_call_release(struct store *store, const struct store_call *call)
{
	if (call->changes == store->breaker.changes)
		breaker_note_canceled(&store->breaker);
}

static void note(struct store *store, const struct store_call *call, const struct store_reply *reply)
	REQUIRES(&store->lock)
{
	int failed = verdict(reply->err);
	if (call->changes != store->breaker.changes)
		return;
	if (failed < 0) {
		breaker_note_canceled(&store->breaker);
		return;
	}
	if (failed)
		snprintf(store->reason, sizeof(store->reason), "%s",
			 *reply->text ? reply->text : strerror(-reply->err));
	if (breaker_note(&store->breaker, monotonic_ms(), failed)) {
		store->log_opened = true;
		atomic_fetch_add_explicit(&store->counters->breaker_opened, 1, memory_order_relaxed);
	} else if (call->changes != store->breaker.changes) {
		store->log_closed = true;
	}
}

static void note_refusal(struct store *store, const char *text) REQUIRES(&store->lock)
{
	store->read_only_until = monotonic_ms() + READ_ONLY_MS;
	snprintf(store->refusal, sizeof(store->refusal), "%s", text);
}

void store_call_done(struct store *store, struct store_call *call, const struct store_reply *reply,
		     bool is_news)
{
	count(store, call, reply);
	if (is_news)
		note(store, call, reply);
	else
		store_call_release(store, call);
	if (call->message.operation == STORE_PUT && reply->err == -EACCES)
		note_refusal(store, reply->text);
	call->reply = *reply;
	call->state = CALL_DONE;
	store->n_calls--;
	pthread_cond_broadcast(&store->ended);
	eventfd_write(call->event, 1); /* the counter cannot be full */
	if (call->is_detached)
		store_call_free(call);
}

void store_call_failed(struct store *store, struct store_call *call, int err, const char *text, bool is_news)
{
	struct store_reply reply = {.err = err};
	snprintf(reply.text, sizeof(reply.text), "%s", text);
	store_call_done(store, call, &reply, is_news);
}

void store_probe_done(struct store *store, int err, bool holds, const char *text)
{
	bool is_answer = !err || err == -EOPNOTSUPP;
	store->is_probing = false;
	store->is_known |= is_answer;
	store->has_leases = !err && holds;
	store->probe_at = is_answer ? INT64_MAX : monotonic_ms() + PROBE_AGAIN_MS;
	if (err != -EACCES)
		return;
	note_refusal(store, text);
	store->probe_at = store->read_only_until;
}

/*
 * The end of requests, and what a result means: for the counters, the breaker, and what the server is known
 * to be able to do.
 */
#include "store/client/store_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gsym/base/fault.h"

enum { READ_ONLY_MS = 600000 };

/* ---- What is kept ---- */

void store_release(struct store *store)
{
	if (atomic_fetch_sub(&store->refs, 1) != 1)
		return;
	if (store->wake_fd >= 0)
		close(store->wake_fd);
	pthread_cond_destroy(&store->ended);
	mutex_destroy(&store->lock);
	free(store->program);
	free(store);
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

void store_call_unlist(struct store *store, struct store_call *call)
{
	mutex_assert_held(&store->lock);
	list_remove(&call->link);
	if (call->is_left)
		store_call_free(call);
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

static void count_call(struct store *store, const struct store_call *call)
{
	struct store_counters *c = store->counters;
	const struct worker_request *m = &call->message;
	store_count(store, m->operation, call->reply.err);
	atomic_fetch_add_explicit(&c->milliseconds, (uint64_t)(call->over - call->started),
				  memory_order_relaxed);
	if (!call->reply.err && m->operation == STORE_PUT)
		atomic_fetch_add_explicit(&c->sent, m->size, memory_order_relaxed);
	if (!call->reply.err && m->operation == STORE_GET)
		atomic_fetch_add_explicit(&c->received, call->reply.size, memory_order_relaxed);
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

/* @failed: as of verdict(). A call that was allowed in another state of the breaker says nothing of this. */
static void note(struct store *store, const struct store_call *call, int failed) REQUIRES(&store->lock)
{
	const struct store_reply *reply = &call->reply;
	if (call->changes != store->breaker.changes)
		return;
	if (failed < 0) {
		breaker_note_canceled(&store->breaker);
		return;
	}
	if (failed)
		snprintf(store->reason, sizeof(store->reason), "%s",
			 *reply->text ? reply->text : strerror(-reply->err));
	if (breaker_note(&store->breaker, call->over, failed)) {
		store->log_opened = true;
		atomic_fetch_add_explicit(&store->counters->breaker_opened, 1, memory_order_relaxed);
	} else if (call->changes != store->breaker.changes) {
		store->log_closed = true;
	}
}

/* What the result of writing says of the server. */
static void learn(struct store *store, const struct store_call *call) REQUIRES(&store->lock)
{
	const int err = call->reply.err;
	if (err == -EACCES) {
		store->read_only_until = call->over + READ_ONLY_MS;
		memcpy(store->refusal, call->reply.text, sizeof(store->refusal));
	}
	if (call->message.condition != STORE_IF_ABSENT || (err && err != -EEXIST && err != -EOPNOTSUPP))
		return;
	store->is_known = true;
	store->has_leases = err != -EOPNOTSUPP;
}

void store_call_over(struct store *store, struct store_call *call, const struct store_reply *reply,
		     bool is_news)
{
	call->reply = *reply;
	call->over = monotonic_ms();
	count_call(store, call);
	note(store, call, is_news ? verdict(reply->err) : -1);
	if (call->message.operation == STORE_PUT)
		learn(store, call);
	pthread_cond_broadcast(&store->ended);
	eventfd_write(call->event, 1); /* the counter cannot be full */
}

void store_call_failed(struct store *store, struct store_call *call, int err, const char *text, bool is_news)
{
	struct store_reply reply = {.err = err};
	snprintf(reply.text, sizeof(reply.text), "%s", text);
	store_call_over(store, call, &reply, is_news);
}

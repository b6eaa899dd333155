#include "store/client/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "work/os/thread.h"
#include "store/client/store_address.h"
#include "store/client/store_call.h"
#include "gsym/base/diag.h"

enum {
	CLOSE_MS = 1000,
	BODY_MS = 600000, /* of a request with a body; engines end one that stands still long before */
	BARE_MS = 10000,  /* of others */
};

/* ---- Opening ---- */

static void copy_text(char ret[static WORKER_STORE_PATH], const char *text)
{
	snprintf(ret, WORKER_STORE_PATH, "%s", text ? text : "");
}

static void copy_options(struct worker_store *ret, const struct store_options *o)
{
	copy_text(ret->address, o->address);
	copy_text(ret->bearer_file, o->bearer_file);
	copy_text(ret->netrc_file, o->netrc_file);
	copy_text(ret->cert_file, o->cert_file);
	copy_text(ret->key_file, o->key_file);
	copy_text(ret->ca_file, o->ca_file);
}

static struct store *new_store(const struct store_options *options, const char *program)
{
	struct store *store = calloc(1, sizeof(*store));
	if (!store)
		return NULL;
	mutex_init(&store->lock, LOCK_STORE);
	monotonic_cond_init(&store->ended);
	atomic_init(&store->refs, 1);
	store->program = strdup(program);
	store->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	copy_options(&store->config, options);
	mutex_lock(&store->lock);
	store->wait_by = INT64_MAX;
	list_init(&store->calls);
	if (getrandom(&store->breaker.jitter, sizeof(store->breaker.jitter), GRND_NONBLOCK) < 0)
		store->breaker.jitter = (uint8_t)getpid();
	mutex_unlock(&store->lock);
	return store;
}

int store_open(const struct store_options *options, const char *program, int stop_fd, const struct log *log,
	       struct store_counters *counters, struct store **ret, struct gsym_diag *diag)
{
	int err = store_options_check(options, diag);
	if (!err && store_scheme_of(options->address) == STORE_DIRECTORY)
		err = store_directory_check(options->address, log, diag);
	if (err)
		return err;
	store_options_warn(options, log);
	struct store *store = new_store(options, program);
	if (!store || !store->program || store->wake_fd < 0) {
		err = store && store->program ? -errno : -ENOMEM;
		if (store)
			store_release(store);
		return diag_set(diag, err, "store '%s': %s", options->address, strerror(-err));
	}
	store->stop_fd = stop_fd;
	store->log = log;
	store->counters = counters;
	*ret = store;
	return 0;
}

/* The thread does not block, so that it ends soon after it is asked to. */
void store_close(struct store *store)
{
	if (!store)
		return;
	mutex_lock(&store->lock);
	store->is_closing = true;
	store->close_by = monotonic_ms() + CLOSE_MS;
	bool has_thread = store->has_thread;
	mutex_unlock(&store->lock);
	eventfd_write(store->wake_fd, 1);
	if (has_thread)
		pthread_join(store->thread, NULL);
	store_release(store);
}

const char *store_title(const struct store *store)
{
	return store->config.address;
}

/* ---- Starting requests ---- */

static bool needs_file(enum store_operation operation)
{
	return operation == STORE_GET || operation == STORE_PUT;
}

static int fill_call(struct store_call *call, const struct store_request *request)
{
	const char *etag = request->etag ? request->etag : "";
	const bool has_file = needs_file(request->operation);
	union worker_message msg = {.request = {
					    .head = {WORKER_REQUEST, sizeof(msg.request), 0},
					    .operation = request->operation,
					    .condition = request->condition,
					    .size = request->size,
					    .object = request->object,
					    .ms = has_file ? BODY_MS : BARE_MS,
				    }};
	if (strlen(request->name) >= WORKER_STORE_NAME || strlen(etag) >= WORKER_STORE_ETAG)
		return -EINVAL;
	strcpy(msg.request.name, request->name);
	strcpy(msg.request.etag, etag);
	if ((unsigned)request->operation >= STORE_OPERATIONS ||
	    worker_message_check(&msg, sizeof(msg.request)))
		return -EINVAL;
	call->message = msg.request;
	call->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call->event >= 0 && has_file)
		call->fd = fcntl(request->fd, F_DUPFD_CLOEXEC, 0);
	if (call->event < 0 || (has_file && call->fd < 0))
		return -errno;
	call->started = monotonic_ms();
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, 0) == 1;
}

/* Why no request is sent now; 0 if one is. */
static int refusal(struct store *store, enum store_operation operation, bool stops) REQUIRES(&store->lock)
{
	const int64_t now = monotonic_ms();
	if (store->is_closing || (stops && !store_writes(operation)))
		return -ECANCELED;
	if (operation == STORE_PUT && now < store->read_only_until)
		return -EACCES;
	if (list_count(&store->calls) >= STORE_QUEUE_MAX)
		return -EBUSY;
	return breaker_allows(&store->breaker, now) ? 0 : -ENETDOWN;
}

static int start_thread(struct store *store) REQUIRES(&store->lock)
{
	if (store->has_thread)
		return 0;
	int err = thread_start(&store->thread, "gsymfs-store", store_loop, store);
	store->has_thread = !err;
	/* -EAGAIN would be a server's answer: another host was first. */
	return err == -EAGAIN ? -EBUSY : err;
}

static int submit(struct store *store, struct store_call *call) REQUIRES(&store->lock)
{
	int err = start_thread(store);
	if (err) {
		breaker_note_canceled(&store->breaker);
		return err;
	}
	call->changes = store->breaker.changes;
	call->store = store;
	atomic_fetch_add(&store->refs, 1);
	list_append(&store->calls, &call->link);
	return 0;
}

void store_prepare(struct store *store)
{
	mutex_lock(&store->lock);
	store->wants_process = start_thread(store) == 0;
	mutex_unlock(&store->lock);
	eventfd_write(store->wake_fd, 1);
}

struct store_call *store_start(struct store *store, const struct store_request *request, int *ret_err)
{
	struct store_call *call = calloc(1, sizeof(*call));
	if (!call) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	call->fd = call->event = -1;
	list_init(&call->link);
	int err = fill_call(call, request);
	const bool stops = is_readable(store->stop_fd);
	mutex_lock(&store->lock);
	if (!err)
		err = refusal(store, request->operation, stops);
	if (!err)
		err = submit(store, call);
	mutex_unlock(&store->lock);
	if (!err) {
		eventfd_write(store->wake_fd, 1);
		return call;
	}
	if (err == -ENETDOWN || err == -EACCES)
		store_count(store, request->operation, err);
	store_call_free(call);
	*ret_err = err;
	return NULL;
}

/* ---- Calls ---- */

bool store_wait(struct store_call *call, int64_t until, struct store_reply *ret)
{
	struct store *store = call->store;
	mutex_lock(&store->lock);
	for (;;) {
		int64_t by = until < store->wait_by ? until : store->wait_by;
		const struct timespec at = {.tv_sec = by / 1000, .tv_nsec = by % 1000 * 1000000};
		if (call->over || monotonic_ms() >= by)
			break;
		mutex_wait_until(&store->lock, &store->ended, &at);
	}
	bool is_done = call->over;
	if (is_done)
		*ret = call->reply;
	mutex_unlock(&store->lock);
	return is_done;
}

void store_limit_waits(struct store *store, int64_t until)
{
	mutex_lock(&store->lock);
	store->wait_by = until;
	pthread_cond_broadcast(&store->ended);
	mutex_unlock(&store->lock);
}

int store_call_fd(const struct store_call *call)
{
	return call->event;
}

/*
 * Whether it counts as a failure of the server that @call is left. Not if it did not have the request for
 * long, or has answered others in time meanwhile: then it has many requests to answer, of which most may be
 * this host's. And however many were under way at the same time are one failure: the first load of a server
 * takes longer.
 */
static bool is_too_slow(struct store *store, const struct store_call *call) REQUIRES(&store->lock)
{
	const int64_t now = monotonic_ms();
	if (!call->sent || call->begun || now - call->sent < STORE_OVERDUE_MS ||
	    now - store->prompt < STORE_OVERDUE_MS || call->sent < store->late)
		return false;
	store->late = now;
	return true;
}

void store_call_end(struct store_call *call)
{
	if (!call)
		return;
	struct store *store = call->store;
	atomic_fetch_add(&store->refs, 1); /* that of the call may go with it */
	mutex_lock(&store->lock);
	call->is_left = true;
	/* What deletes goes on. */
	if (!call->over && call->message.operation != STORE_DELETE) {
		bool late = is_too_slow(store, call);
		store_call_failed(store, call, late ? -ETIMEDOUT : -ECANCELED,
				  late ? "no answer in time" : "", late);
		if (!call->sent)
			list_remove(&call->link);
	}
	if (list_empty(&call->link))
		store_call_free(call);
	mutex_unlock(&store->lock);
	eventfd_write(store->wake_fd, 1);
	store_release(store);
}

void store_do(struct store *store, const struct store_request *request, unsigned ms, struct store_reply *ret)
{
	struct store_reply reply = {0};
	struct store_call *call = store_start(store, request, &reply.err);
	if (call && !store_wait(call, monotonic_ms() + ms, &reply))
		reply.err = -ETIMEDOUT;
	store_call_end(call);
	*ret = reply;
}

/* ---- What is known of it ---- */

void store_abilities(struct store *store, struct store_abilities *ret)
{
	mutex_lock(&store->lock);
	*ret = (struct store_abilities){
		.is_known = store->is_known,
		.has_leases = store->has_leases || !store->is_known,
		.is_read_only = monotonic_ms() < store->read_only_until,
	};
	memcpy(ret->refusal, store->refusal, sizeof(ret->refusal));
	mutex_unlock(&store->lock);
}

void store_describe_breaker(struct store *store, char *ret, size_t size)
{
	mutex_lock(&store->lock);
	const struct breaker *b = &store->breaker;
	int64_t left = b->until - monotonic_ms();
	if (b->state == BREAKER_CLOSED)
		snprintf(ret, size, "closed");
	else if (b->state == BREAKER_OPEN && left > 0)
		snprintf(ret, size, "open for %lld s more (%s)", (long long)(left + 999) / 1000,
			 store->reason);
	else
		snprintf(ret, size, "half open (%s)", store->reason);
	mutex_unlock(&store->lock);
}

bool store_is_up(struct store *store)
{
	mutex_lock(&store->lock);
	bool ret = store->breaker.state == BREAKER_CLOSED ||
		   (monotonic_ms() >= store->breaker.until && !store->breaker.trying);
	mutex_unlock(&store->lock);
	return ret;
}

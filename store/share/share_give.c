/*
 * Giving delays no answer: a thread of its own does it, keeps some of what it cannot give while the store is
 * away, and drops what it cannot keep. What was converted is marked in the cache meanwhile, so that nothing
 * is lost by that: it is offered again when it is opened.
 */
#include "store/share/share_give.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/os/guard.h"
#include "work/os/monotonic.h"
#include "work/os/thread.h"
#include "work/run/inputs.h"
#include "store/share/share.h"
#include "store/share/share_inputs.h"
#include "gsym/base/fault.h"

enum {
	OFFERS_MAX = 64,
	OFFER_BYTES_MAX = 1 << 30, /* of their files, which the cache cannot free meanwhile */
	LAST_BYTES_MAX = 64 << 20, /* of a file that is still given when the daemon ends */
	STOP_MS = 5000,
	PUT_MS = 600000,
	HEAD_MS = 5000,
	AWAY_MS = 500,  /* after which it is looked whether a store that was away is there again */
	TRIES_MAX = 10, /* of an offer while the store is there and fails */
};

/* ---- Offers ---- */

static void close_files(struct share_offer *offer)
{
	for (size_t i = 0; i < SHARE_FILES; i++)
		if (offer->fds[i] >= 0)
			close(offer->fds[i]);
}

/* Descriptors of the offer's own; false if there are none left. */
static bool keep_files(struct share_offer *offer, const int fds[static SHARE_FILES])
{
	bool all = true;
	for (size_t i = 0; i < SHARE_FILES; i++) {
		offer->fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		all &= fds[i] < 0 || offer->fds[i] >= 0;
	}
	return all;
}

struct inputs_copy {
	struct text_buf *to;
	struct span from;
};

static int copy_inputs(void *arg)
{
	const struct inputs_copy *copy = arg;
	text_bytes(copy->to, copy->from.data, copy->from.size);
	return copy->to->failed ? -ENOMEM : 0;
}

struct share_offer *share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
				    struct handle *handle, struct span inputs)
{
	struct share_offer *offer = calloc(1, sizeof(*offer));
	if (!offer)
		return NULL;
	if (!keep_files(offer, fds) ||
	    guard_run(copy_inputs, &(struct inputs_copy){&offer->inputs, inputs}) ||
	    (handle && handle_check(handle))) {
		text_deinit(&offer->inputs);
		close_files(offer);
		free(offer);
		return NULL;
	}
	list_init(&offer->link);
	offer->handle = handle ? handle_get(handle) : NULL;
	offer->facts = *facts;
	*facts = (struct share_facts){0};
	return offer;
}

static void free_offer(struct share *share, struct share_offer *offer, bool patiently)
{
	share_lease_end(share, &offer->lease, patiently);
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	text_deinit(&offer->portable);
	share_facts_deinit(&offer->facts);
	close_files(offer);
	free(offer);
}

/* Of the files of @job. */
static struct share_offer *offer_of_entry(const struct convert_job *job, struct handle *handle)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	if (share_facts_make(job, &facts))
		return NULL;
	struct share_offer *offer = share_offer_new(&facts, (const int[SHARE_FILES]){job->input, job->binary},
						    handle, handle->inputs);
	if (offer)
		offer->may_exist = true;
	return offer;
}

struct share_offer *share_again(const struct converter *converter, const struct convert_request *request,
				struct handle *handle)
{
	struct outcome unused = {.verdict = VERDICT_READY};
	struct convert_job job = {.converter = converter,
				  .request = request,
				  .out = &unused,
				  .input = -1,
				  .binary = -1,
				  .temp = CACHE_TEMP_NONE,
				  .fragment = -1};
	if (!handle || !handle->pending)
		return NULL;
	struct share_offer *offer = job_open_files(&job) ? NULL : offer_of_entry(&job, handle);
	job_close(&job);
	return offer;
}

static uint64_t bytes_of(const struct share_offer *offer)
{
	return offer->handle ? offer->handle->map_size : offer->inputs.n;
}

static void mark(const struct share *share, const struct share_offer *offer, bool pending)
{
	if (offer->handle)
		cache_mark(share->cache, offer->handle, pending);
}

/* ---- One offer ---- */

/* 0 if the files and their neighbours are those that were converted; -ESTALE; or the errno of looking. */
static int check_unchanged(const struct share_offer *offer)
{
	int err = 0;
	for (size_t i = 0; i < SHARE_FILES && !err; i++)
		if (offer->facts.files[i].path)
			err = offer->fds[i] < 0
				      ? -ESTALE
				      : file_state_check(offer->fds[i], &offer->facts.files[i].state);
	if (err)
		return err;
	return inputs_check(text_span(&offer->inputs), &offer->facts.search);
}

/* Before and after the neighbours are read, so that what is recorded is what was converted. */
static int prepare(struct share_offer *offer)
{
	int err = check_unchanged(offer);
	if (!err && !offer->has_key)
		err = share_facts_key(&offer->facts, offer->fds, &offer->key);
	if (!err)
		err = share_inputs_write(&offer->facts, text_span(&offer->inputs), &offer->portable);
	return err ? err : check_unchanged(offer);
}

/* Whether the store has it meanwhile: then it is not sent. */
static bool exists(struct share *share, const char *name)
{
	const struct store_request request = {.operation = STORE_HEAD, .name = name, .fd = -1};
	struct store_reply reply;
	store_do(share->store, &request, HEAD_MS, &reply);
	return !reply.err;
}

/* As of try_offer(). */
static int send_object(struct share *share, struct store_request *request)
{
	struct store_reply reply;
	store_do(share->store, request, PUT_MS, &reply);
	if (reply.err == -EOPNOTSUPP) {
		request->condition = STORE_ALWAYS;
		store_do(share->store, request, PUT_MS, &reply);
	}
	if (reply.err == -EAGAIN) /* it raced with that of another host */
		return -EEXIST;
	if (reply.err && reply.err != -EEXIST && reply.err != -ECANCELED && reply.err != -ENETDOWN)
		share_complain(share, reply.err == -EACCES ? COMPLAINT_FORBIDDEN : COMPLAINT_WRITING,
			       request->name, *reply.text ? reply.text : strerror(-reply.err));
	return reply.err;
}

static int give_object(struct share *share, struct share_offer *offer)
{
	char name[STORE_NAME_SIZE];
	struct cache_temp temp;
	struct gsym_diag diag = {""};
	struct store_request request = {
		.operation = STORE_PUT,
		.condition = !offer->replaces ? STORE_IF_ABSENT
			     : *offer->etag   ? STORE_IF_MATCH
					      : STORE_ALWAYS,
		.name = name,
		.etag = offer->etag,
	};
	store_name(&offer->key, STORE_CONVERSION, name);
	if (offer->may_exist && exists(share, name))
		return -EEXIST;
	int err = cache_temp_open(share->cache, &temp, &diag);
	if (!err) {
		request.fd = temp.fd;
		err = share_object_write(share, temp.fd, &offer->key, offer->facts.id, offer->handle,
					 offer->message, text_span(&offer->portable), &request.size, &diag);
		if (!err)
			err = send_object(share, &request);
		else
			share_complain(share, COMPLAINT_WRITING, name,
				       *diag.text ? diag.text : strerror(-err));
		cache_temp_close(share->cache, &temp);
	}
	return err;
}

/* 0; -EEXIST: the store has it, and that is as good; -ENETDOWN: it is away; or why it cannot be given. */
static int try_offer(struct share *share, struct share_offer *offer)
{
	struct store_abilities can;
	store_abilities(share->store, &can);
	if (!store_is_up(share->store))
		return -ENETDOWN;
	int err = can.is_read_only ? -EACCES : prepare(offer);
	return err ? err : give_object(share, offer);
}

/*
 * Counts how it ended. The mark stays on what may be given another time; what has changed, or may be forged,
 * never is.
 */
static void end_offer(struct share *share, struct share_offer *offer, int err)
{
	if (!err || err == -EEXIST || err == -ESTALE || err == -EPERM || err == -EBADMSG)
		mark(share, offer, false);
	if (err != -EEXIST)
		share_count(share,
			    err ? SHARE_DROPPED : SHARE_GIVEN); /* who sees it counted finds the cause */
	free_offer(share, offer, true);
}

int share_give_now(struct share *share, struct share_offer *offer)
{
	mark(share, offer, true);
	int err = try_offer(share, offer);
	end_offer(share, offer, err);
	return err;
}

/* ---- The queue ---- */

static bool add(struct share *share, struct share_offer *offer) REQUIRES(&share->lock)
{
	uint64_t bytes = bytes_of(offer);
	if (share->is_stopping || (share->n_offers && (share->n_offers >= OFFERS_MAX ||
						       share->offer_bytes + bytes > OFFER_BYTES_MAX)))
		return false;
	list_append(&share->offers, &offer->link);
	share->n_offers++;
	share->offer_bytes += bytes;
	pthread_cond_signal(&share->changed);
	return true;
}

void share_give(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	mark(share, offer, true);
	mutex_lock(&share->lock);
	bool added = add(share, offer), stopping = share->is_stopping;
	mutex_unlock(&share->lock);
	if (added)
		return;
	if (!stopping)
		share_complain(share, COMPLAINT_FULL_QUEUE, offer->facts.id, "too many wait to be given");
	share_count(share, SHARE_DROPPED);
	free_offer(share, offer, false);
}

/* Waits for the next, which stays counted until it is over. NULL when the daemon ends and no time is left. */
static struct share_offer *next_offer(struct share *share)
{
	mutex_lock(&share->lock);
	while (!share->is_stopping) {
		const int64_t until = monotonic_ms() + AWAY_MS;
		const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
		if (list_empty(&share->offers))
			mutex_wait(&share->lock, &share->changed);
		else if (!store_is_up(share->store))
			mutex_wait_until(&share->lock, &share->changed, &at);
		else
			break;
	}
	bool is_over = share->is_stopping && monotonic_ms() >= share->give_by;
	struct list *first = is_over ? NULL : list_take(&share->offers);
	mutex_unlock(&share->lock);
	return first ? LIST_ENTRY(first, struct share_offer) : NULL;
}

/*
 * Queues @offer, which was taken, again: it is to be given once the store is there. Its lease is not held
 * until then, so that others may convert. False if the daemon ends, or after many tries.
 */
static bool put_back(struct share *share, struct share_offer *offer, int err)
{
	if (fault_of(err) != FAULT_NETWORK || (err != -ENETDOWN && ++offer->tries == TRIES_MAX))
		return false;
	mutex_lock(&share->lock);
	bool kept = !share->is_stopping;
	mutex_unlock(&share->lock);
	if (!kept)
		return false;
	offer->may_exist = !offer->replaces;
	share_lease_end(share, &offer->lease, true);
	text_reset(&offer->portable);
	mutex_lock(&share->lock);
	list_append(&share->offers, &offer->link);
	mutex_unlock(&share->lock);
	return true;
}

static void serve_offer(struct share *share, struct share_offer *offer)
{
	const uint64_t bytes = bytes_of(offer);
	mutex_lock(&share->lock);
	const bool is_too_much = share->is_stopping && bytes > LAST_BYTES_MAX;
	mutex_unlock(&share->lock);
	int err = is_too_much ? -ECANCELED : try_offer(share, offer);
	if (put_back(share, offer, err))
		return;
	end_offer(share, offer, err);
	mutex_lock(&share->lock);
	share->n_offers--;
	share->offer_bytes -= bytes;
	mutex_unlock(&share->lock);
}

/* ---- The thread ---- */

static void *run_giver(void *arg)
{
	struct share *share = arg;
	for (struct share_offer *offer; (offer = next_offer(share));)
		serve_offer(share, offer);
	return NULL;
}

int share_start(struct share *share)
{
	int err = thread_start(&share->giver, "give", run_giver, share);
	share->has_thread = !err;
	if (!err)
		store_prepare(share->store);
	return err;
}

void share_stop(struct share *share)
{
	const int64_t by = monotonic_ms() + STOP_MS;
	struct list *at, all;
	unsigned n = 0;
	if (!share->has_thread)
		return;
	share->has_thread = false;
	store_limit_waits(share->store, by);
	mutex_lock(&share->lock);
	share->is_stopping = true;
	share->give_by = by;
	pthread_cond_broadcast(&share->changed);
	mutex_unlock(&share->lock);
	pthread_join(share->giver, NULL);
	list_init(&all);
	mutex_lock(&share->lock);
	list_splice(&all, &share->offers);
	mutex_unlock(&share->lock);
	for (; (at = list_take(&all)); n++) {
		share_count(share, SHARE_DROPPED);
		free_offer(share, LIST_ENTRY(at, struct share_offer), false);
	}
	if (n)
		log_info(share->log, "shared store '%s': %u conversions are not given yet",
			 store_title(share->store), n);
}

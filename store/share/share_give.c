/*
 * Giving delays no answer: a thread of its own does it, keeps some of what it cannot give while the store is
 * away, and drops what it cannot keep. What was converted is
 * marked in the cache meanwhile, so that nothing is lost by that: it is offered again when it is opened.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "work/run/inputs.h"
#include "store/share/share_inputs.h"
#include "store/share/share_offer.h"
#include "store/share/share_payload.h"
#include "store/client/store_object.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	OFFERS_MAX = 64,
	OFFER_BYTES_MAX = 1 << 30, /* of their files, which the cache cannot free meanwhile */
	LAST_BYTES_MAX = 64 << 20, /* of a file that is still given when the daemon ends */
	PUT_MS = 600000,
	HEAD_MS = 5000,
	AWAY_MS = 500,  /* after which it is looked whether a store that was away is there again */
	TRIES_MAX = 10, /* of an offer while the store is there and fails */
};

/* ---- Offers ---- */

static uint64_t bytes_of(const struct share_offer *offer)
{
	return offer->handle ? offer->handle->map_size : offer->inputs.n;
}

static void mark(const struct share *share, const struct share_offer *offer, bool pending)
{
	if (offer->handle)
		cache_mark(share->cache, offer->handle, pending);
}

static void lose(struct share *share, struct share_offer *offer)
{
	share_count(share, SHARE_DROPPED);
	offer->lost = true;
}

/* ---- The queue ---- */

static bool add(struct share *share, struct share_offer *offer) REQUIRES(&share->lock)
{
	uint64_t bytes = bytes_of(offer);
	if (atomic_load(&share->stopping) ||
	    (share->n_offers &&
	     (share->n_offers >= OFFERS_MAX || share->offer_bytes + bytes > OFFER_BYTES_MAX)))
		return false;
	list_append(&share->offers, &offer->link);
	share->n_offers++;
	share->offer_bytes += bytes;
	pthread_cond_signal(&share->given);
	return true;
}

void share_give(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	mark(share, offer, true);
	mutex_lock(&share->lock);
	bool added = add(share, offer);
	mutex_unlock(&share->lock);
	if (added)
		return;
	if (!atomic_load(&share->stopping))
		share_complain(share, COMPLAINT_FULL_QUEUE, offer->facts.id, "too many wait to be given");
	share_count(share, SHARE_DROPPED);
	share_offer_free(share, offer);
}

/* @offer, which was taken, is over. */
static void end(struct share *share, struct share_offer *offer)
{
	if (!offer->lost)
		mark(share, offer, false);
	mutex_lock(&share->lock);
	share->n_offers--;
	share->offer_bytes -= bytes_of(offer);
	if (!share->n_offers)
		pthread_cond_broadcast(&share->idle);
	mutex_unlock(&share->lock);
	share_offer_free(share, offer);
}

/* To be given once the store is there again. Its lease is not held until then, so that others may convert. */
static void put_back(struct share *share, struct share_offer *offer)
{
	offer->again = false;
	offer->may_exist = !offer->replaces;
	share_hold_end(share, TAKE(offer->hold));
	mutex_lock(&share->lock);
	list_append(&share->offers, &offer->link);
	mutex_unlock(&share->lock);
}

/* Until there is an offer, and a store. */
static void await_offer(struct share *share) REQUIRES(&share->lock)
{
	while (!atomic_load(&share->stopping)) {
		const int64_t until = monotonic_ms() + AWAY_MS;
		const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
		if (list_empty(&share->offers))
			mutex_wait(&share->lock, &share->given);
		else if (share->is_patient && !store_is_up(share->store))
			mutex_wait_until(&share->lock, &share->given, &at);
		else
			break;
	}
}

/* Waits for the next, which stays counted until it is over. NULL when the daemon ends and no time is left. */
static struct share_offer *next_offer(struct share *share)
{
	mutex_lock(&share->lock);
	await_offer(share);
	bool is_over = atomic_load(&share->stopping) && monotonic_ms() >= atomic_load(&share->give_by);
	struct list *first = is_over ? NULL : list_take(&share->offers);
	mutex_unlock(&share->lock);
	return first ? LIST_ENTRY(first, struct share_offer) : NULL;
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

static int write_conversion(struct share *share, const struct share_offer *offer, int fd, uint64_t *ret_size,
			    struct gsym_diag *diag)
{
	struct cache_temp temp;
	uint64_t size = 0;
	int err = cache_temp_open(share->cache, &temp, diag);
	if (err)
		return err;
	err = share_payload_write(temp.fd, &offer->key, offer->facts.id, offer->handle,
				  text_span(&offer->portable), &size);
	/* It is ours alone, so that no other process shortens it. */
	void *at = err ? MAP_FAILED : file_map(temp.fd, size, MAP_PRIVATE);
	if (!err && at == MAP_FAILED)
		err = -errno;
	if (!err)
		err = object_write(fd, &offer->key, OBJECT_CONVERSION, (struct span){at, (size_t)size}, true,
				   share->trust, ret_size, diag);
	if (at != MAP_FAILED)
		munmap(at, (size_t)size);
	cache_temp_close(share->cache, &temp);
	return err;
}

static int write_failure(struct share *share, const struct share_offer *offer, int fd, uint64_t *ret_size,
			 struct gsym_diag *diag)
{
	struct text_buf text = {0};
	share_failure_write(&text, offer->message, text_span(&offer->portable));
	int err = text.failed ? -ENOMEM
			      : object_write(fd, &offer->key, OBJECT_FAILURE, text_span(&text), true,
					     share->trust, ret_size, diag);
	text_deinit(&text);
	return err;
}

/* Whether the store has it meanwhile: then it is not sent. */
static bool exists(struct share *share, const char *name)
{
	const struct store_request request = {.operation = STORE_HEAD, .name = name, .fd = -1};
	struct store_reply reply;
	store_do(share->store, &request, HEAD_MS, &reply);
	return !reply.err;
}

/* Whether an offer is kept for a store that is away: not for ever, and not by who ends. */
static bool is_kept(const struct share *share, struct share_offer *offer, int err)
{
	bool is_away = err == -ETIMEDOUT || err == -EHOSTUNREACH || err == -EREMOTEIO || err == -ENETDOWN;
	return is_away && share->is_patient && !atomic_load(&share->stopping) &&
	       (err == -ENETDOWN || ++offer->tries < TRIES_MAX);
}

/* Whether the store has it now, or it is to be given again. */
static bool send_object(struct share *share, struct share_offer *offer, struct store_request *request)
{
	struct store_reply reply;
	store_do(share->store, request, PUT_MS, &reply);
	if (reply.err == -EOPNOTSUPP) {
		request->condition = STORE_ALWAYS;
		store_do(share->store, request, PUT_MS, &reply);
	}
	if (reply.err == -EEXIST || reply.err == -EAGAIN) /* another host was first */
		return true;
	if (reply.err && reply.err != -ECANCELED && reply.err != -ENETDOWN)
		share_complain(share, reply.err == -EACCES ? COMPLAINT_FORBIDDEN : COMPLAINT_WRITING,
			       request->name, *reply.text ? reply.text : strerror(-reply.err));
	offer->again = is_kept(share, offer, reply.err);
	if (!offer->again) /* who sees it counted finds the cause */
		share_count(share, reply.err ? SHARE_DROPPED : SHARE_GIVEN);
	return !reply.err || offer->again;
}

static void give_object(struct share *share, struct share_offer *offer)
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
		return;
	int err = cache_temp_open(share->cache, &temp, &diag);
	if (!err) {
		request.fd = temp.fd;
		err = (offer->handle ? write_conversion : write_failure)(share, offer, temp.fd, &request.size,
									 &diag);
		if (!err && !send_object(share, offer, &request))
			offer->lost = true;
		cache_temp_close(share->cache, &temp);
	}
	if (!err)
		return;
	share_complain(share, COMPLAINT_WRITING, name, *diag.text ? diag.text : strerror(-err));
	lose(share, offer);
}

/* For @err. It can never be given, rather than not now, when files have changed, or may be forged. */
static void drop(struct share *share, struct share_offer *offer, int err)
{
	if (err == -ESTALE || err == -EPERM || err == -EBADMSG)
		share_count(share, SHARE_DROPPED);
	else
		lose(share, offer);
}

/* Before and after the neighbours are read, so that what is recorded is what was converted. */
static int prepare(struct share_offer *offer)
{
	const struct share_place place = {&offer->facts.search, offer->facts.directory,
					  &offer->facts.files[SHARE_SOURCE].state};
	int err = check_unchanged(offer);
	if (!err && !offer->has_key)
		err = share_facts_key(&offer->facts, offer->fds, &offer->key);
	if (!err)
		err = share_inputs_write(&place, text_span(&offer->inputs), &offer->portable);
	return err ? err : check_unchanged(offer);
}

/* What would take too long when the daemon ends, or is not possible now. */
static bool is_to_wait(struct share *share, const struct share_offer *offer)
{
	struct store_abilities can;
	store_abilities(share->store, &can);
	return can.is_read_only || !store_is_up(share->store) ||
	       (atomic_load(&share->stopping) && bytes_of(offer) > LAST_BYTES_MAX);
}

static void give(struct share *share, struct share_offer *offer)
{
	offer->again = !store_is_up(share->store) && is_kept(share, offer, -ENETDOWN);
	if (offer->again)
		return;
	int err = is_to_wait(share, offer) ? -EAGAIN : prepare(offer);
	if (err)
		drop(share, offer, err);
	else
		give_object(share, offer);
}

/* ---- The thread ---- */

void *share_giver(void *arg)
{
	struct share *share = arg;
	for (struct share_offer *offer; (offer = next_offer(share));) {
		give(share, offer);
		if (offer->again)
			put_back(share, offer);
		else
			end(share, offer);
	}
	return NULL;
}

void share_flush(struct share *share)
{
	mutex_lock(&share->lock);
	while (!atomic_load(&share->stopping) && (share->n_offers || share->n_holds))
		mutex_wait(&share->lock, &share->idle);
	mutex_unlock(&share->lock);
}

void share_offers_free(struct share *share)
{
	struct list *at, all;
	unsigned n = 0;
	list_init(&all);
	mutex_lock(&share->lock);
	list_splice(&all, &share->offers);
	mutex_unlock(&share->lock);
	for (; (at = list_take(&all)); n++) {
		share_count(share, SHARE_DROPPED);
		share_offer_free(share, LIST_ENTRY(at, struct share_offer));
	}
	if (n)
		log_info(share->log, "shared store '%s': %u conversions are not given yet",
			 store_title(share->store), n);
}

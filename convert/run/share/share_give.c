/* Giving delays no answer: a thread of its own does it, and drops what it cannot give. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/os/monotonic.h"
#include "convert/run/inputs.h"
#include "convert/run/share/share_inputs.h"
#include "convert/run/share/share_offer.h"
#include "convert/run/share/share_payload.h"
#include "convert/store/store_object.h"
#include "gsym/base/diag.h"

enum {
	OFFERS_MAX = 64,
	OFFER_BYTES_MAX = 1 << 30, /* of their files, which the cache cannot free meanwhile */
	PUT_MS = 600000,
	HEAD_MS = 5000,
	REST_US = 5000, /* after each megabyte that is digested: at most 200 MB/s */
};

/* ---- The queue ---- */

static uint64_t bytes_of(const struct share_offer *offer)
{
	return offer->handle ? offer->handle->map_size : offer->inputs.n;
}

static void offer_free(struct share *share, struct share_offer *offer)
{
	share_hold_end(share, offer->hold);
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	share_facts_deinit(&offer->facts);
	for (size_t i = 0; i < SHARE_FILES; i++)
		if (offer->fds[i] >= 0)
			close(offer->fds[i]);
	free(offer);
}

void share_give(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	mutex_lock(&share->lock);
	bool fits = !share->n_offers ||
		    (share->n_offers < OFFERS_MAX && share->offer_bytes + bytes_of(offer) <= OFFER_BYTES_MAX);
	fits = fits && !atomic_load(&share->stopping);
	if (fits) {
		list_append(&share->offers, &offer->link);
		share->n_offers++;
		share->offer_bytes += bytes_of(offer);
		pthread_cond_signal(&share->given);
	}
	mutex_unlock(&share->lock);
	if (fits)
		return;
	share_count(share, SHARE_DROPPED);
	share_complain(share, COMPLAINT_FULL_QUEUE, offer->facts.id, "too many wait to be given");
	offer_free(share, offer);
}

/* ---- One offer ---- */

/* Whether the files and their neighbours are those that were converted. */
static bool is_unchanged(const struct share_offer *offer)
{
	for (size_t i = 0; i < SHARE_FILES; i++)
		if (offer->facts.files[i].path &&
		    (offer->fds[i] < 0 || !file_state_is(offer->fds[i], &offer->facts.files[i].state)))
			return false;
	return inputs_unchanged(text_span(&offer->inputs), &offer->facts.search);
}

static int write_conversion(struct share *share, const struct share_offer *offer, const struct store_key *key,
			    struct span inputs, int fd, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct cache_temp temp;
	uint64_t size = 0;
	int err = cache_temp_open(share->cache, &temp, diag);
	if (err)
		return err;
	err = share_payload_write(temp.fd, key, offer->facts.id, offer->handle, inputs, &size);
	/* It is ours alone, so that no other process shortens it. */
	void *at = err ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, temp.fd, 0);
	if (!err && at == MAP_FAILED)
		err = -errno;
	if (!err)
		err = object_write(fd, key, OBJECT_CONVERSION, (struct span){at, (size_t)size}, true,
				   share->trust, ret_size, diag);
	if (at != MAP_FAILED)
		munmap(at, (size_t)size);
	cache_temp_close(share->cache, &temp);
	return err;
}

static int write_failure(struct share *share, const struct share_offer *offer, const struct store_key *key,
			 struct span inputs, int fd, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct text_buf text = {0};
	share_failure_write(&text, offer->message, inputs);
	int err = text.failed ? -ENOMEM
			      : object_write(fd, key, OBJECT_FAILURE, text_span(&text), true, share->trust,
					     ret_size, diag);
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

static void send_object(struct share *share, struct store_request *request)
{
	struct store_reply reply;
	store_do(share->store, request, PUT_MS, &reply);
	if (reply.err == -EOPNOTSUPP) {
		request->condition = STORE_ALWAYS;
		store_do(share->store, request, PUT_MS, &reply);
	}
	if (reply.err == -EEXIST || reply.err == -EAGAIN) /* another host was first */
		return;
	share_count(share, reply.err ? SHARE_DROPPED : SHARE_GIVEN);
	if (reply.err && reply.err != -ECANCELED && reply.err != -ENETDOWN)
		share_complain(share, reply.err == -EACCES ? COMPLAINT_FORBIDDEN : COMPLAINT_WRITING,
			       request->name, *reply.text ? reply.text : strerror(-reply.err));
}

/* @inputs: see share_inputs.h. @again: there is, or may be, an object of that name. */
static void give_under(struct share *share, const struct share_offer *offer, const struct store_key *key,
		       struct span inputs, bool again)
{
	char name[STORE_NAME_SIZE];
	struct cache_temp temp;
	struct gsym_diag diag = {""};
	bool replaces = again && offer->replaces;
	struct store_request request = {
		.operation = STORE_PUT,
		.condition = !replaces      ? STORE_IF_ABSENT
			     : *offer->etag ? STORE_IF_MATCH
					    : STORE_ALWAYS,
		.name = name,
		.etag = replaces ? offer->etag : "",
	};
	store_name(key, STORE_CONVERSION, share->bazel, name);
	if (again && offer->may_exist && exists(share, name))
		return;
	int err = cache_temp_open(share->cache, &temp, &diag);
	if (!err) {
		request.fd = temp.fd;
		err = (offer->handle ? write_conversion : write_failure)(share, offer, key, inputs, temp.fd,
									 &request.size, &diag);
		if (!err)
			send_object(share, &request);
		cache_temp_close(share->cache, &temp);
	}
	if (!err)
		return;
	share_count(share, SHARE_DROPPED);
	share_complain(share, COMPLAINT_WRITING, name, *diag.text ? diag.text : strerror(-err));
}

/* See file_digest(). */
static bool rest(void *user)
{
	struct share *share = user;
	usleep(REST_US);
	return !atomic_load(&share->stopping);
}

/* Under the key of its content as well, which takes reading all of it. */
static void give_by_content(struct share *share, struct share_offer *offer, struct span inputs)
{
	struct store_key key;
	if (share_facts_digest(&offer->facts, &share->digests, offer->fds, UINT64_MAX, rest, share) ||
	    share_facts_key(&offer->facts, offer->fds, &key) || !is_unchanged(offer))
		return;
	give_under(share, offer, &key, inputs, false);
}

static void give(struct share *share, struct share_offer *offer)
{
	struct text_buf inputs = {0};
	struct store_abilities can;
	const struct share_place place = {&offer->facts.search, offer->facts.directory,
					  &offer->facts.files[SHARE_SOURCE].state};
	store_abilities(share->store, &can);
	if (can.is_read_only || !store_is_up(share->store)) {
		share_count(share, SHARE_DROPPED);
		return;
	}
	/* Before and after the neighbours are read, so that what is recorded is what was converted. */
	bool good = is_unchanged(offer) &&
		    share_inputs_write(&place, text_span(&offer->inputs), &inputs) == 0 &&
		    is_unchanged(offer);
	if (good && offer->has_key) {
		give_under(share, offer, &offer->key, text_span(&inputs), true);
		share_hold_end(share, TAKE(offer->hold));
	}
	if (good && !(offer->has_key && offer->key.is_content))
		give_by_content(share, offer, text_span(&inputs));
	text_deinit(&inputs);
}

/* ---- The thread ---- */

static struct share_offer *next_offer(struct share *share)
{
	struct share_offer *offer = NULL;
	mutex_lock(&share->lock);
	share->giving = false;
	if (list_empty(&share->offers))
		pthread_cond_broadcast(&share->idle);
	while (!atomic_load(&share->stopping) && list_empty(&share->offers))
		mutex_wait(&share->lock, &share->given);
	if (!atomic_load(&share->stopping)) {
		offer = LIST_ENTRY(list_take(&share->offers), struct share_offer);
		share->n_offers--;
		share->offer_bytes -= bytes_of(offer);
		share->giving = true;
	}
	mutex_unlock(&share->lock);
	return offer;
}

void share_flush(struct share *share)
{
	mutex_lock(&share->lock);
	while (!atomic_load(&share->stopping) &&
	       (share->giving || share->n_holds || !list_empty(&share->offers)))
		mutex_wait(&share->lock, &share->idle);
	mutex_unlock(&share->lock);
}

void *share_giver(void *arg)
{
	struct share *share = arg;
	struct share_offer *offer;
	while ((offer = next_offer(share))) {
		give(share, offer);
		offer_free(share, offer);
	}
	return NULL;
}

void share_offers_free(struct share *share)
{
	struct list *at, all;
	list_init(&all);
	mutex_lock(&share->lock);
	list_splice(&all, &share->offers);
	mutex_unlock(&share->lock);
	while ((at = list_take(&all)))
		offer_free(share, LIST_ENTRY(at, struct share_offer));
}

/*
 * Giving delays no answer: a thread of its own does it, and drops what it cannot give. What was converted is
 * marked in the cache meanwhile, so that nothing is lost by that: it is offered again when it is opened.
 *
 * To digest a large file takes longer than all else, so that such offers are put off, and between two blocks
 * of a file all others are given that have come meanwhile.
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
	LATE_MAX = 16,
	OFFER_BYTES_MAX = 1 << 30, /* of their files, which the cache cannot free meanwhile */
	LATE_BYTES_MAX = 1 << 29,
	LAST_BYTES_MAX = 64 << 20, /* of a file that is still given when the daemon ends */
	PUT_MS = 600000,
	HEAD_MS = 5000,
	REST_US = 5000, /* after each megabyte that is digested: at most 200 MB/s */
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

/* ---- The queues ---- */

static bool add(struct share_offers *to, struct share_offer *offer, unsigned n_max, uint64_t bytes_max)
{
	uint64_t bytes = bytes_of(offer);
	if (to->n && (to->n >= n_max || to->bytes + bytes > bytes_max))
		return false;
	list_append(&to->list, &offer->link);
	to->n++;
	to->bytes += bytes;
	return true;
}

static void subtract(struct share *share, struct share_offers *from, const struct share_offer *offer)
	REQUIRES(&share->lock)
{
	from->n--;
	from->bytes -= bytes_of(offer);
	if (!share->offers.n && !share->late.n)
		pthread_cond_broadcast(&share->idle);
}

void share_give(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	mark(share, offer, true);
	mutex_lock(&share->lock);
	bool stopping = atomic_load(&share->stopping);
	bool added = !stopping && add(&share->offers, offer, OFFERS_MAX, OFFER_BYTES_MAX);
	if (added)
		pthread_cond_signal(&share->given);
	mutex_unlock(&share->lock);
	if (added)
		return;
	if (!stopping)
		share_complain(share, COMPLAINT_FULL_QUEUE, offer->facts.id, "too many wait to be given");
	share_count(share, SHARE_DROPPED);
	share_offer_free(share, offer);
}

/* @offer, which was taken, is over. */
static void end(struct share *share, struct share_offers *from, struct share_offer *offer)
{
	if (!offer->lost)
		mark(share, offer, false);
	mutex_lock(&share->lock);
	subtract(share, from, offer);
	mutex_unlock(&share->lock);
	share_offer_free(share, offer);
}

static void put_off(struct share *share, struct share_offer *offer)
{
	mutex_lock(&share->lock);
	bool added = add(&share->late, offer, LATE_MAX, LATE_BYTES_MAX);
	if (added)
		subtract(share, &share->offers, offer);
	mutex_unlock(&share->lock);
	if (added)
		return;
	lose(share, offer);
	end(share, &share->offers, offer);
}

/* It stays counted until it is over. NULL if there is none, or no time is left. */
static struct share_offer *take(struct share *share, struct share_offers *from)
{
	struct share_offer *offer = NULL;
	bool is_over = atomic_load(&share->stopping) && monotonic_ms() >= atomic_load(&share->give_by);
	mutex_lock(&share->lock);
	struct list *first = is_over ? NULL : list_take(&from->list);
	if (first)
		offer = LIST_ENTRY(first, struct share_offer);
	mutex_unlock(&share->lock);
	return offer;
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

static int write_conversion(struct share *share, const struct share_offer *offer, const struct store_key *key,
			    int fd, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct cache_temp temp;
	uint64_t size = 0;
	int err = cache_temp_open(share->cache, &temp, diag);
	if (err)
		return err;
	err = share_payload_write(temp.fd, key, offer->facts.id, offer->handle, text_span(&offer->portable),
				  &size);
	/* It is ours alone, so that no other process shortens it. */
	void *at = err ? MAP_FAILED : file_map(temp.fd, size, MAP_PRIVATE);
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
			 int fd, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct text_buf text = {0};
	share_failure_write(&text, offer->message, text_span(&offer->portable));
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

/* Whether the store has it now. */
static bool send_object(struct share *share, struct store_request *request)
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
	share_count(share, reply.err ? SHARE_DROPPED : SHARE_GIVEN); /* who sees it counted finds the cause */
	return !reply.err;
}

/* @again: there is, or may be, an object of that name. */
static void give_under(struct share *share, struct share_offer *offer, const struct store_key *key,
		       bool again)
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
	store_name(key, STORE_CONVERSION, name);
	if (again && offer->may_exist && exists(share, name))
		return;
	int err = cache_temp_open(share->cache, &temp, &diag);
	if (!err) {
		request.fd = temp.fd;
		err = (offer->handle ? write_conversion : write_failure)(share, offer, key, temp.fd,
									 &request.size, &diag);
		if (!err && !send_object(share, &request))
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

/*
 * Under the key of the content of its files, unless one of these has more than @most bytes and is not
 * digested yet: then false. @more: see file_digest().
 */
static bool give_by_content(struct share *share, struct share_offer *offer, uint64_t most,
			    bool (*more)(void *user))
{
	struct store_key key = {.is_content = false};
	int err = share_facts_digest(&offer->facts, &share->digests, offer->fds, most, more, share);
	if (err && err != -ESTALE) { /* of reading, or no time is left */
		lose(share, offer);
		return true;
	}
	if (!err) {
		err = share_facts_key(&offer->facts, offer->fds, &key);
		if (err == -EPERM || (!err && !key.is_content))
			return false;
	}
	if (!err)
		err = check_unchanged(offer);
	if (err)
		drop(share, offer, err);
	else
		give_under(share, offer, &key, !offer->has_key);
	return true;
}

/* Before and after the neighbours are read, so that what is recorded is what was converted. */
static int prepare(struct share_offer *offer)
{
	const struct share_place place = {&offer->facts.search, offer->facts.directory,
					  &offer->facts.files[SHARE_SOURCE].state};
	int err = check_unchanged(offer);
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

/* False if files are to be digested first. */
static bool give(struct share *share, struct share_offer *offer)
{
	if (is_to_wait(share, offer)) {
		lose(share, offer);
		return true;
	}
	int err = prepare(offer);
	if (err) {
		drop(share, offer, err);
		return true;
	}
	if (offer->has_key) {
		give_under(share, offer, &offer->key, true);
		share_hold_end(share, TAKE(offer->hold));
	}
	return (offer->has_key && offer->key.is_content) ||
	       give_by_content(share, offer, DIGEST_SMALL_MAX, NULL);
}

/* ---- The thread ---- */

static void give_new(struct share *share)
{
	struct share_offer *offer;
	while ((offer = take(share, &share->offers)))
		if (give(share, offer))
			end(share, &share->offers, offer);
		else
			put_off(share, offer);
}

/* Between the blocks of a file that is digested. */
static bool rest(void *user)
{
	struct share *share = user;
	give_new(share);
	usleep(REST_US);
	return !atomic_load(&share->stopping);
}

static void give_late(struct share *share)
{
	struct share_offer *offer = take(share, &share->late);
	if (!offer)
		return;
	if (is_to_wait(share, offer))
		lose(share, offer);
	else if (!give_by_content(share, offer, UINT64_MAX, rest))
		lose(share, offer);
	end(share, &share->late, offer);
}

/* False when the daemon ends, and no offer is left, or no time. */
static bool await_offers(struct share *share)
{
	mutex_lock(&share->lock);
	while (!atomic_load(&share->stopping) && !share->offers.n && !share->late.n)
		mutex_wait(&share->lock, &share->given);
	bool is_over = atomic_load(&share->stopping) &&
		       (!share->offers.n || monotonic_ms() >= atomic_load(&share->give_by));
	mutex_unlock(&share->lock);
	return !is_over;
}

void *share_giver(void *arg)
{
	struct share *share = arg;
	while (await_offers(share)) {
		give_new(share);
		give_late(share);
	}
	return NULL;
}

void share_flush(struct share *share)
{
	mutex_lock(&share->lock);
	while (!atomic_load(&share->stopping) && (share->offers.n || share->late.n || share->n_holds))
		mutex_wait(&share->lock, &share->idle);
	mutex_unlock(&share->lock);
}

void share_offers_free(struct share *share)
{
	struct list *at, all;
	unsigned n = 0;
	list_init(&all);
	mutex_lock(&share->lock);
	list_splice(&all, &share->offers.list);
	list_splice(&all, &share->late.list);
	mutex_unlock(&share->lock);
	for (; (at = list_take(&all)); n++) {
		share_count(share, SHARE_DROPPED);
		share_offer_free(share, LIST_ENTRY(at, struct share_offer));
	}
	if (n)
		log_info(share->log, "shared store '%s': %u conversions are not given yet",
			 store_title(share->store), n);
}

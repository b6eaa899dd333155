#include "store/share/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/cache/publish.h"
#include "work/os/monotonic.h"
#include "work/run/defaults.h"
#include "work/run/run_slots.h"
#include "store/share/share_give.h"
#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"

enum {
	/* Another host is waited for so many times the predicted conversion, or as long as the store. */
	PATIENCE = 10,
	USUAL = 2, /* a conversion takes so many times as long as predicted where processors are not busy */
	PACES = 4, /* of about so many conversions the pace is the mean */
	TAKE_MS = 3600 * 1000, /* without a conversion; limits of the transfer end it long before */
};

struct share_turn {
	struct share_facts facts;
	bool has_key;
	struct store_key key;
	char name[STORE_NAME_SIZE];
	unsigned store_ms; /* that the store may still be waited for, by all requests together */
	int64_t until;     /* and until when, while it is */

	struct share_lease lease;
	bool waited;      /* for another host, */
	int64_t began;    /* the first look for it */
	int64_t patience; /* until this time at most, whatever the store says of its lease */

	struct store_call *call; /* looks for the conversion; NULL: nothing is under way */
	struct cache_temp got;   /* what it receives */
	struct share_found found;

	enum share_result result;
	bool replaces; /* what the store has is of no use, */
	char etag[STORE_ETAG_SIZE];
	bool keeps; /* or not to be replaced: it may be of use to others */
};

/* What came of looking. */
enum look { LOOK_FOUND, LOOK_PENDING, LOOK_ABSENT, LOOK_REFUSED };

/* ---- Beginning ---- */

static bool is_sharing(const struct convert_job *job)
{
	const struct share *share = job->converter->share;
	return share && !job->in_memory;
}

static struct share_turn *turn_new(const struct convert_job *job)
{
	struct share_turn *turn = calloc(1, sizeof(*turn));
	if (!turn)
		return NULL;
	turn->got = turn->found.copy = CACHE_TEMP_NONE;
	turn->result = SHARE_DOWN;
	if (share_facts_make(job, &turn->facts) == 0)
		return turn;
	share_facts_deinit(&turn->facts);
	free(turn);
	return NULL;
}

static int make_key(struct share_turn *turn, const struct convert_job *job)
{
	const int fds[SHARE_FILES] = {job->input, job->binary};
	if (turn->has_key)
		return 0;
	int err = share_facts_key(&turn->facts, fds, &turn->key);
	if (err)
		return err;
	turn->has_key = true;
	store_name(&turn->key, STORE_CONVERSION, turn->name);
	store_name(&turn->key, STORE_LEASE, turn->lease.name);
	return 0;
}

static unsigned predict(const struct convert_job *job)
{
	const struct convert_request *request = job->request;
	uint64_t bytes = request->source.state.size;
	if (request->binary.path)
		bytes += request->binary.state.size;
	return predict_conversion_ms(bytes, job->converter->threads);
}

/*
 * How long another host is waited for in any case: as long as the store. Where conversions take longer than
 * predicted, since all processors are busy, they are taken to do so on other hosts as well.
 */
static int64_t grace_ms(const struct share *share)
{
	return (int64_t)share->wait_ms * atomic_load(&share->pace) / SHARE_PACE;
}

/* Whatever the store says of another host's lease, which may be renewed for ever. */
static int64_t patience_ms(const struct convert_job *job)
{
	int64_t most = PATIENCE * (int64_t)predict(job), least = grace_ms(job->converter->share);
	return most < least ? least : most;
}

/* A conversion has ended. That threads may overwrite each other's pace does no harm. */
static void note_pace(struct share *share, const struct convert_job *job)
{
	double pace = 1000 * job->out->seconds / (USUAL * predict(job)) * SHARE_PACE;
	pace = pace < SHARE_PACE ? SHARE_PACE : pace > SHARE_PACE_MAX ? SHARE_PACE_MAX : pace;
	unsigned mean = atomic_load(&share->pace);
	atomic_store(&share->pace, (mean * (PACES - 1) + (unsigned)pace) / PACES);
}

/*
 * Waits for @call in the time that the store has; and longer while all workers are busy, since the conversion
 * could not begin anyway. False when there is a slot for it, which it has then.
 */
static bool await(const struct share_turn *turn, struct convert_job *job, struct store_call *call,
		  struct store_reply *ret)
{
	struct run_slots *slots = job->converter->slots;
	if (store_wait(call, turn->until, ret))
		return true;
	invariant(!job->has_slot);
	job->has_slot = run_slot_take(slots, store_call_fd(call));
	if (!store_wait(call, 0, ret))
		return false;
	if (job->has_slot)
		run_slot_give(slots);
	job->has_slot = false;
	return true;
}

/* ---- Looking ---- */

static void end_call(struct share *share, struct share_turn *turn)
{
	store_call_end(turn->call);
	turn->call = NULL;
	cache_temp_close(share->cache, &turn->got);
}

/* What is wrong with an object that is there, and whether the conversion of this host replaces it. */
static const struct {
	int err;
	enum share_complaint complaint; /* COMPLAINTS: none */
	enum share_result result;
	bool replaces;
} refusals[] = {
	{-EPERM, COMPLAINT_REPLACED, SHARE_REFUSED, true},
	{-ENOKEY, COMPLAINT_NO_KEYS, SHARE_REFUSED, false},
	{-EXDEV, COMPLAINT_ELSEWHERE, SHARE_OUTDATED, false},
	{-EFBIG, COMPLAINT_TOO_LARGE, SHARE_DAMAGED, true},
	{-EBADMSG, COMPLAINT_DAMAGED, SHARE_DAMAGED, true},
	{-EPROTO, COMPLAINT_DAMAGED, SHARE_DAMAGED, true},
	{-ETIME, COMPLAINTS, SHARE_OUTDATED, true},
	{-ESTALE, COMPLAINTS, SHARE_OUTDATED, true},
};

/* The object cannot be used because of @err. */
static enum look refuse(struct share *share, struct share_turn *turn, int err, const char *etag,
			const char *why)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(refusals) && refusals[i].err != err)
		i++;
	turn->result = i < ARRAY_SIZE(refusals) ? refusals[i].result : SHARE_DOWN;
	if (i == ARRAY_SIZE(refusals))
		return LOOK_REFUSED;
	enum share_complaint complaint = refusals[i].complaint;
	turn->replaces = refusals[i].replaces;
	/* One that nobody may take either would be no better. */
	if (err == -EPERM && !trust_signs(share->trust)) {
		complaint = COMPLAINT_UNTRUSTED;
		turn->replaces = false;
	}
	if (complaint != COMPLAINTS)
		share_complain(share, complaint, turn->name, why);
	turn->keeps = !turn->replaces;
	snprintf(turn->etag, sizeof(turn->etag), "%s", turn->replaces ? etag : "");
	return turn->replaces ? LOOK_ABSENT : LOOK_REFUSED;
}

/* The request has ended. */
static enum look conclude(struct share *share, struct share_turn *turn, const struct store_reply *reply)
{
	struct gsym_diag diag = {""};
	const char *why = *reply->text ? reply->text : strerror(-reply->err);
	int err = reply->err;
	if (!err) {
		err = share_found_check(&turn->found, share, &turn->facts, &turn->key, turn->got.fd, reply,
					&diag);
		why = *diag.text ? diag.text : strerror(-err);
	}
	end_call(share, turn);
	if (!err)
		return LOOK_FOUND;
	share_found_deinit(&turn->found, share->cache);
	if (!reply->err || err == -EBADMSG || err == -EFBIG)
		return refuse(share, turn, err, reply->etag, why);
	turn->result = err == -ENOENT ? SHARE_MISS : SHARE_DOWN;
	if (err == -ENOENT) {
		turn->replaces = false;
		return LOOK_ABSENT;
	}
	if (err != -ENETDOWN && err != -ECANCELED) /* it was said why when the breaker opened */
		share_complain(share, COMPLAINT_READING, turn->name, why);
	return LOOK_REFUSED;
}

static enum look look(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	struct store_reply reply = {.err = 0};
	struct gsym_diag diag;
	int err = cache_temp_open(share->cache, &turn->got, &diag);
	const struct store_request request = {
		.operation = STORE_GET,
		.name = turn->name,
		.fd = turn->got.fd,
		.size = share_found_size_max(&turn->facts, share->cache),
		.object = true,
	};
	turn->call = err ? NULL : store_start(share->store, &request, &err);
	if (!turn->call) {
		reply.err = err;
		return conclude(share, turn, &reply);
	}
	return await(turn, job, turn->call, &reply) ? conclude(share, turn, &reply) : LOOK_PENDING;
}

/* ---- Leases ---- */

static void begin_lease(struct share *share, struct share_turn *turn, const struct convert_job *job)
{
	struct store_abilities can;
	store_abilities(share->store, &can);
	turn->lease.state.seed = (unsigned)(monotonic_ms() * 7919 + getpid());
	lease_begin(&turn->lease.state, !can.is_read_only && can.has_leases, predict(job));
}

static void look_at_lease(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	struct store_reply reply = {.err = -ETIMEDOUT};
	const struct store_request request = {
		.operation = STORE_HEAD,
		.name = turn->lease.name,
		.fd = -1,
	};
	struct store_call *call = store_start(share->store, &request, &reply.err);
	if (call)
		await(turn, job, call, &reply);
	store_call_end(call);
	lease_note_head(&turn->lease.state, reply.err, reply.now, reply.modified, reply.etag);
}

/* When there is no answer in time the conversion begins, and the lease is ours if it comes to be. */
static void take_lease(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	struct store_reply reply;
	share_lease_ask(share, &turn->lease);
	if (turn->lease.call && await(turn, job, turn->lease.call, &reply))
		share_lease_note(share, &turn->lease, &reply);
}

/* Takes the lease although the store is not waited for any longer, so that other hosts do not convert too. */
static void announce(struct share *share, struct share_turn *turn)
{
	if (turn->lease.state.step == LEASE_TAKE && !turn->lease.call)
		share_lease_ask(share, &turn->lease);
}

/* The conversion is not there: who converts it? */
static enum share_step ask_for_turn(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	if (turn->lease.state.step == LEASE_LOOK)
		look_at_lease(share, turn, job);
	if (turn->lease.state.step == LEASE_TAKE || turn->lease.state.step == LEASE_TAKE_OVER)
		take_lease(share, turn, job);
	if (turn->lease.state.step != LEASE_LOOK || (turn->waited && monotonic_ms() >= turn->patience))
		return SHARE_CONVERT;
	if (!turn->waited)
		atomic_fetch_add_explicit(&share->counters.leases_waited, 1, memory_order_relaxed);
	turn->waited = true;
	job_fail(job->out, VERDICT_ELSEWHERE, -EAGAIN);
	int64_t left = turn->patience - monotonic_ms();
	job->out->wait_ms = turn->lease.state.wait_ms < left ? turn->lease.state.wait_ms
			    : left > 0                       ? (unsigned)left
							     : 0;
	return SHARE_ELSEWHERE;
}

/* ---- Taking ---- */

static void count_taken(struct share_turn *turn)
{
	turn->result = !turn->found.handle ? SHARE_FAILURE : turn->waited ? SHARE_WAITED : SHARE_HIT;
}

static enum share_step take_found(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	count_taken(turn);
	if (share_found_adopt(&turn->found, job) == 0) {
		job->out->adopted = true;
		return SHARE_TAKEN;
	}
	/* A worker is going to use the job, and finds what is wrong. */
	turn->result = SHARE_DOWN;
	text_reset(&job->notes);
	text_reset(&job->inputs);
	*job->out = (struct outcome){.verdict = VERDICT_READY};
	share_found_deinit(&turn->found, share->cache);
	return SHARE_CONVERT;
}

static enum share_step attempt(struct share *share, struct share_turn *turn, struct convert_job *job)
{
	switch (look(share, turn, job)) {
	case LOOK_FOUND: return take_found(share, turn, job);
	case LOOK_PENDING: announce(share, turn); return SHARE_CONVERT;
	case LOOK_REFUSED: return SHARE_CONVERT;
	case LOOK_ABSENT: break;
	}
	bool was_ours = share_lease_is_ours(&turn->lease);
	enum share_step step = was_ours ? SHARE_CONVERT : ask_for_turn(share, turn, job);
	/* Another host may have given it, and let go of its lease, since it was looked for. */
	return turn->lease.state.held && !was_ours ? attempt(share, turn, job) : step;
}

static enum share_step take_or_wait(struct convert_job *job, struct share_turn **ret_turn)
{
	struct share *share = job->converter->share;
	if (!is_sharing(job))
		return SHARE_CONVERT;
	struct share_turn *turn = *ret_turn = *ret_turn ? *ret_turn : turn_new(job);
	if (!turn || !store_is_up(share->store))
		return SHARE_CONVERT;
	if (make_key(turn, job)) {
		turn->result = SHARE_MISS; /* it has no name */
		return SHARE_CONVERT;
	}
	const int64_t now = monotonic_ms();
	if (!turn->patience) {
		turn->store_ms = share->wait_ms;
		turn->began = now;
		turn->patience = now + patience_ms(job);
		begin_lease(share, turn, job);
	}
	turn->until = now + turn->store_ms;
	if (turn->waited && turn->until > turn->patience)
		turn->until = turn->patience;
	enum share_step ret = attempt(share, turn, job);
	unsigned took = (unsigned)(monotonic_ms() - now);
	turn->store_ms -= took < turn->store_ms ? took : turn->store_ms;
	return ret;
}

static int64_t hurry(const struct share *share, struct share_turn *turn)
{
	int64_t most = turn->began + grace_ms(share);
	if (turn->patience > most)
		turn->patience = most;
	return turn->patience;
}

/* ---- While the worker runs ---- */

static int pending_fd(const struct share_turn *turn)
{
	return turn && turn->call ? store_call_fd(turn->call) : -1;
}

static bool has_arrived(struct convert_job *job, struct share_turn *turn)
{
	struct share *share = job->converter->share;
	struct store_reply reply;
	if (!turn->call || !store_wait(turn->call, 0, &reply) || conclude(share, turn, &reply) != LOOK_FOUND)
		return false;
	count_taken(turn);
	return true;
}

static void adopt(struct convert_job *job, struct share_turn *turn)
{
	struct outcome *out = job->out;
	int err = share_found_adopt(&turn->found, job);
	out->adopted = !err;
	if (err == -ESTALE) {
		diag_set(&out->diag, err, "%s: changed while it was converted", job->request->source.path);
		job_fail(out, VERDICT_REPLACED, err);
	} else if (cache_error_is_full(err)) {
		cache_note_full(job->converter->cache, err);
		job_fail_for_room(job);
	} else if (err) {
		diag_set(&out->diag, err, "cannot take it from the shared store: %s", strerror(-err));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
	}
}

/* ---- Ending ---- */

static bool is_to_be_given(const struct convert_job *job, const struct share_turn *turn)
{
	const struct outcome *out = job->out;
	bool settled = out->verdict == VERDICT_READY || out->verdict == VERDICT_FAILED_FOREVER;
	/* That servers could not be reached is no fact about the file. */
	return turn && settled && !out->adopted && !job->in_memory && !job->fetch_failure && !turn->keeps;
}

static struct share_offer *make_offer(const struct convert_job *job, struct share_turn *turn)
{
	if (turn && job->out->verdict == VERDICT_READY && !job->out->adopted)
		note_pace(job->converter->share, job);
	if (!is_to_be_given(job, turn))
		return NULL;
	struct share_offer *offer =
		share_offer_new(&turn->facts, (const int[SHARE_FILES]){job->input, job->binary},
				job->out->handle, text_span(&job->inputs));
	if (!offer)
		return NULL;
	snprintf(offer->message, sizeof(offer->message), "%s", job->out->diag.text);
	offer->has_key = turn->has_key;
	offer->key = turn->key;
	offer->may_exist = turn->call;
	offer->replaces = turn->replaces;
	memcpy(offer->etag, turn->etag, sizeof(offer->etag));
	offer->lease = turn->lease;
	turn->lease = (struct share_lease){.call = NULL};
	return offer;
}

static void end_turn(struct share *share, struct share_turn *turn)
{
	if (!turn)
		return;
	if (turn->call)
		turn->result = SHARE_HEDGED;
	share_count(share, turn->result);
	end_call(share, turn);
	share_found_deinit(&turn->found, share->cache);
	share_lease_end(share, &turn->lease, false);
	share_facts_deinit(&turn->facts);
	free(turn);
}

/* ---- Without a conversion ---- */

/* Both are to be freed in any case. */
static int make_facts(const struct converter *converter, const struct convert_request *request, int fd,
		      struct share_facts *ret, struct store_key *ret_key)
{
	const struct convert_job job = {.converter = converter, .request = request};
	const int fds[SHARE_FILES] = {fd, -1};
	int err = share_facts_make(&job, ret);
	return err ? err : share_facts_key(ret, fds, ret_key);
}

int share_key(const struct converter *converter, const struct convert_request *request, int fd,
	      struct store_key *ret)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	return make_facts(converter, request, fd, &facts, ret);
}

static int download(struct share *share, const struct store_key *key, int fd, uint64_t most,
		    struct store_reply *reply)
{
	char name[STORE_NAME_SIZE];
	store_name(key, STORE_CONVERSION, name);
	const struct store_request request = {
		.operation = STORE_GET, .name = name, .fd = fd, .size = most, .object = true};
	store_do(share->store, &request, TAKE_MS, reply);
	return reply->err;
}

int share_get(struct share *share, const struct store_key *key, int fd, struct store_reply *reply,
	      struct object_trailer *ret, struct gsym_diag *diag)
{
	int err = download(share, key, fd, (uint64_t)CACHE_GIB_DEFAULT << 30, reply);
	return err ? err : object_check(fd, reply->size, key, share->trust, ret, diag);
}

static int receive(struct share *share, const struct share_facts *facts, const struct store_key *key,
		   struct store_reply *reply, struct share_found *found, struct gsym_diag *diag)
{
	struct cache_temp got;
	int err = cache_temp_open(share->cache, &got, diag);
	if (err)
		return err;
	err = download(share, key, got.fd, share->cache->limit, reply);
	if (!err)
		err = share_found_check(found, share, facts, key, got.fd, reply, diag);
	cache_temp_close(share->cache, &got);
	return err;
}

int share_take(const struct converter *converter, const struct convert_request *request, int fd,
	       struct store_reply *reply, struct handle **ret, struct gsym_diag *diag)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	struct share_found found = {.copy = CACHE_TEMP_NONE};
	struct store_key key;
	*reply = (struct store_reply){.err = 0};
	int err = make_facts(converter, request, fd, &facts, &key);
	if (!err)
		err = receive(converter->share, &facts, &key, reply, &found, diag);
	if (!err && !found.handle)
		err = diag_set(diag, -EIO, "%s", found.message);
	if (!err)
		*ret = TAKE(found.handle);
	share_found_deinit(&found, converter->share->cache);
	return err;
}

/* ---- The store as its clients see it ---- */

static void describe(struct share *share, struct store_status *ret)
{
	struct store_abilities can;
	store_describe_breaker(share->store, ret->breaker, sizeof(ret->breaker));
	store_abilities(share->store, &can);
	ret->address = store_title(share->store);
	if (!can.is_read_only)
		snprintf(ret->access, sizeof(ret->access), "read-write");
	else
		snprintf(ret->access, sizeof(ret->access), "read-only%s%s%s", *can.refusal ? " (" : "",
			 can.refusal, *can.refusal ? ")" : "");
	ret->breaker_open = strcmp(ret->breaker, "closed") != 0;
	ret->read_only = can.is_read_only;
	const char *trouble = strchr(ret->breaker, '(');
	snprintf(ret->reason, sizeof(ret->reason), "%s", trouble ? trouble + 1 : can.refusal);
	if (trouble)
		ret->reason[strlen(ret->reason) - 1] = 0; /* the other bracket */
	ret->leases = can.is_read_only  ? "no (nothing may be written)"
		      : !can.is_known   ? "not known yet"
		      : !can.has_leases ? "no (the server does not refuse to replace an object)"
					: "yes";
	ret->signatures = !share->trust ? "none" : trust_is_demanded(share->trust) ? "demanded" : "made";
}

static const struct store_counters *counters(const struct share *share)
{
	return &share->counters;
}

const struct result_store share_store = {
	.take = take_or_wait,
	.pending_fd = pending_fd,
	.has_arrived = has_arrived,
	.adopt = adopt,
	.offer = make_offer,
	.end = end_turn,
	.hurry = hurry,
	.again = share_again,
	.give = share_give,
	.start = share_start,
	.stop = share_stop,
	.close = share_close,
	.describe = describe,
	.counters = counters,
};

/* A conversion's way through the shared store: what each answer, or none, has the host do. */

#include "work/cache/publish.h"
#include "work/run/run_slots.h"
#include "store/share/share_facts.h"
#include "store/share/share_found.h"
#include "store/share/share_hold.h"
#include "store/share/share_offer.h"
#include "store/share/share_turn.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- In place of the store, and of what is made of its answers ---- */

enum { GET_FD = 71, WAIT_MS = 250, START = 1000000 /* ms */, LATE = 1 /* no answer in time */ };

static struct {
	bool is_down;
	struct store_abilities can;
	int start_err, facts_err, key_err, digest_err, adopt_err;
	/* What looking for it gives, one after another; the last one again and again. */
	struct get_answer {
		int err; /* of the reply, or LATE */
		int check_err;
		const char *text; /* of the reply, or of the check */
	} gets[4];
	unsigned n_gets;
	struct store_reply head;
	bool head_is_late;
	int put_err;                /* of the lease, or LATE, or 2: it cannot be begun */
	bool slot_free, answer_too; /* for a worker */
} with;

static int64_t now_ms;
static char did[512]; /* what was done, a letter or word each */
static unsigned slots_taken, slots_given, digested;
static size_t counted[SHARE_RESULTS];
static struct get_answer current;

static void note(const char *what)
{
	size_t n = strlen(did);
	snprintf(did + n, sizeof(did) - n, "%s%s", n ? " " : "", what);
}

static struct store_call *const get_call = (struct store_call *)&current;
static struct store_call *const head_call = (struct store_call *)&with.head;
static struct store_call *const put_call = (struct store_call *)&with.put_err;
static struct share_hold *const one_hold = (struct share_hold *)&with.can;
static struct handle *const one_handle = (struct handle *)&with.gets;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
bool __wrap_store_is_up(struct store *store);
void __wrap_store_abilities(struct store *store, struct store_abilities *ret);
struct store_call *__wrap_store_start(struct store *store, const struct store_request *request, int *ret_err);
bool __wrap_store_wait(struct store_call *call, int64_t until, struct store_reply *ret);
void __wrap_store_call_end(struct store_call *call);
int __wrap_store_call_fd(const struct store_call *call);
bool __wrap_run_slot_take(struct run_slots *slots, int event);
void __wrap_run_slot_give(struct run_slots *slots);
int __wrap_cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);
void __wrap_cache_temp_close(struct cache *cache, struct cache_temp *temp);
void __wrap_cache_note_full(struct cache *cache, int err);
int __real_share_facts_make(const struct convert_job *convert_job, struct share_facts *ret);
int __wrap_share_facts_make(const struct convert_job *convert_job, struct share_facts *ret);
int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user);
int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret);
int __wrap_share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
			     const struct store_key *key, int fd, const struct store_reply *reply,
			     struct gsym_diag *diag);
int __wrap_share_found_adopt(struct share_found *found, struct convert_job *job);
void __wrap_share_found_deinit(struct share_found *found, struct cache *cache);
uint64_t __wrap_share_found_size_max(const struct share_facts *facts, const struct cache *cache);
void __wrap_share_complain(struct share *share, enum share_complaint kind, const char *name,
			   const char *text);
struct store_call *__wrap_share_lease_begin(struct share *share, const char *name, struct lease *lease);
void __wrap_share_lease_note(struct share *share, struct lease *lease, const struct store_reply *reply);
struct share_hold *__wrap_share_hold_new(struct share *share, const char *name, const struct lease *lease,
					 struct store_call *call);
void __wrap_share_hold_end(struct share *share, struct share_hold *hold);
struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *handle, struct span inputs);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
	return 0;
}

bool __wrap_store_is_up(struct store *store)
{
	assert_non_null(store);
	return !with.is_down;
}

void __wrap_store_abilities(struct store *store, struct store_abilities *ret)
{
	assert_non_null(store);
	*ret = with.can;
}

struct store_call *__wrap_store_start(struct store *store, const struct store_request *request, int *ret_err)
{
	assert_non_null(store);
	assert_int_equal(request->condition, STORE_ALWAYS);
	if (with.start_err) {
		*ret_err = with.start_err;
		return NULL;
	}
	if (request->operation == STORE_HEAD) {
		note("head");
		assert_int_equal(request->fd, -1);
		assert_non_null(strstr(request->name, "lease"));
		return head_call;
	}
	note("get");
	assert_int_equal(request->operation, STORE_GET);
	assert_int_equal(request->fd, GET_FD);
	assert_int_equal(request->size, 4711);
	assert_true(request->object);
	assert_null(strstr(request->name, "lease"));
	current = with.gets[with.n_gets];
	with.n_gets += with.n_gets + 1 < sizeof(with.gets) / sizeof(*with.gets);
	return get_call;
}

/* Who waits, waits for as long as he may. */
bool __wrap_store_wait(struct store_call *call, int64_t until, struct store_reply *ret)
{
	const int err = call == get_call ? current.err : call == put_call ? with.put_err : 0;
	assert_non_null(call);
	if (err == LATE || (call == head_call && with.head_is_late)) {
		now_ms = until > now_ms ? until : now_ms;
		return false;
	}
	*ret = call == head_call ? with.head : (struct store_reply){.err = err, .etag = "tag"};
	if (call == get_call && err && current.text)
		snprintf(ret->text, sizeof(ret->text), "%s", current.text);
	return true;
}

void __wrap_store_call_end(struct store_call *call)
{
	if (call)
		note(call == get_call ? "end-get" : call == head_call ? "end-head" : "end-put");
}

int __wrap_store_call_fd(const struct store_call *call)
{
	assert_non_null(call);
	return 72;
}

bool __wrap_run_slot_take(struct run_slots *slots, int event)
{
	(void)slots;
	assert_int_equal(event, 72);
	if (!with.slot_free) { /* the answer comes while it is waited for */
		current.err = 0;
		return false;
	}
	slots_taken++;
	if (with.answer_too)
		current.err = 0;
	return true;
}

void __wrap_run_slot_give(struct run_slots *slots)
{
	(void)slots;
	slots_given++;
}

int __wrap_cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag)
{
	assert_true(cache && diag);
	ret->fd = GET_FD;
	return 0;
}

void __wrap_cache_temp_close(struct cache *cache, struct cache_temp *temp)
{
	assert_non_null(cache);
	assert_true(temp->fd == GET_FD || temp->fd == -1);
	*temp = CACHE_TEMP_NONE;
}

void __wrap_cache_note_full(struct cache *cache, int err)
{
	assert_non_null(cache);
	assert_int_equal(err, -ENOSPC);
	note("full");
}

int __wrap_share_facts_make(const struct convert_job *convert_job, struct share_facts *ret)
{
	int err = __real_share_facts_make(convert_job, ret);
	return err ? err : with.facts_err;
}

int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user)
{
	assert_true(facts && digests && most && !more && !user);
	assert_int_equal(fds[SHARE_SOURCE], 5);
	assert_int_equal(fds[SHARE_BINARY], 6);
	digested++;
	return with.digest_err;
}

int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret)
{
	assert_non_null(facts);
	assert_int_equal(fds[SHARE_SOURCE], 5);
	memset(ret, 7, sizeof(*ret));
	return with.key_err;
}

int __wrap_share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
			     const struct store_key *key, int fd, const struct store_reply *reply,
			     struct gsym_diag *diag)
{
	assert_true(share && facts && key && reply);
	assert_int_equal(fd, GET_FD);
	if (current.check_err && current.text)
		snprintf(diag->text, sizeof(diag->text), "%s", current.text);
	found->handle = current.check_err || current.text ? NULL : one_handle;
	return current.check_err;
}

int __wrap_share_found_adopt(struct share_found *found, struct convert_job *job)
{
	note("adopt");
	if (!with.adopt_err) {
		job->out->handle = found->handle;
		found->handle = NULL;
	} else {
		job->out->err = with.adopt_err;
		text_str(&job->notes, "notes");
		text_str(&job->inputs, "inputs");
	}
	return with.adopt_err;
}

void __wrap_share_found_deinit(struct share_found *found, struct cache *cache)
{
	assert_non_null(cache);
	assert_int_equal(found->copy.fd, -1);
	if (found->handle)
		note("drop");
	found->handle = NULL;
}

uint64_t __wrap_share_found_size_max(const struct share_facts *facts, const struct cache *cache)
{
	assert_true(facts && cache);
	return 4711;
}

void __wrap_share_complain(struct share *share, enum share_complaint kind, const char *name, const char *text)
{
	char line[128];
	assert_true(share && *name);
	snprintf(line, sizeof(line), "[%u %s]", kind, text);
	note(line);
}

struct store_call *__wrap_share_lease_begin(struct share *share, const char *name, struct lease *lease)
{
	assert_non_null(share);
	assert_non_null(strstr(name, "lease"));
	if (with.put_err == 2) {
		note("no-put");
		lease_note_put(lease, -ENOMEM, "");
		return NULL;
	}
	note(lease->step == LEASE_TAKE ? "put" : "replace");
	return put_call;
}

void __wrap_share_lease_note(struct share *share, struct lease *lease, const struct store_reply *reply)
{
	assert_non_null(share);
	lease_note_put(lease, reply->err, reply->etag);
}

struct share_hold *__wrap_share_hold_new(struct share *share, const char *name, const struct lease *lease,
					 struct store_call *call)
{
	assert_non_null(share);
	assert_non_null(strstr(name, "lease"));
	assert_true(call == put_call || (!call && lease->held));
	note(call ? "hold-put" : "hold");
	return one_hold;
}

void __wrap_share_hold_end(struct share *share, struct share_hold *hold)
{
	assert_non_null(share);
	if (hold)
		note("let-go");
}

static struct share_facts *offered;
static struct share_offer *the_offer;

struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *handle, struct span inputs)
{
	assert_int_equal(fds[SHARE_SOURCE], 5);
	assert_int_equal(fds[SHARE_BINARY], 6);
	(void)handle;
	(void)inputs;
	offered = facts;
	return the_offer;
}

/* ---- The job ---- */

static struct share share;
static const struct log no_log;
static struct cache the_cache;
static struct converter converter;
static struct convert_request request;
static struct outcome out;
static struct convert_job job;
static struct share_turn *turn;

static int set_up(void **state)
{
	(void)state;
	memset(&with, 0, sizeof(with));
	memset(&share, 0, sizeof(share));
	with.can = (struct store_abilities){.is_known = true, .has_leases = true};
	share.store = (struct store *)&share;
	share.cache = &the_cache;
	share.log = &no_log;
	share.wait_ms = WAIT_MS;
	share.pace = SHARE_PACE;
	converter = (struct converter){
		.cache = &the_cache, .log = &no_log, .share = &share, .root = "/", .threads = 1};
	request = (struct convert_request){
		.id = "0102", .arch = "x86_64", .source.path = "source", .binary.state.size = UINT32_MAX};
	out = (struct outcome){.err = 0};
	job = (struct convert_job){
		.converter = &converter, .request = &request, .out = &out, .input = 5, .binary = 6};
	turn = NULL;
	now_ms = START;
	did[0] = 0;
	slots_taken = slots_given = digested = 0;
	return 0;
}

/* Ends the turn, if there is one; what it counts as. */
static int end_turn(void)
{
	int ret = -1;
	for (size_t i = 0; i < SHARE_RESULTS; i++)
		counted[i] = atomic_load(&share.counters.shares[i]);
	share_turn_end(&share, turn);
	for (size_t i = 0; i < SHARE_RESULTS; i++)
		if (atomic_load(&share.counters.shares[i]) > counted[i])
			ret = (int)i;
	turn = NULL;
	text_deinit(&job.notes);
	text_deinit(&job.inputs);
	return ret;
}

static int tear_down(void **state)
{
	(void)state;
	end_turn();
	return 0;
}

static enum share_step take(void)
{
	did[0] = 0;
	return share_store.take(&job, &turn);
}

/* ---- Not at all ---- */

TEST(not_shared)
{
	job.in_memory = true;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_null(turn);
	job.in_memory = false;
	share.store = NULL;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_null(turn);
	converter.share = NULL;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_null(turn);
	assert_int_equal(share_store.pending_fd(NULL), -1);
	assert_null(share_store.offer(&job, NULL));
	share_turn_end(&share, NULL);
}

TEST(not_asked)
{
	with.is_down = true;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_non_null(turn);
	assert_string_equal(did, "");
	assert_int_equal(end_turn(), SHARE_DOWN);
	with.is_down = false;
	with.key_err = -EPERM;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_int_equal(end_turn(), SHARE_MISS);
	with.key_err = 0;
	with.digest_err = -EFBIG;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "");
	assert_int_equal(end_turn(), SHARE_MISS);
	with.facts_err = -ENOMEM;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_null(turn);
}

/* ---- It is there ---- */

TEST(found)
{
	assert_int_equal(take(), SHARE_TAKEN);
	assert_true(out.adopted);
	assert_ptr_equal(out.handle, one_handle);
	assert_string_equal(did, "get end-get adopt");
	assert_int_equal(share_store.pending_fd(turn), -1);
	assert_null(share_store.offer(&job, turn)); /* the store has it */
	assert_int_equal(end_turn(), SHARE_HIT);
	with.gets[1].text = "a failure";
	assert_int_equal(take(), SHARE_TAKEN);
	assert_int_equal(end_turn(), SHARE_FAILURE);
}

/* What cannot be used here is converted. */
TEST(found_in_vain)
{
	with.adopt_err = -ENOSPC;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_false(out.adopted);
	assert_int_equal(out.err, 0);
	assert_int_equal(job.notes.n + job.inputs.n, 0);
	assert_int_equal(end_turn(), SHARE_DOWN);
}

/* While all workers are busy the answer is waited for; else it is not. */
TEST(late)
{
	with.gets[0].err = LATE;
	assert_int_equal(take(), SHARE_TAKEN);
	assert_int_equal(now_ms, START + WAIT_MS);
	assert_false(job.has_slot);
	assert_int_equal(end_turn(), SHARE_HIT);
	/* Both at the same time. */
	with.n_gets = 0;
	with.slot_free = with.answer_too = true;
	assert_int_equal(take(), SHARE_TAKEN);
	assert_int_equal(slots_taken, 1);
	assert_int_equal(slots_given, 1);
	assert_false(job.has_slot);
	with.answer_too = false;
	end_turn();
	with.gets[1].err = LATE;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_true(job.has_slot);
	assert_int_equal(slots_taken - slots_given, 1);
	assert_string_equal(did, "get put hold-put"); /* other hosts are to know */
	assert_int_equal(share_store.pending_fd(turn), 72);
	assert_false(share_store.has_arrived(&job, turn));
	current = (struct get_answer){.err = 0};
	assert_true(share_store.has_arrived(&job, turn));
	assert_int_equal(share_store.pending_fd(turn), -1);
	assert_false(share_store.has_arrived(&job, turn));
	did[0] = 0;
	assert_int_equal(end_turn(), SHARE_HIT);
	assert_string_equal(did, "drop let-go"); /* the conversion was not taken after all */
	/* The conversion was faster. */
	job.has_slot = false;
	with.gets[2].err = LATE;
	assert_int_equal(take(), SHARE_CONVERT);
	did[0] = 0;
	assert_int_equal(end_turn(), SHARE_HEDGED);
	assert_string_equal(did, "end-get let-go");
	/* What arrives is none. */
	job.has_slot = false;
	with.gets[3].err = LATE;
	assert_int_equal(take(), SHARE_CONVERT);
	current = (struct get_answer){.err = -ENOENT};
	assert_false(share_store.has_arrived(&job, turn));
	assert_int_equal(share_store.pending_fd(turn), -1);
	assert_int_equal(end_turn(), SHARE_MISS);
}

TEST(late_without_leases)
{
	with.gets[0].err = LATE;
	with.slot_free = true;
	share.bazel = true;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get");
	end_turn();
	job.has_slot = false;
	share.bazel = false;
	with.put_err = 2;
	with.n_gets = 0;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get no-put");
}

TEST(adopted)
{
	static const struct {
		int err;
		enum verdict verdict;
		int out_err;
		const char *text;
	} rows[] = {
		{-ESTALE, VERDICT_REPLACED, -ESTALE, "'source' changed while it was converted"},
		{-ENOMEM, VERDICT_TRANSIENT, -EIO,
		 "cannot take it from the shared store: Cannot allocate memory"},
		{-ENOSPC, VERDICT_FAILED, -ENOSPC, ""},
	};
	with.gets[0].err = LATE;
	with.slot_free = true;
	assert_int_equal(take(), SHARE_CONVERT);
	current = (struct get_answer){.err = 0};
	assert_true(share_store.has_arrived(&job, turn));
	share_store.adopt(&job, turn);
	assert_true(out.adopted);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		out = (struct outcome){.err = 0};
		did[0] = 0;
		with.adopt_err = rows[i].err;
		share_store.adopt(&job, turn);
		assert_false(out.adopted);
		assert_int_equal(out.verdict, rows[i].verdict);
		assert_int_equal(out.err, rows[i].out_err);
		assert_string_equal(out.diag.text, rows[i].text);
		assert_string_equal(did, rows[i].err == -ENOSPC ? "adopt full" : "adopt");
	}
}

/* ---- It is of no use ---- */

TEST(refused)
{
	static const struct {
		struct get_answer get;
		const char *complaint;
		enum share_result result;
		bool may_be_given;
	} rows[] = {
		{{0, -EPERM, "forged"}, "get end-get [1 forged]", SHARE_REFUSED, false},
		{{0, -ENOKEY, "no key"}, "get end-get [2 no key]", SHARE_REFUSED, false},
		{{0, -EXDEV, NULL}, "get end-get [4 Invalid cross-device link]", SHARE_OUTDATED, false},
		{{-EFBIG, 0, "large"}, "get end-get [3 large]", SHARE_REFUSED, false},
		{{0, -EIO, NULL}, "get end-get", SHARE_DOWN, true},
		{{-EREMOTEIO, 0, "HTTP 500"}, "get end-get [5 HTTP 500]", SHARE_DOWN, true},
		{{-ETIMEDOUT, 0, NULL}, "get end-get [5 Connection timed out]", SHARE_DOWN, true},
		{{-ENETDOWN, 0, NULL}, "get end-get", SHARE_DOWN, true},
		{{-ECANCELED, 0, NULL}, "get end-get", SHARE_DOWN, true},
	};
	the_offer = calloc(1, sizeof(*the_offer));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		with.n_gets = 0;
		with.gets[0] = rows[i].get;
		assert_int_equal(take(), SHARE_CONVERT);
		assert_string_equal(did, rows[i].complaint);
		out.verdict = VERDICT_READY;
		assert_int_equal(share_store.offer(&job, turn) != NULL, rows[i].may_be_given);
		assert_int_equal(end_turn(), rows[i].result);
	}
	free(the_offer);
	with.start_err = -EBUSY;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "[5 Device or resource busy]");
	assert_int_equal(end_turn(), SHARE_DOWN);
}

/* What is to be replaced is converted by the one who gets the lease, and given with its tag. */
TEST(replaced)
{
	static const struct {
		struct get_answer get;
		const char *begin;
		enum share_result result;
	} rows[] = {
		{{0, -ETIME, NULL}, "get end-get put", SHARE_OUTDATED},
		{{0, -ESTALE, NULL}, "get end-get put", SHARE_OUTDATED},
		{{0, -EBADMSG, "record"}, "get end-get [0 record] put", SHARE_DAMAGED},
		{{0, -EPROTO, "magic"}, "get end-get [0 magic] put", SHARE_DAMAGED},
		{{-EBADMSG, 0, "frame"}, "get end-get [0 frame] put", SHARE_DAMAGED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		the_offer = calloc(1, sizeof(*the_offer));
		with.n_gets = 0;
		with.gets[0] = with.gets[1] = rows[i].get;
		assert_int_equal(take(), SHARE_CONVERT);
		assert_memory_equal(did, rows[i].begin, strlen(rows[i].begin));
		out.verdict = VERDICT_READY;
		assert_ptr_equal(share_store.offer(&job, turn), the_offer);
		assert_true(the_offer->replaces && the_offer->has_key && !the_offer->may_exist);
		assert_string_equal(the_offer->etag, "tag");
		assert_ptr_equal(the_offer->hold, one_hold);
		did[0] = 0;
		assert_int_equal(end_turn(), rows[i].result);
		assert_string_equal(did, ""); /* the lease is the offer's now */
		free(the_offer);
	}
}

/* ---- It is not there: leases ---- */

TEST(has_lease)
{
	with.gets[0].err = with.gets[1].err = -ENOENT;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get put end-put hold get end-get");
	assert_int_equal(end_turn(), SHARE_MISS);
	/* Another host gave it before the lease was ours. */
	with.n_gets = 0;
	with.gets[1].err = 0;
	assert_int_equal(take(), SHARE_TAKEN);
	assert_string_equal(did, "get end-get put end-put hold get end-get adopt");
	assert_int_equal(end_turn(), SHARE_HIT);
	/* No answer to the lease in time. */
	with.n_gets = 0;
	with.put_err = LATE;
	with.slot_free = true;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get put hold-put");
	end_turn();
	/* Nor can it be asked for. */
	job.has_slot = false;
	with.n_gets = 0;
	with.put_err = 2;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get no-put");
	assert_int_equal(end_turn(), SHARE_MISS);
	/* The store failed: without a lease, then. */
	with.n_gets = 0;
	with.put_err = -EREMOTEIO;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get put end-put");
}

TEST(without_leases)
{
	static const struct {
		struct store_abilities can;
		bool bazel, leases;
	} rows[] = {
		{{.is_known = true, .has_leases = true}, false, true},
		{{.is_known = false, .has_leases = false}, false, true},
		{{.is_known = true, .has_leases = false}, false, false},
		{{.is_known = true, .has_leases = true, .is_read_only = true}, false, false},
		{{.is_known = true, .has_leases = true}, true, false},
	};
	with.put_err = 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		with.n_gets = 0;
		with.gets[0].err = -ENOENT;
		with.can = rows[i].can;
		share.bazel = rows[i].bazel;
		assert_int_equal(take(), SHARE_CONVERT);
		assert_string_equal(did, rows[i].leases ? "get end-get no-put" : "get end-get");
		end_turn();
	}
}

/* Of a lease that another host has. */
static void wait_for_other(void)
{
	with.n_gets = 0;
	for (size_t i = 0; i < 4; i++)
		with.gets[i] = (struct get_answer){.err = -ENOENT};
	with.put_err = -EEXIST;
	with.head = (struct store_reply){.now = 100, .modified = 100, .etag = "theirs"};
	assert_int_equal(take(), SHARE_ELSEWHERE);
	assert_string_equal(did, "get end-get put end-put");
	assert_int_equal(out.verdict, VERDICT_ELSEWHERE);
	assert_int_equal(out.err, -EAGAIN);
	assert_in_range(out.wait_ms, 1, WAIT_MS * 5 / 4); /* it is spread */
}

TEST(elsewhere)
{
	wait_for_other();
	assert_int_equal(share.counters.leases_waited, 1);
	assert_int_equal(take(), SHARE_ELSEWHERE);
	assert_string_equal(did, "get end-get head end-head");
	assert_int_equal(share.counters.leases_waited, 1);
	with.gets[2].err = 0;
	assert_int_equal(take(), SHARE_TAKEN);
	assert_int_equal(end_turn(), SHARE_WAITED);
	assert_int_equal(digested, 1);
	/* It cannot be read here. */
	wait_for_other();
	with.gets[1] = (struct get_answer){.check_err = -EIO};
	assert_int_equal(take(), SHARE_CONVERT);
	assert_int_equal(end_turn(), SHARE_DOWN);
	/* It is gone, and ours. */
	wait_for_other();
	with.head = (struct store_reply){.err = -ENOENT};
	with.put_err = 0;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get head end-head put end-put hold get end-get");
	end_turn();
	/* It is over, and replaced. */
	wait_for_other();
	with.head.now = 1000;
	with.put_err = 0;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get head end-head replace end-put hold get end-get");
	end_turn();
	/* Nothing is heard of it. */
	wait_for_other();
	with.head_is_late = with.slot_free = true;
	assert_int_equal(take(), SHARE_CONVERT);
	assert_string_equal(did, "get end-get head end-head");
}

/* Whatever the store says of its lease, it is not waited for without end. */
TEST(patience)
{
	wait_for_other();
	now_ms = START + WAIT_MS - 1;
	assert_int_equal(take(), SHARE_ELSEWHERE);
	assert_int_equal(out.wait_ms, 1);
	now_ms = START + WAIT_MS;
	assert_int_equal(take(), SHARE_CONVERT);
	end_turn();
	/* A large file takes longer: ten times as long as is predicted, of both files. */
	now_ms = START;
	request.source.state.size = 100000000;
	request.binary.path = "binary";
	request.binary.state.size = 200000000;
	const int64_t most = 10 * (int64_t)predict_conversion_ms(300000000, 1);
	wait_for_other();
	with.head.etag[0] = 'o'; /* renewed again and again */
	now_ms = START + most - 1;
	assert_int_equal(take(), SHARE_ELSEWHERE);
	assert_int_equal(out.wait_ms, 1);
	assert_int_equal(share_turn_hurry(&share, turn), START + WAIT_MS);
	assert_int_equal(share_turn_hurry(&share, turn), START + WAIT_MS);
	assert_int_equal(take(), SHARE_CONVERT);
	end_turn();
	/* Where processors are busy, more. */
	now_ms = START;
	wait_for_other();
	share.pace = 2 * SHARE_PACE;
	assert_int_equal(share_turn_hurry(&share, turn), START + 2 * WAIT_MS);
	share.pace = 1000 * SHARE_PACE;
	assert_int_equal(share_turn_hurry(&share, turn), START + 2 * WAIT_MS); /* not later than before */
}

/* All requests together have the time that the store has. */
TEST(time_of_the_store)
{
	wait_for_other();
	with.slot_free = true;
	for (size_t i = 0; i < 4; i++)
		with.gets[i].err = LATE;
	with.n_gets = 0;
	now_ms = START + 100;
	share.wait_ms = 1; /* is looked at once */
	assert_int_equal(take(), SHARE_CONVERT);
	assert_int_equal(now_ms, START + WAIT_MS); /* no longer than the other host is waited for */
	end_turn();
}

/* ---- Giving ---- */

TEST(given)
{
	static const struct {
		enum verdict verdict;
		bool gives;
	} rows[] = {
		{VERDICT_READY, true},     {VERDICT_FAILED_FOREVER, true}, {VERDICT_OUTDATED, false},
		{VERDICT_REPLACED, false}, {VERDICT_TRANSIENT, false},     {VERDICT_CRASHED, false},
		{VERDICT_FAILED, false},
	};
	the_offer = calloc(1, sizeof(*the_offer));
	with.gets[0].err = LATE;
	with.slot_free = true;
	take();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		out = (struct outcome){.verdict = rows[i].verdict, .diag.text = "why"};
		offered = NULL;
		assert_ptr_equal(share_store.offer(&job, turn), rows[i].gives ? the_offer : NULL);
		assert_int_equal(offered != NULL, rows[i].gives);
	}
	assert_string_equal(the_offer->message, "why");
	assert_true(the_offer->may_exist && the_offer->has_key && !the_offer->replaces);
	assert_string_equal(the_offer->etag, "");
	out.verdict = VERDICT_FAILED_FOREVER;
	job.fetch_failure = -EHOSTDOWN; /* no fact about the file */
	assert_null(share_store.offer(&job, turn));
	job.fetch_failure = 0;
	job.in_memory = true;
	assert_null(share_store.offer(&job, turn));
	job.in_memory = false;
	out.adopted = true;
	assert_null(share_store.offer(&job, turn));
	out.adopted = false;
	free(the_offer);
	the_offer = NULL;
	assert_null(share_store.offer(&job, turn)); /* without memory */
}

/* Of the conversions that were made here. */
TEST(pace)
{
	static const struct {
		double seconds; /* usually two hundredths */
		unsigned pace, after;
	} rows[] = {
		{0.02, SHARE_PACE, SHARE_PACE},         {0, SHARE_PACE, SHARE_PACE},
		{0.04, SHARE_PACE, SHARE_PACE * 5 / 4}, {100, SHARE_PACE, SHARE_PACE * 7 / 4},
		{100, SHARE_PACE_MAX, SHARE_PACE_MAX},  {0, SHARE_PACE_MAX, SHARE_PACE * 13 / 4},
	};
	with.is_down = true;
	take();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		atomic_store(&share.pace, rows[i].pace);
		out = (struct outcome){.verdict = VERDICT_READY, .seconds = rows[i].seconds};
		share_store.offer(&job, turn);
		assert_int_equal(atomic_load(&share.pace), rows[i].after);
	}
	atomic_store(&share.pace, SHARE_PACE);
	out.adopted = true;
	share_store.offer(&job, turn);
	out.adopted = false;
	out.verdict = VERDICT_FAILED_FOREVER;
	out.seconds = 100;
	share_store.offer(&job, turn);
	assert_int_equal(atomic_load(&share.pace), SHARE_PACE);
}

EACH_TEST(set_up, tear_down)

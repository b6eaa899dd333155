/*
 * Which shard answers a query depends on its address: ranges of about as many queries each, so that a record
 * is read, and most names are rendered, by one shard only. Ranges stay as long as they divide the queries
 * well, for what shards keep. Addresses that ascend, or are mostly the same, are dealt out in turn instead, a
 * stretch of queries to each shard; else one shard would answer while the others wait.
 *
 * A shard appends records to a buffer of its own and notes where they end. Copying them together is cheap
 * beside making them.
 */
#include "gsym/render/batch/sharded_batch.h"

#include "gsym/base/parallel.h"
#include "gsym/base/sort.h"

enum {
	STRETCH = 512,      /* queries that are dealt out to a shard */
	SAMPLE = 1024,      /* addresses of which ranges are made */
	UNORDERED_MIN = 16, /* addresses that ascend have fewer than one in as many that does not */
	AT_ONCE_MIN = 128,  /* queries that are answered by several threads */
};

struct shard {
	struct batch *batch;
	VEC(struct batch_query) queries; /* announced ones that are its own */
	size_t answered, taken;          /* of them: records made, and copied out */
	struct text_buf out;             /* records that are not copied out yet, from @at on */
	size_t at;
	struct record_ends ends; /* of records in @out, */
	size_t next_end;         /* of which this is the first not copied out */
	size_t wanted;           /* records to be made in this call */
	int err;                 /* of this call */
	struct gsym_diag diag;
};

struct sharded_batch {
	VEC(uint8_t)
	owners;       /* of announced queries: the shard's number; none when there is one shard for all */
	size_t next;  /* the first that is not answered */
	bool stopped; /* the pass over announced queries is not over */
	bool has_ranges;
	uint64_t ranges[SHARDS_MAX]; /* where those of the shards after the first begin */
	unsigned n;
	struct shard shards[SHARDS_MAX];
};

struct sharded_batch *sharded_batch_new(const struct gsym_reader *reader, unsigned n_shards)
{
	struct sharded_batch *sharded = calloc(1, sizeof(*sharded));
	if (!sharded)
		return NULL;
	sharded->n = n_shards < 1 ? 1 : n_shards < SHARDS_MAX ? n_shards : SHARDS_MAX;
	for (unsigned i = 0; i < sharded->n; i++) {
		sharded->shards[i].batch = batch_new(reader);
		if (!sharded->shards[i].batch) {
			sharded_batch_free(sharded);
			return NULL;
		}
	}
	return sharded;
}

void sharded_batch_free(struct sharded_batch *sharded)
{
	for (unsigned i = 0; sharded && i < sharded->n; i++) {
		struct shard *shard = &sharded->shards[i];
		batch_free(shard->batch);
		vec_free(&shard->queries);
		text_deinit(&shard->out);
		vec_free(&shard->ends);
	}
	if (sharded)
		vec_free(&sharded->owners);
	free(sharded);
}

size_t sharded_batch_memory(const struct sharded_batch *sharded)
{
	size_t sum = sharded ? sizeof(*sharded) + sharded->owners.cap : 0;
	for (unsigned i = 0; sharded && i < sharded->n; i++) {
		const struct shard *shard = &sharded->shards[i];
		sum += batch_memory(shard->batch) + shard->queries.cap * sizeof(*shard->queries.v) +
		       shard->out.cap + shard->ends.cap * sizeof(*shard->ends.v);
	}
	return sum;
}

/* ---- Running ---- */

/* One call of a batch. */
struct shard_call {
	struct sharded_batch *sharded;
	const struct batch_options *options;
	const struct shard_run *run;
	size_t enough; /* bytes at which a shard has made enough ahead */
	int (*work)(void *arg);
};

struct shard_work {
	const struct shard_call *call;
	struct shard *shard;
};

static int guarded(const struct shard_run *run, int (*work)(void *arg), void *arg)
{
	return run->guarded ? run->guarded(run->user, work, arg) : work(arg);
}

static void run_shard(void *user, size_t index, unsigned thread)
{
	const struct shard_call *call = user;
	struct shard_work work = {call, &call->sharded->shards[index]};
	(void)thread;
	work.shard->err = guarded(call->run, call->work, &work);
}

/* Has all shards do it. The first error other than damage, or else 1 if one gave that. */
static int run_shards(const struct shard_call *call, unsigned threads)
{
	int more = 0;
	parallel_for(threads, call->sharded->n, run_shard, (void *)call);
	for (unsigned i = 0; i < call->sharded->n; i++) {
		int err = call->sharded->shards[i].err;
		if (err < 0 && err != -EBADMSG)
			return err;
		more |= err > 0;
	}
	return more;
}

/* Announced queries are as any others from here on. */
static void forget(struct sharded_batch *sharded)
{
	sharded->owners.n = sharded->next = 0;
	sharded->stopped = false;
	for (unsigned i = 0; i < sharded->n; i++) {
		struct shard *shard = &sharded->shards[i];
		shard->queries.n = shard->answered = shard->taken = 0;
		shard->ends.n = shard->next_end = shard->at = 0;
		text_reset(&shard->out);
	}
}

/* ---- Announcing ---- */

static unsigned range_of(const struct sharded_batch *sharded, uint64_t addr)
{
	unsigned range = 0;
	for (unsigned i = 1; i < sharded->n; i++)
		range += addr >= sharded->ranges[i];
	return range;
}

/* Whether no range has much more than its share. */
static bool assign_ranges(struct sharded_batch *sharded, const struct batch_query *queries, size_t n)
{
	size_t counts[SHARDS_MAX] = {0};
	bool even = true;
	for (size_t i = 0; i < n; i++) {
		unsigned range = range_of(sharded, queries[i].addr);
		sharded->owners.v[i] = (uint8_t)range;
		counts[range]++;
	}
	for (unsigned i = 0; i < sharded->n; i++)
		even = even && counts[i] <= n / sharded->n + n / sharded->n / 4;
	return even;
}

static void choose_ranges(struct sharded_batch *sharded, const struct batch_query *queries, size_t n)
{
	uint64_t sample[SAMPLE], scratch[SAMPLE];
	for (size_t i = 0; i < SAMPLE; i++)
		sample[i] = queries[i * n / SAMPLE].addr;
	sort_u64(sample, scratch, SAMPLE, 0);
	for (unsigned i = 1; i < sharded->n; i++)
		sharded->ranges[i] = sample[i * SAMPLE / sharded->n];
	sharded->has_ranges = true;
}

static bool ascends(const struct batch_query *queries, size_t n)
{
	size_t descents = 0;
	for (size_t i = 1; i < n; i++)
		descents += queries[i].addr < queries[i - 1].addr;
	return descents < n / UNORDERED_MIN;
}

static void deal_out(struct sharded_batch *sharded, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sharded->owners.v[i] = (uint8_t)(i / STRETCH % sharded->n);
}

static void choose_owners(struct sharded_batch *sharded, const struct batch_query *queries, size_t n)
{
	if (ascends(queries, n)) {
		deal_out(sharded, n);
		return;
	}
	if (sharded->has_ranges && assign_ranges(sharded, queries, n))
		return;
	choose_ranges(sharded, queries, n);
	if (!assign_ranges(sharded, queries, n))
		deal_out(sharded, n);
}

/* 0 or -ENOMEM. */
static int divide(struct sharded_batch *sharded, const struct batch_query *queries, size_t n)
{
	if (vec_reserve(&sharded->owners, n))
		return -ENOMEM;
	choose_owners(sharded, queries, n);
	for (size_t i = 0; i < n; i++)
		if (vec_push(&sharded->shards[sharded->owners.v[i]].queries, queries[i]))
			return -ENOMEM;
	sharded->owners.n = n;
	return 0;
}

static int expect(void *arg)
{
	const struct shard_work *work = arg;
	batch_expect(work->shard->batch, work->call->options, work->shard->queries.v, work->shard->queries.n);
	return 0;
}

/* All of them, by the first shard. */
struct single_expect {
	struct shard *shard;
	const struct batch_options *options;
	const struct batch_query *queries;
	size_t n, looked_at;
};

static int expect_alone(void *arg)
{
	struct single_expect *all = arg;
	all->looked_at = batch_expect(all->shard->batch, all->options, all->queries, all->n);
	return 0;
}

int sharded_batch_expect(struct sharded_batch *sharded, const struct batch_options *options,
			 const struct shard_run *run, const struct batch_query *queries, size_t n,
			 size_t *ret_n)
{
	int err;
	forget(sharded);
	n = n < BATCH_EXPECTED ? n : BATCH_EXPECTED;
	if (sharded->n > 1 && run->threads > 1 && n >= SHARDED_MIN && divide(sharded, queries, n) == 0) {
		struct shard_call call = {sharded, options, run, 0, expect};
		err = run_shards(&call, run->threads);
		*ret_n = n;
	} else {
		struct single_expect all = {&sharded->shards[0], options, queries, n, 0};
		forget(sharded);
		err = guarded(run, expect_alone, &all);
		*ret_n = all.looked_at;
	}
	if (err) {
		forget(sharded);
		*ret_n = 0;
	}
	sharded->stopped = !err;
	return err;
}

static int expect_more(void *arg)
{
	const struct shard_work *work = arg;
	return batch_expect_more(work->shard->batch, work->call->options);
}

int sharded_batch_expect_more(struct sharded_batch *sharded, const struct batch_options *options,
			      const struct shard_run *run)
{
	struct shard_call call = {sharded, options, run, 0, expect_more};
	struct shard_work first = {&call, &sharded->shards[0]};
	int err = !sharded->stopped   ? 0
		  : sharded->owners.n ? run_shards(&call, run->threads)
				      : guarded(run, expect_more, &first);
	if (err < 0)
		forget(sharded);
	sharded->stopped = err > 0;
	return err;
}

/* ---- Answering ---- */

/* Drops records that were copied out. */
static void drop_taken(struct shard *shard)
{
	shard->out.n -= shard->at;
	shard->ends.n -= shard->next_end;
	if (shard->out.n)
		memmove(shard->out.v, shard->out.v + shard->at, shard->out.n);
	for (size_t i = 0; i < shard->ends.n; i++)
		shard->ends.v[i] = shard->ends.v[shard->next_end + i] - shard->at;
	shard->at = shard->next_end = 0;
}

static int answer_wanted(void *arg)
{
	const struct shard_work *work = arg;
	struct shard *shard = work->shard;
	struct batch_options options = *work->call->options;
	size_t n = 0;
	drop_taken(shard);
	options.ends = &shard->ends;
	if (!shard->wanted || shard->out.n >= work->call->enough)
		return 0;
	int err = batch_answer(shard->batch, &options, shard->queries.v + shard->answered, shard->wanted,
			       work->call->enough, &shard->out, &n, &shard->diag);
	shard->answered += n;
	return err;
}

/* How many records each shard has to make for the next @n queries; the sum. */
static size_t count_wanted(struct sharded_batch *sharded, size_t n)
{
	size_t counts[SHARDS_MAX] = {0}, sum = 0;
	for (size_t i = 0; i < n; i++)
		counts[sharded->owners.v[sharded->next + i]]++;
	for (unsigned i = 0; i < sharded->n; i++) {
		struct shard *shard = &sharded->shards[i];
		size_t made = shard->answered - shard->taken;
		shard->wanted = counts[i] > made ? counts[i] - made : 0;
		sum += shard->wanted;
	}
	return sum;
}

static bool is_same(const struct batch_query *a, const struct batch_query *b)
{
	return a->given == b->given && a->addr == b->addr && a->text == b->text && a->size == b->size &&
	       a->kind == b->kind;
}

/* Whether @query is the one that was announced next, and its record has been made: then it is copied. */
static bool take_record(struct sharded_batch *sharded, const struct batch_query *query, struct text_buf *out)
{
	struct shard *shard = &sharded->shards[sharded->owners.v[sharded->next]];
	if (shard->next_end == shard->ends.n || !is_same(query, &shard->queries.v[shard->taken]))
		return false;
	size_t end = shard->ends.v[shard->next_end++];
	text_bytes(out, shard->out.v + shard->at, end - shard->at);
	shard->at = end;
	shard->taken++;
	sharded->next++;
	return true;
}

/* -EBADMSG when a shard came upon damage. */
static int check_damage(const struct sharded_batch *sharded, struct gsym_diag *diag)
{
	for (unsigned i = 0; i < sharded->n; i++) {
		if (sharded->shards[i].err != -EBADMSG)
			continue;
		if (diag)
			*diag = sharded->shards[i].diag;
		return -EBADMSG;
	}
	return 0;
}

/* *ret_n may be 0: they are not what was announced. */
static int answer_announced(const struct shard_call *call, const struct batch_query *queries, size_t n,
			    struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	struct sharded_batch *sharded = call->sharded;
	size_t left = sharded->owners.n - sharded->next, done = 0, most = out->n + call->enough;
	n = n < left ? n : left;
	size_t wanted = count_wanted(sharded, n);
	int err = run_shards(call, wanted < AT_ONCE_MIN ? 1 : call->run->threads);
	if (err)
		return err;
	while (done < n && (!done || out->n < most) && take_record(sharded, &queries[done], out))
		done++;
	*ret_n = done;
	return out->failed ? -ENOMEM : check_damage(sharded, diag);
}

/* All of them, by the first shard. */
struct single_answer {
	struct shard *shard;
	const struct batch_options *options;
	const struct batch_query *queries;
	size_t n, enough;
	struct text_buf *out;
	size_t done;
	struct gsym_diag *diag;
};

static int answer_alone(void *arg)
{
	struct single_answer *all = arg;
	return batch_answer(all->shard->batch, all->options, all->queries, all->n, all->enough, all->out,
			    &all->done, all->diag);
}

int sharded_batch_answer(struct sharded_batch *sharded, const struct batch_options *options,
			 const struct shard_run *run, const struct batch_query *queries, size_t n,
			 size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	size_t before = out->n, done = 0;
	struct shard_call call = {sharded, options, run, enough > before ? enough - before : 0,
				  answer_wanted};
	int err = 0;
	if (sharded->next < sharded->owners.n)
		err = answer_announced(&call, queries, n, out, &done, diag);
	if (!done && (!err || err == -EBADMSG)) {
		struct single_answer all = {&sharded->shards[0], options, queries, n, enough, out, 0, diag};
		forget(sharded);
		err = guarded(run, answer_alone, &all);
		done = all.done;
	}
	if (err && err != -EBADMSG) {
		forget(sharded);
		out->n = before;
		return err;
	}
	*ret_n = done;
	return err;
}

/*
 * sharded_batch.h - a batch of which announced queries are answered by several threads.
 *
 * Each shard is a batch of its own, for a part of the announced queries; their records are put together in
 * the order in which the queries came, so that output is that of one batch. Few queries, and those that were
 * not announced, are answered by the first shard alone, on the calling thread.
 */
#ifndef GSYM_RENDER_BATCH_SHARDED_BATCH_H
#define GSYM_RENDER_BATCH_SHARDED_BATCH_H

#include "gsym/render/batch/batch.h"

enum {
	SHARDS_MAX = 16,
	SHARDED_MIN = 8 * 1024, /* announced queries that are worth it */
};

/* How a call runs. */
struct shard_run {
	unsigned threads; /* at most, with the caller's; 0 is 1 */
	/*
	 * Calls @work, which reads the file, on the thread that calls it, and returns its value, or an error
	 * of its own. NULL: nothing is needed around it.
	 */
	int (*guarded)(void *user, int (*work)(void *arg), void *arg);
	void *user;
};

/*
 * Shards of @reader, which must live longer; NULL stands for a file without functions. There is at least one,
 * and SHARDS_MAX at most. Calls are made by one thread at a time. NULL without memory.
 */
struct sharded_batch;
struct sharded_batch *sharded_batch_new(const struct gsym_reader *reader, unsigned n_shards);
/* NULL is allowed. */
void sharded_batch_free(struct sharded_batch *sharded);

/* Bytes that it holds, roughly; 0 for NULL. */
size_t sharded_batch_memory(const struct sharded_batch *sharded);

/*
 * batch_expect(), with what shards need to know; options->stop is called by several threads. *ret_n is how
 * many of the queries were looked at; texts of malformed ones are borrowed until they are answered. 0, or an
 * error of run->guarded(): then none is announced.
 */
int sharded_batch_expect(struct sharded_batch *sharded, const struct batch_options *options,
			 const struct shard_run *run, const struct batch_query *queries, size_t n,
			 size_t *ret_n);

/* batch_expect_more(): 1 when it was stopped again, 0, or an error of run->guarded(). */
int sharded_batch_expect_more(struct sharded_batch *sharded, const struct batch_options *options,
			      const struct shard_run *run);

/* batch_answer(), which describes the parameters; also an error of run->guarded(): then @out is as it was. */
int sharded_batch_answer(struct sharded_batch *sharded, const struct batch_options *options,
			 const struct shard_run *run, const struct batch_query *queries, size_t n,
			 size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag);

#endif

/*
 * batch.h - many addresses of one GSYM file answered at once, in the order in which they came.
 *
 * Pure: queries in, records out. A record is what render_answer() makes of a query; in the formats whose
 * records may have several lines and do not say so themselves (text, atos, gsymutil) an empty line ends it.
 */
#ifndef GSYM_RENDER_BATCH_BATCH_H
#define GSYM_RENDER_BATCH_BATCH_H

#include "gsym/render/batch/batch_query.h"
#include "gsym/render/render.h"

enum {
	/* A good number of queries for one call. */
	BATCH_QUERIES = 16 * 1024,
	/* Queries that one call of batch_expect() looks at. */
	BATCH_EXPECTED = 256 * 1024,
};

/* Offsets in the output at which records end. */
struct record_ends {
	size_t *v;
	size_t n, cap;
};

struct batch_options {
	struct render_options render; /* always with the same demangle; its cache is not used */
	bool near;                    /* gsym_lookup_near() */
	/* addr is the byte before a return address: offsets are shown from the address given */
	bool is_return;
	/*
	 * Polled from time to time, by any thread: true ends the call early, as if @enough were reached.
	 * NULL: never.
	 */
	bool (*stop)(const void *user);
	const void *user;
	/* Called by batch_answer() with each address that has no function, or no line; NULL: never. */
	void (*unanswered)(void *user, uint64_t addr);
	void *unanswered_user;
	/* Returns what is shown of a directory of sources, the same each time; NULL: all of it. */
	const char *(*shown_dir)(const void *user, const char *dir);
	const void *shown_dir_user;
	struct record_ends
		*ends; /* of batch_answer(): one is appended for each record; NULL: they are not noted */
};

/*
 * What is used from call to call: memory, and names of @reader demangled before. The reader must live
 * longer; NULL stands for a file without functions. One thread at a time. NULL without memory.
 */
struct batch;
struct batch *batch_new(const struct gsym_reader *reader);
/* NULL is allowed. */
void batch_free(struct batch *batch);

/* Bytes that it holds, roughly; 0 for NULL. */
size_t batch_memory(const struct batch *batch);

/*
 * Announces the @n queries that the next calls of batch_answer() get, in this order: functions are read once
 * for all of them, which takes a fraction of the time when they are many, in any order. It changes no answer,
 * even if other queries follow. Returns how many were looked at: BATCH_EXPECTED at most.
 */
size_t batch_expect(struct batch *batch, const struct batch_options *options,
		    const struct batch_query *queries, size_t n);

/*
 * Goes on with what the last batch_expect(), or this, was stopped in; true when it was stopped again. Queries
 * that are answered nevertheless are looked up one by one, which takes several times as long.
 */
bool batch_expect_more(struct batch *batch, const struct batch_options *options);

/*
 * Appends to @out the records of queries until @out holds @enough bytes or the call is stopped. Queries
 * without an answer and damaged records give the record of an unknown address.
 *
 * @batch: caches of the reader, reused between calls
 * @options: how to look up and render
 * @queries, @n: the queries, in order
 * @enough: bytes of @out at which to return
 * @out: appended to
 * @ret_n: how many queries were answered, at least one
 * @diag: of -EBADMSG: the first damaged record
 *
 * Returns 0; -ENOMEM; -EBADMSG when a record was damaged: *ret_n is valid all the same.
 */
int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries,
		 size_t n, size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag);

#endif

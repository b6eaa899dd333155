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
	/* Queries that are worth handing over together. */
	BATCH_QUERIES = 16 * 1024,
};

struct batch_options {
	struct render_options render; /* always with the same demangle; its cache is not used */
	bool near;                    /* gsym_lookup_near() */
	bool is_return; /* addresses were taken one byte back: offsets are told from what was given */
	/* Asked now and then, by any thread: true ends the call early, as if there were enough. NULL: never.
	 */
	bool (*stop)(const void *user);
	const void *user;
};

/*
 * What is used from call to call: memory, and names of @reader that were demangled. The reader must live
 * longer; NULL is one that knows nothing. One thread at a time. NULL without cache.
 */
struct batch;
struct batch *batch_new(const struct gsym_reader *reader);
/* NULL is allowed. */
void batch_free(struct batch *batch);

/* Bytes that it holds, roughly; 0 for NULL. */
size_t batch_memory(const struct batch *batch);

/*
 * Appends to @out the records of as many of the @n queries as it takes for @out to hold @enough bytes, or
 * until it is stopped; *ret_n says how many, at least one of them. Queries without an answer and damaged
 * records give the record of an unknown address.
 *
 * 0; -ENOMEM; -EBADMSG when a record was damaged, with words for the first in @diag: *ret_n counts all the
 * same.
 */
int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries,
		 size_t n, size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag);

#endif

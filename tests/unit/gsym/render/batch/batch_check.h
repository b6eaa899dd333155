/*
 * batch_check.h - whether batch_answer() says what lookups one by one do: for tests and fuzzing.
 */
#ifndef TESTS_UNIT_BATCH_CHECK_H
#define TESTS_UNIT_BATCH_CHECK_H

#include <errno.h>
#include <stdlib.h>

#include "gsym/render/batch/batch.h"

/* What a record of @query has to be; -EBADMSG when it is damaged. */
static inline int expected_record(const struct gsym_reader *reader, const struct batch_options *options,
				  const struct batch_query *query, struct gsym_answer *answer,
				  struct text_buf *out, struct gsym_diag *diag)
{
	unsigned flags = render_lookup_flags(options->render.format) | (options->near ? GSYM_LOOKUP_NEAR : 0);
	int err = -ENOENT;
	if (query->kind == BATCH_ADDRESS)
		err = gsym_lookup_flags(reader, query->addr, 0, flags, answer, diag);
	for (size_t i = 0; !err && options->is_return && i < answer->n_frames; i++)
		answer->frames[i].offset++;
	if (query->kind == BATCH_MALFORMED)
		render_malformed(out, query->text, query->size, &options->render);
	else if (err)
		render_unknown(out, query->given, &options->render);
	else
		render_answer(out, query->given, answer, &options->render);
	if (options->render.format != RENDER_TSV && options->render.format != RENDER_JSON)
		text_char(out, '\n');
	return err == -EBADMSG ? err : 0;
}

/* One call of batch_answer() against as many lookups: the number of queries it took, or 0 when something
 * differs. */
static inline size_t check_call(struct batch *batch, const struct gsym_reader *reader,
				const struct batch_options *options, const struct batch_query *queries,
				size_t n, size_t enough)
{
	struct text_buf out = {0}, want = {0};
	struct gsym_answer answer = {0};
	struct gsym_diag words = {""}, want_words = {""};
	size_t taken = 0;
	int damaged = 0, err = batch_answer(batch, options, queries, n, enough, &out, &taken, &words);
	for (size_t i = 0; i < taken; i++) {
		struct gsym_diag diag = {""};
		bool more = want.n < enough || i == 0;
		int bad = expected_record(reader, options, &queries[i], &answer, &want, &diag);
		if (!more)
			taken = 0;
		if (bad && !damaged)
			want_words = diag;
		damaged = damaged ? damaged : bad;
	}
	if (err != damaged || out.n != want.n || (out.n && memcmp(out.v, want.v, out.n)) ||
	    (err && strcmp(words.text, want_words.text)) || (taken < n && out.n < enough))
		taken = 0;
	text_deinit(&out);
	text_deinit(&want);
	gsym_answer_deinit(&answer);
	return taken;
}

/* All queries, in as many calls as it takes for pieces of @enough bytes. */
static inline bool check_batch(struct batch *batch, const struct gsym_reader *reader,
			       const struct batch_options *options, const struct batch_query *queries,
			       size_t n, size_t enough)
{
	for (size_t done = 0, taken; done < n; done += taken) {
		taken = check_call(batch, reader, options, queries + done, n - done, enough);
		if (!taken)
			return false;
	}
	return true;
}

#endif

/*
 * early_batch.h - lines of a q whose image is being converted, answered from its fragments.
 *
 * Lines are answered in order, up to the first one that no fragment has.
 */
#ifndef FS_ANSWER_EARLY_BATCH_H
#define FS_ANSWER_EARLY_BATCH_H

#include "fs/answer/answers.h"
#include "gsym/render/batch/batch.h"

/*
 * Appends the records of the first of @queries, as batch_answer() makes them of the whole image, and returns
 * their number: up to the first that no fragment has, or for which there is no memory or time.
 *
 * @rev: the image
 * @context: what the queries' numbers count from
 * @options: those of the image are set here: module and, unless @raw, demangling
 * @queries, @n: the queries, which stay as they are
 * @out: appended to
 * @ret_made: how many fragments were made so far, see struct wait
 */
size_t early_batch_answer(const struct answers *answers, const struct revision *rev,
			  const struct context *context, const struct batch_options *options, bool raw,
			  const struct batch_query *queries, size_t n, struct text_buf *out,
			  unsigned *ret_made);

#endif

#include "fs/answer/early_batch.h"

#include <stdint.h>

#include "fs/images/fragments.h"
#include "work/cache/context.h"

/* A fragment, and the batch that answers from it once it was needed. */
struct early_part {
	struct handle *handle;
	struct batch *batch;
	struct batch_options options;
};

/* One query asked of one fragment. */
struct early_query {
	struct early_part *part;
	const struct context *context;
	struct batch_query query;
	struct gsym_answer answer;
	struct text_buf *out;
	bool answered; /* out */
};

/* Whether the fragment has a function there; otherwise the rest of the image may have one. */
static bool is_known(struct early_query *q)
{
	const struct handle *handle = q->part->handle;
	const struct batch_options *options = &q->part->options;
	unsigned flags = render_lookup_flags(options->render.format) | (options->near ? GSYM_LOOKUP_NEAR : 0);
	if (q->query.kind != BATCH_ADDRESS)
		return true;
	return context_to_link(q->context, &handle->addresses, q->query.given, &q->query.addr) &&
	       gsym_lookup_flags(handle->reader, q->query.addr, 0, flags, &q->answer, NULL) == 0;
}

static int answer_query(void *arg)
{
	struct early_query *q = arg;
	size_t n;
	if (is_known(q))
		q->answered = !batch_answer(q->part->batch, &q->part->options, &q->query, 1, SIZE_MAX, q->out,
					    &n, NULL);
	return 0;
}

static bool answer_from(const struct answers *answers, bool raw, struct early_query *q)
{
	struct early_part *part = q->part;
	const size_t before = q->out->n;
	const bool failed = q->out->failed;
	if (!part->batch) {
		part->options.render.demangle = answers_demangle(answers, part->handle, raw);
		part->batch = batch_new(part->handle->reader);
	}
	if (!part->batch)
		return false;
	q->answered = false;
	if (handle_run(part->handle, answer_query, q) || !q->answered) {
		/* Damage of a fragment is none of the image, nor is a lack of memory one of the batch. */
		q->out->n = before;
		q->out->failed = failed;
	}
	return q->out->n > before;
}

static bool answer_from_any(const struct answers *answers, bool raw, struct early_part *parts, size_t n,
			    struct early_query *q)
{
	for (size_t i = 0; i < n; i++) {
		q->part = &parts[i];
		if (answer_from(answers, raw, q))
			return true;
	}
	return false;
}

size_t early_batch_answer(const struct answers *answers, const struct revision *rev,
			  const struct context *context, const struct batch_options *options, bool raw,
			  const struct batch_query *queries, size_t n, struct text_buf *out,
			  unsigned *ret_made)
{
	char module[PATH_MAX];
	struct handle *handles[FRAGMENTS_MAX];
	struct early_part parts[FRAGMENTS_MAX];
	struct early_query q = {.context = context, .out = out};
	size_t n_parts = fragments_get(answers->images, rev, handles, ret_made), done = 0;
	answers_module(answers, rev, module);
	for (size_t i = 0; i < n_parts; i++) {
		parts[i] = (struct early_part){handles[i], NULL, *options};
		parts[i].options.render.module = module;
	}
	for (; done < n && !(done && options->stop && options->stop(options->user)); done++) {
		q.query = queries[done];
		if (!answer_from_any(answers, raw, parts, n_parts, &q))
			break;
	}
	gsym_answer_deinit(&q.answer);
	for (size_t i = 0; i < n_parts; i++) {
		batch_free(parts[i].batch);
		handle_put(parts[i].handle);
	}
	return done;
}

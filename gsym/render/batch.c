#include "batch.h"

#include <stdlib.h>

struct batch {
	const struct gsym_reader *reader;
	struct gsym_answer answer;
	struct demangle_cache *names;
};

struct batch *batch_new(const struct gsym_reader *reader)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	if (batch) {
		batch->reader = reader;
		batch->names = demangle_cache_new(); /* NULL is none */
	}
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	gsym_answer_deinit(&batch->answer);
	demangle_cache_free(batch->names);
	free(batch);
}

/* What was asked for lies one byte behind what was looked up. */
static void step_back(struct gsym_answer *answer)
{
	for (size_t i = 0; i < answer->n_frames; i++)
		answer->frames[i].offset++;
}

static int answer_address(struct batch *batch, const struct batch_options *options, const struct batch_query *query,
			  struct text_buf *out, struct gsym_diag *diag)
{
	struct gsym_answer *answer = &batch->answer;
	if (!batch->reader)
		return -ENOENT;
	int err = options->near ? gsym_lookup_near(batch->reader, query->addr, answer, diag) :
				  gsym_lookup(batch->reader, query->addr, answer, diag);
	if (err)
		return err;
	if (options->is_return)
		step_back(answer);
	return render_answer(out, query->given, answer, &options->render);
}

/* -EBADMSG when the record of an address was damaged; its answer is an unknown one's. */
static int answer_query(struct batch *batch, const struct batch_options *options, const struct batch_query *query,
			struct text_buf *out, struct gsym_diag *diag)
{
	int damaged = 0, err = -ENOENT;
	if (query->kind == BATCH_MALFORMED)
		return render_malformed(out, query->text, query->size, &options->render);
	if (query->kind == BATCH_ADDRESS)
		err = answer_address(batch, options, query, out, diag);
	if (err && err != -ENOMEM) {
		damaged = err == -ENOENT ? 0 : -EBADMSG;
		err = render_unknown(out, query->given, &options->render);
	}
	return err ? err : damaged;
}

static void end_record(struct text_buf *out, enum render_format format)
{
	if (format != RENDER_TSV && format != RENDER_JSON)
		text_char(out, '\n');
}

int batch_answer(struct batch *batch, const struct batch_options *options, const struct batch_query *queries, size_t n,
		 size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	struct batch_options with_names = *options;
	int damaged = 0;
	size_t i = 0;
	with_names.render.cache = batch->names;
	do {
		struct gsym_diag words;
		int err = answer_query(batch, &with_names, &queries[i], out, damaged ? NULL : &words);
		if (err == -EBADMSG && !damaged) {
			damaged = err;
			if (diag)
				*diag = words;
		}
		end_record(out, options->render.format);
		if (out->failed)
			return -ENOMEM;
	} while (++i < n && out->n < enough);
	*ret_n = i;
	return damaged;
}

/* A batch without memory: its answers are right, or it says so; never is one made of what is not there. */
#include "tests/unit/gsym/render/batch/batch_check.h"
#include "tests/unit/gsym/render/batch/batch_sample.h"

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { QUERIES = 150 };

/* All answers with a new batch, or -ENOMEM. */
static int answer_all(const struct gsym_reader *r, const struct batch_options *options,
		      const struct batch_query *queries, struct text_buf *out)
{
	struct batch *batch = batch_new(r);
	int err = batch ? 0 : -ENOMEM;
	for (size_t done = 0, taken; !err && done < QUERIES; done += taken)
		err = batch_answer(batch, options, queries + done, QUERIES - done, 1 << 20, out, &taken,
				   NULL);
	batch_free(batch);
	return err;
}

static void check_options(const struct gsym_reader *r, const struct batch_options *options)
{
	struct batch_query queries[QUERIES];
	struct text_buf whole = {0};
	bool failed = true;
	fill(queries, QUERIES, BATCH_BASE, 0x900);
	assert_int_equal(answer_all(r, options, queries, &whole), 0);
	const long before = live;
	for (long n = 0; failed; n++) {
		struct text_buf out = {0};
		allowed = n;
		int err = answer_all(r, options, queries, &out);
		failed = end_allocations();
		assert_true(!err || (err == -ENOMEM && failed));
		if (!err) {
			assert_int_equal(out.n, whole.n);
			assert_memory_equal(out.v, whole.v, whole.n);
		}
		text_deinit(&out);
		assert_int_equal(live, before);
	}
	text_deinit(&whole);
}

TEST(every_allocation_may_fail)
{
	for (int k = 0; k < BATCH_SAMPLE_KINDS; k++) {
		struct gsym_reader *r;
		size_t size;
		void *data = batch_sample(k, &size);
		assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
		for (unsigned which = 0; which < BATCH_SAMPLE_OPTIONS; which++) {
			struct batch_options options = options_of(which);
			check_options(r, &options);
		}
		gsym_reader_close(r);
		free(data);
	}
	assert_int_equal(live, 0);
}

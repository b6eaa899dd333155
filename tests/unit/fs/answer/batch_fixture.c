#include "tests/unit/fs/answer/batch_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

struct batch_fixture b;

/* ---- Between the q and its batches ---- */

struct sharded_batch *__real_sharded_batch_new(const struct gsym_reader *reader, unsigned n_shards);
int __real_sharded_batch_expect(struct sharded_batch *sharded, const struct batch_options *options,
				const struct shard_run *run, const struct batch_query *queries, size_t n,
				size_t *ret_n);
int __real_sharded_batch_expect_more(struct sharded_batch *sharded, const struct batch_options *options,
				     const struct shard_run *run);
int __real_sharded_batch_answer(struct sharded_batch *sharded, const struct batch_options *options,
				const struct shard_run *run, const struct batch_query *queries, size_t n,
				size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag);

struct sharded_batch *__wrap_sharded_batch_new(const struct gsym_reader *reader, unsigned n_shards)
{
	b.calls.made++;
	b.calls.shards = n_shards;
	if (b.calls.no_batches) {
		b.calls.no_batches--;
		return NULL;
	}
	return __real_sharded_batch_new(reader, n_shards);
}

int __wrap_sharded_batch_expect(struct sharded_batch *sharded, const struct batch_options *options,
				const struct shard_run *run, const struct batch_query *queries, size_t n,
				size_t *ret_n)
{
	int err = b.calls.announce_err;
	b.calls.announced++;
	b.calls.n_ahead = n;
	memcpy(b.calls.ahead, queries, (n < AHEAD_SEEN ? n : AHEAD_SEEN) * sizeof(*queries));
	b.calls.announce_err = 0;
	return err ? err : __real_sharded_batch_expect(sharded, options, run, queries, n, ret_n);
}

int __wrap_sharded_batch_expect_more(struct sharded_batch *sharded, const struct batch_options *options,
				     const struct shard_run *run)
{
	b.calls.went_on++;
	if (!b.calls.no_time)
		return __real_sharded_batch_expect_more(sharded, options, run);
	b.calls.no_time--;
	return 1;
}

int __wrap_sharded_batch_answer(struct sharded_batch *sharded, const struct batch_options *options,
				const struct shard_run *run, const struct batch_query *queries, size_t n,
				size_t enough, struct text_buf *out, size_t *ret_n, struct gsym_diag *diag)
{
	void (*meanwhile)(void) = b.calls.meanwhile;
	int err = b.calls.answer_err;
	if (b.calls.answered < RUNS_SEEN)
		b.calls.runs[b.calls.answered] = n;
	b.calls.answered++;
	b.calls.threads = run->threads;
	b.calls.answer_err = 0;
	b.calls.meanwhile = NULL;
	assert_false(b.calls.no_time);
	assert_non_null(options->stop);
	if (meanwhile)
		meanwhile();
	return err ? err
		   : __real_sharded_batch_answer(sharded, options, run, queries, n, enough, out, ret_n, diag);
}

void __wrap_requester_prefetch(struct requester *requester, struct image *image, bool whole)
{
	mutex_assert_held(&requester->answers->images->lock);
	assert_true(b.calls.n_prefetched < PREFETCHES_SEEN);
	b.calls.prefetched[b.calls.n_prefetched].image = image;
	b.calls.prefetched[b.calls.n_prefetched++].whole = whole;
}

/* ---- Images ---- */

void batch_fixture_set_up(void)
{
	memset(&b, 0, sizeof(b));
	answer_fixture_set_up(&b.a, NULL, NULL);
	put_image(&b.a, ID, "debug");
	put_image(&b.a, OTHER_ID, "other");
	scanned(b.a.f, 0);
}

void batch_fixture_tear_down(void)
{
	stream_free(b.stream);
	free(b.call.addresses);
	answer_fixture_tear_down(&b.a);
}

struct handle *open_sample(const char *id)
{
	static const struct made_function functions[] = {
		{.start = 0x1000, .size = 0x10, .name = "f", .line = 10},
		{.start = 0x1010, .size = 0x10, .name = "_ZN1f3oneEv", .line = 20},
		{.start = 0x1020, .size = 0x10, .name = "damaged", .line = 30, .damaged = true},
	};
	return open_image(&b.a, id, functions, ARRAY_SIZE(functions));
}

void forget_image(const char *id)
{
	close_image_of(&b.a, id);
	b.stream->kind->trim(b.stream);
}

/* ---- A q ---- */

static struct image *parse(const char *path, struct request *ret)
{
	struct image *image = NULL;
	char copy[256], *rest = copy, *name;
	strcpy(copy, path);
	*ret = (struct request){.kind = REQUEST_NONE};
	if (strchr(path, '/')) {
		image = revision_of(b.a.f, strsep(&rest, "/"))->image;
		while ((name = strsep(&rest, "/"))) {
			const struct context in = ret->context;
			name_parse(PLACE_IMAGE, &in, name, ret);
		}
	} else {
		name_parse(PLACE_ROOT, NULL, path, ret);
	}
	assert_int_equal(ret->kind, REQUEST_BATCH);
	return image;
}

void open_q(const char *path, uid_t uid)
{
	struct request request;
	struct image *image = parse(path, &request);
	stream_free(b.stream);
	free(b.call.addresses);
	b.call = (struct call){.runners = &b.a.runners, .on_runner = true};
	b.stream = batch_file_new(&b.a.answers, image, &request, (struct caller){.uid = uid, .gid = uid});
	assert_non_null(b.stream);
	b.stream->slices.until = INT64_MAX;
}

/* As by a program that has read all there is. */
void write_bytes(const void *data, size_t size)
{
	const struct stream_buf *buf = &b.stream->buf;
	assert_int_equal(stream_write(b.stream, buf->base + buf->results.n, false, data, size), 0);
}

void write_lines(const char *text)
{
	write_bytes(text, strlen(text));
}

void write_often(const char *line, size_t n)
{
	struct text_buf lines = {0};
	for (size_t i = 0; i < n; i++)
		text_str(&lines, line);
	write_bytes(lines.v, lines.n);
	text_deinit(&lines);
}

size_t pending(void)
{
	return stream_buf_input(&b.stream->buf).size;
}

int answer_some(size_t enough)
{
	free(b.call.addresses);
	b.call.addresses = NULL;
	b.call.wait = (struct wait){.revision = NULL};
	return b.stream->kind->answer(b.stream, &b.call, enough);
}

void answer_all(void)
{
	int err;
	do {
		size_t results = b.stream->buf.results.n;
		err = answer_some(1);
		assert_true(err || b.stream->buf.results.n > results);
	} while (!err);
	assert_int_equal(err, 1);
	assert_int_equal(pending(), 0);
}

void expect_results(const char *text)
{
	const struct text_buf *results = &b.stream->buf.results;
	if (results->n != strlen(text) || (results->n && memcmp(results->v, text, results->n) != 0))
		fail_msg("'%.*s' instead of '%s'", (int)results->n, results->v, text);
}

void reads(const char *lines, const char *results)
{
	write_lines(lines);
	answer_all();
	expect_results(results);
}

void waits_for(const char *id, const uint64_t *values, unsigned n)
{
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_non_null(b.call.wait.park);
	assert_ptr_equal(b.call.wait.revision, revision_of(b.a.f, id));
	assert_int_equal(b.call.wait.n_addresses, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(b.call.addresses[i].value, values[i]);
}

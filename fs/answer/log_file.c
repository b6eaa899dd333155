/*
 * What logs look like is known by gsym/filter; here it gets its images. An image that is not known, cannot be
 * converted, or may not be read by whoever opened the file leaves the lines that speak of it as they are.
 */
#include "fs/answer/log_file.h"

#include <errno.h>
#include <string.h>

#include "gsym/filter/filter.h"
#include "convert/os/guard.h"
#include "fs/answer/symbol_names.h"
#include "fs/call/call.h"
#include "fs/sys/metrics.h"

enum {
	/* Bytes of input, looked at between two looks at how much has become of it, and how long it took. */
	PIECE_MIN = 4 * 1024,
	PIECE_MAX = 64 * 1024,
};

struct log_file {
	struct stream stream;
	struct requester requester;
	struct filter *filter;
	struct call *call; /* that reads now */
	struct filter_counts counted;
	VEC(struct handle *) used; /* what the filter has seen in this piece stays open */
	size_t piece;              /* bytes of input to be looked at next */
	bool broken; /* a file in the cache was cut short while it was read: what the filter held is lost */
};

/* ---- Images for the filter ---- */

static void put_used(struct log_file *log)
{
	while (log->used.n)
		handle_put(log->used.v[--log->used.n]);
}

/* It has to be converted: others of the same stack need not wait for their turn. */
static void want(struct log_file *log, struct image *image)
{
	struct images *images = log->requester.answers->images;
	mutex_lock(&images->lock);
	requester_prefetch(&log->requester, image);
	mutex_unlock(&images->lock);
}

static int use(struct log_file *log, struct image *image, bool needs_names, struct filter_image *ret)
{
	struct revision *rev;
	struct handle *handle;
	int err = requester_open_image(&log->requester, image, log->call, &rev, &handle);
	if (err == -EAGAIN)
		want(log, image);
	if (err)
		return err == -EAGAIN ? err : -ENOENT;
	if (needs_names &&
	    symbol_names_ready(log->requester.answers, rev, handle, NAMES_STORED, &log->call->wait)) {
		handle_put(handle);
		return -EAGAIN;
	}
	if (vec_push(&log->used, handle)) {
		handle_put(handle);
		return -ENOMEM;
	}
	*ret = (struct filter_image){.reader = handle->reader,
				     .base = handle->addresses.base,
				     .has_ada = handle->addresses.has_ada};
	return 0;
}

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct log_file *log = user;
	struct image *image;
	const struct span id = {(const uint8_t *)module->id, strlen(module->id)};
	int err = requester_find_image(&log->requester, id, log->call, &image);
	if (err)
		return err;
	return image ? use(log, image, module->needs_names, ret) : -ENOENT;
}

/* ---- The kind of stream ---- */

struct feeding {
	struct log_file *log;
	struct span piece;
	enum filter_rest rest;
	size_t used;
};

static int feed(void *arg)
{
	struct feeding *f = arg;
	return filter_write(f->log->filter, (const char *)f->piece.data, f->piece.size, f->rest,
			    &f->log->stream.buf.results, &f->used);
}

static void count_addresses(struct log_file *log)
{
	struct metrics *metrics = log->requester.answers->metrics;
	const struct filter_counts now = filter_count(log->filter), *before = &log->counted;
	uint64_t met = now.met - before->met, found = now.found - before->found;
	metric_add(&metrics->log_addresses[LOOKUP_FOUND], found);
	metric_add(&metrics->log_addresses[LOOKUP_UNKNOWN], met - found);
	log->counted = now;
}

/* Hands a piece of the log to the filter; at its end the filter gives up what it holds. */
static int answer_piece(struct log_file *log)
{
	struct stream_buf *buf = &log->stream.buf;
	struct span input = stream_buf_input(buf);
	struct feeding f = {.log = log, .piece = input, .rest = input.size ? FILTER_MORE : FILTER_END};
	size_t before = buf->results.n;
	if (f.piece.size > log->piece)
		f.piece.size = log->piece;
	int err = guard_run(feed, &f);
	put_used(log);
	count_addresses(log);
	buf->extra = filter_memory(log->filter);
	if (err == -EFAULT || err == -ENOMEM) {
		log->broken = true;
		return err == -EFAULT ? -EIO : err;
	}
	if (f.used)
		stream_buf_consume(buf, f.used);
	if (f.used || buf->results.n > before)
		return 0;
	return err ? err : 1;
}

static int log_answer_some(struct stream *stream, struct call *call, size_t enough)
{
	struct log_file *log = (struct log_file *)stream;
	(void)enough;
	if (log->broken)
		return -EIO;
	log->call = call;
	requester_begin(&log->requester);
	int err = answer_piece(log);
	if (stream_is_late(stream))
		log->piece = PIECE_MIN;
	else if (log->piece < PIECE_MAX)
		log->piece *= 2;
	return err;
}

/* What the filter holds is a part of the log that has no answer yet. */
static void log_rest(struct stream *stream)
{
	(void)stream;
}

static void log_file_free(struct stream *stream)
{
	struct log_file *log = (struct log_file *)stream;
	put_used(log);
	vec_free(&log->used);
	filter_free(log->filter);
	caller_deinit(&log->requester.caller);
	free(log);
}

struct stream *log_file_new(struct answers *answers, struct caller caller)
{
	static const struct stream_kind kind = {log_answer_some, log_rest, log_file_free};
	const struct filter_options options = {.demangle = answers->demangle ? DEMANGLE_AUTO : DEMANGLE_OFF};
	struct log_file *log = calloc(1, sizeof(*log));
	const struct filter_images images = {.find = find, .user = log};
	struct filter *filter = log ? filter_new(&images, &options) : NULL;
	if (!filter || stream_init(&log->stream, &kind, answers, caller.uid)) {
		caller_deinit(&caller);
		filter_free(filter);
		free(log);
		return NULL;
	}
	log->requester.answers = answers;
	log->requester.caller = caller;
	log->filter = filter;
	log->piece = PIECE_MIN;
	return &log->stream;
}

/*
 * Provides images to log/engine, which parses the log. Lines that refer to an image that does not exist,
 * cannot be converted, or is not readable for the user who opened the file, are left unchanged.
 */
#include "fs/answer/answer_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/answer/stream_buf.h"
#include "log/engine/filter.h"
#include "work/os/guard.h"
#include "fs/answer/symbol_names.h"
#include "fs/call/call.h"
#include "fs/sys/metrics.h"

enum {
	/* Bytes of input filtered at a time, before results and time are checked. */
	PIECE_MIN = 4 * 1024,
	PIECE_MAX = 64 * 1024,
};

struct used_image {
	struct revision *rev;
	struct handle *handle;
};

struct log_file {
	struct stream stream;
	struct requester requester;
	struct filter *filter;
	struct call *call;             /* whose turn it is */
	struct filter_counts reported; /* in the metrics */
	VEC(struct used_image) used;   /* open until the filter is done with the piece */
	size_t piece;                  /* bytes of the next one */
	bool broken;                   /* the filter's state was lost, because a cache file was truncated */
};

/* ---- Images for the filter ---- */

static void put_used(struct log_file *log)
{
	while (log->used.n)
		handle_put(log->used.v[--log->used.n].handle);
}

/* Starts the conversion at once, so that all images of a stack are converted at the same time. */
static void prefetch(struct log_file *log, struct image *image)
{
	mutex_lock(&log->requester.answers->images->lock);
	requester_prefetch(&log->requester, image, true);
	mutex_unlock(&log->requester.answers->images->lock);
}

/* -EAGAIN while the index of @kind is being built. */
static int await_names(struct log_file *log, const struct used_image *used, enum symbol_names kind)
{
	return symbol_names_ready(log->requester.answers, used->rev, used->handle, kind, &log->call->wait);
}

static int use(struct log_file *log, struct image *image, const struct filter_module *module,
	       struct filter_image *ret)
{
	struct revision *rev;
	struct handle *handle;
	int err = requester_open_image(&log->requester, image, log->call, &rev, &handle);
	if (err == -EAGAIN)
		prefetch(log, image);
	if (err)
		return err == -EAGAIN ? err : -ENOENT;
	const struct used_image used = {rev, handle};
	if ((module->needs_names && await_names(log, &used, NAMES_STORED)) ||
	    (module->needs_shown && await_names(log, &used, NAMES_SHOWN))) {
		handle_put(handle);
		return -EAGAIN;
	}
	if (vec_push(&log->used, used)) {
		handle_put(handle);
		return -ENOMEM;
	}
	*ret = (struct filter_image){.reader = handle->reader,
				     .base = handle->addresses.base,
				     .relative_end = handle->addresses.relative_end,
				     .has_ada = handle->addresses.has_ada,
				     .shown =
					     module->needs_shown ? handle_attached(handle, SLOT_NAMES) : NULL,
				     .segments = &handle->addresses};
	return 0;
}

/* By its name, which does not tell builds apart: where the log has nothing else, and one image has it. */
static int find_by_name(struct log_file *log, const struct filter_module *module, struct filter_image *ret)
{
	const char *slash = strrchr(module->name, '/'), *name = slash ? slash + 1 : module->name;
	struct image *image;
	if (!*name || module->is_word || module->is_kernel)
		return -ENODATA;
	int err = requester_find_name(&log->requester, module->name, log->call, &image);
	for (size_t i = 0; module->is_windows && i < WINDOWS_ENDINGS && err == -ENOENT; i++) {
		char whole[FILTER_NAME_SIZE];
		if (snprintf(whole, sizeof(whole), "%s%s", name, windows_endings[i]) < FILTER_NAME_SIZE)
			err = requester_find_name(&log->requester, whole, log->call, &image);
	}
	return err ? err : use(log, image, module, ret);
}

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct log_file *log = user;
	struct image *image;
	if (!module->id[0])
		return find_by_name(log, module, ret);
	const struct span id = {(const uint8_t *)module->id, strlen(module->id)};
	int err = requester_find_image(&log->requester, id, log->call, &image);
	if (err)
		return err;
	return image ? use(log, image, module, ret) : -ENOENT;
}

static bool segment(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret)
{
	const struct address_map *map = image->segments;
	(void)user;
	if (i >= map->n)
		return false;
	*ret = (struct filter_segment){map->segments[i].off, map->segments[i].addr, map->segments[i].size};
	return true;
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
	const struct filter_counts now = filter_count(log->filter), *before = &log->reported;
	uint64_t met = now.met - before->met, found = now.found - before->found;
	metric_add(&metrics->log_addresses[LOOKUP_FOUND], found);
	metric_add(&metrics->log_addresses[LOOKUP_UNKNOWN], met - found);
	log->reported = now;
}

/* -EFAULT if one of the files that were read has been truncated. */
static int check_used(const struct log_file *log)
{
	int err = 0;
	for (size_t i = 0; i < log->used.n; i++) {
		const struct used_image *used = &log->used.v[i];
		if (handle_check(used->handle) == 0)
			continue;
		err = -EFAULT;
		answers_report_corrupt(log->requester.answers, used->rev, used->handle, err, NULL);
	}
	return err;
}

/* Filters a piece of the input; without input, flushes the lines that the filter holds back. */
static int answer_piece(struct log_file *log)
{
	struct stream_buf *buf = &log->stream.buf;
	struct span input = stream_buf_input(buf);
	struct feeding f = {.log = log, .piece = input, .rest = input.size ? FILTER_MORE : FILTER_END};
	size_t before = buf->results.n;
	if (f.piece.size > log->piece)
		f.piece.size = log->piece;
	int err = guard_run(feed, &f);
	if (check_used(log)) {
		err = -EFAULT;
		buf->results.n = before;
	}
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

/* The filter holds lines that are not answered yet, no cache. */
static void log_trim(struct stream *stream)
{
	struct log_file *log = (struct log_file *)stream;
	held_handles_clear(&log->requester.held);
}

static void log_file_free(struct stream *stream)
{
	struct log_file *log = (struct log_file *)stream;
	put_used(log);
	vec_free(&log->used);
	filter_free(log->filter);
	requester_deinit(&log->requester);
	free(log);
}

struct stream *log_file_new(struct answers *answers, struct caller caller)
{
	static const struct stream_kind kind = {
		.answer = log_answer_some,
		.trim = log_trim,
		.free = log_file_free,
	};
	const struct filter_options options = {
		.demangle = answers->demangle ? DEMANGLE_AUTO : DEMANGLE_OFF,
		.mark_merged = answers->mark_merged,
	};
	struct log_file *log = calloc(1, sizeof(*log));
	const struct filter_images images = {.find = find, .segment = segment, .user = log};
	struct filter *filter = log ? filter_new(&images, &options) : NULL;
	if (!filter || stream_init(&log->stream, &kind, answers, caller.uid)) {
		caller_deinit(&caller);
		filter_free(filter);
		free(log);
		return NULL;
	}
	log->requester.answers = answers;
	log->requester.caller = caller;
	log->requester.held.account = log->stream.account;
	log->filter = filter;
	log->piece = PIECE_MIN;
	return &log->stream;
}

/*
 * Input is parsed a chunk of lines at a time; consecutive lines of the same image and context (a run) are
 * looked up together. In the root's q, a line whose image does not exist, is not readable for the user, or
 * cannot be converted, is answered as unknown: every line gets its record, whatever is wrong with others. In
 * an image's own q the read fails instead.
 * Images stay open from run to run, so that lines which alternate among them need each only once, however few
 * the cache holds.
 */
#include "fs/answer/answer_files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fs/answer/stream_buf.h"
#include "gsym/base/ascii.h"
#include "gsym/base/address.h"
#include "gsym/base/invariant.h"
#include "gsym/render/batch/sharded_batch.h"
#include "fs/answer/answer.h"
#include "fs/answer/early_batch.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/sys/metrics.h"

enum {
	LINE_SHOWN_MAX = 4096,   /* bytes of a malformed line that are echoed */
	RESULTS_AHEAD = 1 << 20, /* bytes made ahead of reads; they are still in the processor's cache then */
	RECORD_SIZE = 128,       /* bytes; the estimate before there are records */
	PREFETCHED_RUNS_MAX = 64,       /* whose images are converted ahead */
	OPEN_IMAGES = 4,                /* whose caches are kept from run to run */
	LINES_MIN = 16,                 /* per chunk, however long their answers take */
	LINES_KEPT = 1024,              /* of a chunk's allocation, when all input is answered */
	AHEAD_MIN = 1024,               /* lines that are worth announcing, in an image's own q */
	INPUT_MUCH = 64 << 10,          /* bytes that take too long to be announced on a FUSE thread */
	EARLY_MAX = CALL_ADDRESSES_MAX, /* lines that do not wait for the whole image */
};

/* A line of input. */
struct line {
	size_t end;             /* offset in the input after its newline */
	struct image *image;    /* NULL: none */
	struct context context; /* what its number counts from */
};

enum { PREFIX_KEPT_MAX = 128 };

/* The first word of a line in the root's q, an id and a context, parsed. The last one is kept, since
 * consecutive lines mostly have the same. */
struct line_prefix {
	char text[PREFIX_KEPT_MAX];
	size_t size; /* 0: none */
	size_t id_size;
	struct context context;
	bool valid;
};

struct batch_file {
	struct stream stream;
	struct requester requester;
	struct image *image; /* NULL: the root's */
	struct request request;
	struct line_prefix prefix;
	struct sharded_batch *unknown; /* renders lines without an image; made when first needed */
	struct open_image {
		struct handle *handle;
		struct sharded_batch *batch;
	} open[OPEN_IMAGES]; /* most recently used first */
	size_t record_size;  /* average bytes of the last records */
	size_t charged;      /* bytes of open[] */
	size_t prefetched;   /* bytes of input whose images were prefetched, each once */
	/* Of an image that is not converted: what was asked of a worker last, and the first line, up to its
	 * end, that it did not know. */
	struct revision *asked;
	size_t in_vain;
	size_t most_lines; /* per chunk: fewer after answers that took long, since lines without an answer are
			       parsed again */
	VEC(struct line) lines; /* of the chunk, with their queries */
	VEC(struct batch_query) queries;
	VEC(struct batch_query) ahead; /* to be announced, during a call */
	size_t announced;              /* lines not answered yet */
};

static struct batch_file *batch_file_of(struct stream *stream)
{
	return (struct batch_file *)stream;
}

/* ---- Lines to queries ---- */

static struct span trim(struct span text)
{
	while (text.size && is_line_padding((char)text.data[text.size - 1]))
		text.size--;
	while (text.size && is_line_padding((char)*text.data)) {
		text.data++;
		text.size--;
	}
	return text;
}

static struct batch_query malformed(struct span text)
{
	return (struct batch_query){
		.kind = BATCH_MALFORMED,
		.text = (const char *)text.data,
		.size = text.size < LINE_SHOWN_MAX ? (uint32_t)text.size : LINE_SHOWN_MAX,
	};
}

static struct batch_query parse_address(struct span text)
{
	struct batch_query query = {.kind = BATCH_ADDRESS};
	if (text.size < LINE_SHOWN_MAX && address_parse((const char *)text.data, text.size, &query.given)) {
		query.addr = query.given;
		return query;
	}
	return malformed(text);
}

/*
 * Parses the first word of a line: sets the context of @line and the length of the id. False when malformed.
 */
static bool parse_prefix(struct batch_file *file, struct span text, struct line *line, size_t *ret_id_size)
{
	struct line_prefix *prefix = &file->prefix;
	bool kept = text.size && text.size <= PREFIX_KEPT_MAX;
	if (!kept)
		return context_parse_place((const char *)text.data, text.size, ret_id_size, &line->context);
	if (prefix->size != text.size || memcmp(prefix->text, text.data, text.size) != 0) {
		memcpy(prefix->text, text.data, text.size);
		prefix->size = text.size;
		prefix->valid =
			context_parse_place(prefix->text, prefix->size, &prefix->id_size, &prefix->context);
	}
	line->context = prefix->context;
	*ret_id_size = prefix->id_size;
	return prefix->valid;
}

/* "<id> <address>", or "<id>/off/ra <offset>" and so on. */
static int parse_root_line(struct batch_file *file, struct span text, struct call *call, struct line *line,
			   struct batch_query *query)
{
	size_t n = 0, id_size;
	while (n < text.size && !is_line_padding((char)text.data[n]))
		n++;
	struct span rest = trim((struct span){text.data + n, text.size - n});
	*query = parse_address(rest);
	if (query->kind == BATCH_MALFORMED ||
	    !parse_prefix(file, (struct span){text.data, n}, line, &id_size)) {
		*query = malformed(text);
		return 0;
	}
	int err =
		requester_find_image(&file->requester, (struct span){text.data, id_size}, call, &line->image);
	if (!line->image)
		query->kind = BATCH_UNKNOWN;
	return err;
}

/* The line of @input at @at, trimmed; the last one may lack its newline. */
static struct span next_line(struct span input, size_t at, size_t *ret_end)
{
	const uint8_t *start = input.data + at, *nl = memchr(start, '\n', input.size - at);
	size_t size = nl ? (size_t)(nl - start) : input.size - at;
	*ret_end = at + size + (nl ? 1 : 0);
	return trim((struct span){start, size});
}

/* Parses the line at @at. 1 when it is incomplete and not the first; -EAGAIN when it has to wait. */
static int read_line(struct batch_file *file, struct span input, size_t at, struct call *call,
		     struct line *line, struct batch_query *query)
{
	*line = (struct line){.image = file->image, .context = file->request.context};
	*query = (struct batch_query){.kind = BATCH_ADDRESS};
	size_t plain =
		file->image ? address_line((const char *)input.data + at, input.size - at, &query->given) : 0;
	if (plain) {
		query->addr = query->given;
		line->end = at + plain;
		return 0;
	}
	struct span text = next_line(input, at, &line->end);
	if (input.data[line->end - 1] != '\n' && at > 0)
		return 1;
	if (!file->image)
		return parse_root_line(file, text, call, line, query);
	*query = parse_address(text);
	return 0;
}

/* An estimate of the lines that give @enough bytes of results. Lines beyond that are parsed again. */
static size_t lines_worth(const struct batch_file *file, size_t enough)
{
	size_t n = enough / (file->record_size ? file->record_size : RECORD_SIZE);
	n += n / 8 + 1;
	return n < file->most_lines ? n : file->most_lines;
}

/*
 * Parses a chunk of lines. A line without its newline is taken only when it is the only one. -EAGAIN when the
 * first one has to wait.
 */
static int read_lines(struct batch_file *file, struct span input, struct call *call, size_t enough)
{
	int err = 0;
	size_t most = lines_worth(file, enough);
	file->lines.n = file->queries.n = 0;
	requester_begin(&file->requester);
	for (size_t at = 0; at < input.size && file->lines.n < most;) {
		struct line line;
		struct batch_query query;
		err = read_line(file, input, at, call, &line, &query);
		if (err)
			break;
		if (vec_push(&file->lines, line) || vec_push(&file->queries, query))
			return -ENOMEM;
		invariant(line.end > at && line.end <= input.size);
		at = line.end;
	}
	return file->lines.n ? 0 : err;
}

/* ---- Queries to records ---- */

/* Lines [first, first + n), all of one image and context. */
struct run {
	struct batch_file *file;
	struct sharded_batch *batch;
	struct batch_options options;
	struct shard_run how;
	size_t first, n;
	size_t enough;   /* bytes of results at which to stop */
	size_t answered; /* out: lines */
	struct gsym_diag diag;
};

/* 1 when there was no time for all of it: the next run goes on. */
static int announce(struct run *run)
{
	struct batch_file *file = run->file;
	int err = 0;
	if (file->ahead.n)
		err = sharded_batch_expect(run->batch, &run->options, &run->how, file->ahead.v, file->ahead.n,
					   &file->announced);
	return err || !file->announced ? err
				       : sharded_batch_expect_more(run->batch, &run->options, &run->how);
}

static int answer_run(struct run *run)
{
	struct batch_file *file = run->file;
	int err = announce(run);
	if (err)
		return err < 0 ? err : 0;
	return sharded_batch_answer(run->batch, &run->options, &run->how, file->queries.v + run->first,
				    run->n, run->enough, &file->stream.buf.results, &run->answered,
				    &run->diag);
}

static int guarded(void *handle, int (*work)(void *arg), void *arg)
{
	return handle_run(handle, work, arg);
}

/* Takes as many helpers as other batches leave, which are given back after the run. */
static unsigned take_helpers(struct answers *answers)
{
	unsigned most = answers->batch_threads - 1, before = atomic_load(&answers->batch_helpers), n;
	do
		n = before < most ? most - before : 0;
	while (!atomic_compare_exchange_weak(&answers->batch_helpers, &before, before + n));
	return n;
}

/* answer_run() with helpers, of a mapped file. */
static int answer_guarded(struct run *run, struct handle *handle)
{
	struct answers *answers = run->file->requester.answers;
	unsigned helpers = run->file->image ? take_helpers(answers) : 0;
	run->how = (struct shard_run){.threads = 1 + helpers, .guarded = guarded, .user = handle};
	int err = answer_run(run);
	atomic_fetch_sub(&answers->batch_helpers, helpers);
	return err;
}

static void to_link_addresses(const struct batch_file *file, const struct run *run,
			      const struct address_map *map)
{
	for (size_t i = run->first; i < run->first + run->n; i++) {
		struct batch_query *query = &file->queries.v[i];
		if (query->kind == BATCH_ADDRESS &&
		    !context_to_link(&file->lines.v[i].context, map, query->given, &query->addr))
			query->kind = BATCH_UNKNOWN;
	}
}

/*
 * Parses lines to announce, those of the chunk and after it, up to one that is not just an address. Without
 * memory there are fewer.
 */
static void read_ahead(struct batch_file *file, const struct address_map *map)
{
	struct span input = stream_buf_input(&file->stream.buf);
	size_t at = 0, size;
	while (file->ahead.n < BATCH_EXPECTED && at < input.size) {
		struct batch_query query = {.kind = BATCH_ADDRESS};
		size = address_line((const char *)input.data + at, input.size - at, &query.given);
		at += size;
		if (!size)
			break;
		if (!context_to_link(&file->request.context, map, query.given, &query.addr))
			query.kind = BATCH_UNKNOWN;
		if (vec_push(&file->ahead, query))
			break;
	}
	if (file->ahead.n < AHEAD_MIN)
		file->ahead.n = 0;
}

static void close_image(struct open_image *image)
{
	sharded_batch_free(image->batch);
	handle_put(image->handle);
	*image = (struct open_image){0};
}

static void close_images(struct batch_file *file)
{
	for (size_t i = 0; i < OPEN_IMAGES; i++)
		close_image(&file->open[i]);
	file->announced = 0;
}

static void charge_memory(struct batch_file *file)
{
	size_t held = 0;
	for (size_t i = 0; i < OPEN_IMAGES; i++)
		held += sharded_batch_memory(file->open[i].batch);
	account_charge(file->stream.account, ACCOUNT_BATCHES, held, &file->charged);
	file->stream.buf.extra =
		file->lines.cap * sizeof(*file->lines.v) + file->queries.cap * sizeof(*file->queries.v);
}

/* Closes the cached images when the user holds too much memory. */
static void trim_memory(struct batch_file *file)
{
	charge_memory(file);
	if (account_has_room(file->stream.account, ACCOUNT_BATCHES, 0))
		return;
	close_images(file);
	charge_memory(file);
}

static void free_lines(struct batch_file *file)
{
	vec_free(&file->lines);
	vec_free(&file->queries);
}

static void batch_trim(struct stream *stream)
{
	struct batch_file *file = batch_file_of(stream);
	close_images(file);
	held_handles_clear(&file->requester.held);
	free_lines(file);
	charge_memory(file);
}

/* The batch for @handle. It points into that mapping, so it holds a reference. NULL when out of memory. */
static struct sharded_batch *batch_for(struct batch_file *file, struct handle *handle)
{
	struct open_image *all = file->open, found;
	size_t i = 0;
	while (i < OPEN_IMAGES - 1 && all[i].handle != handle)
		i++;
	if (all[i].handle != handle) {
		close_image(&all[i]);
		all[i].batch = sharded_batch_new(handle->reader,
						 file->image ? file->requester.answers->batch_threads : 1);
		if (!all[i].batch)
			return NULL;
		all[i].handle = handle_get(handle);
	}
	found = all[i];
	memmove(all + 1, all, i * sizeof(*all));
	all[0] = found;
	return found.batch;
}

/* Answers lines of @run from the open image. */
static int answer_from(struct run *run, struct revision *rev, struct handle *handle)
{
	struct batch_file *file = run->file;
	char module[PATH_MAX] = "";
	size_t before = file->stream.buf.results.n;
	answers_module(file->requester.answers, rev, module);
	run->options.render.module = module;
	run->options.render.demangle = answers_demangle(file->requester.answers, handle, file->request.raw);
	run->batch = batch_for(file, handle);
	if (!run->batch)
		return -ENOMEM;
	to_link_addresses(file, run, &handle->addresses);
	if (file->image && !file->announced && !run->first)
		read_ahead(file, &handle->addresses);
	int err = answer_guarded(run, handle);
	vec_free(&file->ahead);
	if (err == -EFAULT) { /* the last record may be incomplete */
		file->stream.buf.results.n = before;
		run->answered = 0;
		held_handles_drop(&file->requester.held, handle);
	}
	if (err == -EFAULT || err == -EBADMSG)
		answers_report_corrupt(file->requester.answers, rev, handle, err, run->diag.text);
	return err == -EBADMSG ? 0 : err;
}

static void all_unknown(struct batch_file *file, const struct run *run)
{
	for (size_t i = run->first; i < run->first + run->n; i++)
		if (file->queries.v[i].kind == BATCH_ADDRESS)
			file->queries.v[i].kind = BATCH_UNKNOWN;
}

/* ---- Before the image is converted ---- */

/* Whether pending input is so few lines that fragments are made for them. */
static bool is_short(const struct batch_file *file)
{
	struct span input = stream_buf_input(&file->stream.buf);
	size_t at = 0, n = 0;
	for (; at < input.size && n <= EARLY_MAX; n++)
		next_line(input, at, &at);
	return n <= EARLY_MAX;
}

/* Has @call wait for the addresses of this image alone, unless a worker did not know the first of them. */
static int ask(struct batch_file *file, size_t first, struct call *call)
{
	const struct line *lines = file->lines.v;
	struct revision *rev = call->wait.revision;
	struct convert_address address;
	if (call->early == EARLY_OVER && file->asked == rev)
		file->in_vain = lines[first].end;
	if (call->early == EARLY_OVER || lines[first].end <= file->in_vain)
		return -EAGAIN;
	for (size_t i = first; i < file->lines.n; i++) {
		const struct batch_query *query = &file->queries.v[i];
		if (query->kind == BATCH_ADDRESS && lines[i].image == lines[first].image &&
		    place_to_ask(&lines[i].context, query->given, &address) &&
		    call_add_address(call, &address))
			return -ENOMEM;
	}
	file->asked = rev;
	return -EAGAIN;
}

/* Answers lines of @run from fragments, or fills call->wait: -EAGAIN. */
static int answer_early(struct run *run, struct call *call)
{
	struct batch_file *file = run->file;
	const struct line *line = &file->lines.v[run->first];
	struct revision *rev = call->wait.revision;
	if (!rev || !is_short(file))
		return -EAGAIN;
	run->answered = early_batch_answer(file->requester.answers, rev, &line->context, &run->options,
					   file->request.raw, file->queries.v + run->first, run->n,
					   &file->stream.buf.results, &call->wait.fragments_seen);
	return run->answered ? 0 : ask(file, run->first, call);
}

static int answer_lines(struct run *run, struct call *call)
{
	struct batch_file *file = run->file;
	struct image *image = file->lines.v[run->first].image;
	struct revision *rev;
	struct handle *handle;
	int err = image ? requester_open_image(&file->requester, image, call, &rev, &handle) : -ENOENT;
	if (!err) {
		err = answer_from(run, rev, handle);
		handle_put(handle);
		/* The truncated cache file was removed, and is made again. */
		return err != -EFAULT ? err : call->tries++ < CALL_TRIES_MAX ? 0 : -EIO;
	}
	if (err == -EAGAIN)
		return answer_early(run, call);
	if (image && (image == file->image || file->requester.failed_here))
		return err;
	all_unknown(file, run);
	if (!file->unknown)
		file->unknown = sharded_batch_new(NULL, 1);
	run->batch = file->unknown;
	return run->batch ? answer_run(run) : -ENOMEM;
}

/* ---- The kind of stream ---- */

static size_t run_length(const struct batch_file *file, size_t first)
{
	const struct line *lines = file->lines.v;
	size_t end = first;
	while (end < file->lines.n && lines[end].image == lines[first].image &&
	       context_equal(&lines[end].context, &lines[first].context))
		end++;
	return end - first;
}

/* The first line waits for a conversion: starts those of the lines after it as well. */
static void prefetch_images(struct batch_file *file)
{
	bool whole = !is_short(file);
	size_t runs = 0;
	mutex_lock(&file->requester.answers->images->lock);
	for (size_t i = 0; i < file->lines.n && runs < PREFETCHED_RUNS_MAX;
	     i += run_length(file, i), runs++) {
		const struct line *line = &file->lines.v[i];
		if (line->end <= file->prefetched)
			continue;
		if (line->image)
			requester_prefetch(&file->requester, line->image, whole);
		file->prefetched = line->end;
	}
	mutex_unlock(&file->requester.answers->images->lock);
}

static void consume(struct batch_file *file, size_t size)
{
	stream_buf_consume(&file->stream.buf, size);
	file->prefetched -= size < file->prefetched ? size : file->prefetched;
	file->in_vain -= size < file->in_vain ? size : file->in_vain;
}

static bool is_late(const void *stream)
{
	return stream_is_late(stream);
}

static int answer_chunk(struct batch_file *file, struct call *call, size_t enough)
{
	struct stream_buf *buf = &file->stream.buf;
	size_t done = 0, before = buf->results.n;
	int err = 0;
	bool late = false;
	while (!err && done < file->lines.n && buf->results.n - before < enough && !late) {
		const struct context *context = &file->lines.v[done].context;
		struct run run = {
			.file = file,
			.first = done,
			.n = run_length(file, done),
			.enough = before + enough,
			.options = answer_batch_options(file->requester.answers, &file->request, context),
		};
		run.options.stop = is_late;
		run.options.user = &file->stream;
		err = answer_lines(&run, call);
		invariant(run.answered <= run.n);
		done += run.answered;
		metric_add(&file->requester.answers->metrics->batch_addresses, run.answered);
		late = stream_is_late(&file->stream);
	}
	buf->results.failed = false; /* the next read may get memory */
	if (late && done)
		file->most_lines = file->most_lines / 4 < LINES_MIN ? LINES_MIN : file->most_lines / 4;
	else if (!late && file->most_lines < BATCH_QUERIES)
		file->most_lines *= 2;
	if (done) {
		file->record_size = (buf->results.n - before) / done;
		file->announced -= done < file->announced ? done : file->announced;
		consume(file, file->lines.v[done - 1].end);
	}
	if (!done && err == -EAGAIN && !file->image)
		prefetch_images(file);
	return done ? 0 : err;
}

/* Whether the lines of @input are to be announced, and many. */
static bool is_much(const struct batch_file *file, struct span input)
{
	return file->image && !file->announced && input.size >= INPUT_MUCH;
}

static int batch_answer_some(struct stream *stream, struct call *call, size_t enough)
{
	struct batch_file *file = batch_file_of(stream);
	struct span input = stream_buf_input(&stream->buf);
	if (!input.size) {
		if (file->lines.cap > LINES_KEPT) {
			free_lines(file);
			charge_memory(file);
		}
		return 1;
	}
	if (is_much(file, input) && !call->on_runner)
		return call_hand_over(call);
	if (enough < RESULTS_AHEAD && !stream_buf_is_short(&stream->buf))
		enough = RESULTS_AHEAD;
	int err = read_lines(file, input, call, enough);
	if (!err)
		err = answer_chunk(file, call, enough);
	trim_memory(file);
	return err;
}

/* A line without its newline may go on. */
static bool batch_is_settled(const struct stream *stream)
{
	struct span input = stream_buf_input(&stream->buf);
	return input.size && memchr(input.data, '\n', input.size);
}

static void batch_file_free(struct stream *stream)
{
	struct batch_file *file = batch_file_of(stream);
	close_images(file);
	charge_memory(file);
	requester_deinit(&file->requester);
	sharded_batch_free(file->unknown);
	free_lines(file);
	image_unpin(file->requester.answers->images, file->image);
	free(file);
}

struct stream *batch_file_new(struct answers *answers, struct image *image, const struct request *request,
			      struct caller caller)
{
	static const struct stream_kind kind = {
		.answer = batch_answer_some,
		.is_settled = batch_is_settled,
		.trim = batch_trim,
		.free = batch_file_free,
	};
	struct batch_file *file = calloc(1, sizeof(*file));
	if (!file || stream_init(&file->stream, &kind, answers, caller.uid)) {
		caller_deinit(&caller);
		free(file);
		return NULL;
	}
	file->requester.answers = answers;
	file->requester.caller = caller;
	file->requester.held.account = file->stream.account;
	file->most_lines = BATCH_QUERIES;
	image_pin(answers->images, image);
	file->image = image;
	file->request = *request;
	return &file->stream;
}

/*
 * Lines are taken in chunks, and runs of lines that ask the same image are answered together. A line of the
 * root's file that names no image, or one whose opener may not read it, or one that cannot be read, is
 * unknown: each line gets its record, whatever the others say. An image's own file fails with what is wrong
 * with the image.
 */
#include "fs/answer/batch_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "gsym/base/ascii.h"
#include "gsym/base/address.h"
#include "gsym/render/batch/batch.h"
#include "convert/os/guard.h"
#include "fs/answer/answer.h"
#include "fs/call/call.h"
#include "fs/name/link_address.h"
#include "fs/sys/metrics.h"

enum {
	LINE_SHOWN_MAX = 4096, /* of a line that is no address */
	RESULTS_MAX = 1 << 20, /* made ahead of what is read: they are still in the processor's cache then */
	RECORD_SIZE = 128,     /* bytes, as is thought before there was one */
	WANTED_MAX = 64,       /* runs of lines whose images are converted ahead */
	OPEN_IMAGES = 4,       /* whose memory is kept from run to run */
	LINES_MIN = 16,        /* read together however long their answers take */
	LINES_KEPT = 1024,     /* whose memory stays when nobody reads */
};

/* A line of input. */
struct line {
	size_t end;           /* bytes of input up to and with it */
	struct image *image;  /* NULL: asks none */
	struct context place; /* what its number is */
};

enum { PLACE_KEPT_MAX = 128 };

/* The place that was named last, as most lines name the same. */
struct place {
	char text[PLACE_KEPT_MAX];
	size_t size; /* 0: none */
	size_t id_size;
	struct context context;
	bool good;
};

struct batch_file {
	struct stream stream;
	struct requester requester;
	struct image *image; /* NULL: the root's */
	struct request request;
	struct place named;
	struct batch *nothing; /* answers what no image can; made when it is needed */
	struct open_image {
		struct handle *handle;
		struct batch *batch;
	} open[OPEN_IMAGES];    /* those asked last, the latest first */
	size_t record_size;     /* of the last records, on the average: says how many lines will be enough */
	size_t charged;         /* bytes of their memory, in the account */
	size_t most_lines;      /* to be read together: fewer when their answers took long, since all are read
				   again that have none */
	VEC(struct line) lines; /* of the chunk, and what they ask */
	VEC(struct batch_query) queries;
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

/* Whether @text names a place; @line gets what numbers are there. */
static bool parse_place(struct batch_file *file, struct span text, struct line *line, size_t *ret_id_size)
{
	struct place *named = &file->named;
	bool kept = text.size && text.size <= PLACE_KEPT_MAX;
	if (!kept)
		return name_parse_place((const char *)text.data, text.size, ret_id_size, &line->place);
	if (named->size != text.size || memcmp(named->text, text.data, text.size) != 0) {
		memcpy(named->text, text.data, text.size);
		named->size = text.size;
		named->good = name_parse_place(named->text, named->size, &named->id_size, &named->context);
	}
	line->place = named->context;
	*ret_id_size = named->id_size;
	return named->good;
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
	    !parse_place(file, (struct span){text.data, n}, line, &id_size)) {
		*query = malformed(text);
		return 0;
	}
	int err =
		requester_find_image(&file->requester, (struct span){text.data, id_size}, call, &line->image);
	if (!line->image)
		query->kind = BATCH_UNKNOWN;
	return err;
}

/* The next line of @input at @at: the last may lack its newline. */
static struct span next_line(struct span input, size_t at, size_t *ret_end)
{
	const uint8_t *start = input.data + at, *nl = memchr(start, '\n', input.size - at);
	size_t size = nl ? (size_t)(nl - start) : input.size - at;
	*ret_end = at + size + (nl ? 1 : 0);
	return trim((struct span){start, size});
}

/* The next line, and what it asks. 1 when it is not whole and there are others; -EAGAIN when it has to wait.
 */
static int read_line(struct batch_file *file, struct span input, size_t at, struct call *call,
		     struct line *line, struct batch_query *query)
{
	*line = (struct line){.image = file->image, .place = file->request.context};
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

/* How many lines will give @enough bytes of results: who reads many more has to read them again. */
static size_t lines_worth(const struct batch_file *file, size_t enough)
{
	size_t n = enough / (file->record_size ? file->record_size : RECORD_SIZE);
	n += n / 8 + 1;
	return n < file->most_lines ? n : file->most_lines;
}

/*
 * Reads a chunk of lines. One without its newline is only taken when it is all there is. -EAGAIN when the
 * first has to wait.
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
		at = line.end;
	}
	return file->lines.n ? 0 : err;
}

/* ---- Queries to records ---- */

/* Lines [first, first + n), all of one image and place. */
struct run {
	struct batch_file *file;
	struct batch *batch;
	struct batch_options options;
	size_t first, n;
	size_t enough;   /* bytes of results at which to stop */
	size_t answered; /* out: lines */
	struct gsym_diag diag;
};

static int answer_run(void *arg)
{
	struct run *run = arg;
	struct batch_file *file = run->file;
	return batch_answer(run->batch, &run->options, file->queries.v + run->first, run->n, run->enough,
			    &file->stream.buf.results, &run->answered, &run->diag);
}

static void to_link_addresses(const struct batch_file *file, const struct run *run,
			      const struct address_map *map)
{
	for (size_t i = run->first; i < run->first + run->n; i++) {
		struct batch_query *query = &file->queries.v[i];
		if (query->kind == BATCH_ADDRESS &&
		    !place_to_link(&file->lines.v[i].place, map, query->given, &query->addr))
			query->kind = BATCH_UNKNOWN;
	}
}

static void close_image(struct open_image *image)
{
	batch_free(image->batch);
	handle_put(image->handle);
	*image = (struct open_image){0};
}

static void close_images(struct batch_file *file)
{
	for (size_t i = 0; i < OPEN_IMAGES; i++)
		close_image(&file->open[i]);
}

static void count_memory(struct batch_file *file)
{
	size_t held = 0;
	for (size_t i = 0; i < OPEN_IMAGES; i++)
		held += batch_memory(file->open[i].batch);
	account_charge(file->stream.account, ACCOUNT_BATCHES, held, &file->charged);
	file->stream.buf.extra =
		file->lines.cap * sizeof(*file->lines.v) + file->queries.cap * sizeof(*file->queries.v);
}

/* Memory that makes the next answers faster is no reason to have more of it than there is. */
static void limit_memory(struct batch_file *file)
{
	count_memory(file);
	if (account_has_room(file->stream.account, ACCOUNT_BATCHES, 0))
		return;
	close_images(file);
	count_memory(file);
}

static void drop_lines(struct batch_file *file)
{
	vec_free(&file->lines);
	vec_free(&file->queries);
}

static void batch_rest(struct stream *stream)
{
	struct batch_file *file = batch_file_of(stream);
	close_images(file);
	drop_lines(file);
	count_memory(file);
}

/* The memory for @handle: what is in it belongs to that mapping, which is therefore kept. NULL without
 * memory. */
static struct batch *batch_for(struct batch_file *file, struct handle *handle)
{
	struct open_image *all = file->open, found;
	size_t i = 0;
	while (i < OPEN_IMAGES - 1 && all[i].handle != handle)
		i++;
	if (all[i].handle != handle) {
		close_image(&all[i]);
		all[i].batch = batch_new(handle->reader);
		if (!all[i].batch)
			return NULL;
		all[i].handle = handle_get(handle);
	}
	found = all[i];
	memmove(all + 1, all, i * sizeof(*all));
	all[0] = found;
	return found.batch;
}

/* Answers @run from the open image. */
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
	int err = guard_run(answer_run, run);
	if (err == -EFAULT) { /* it may have ended within a record */
		file->stream.buf.results.n = before;
		run->answered = 0;
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
		/* The file in the cache is gone, and is made again. */
		return err != -EFAULT ? err : call->tries++ < CALL_TRIES_MAX ? 0 : -EIO;
	}
	if (err == -EAGAIN || (image && image == file->image))
		return err;
	all_unknown(file, run);
	if (!file->nothing)
		file->nothing = batch_new(NULL);
	run->batch = file->nothing;
	return run->batch ? answer_run(run) : -ENOMEM;
}

/* ---- The kind of stream ---- */

static size_t run_length(const struct batch_file *file, size_t first)
{
	const struct line *lines = file->lines.v;
	size_t end = first;
	while (end < file->lines.n && lines[end].image == lines[first].image &&
	       context_equal(&lines[end].place, &lines[first].place))
		end++;
	return end - first;
}

/* One image has to be waited for: those that come after it need not wait for their turn. */
static void want_others(struct batch_file *file)
{
	struct images *images = file->requester.answers->images;
	size_t wanted = 0;
	mutex_lock(&images->lock);
	for (size_t i = 0; i < file->lines.n && wanted < WANTED_MAX; i += run_length(file, i), wanted++)
		if (file->lines.v[i].image)
			requester_prefetch(&file->requester, file->lines.v[i].image);
	mutex_unlock(&images->lock);
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
		const struct context *place = &file->lines.v[done].place;
		struct run run = {
			.file = file,
			.first = done,
			.n = run_length(file, done),
			.enough = before + enough,
			.options = answer_batch_options(file->requester.answers, &file->request, place),
		};
		run.options.stop = is_late;
		run.options.user = &file->stream;
		err = answer_lines(&run, call);
		done += run.answered;
		metric_add(&file->requester.answers->metrics->batch_addresses, run.answered);
		late = stream_is_late(&file->stream);
	}
	if (late)
		file->most_lines = file->most_lines / 4 < LINES_MIN ? LINES_MIN : file->most_lines / 4;
	else if (file->most_lines < BATCH_QUERIES)
		file->most_lines *= 2;
	if (done) {
		file->record_size = (buf->results.n - before) / done;
		stream_buf_consume(buf, file->lines.v[done - 1].end);
	}
	if (!done && err == -EAGAIN && !file->image)
		want_others(file);
	return done ? 0 : err;
}

static int batch_answer_some(struct stream *stream, struct call *call, size_t enough)
{
	struct batch_file *file = batch_file_of(stream);
	struct span input = stream_buf_input(&stream->buf);
	if (!input.size) {
		if (file->lines.cap > LINES_KEPT)
			drop_lines(file);
		return 1;
	}
	if (enough < RESULTS_MAX && !stream_buf_is_short(&stream->buf))
		enough = RESULTS_MAX;
	int err = read_lines(file, input, call, enough);
	if (!err)
		err = answer_chunk(file, call, enough);
	limit_memory(file);
	return err;
}

static void batch_file_free(struct stream *stream)
{
	struct batch_file *file = batch_file_of(stream);
	caller_deinit(&file->requester.caller);
	close_images(file);
	count_memory(file);
	batch_free(file->nothing);
	drop_lines(file);
	free(file);
}

struct stream *batch_file_new(struct answers *answers, struct image *image, const struct request *request,
			      struct caller caller)
{
	static const struct stream_kind kind = {batch_answer_some, batch_rest, batch_file_free};
	struct batch_file *file = calloc(1, sizeof(*file));
	if (!file || stream_init(&file->stream, &kind, answers, caller.uid)) {
		caller_deinit(&caller);
		free(file);
		return NULL;
	}
	file->requester.answers = answers;
	file->requester.caller = caller;
	file->most_lines = BATCH_QUERIES;
	file->image = image;
	file->request = *request;
	return &file->stream;
}

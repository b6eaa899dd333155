/*
 * Input is split into lines; each is offered to the formats in turn, and those with frames are added to
 * the pending stack. A line is consumed once everything pending before it is flushed, so that after
 * -EAGAIN it can be processed again.
 */
#include "gsym/filter/filter.h"

#include <errno.h>

#include "gsym/filter/log_format.h"
#include "gsym/filter/formats/format_ips.h"
#include "gsym/filter/pending_stack.h"

static const struct log_format *const formats[] = {
	&format_markup, &format_apple, &format_android, &format_numbered, &format_kernel, &format_plain,
};

/* An Apple report, buffered from its first frame until its images are known. */
struct report {
	struct text_buf text;
	size_t done;       /* bytes replayed */
	bool after_thread; /* the previous line announces frames */
	bool held;         /* being buffered */
	bool saw_images;   /* since the first frame, or before it */
	bool replayed;     /* being replayed */
	/* The list of addresses that is being replayed. */
	struct text_buf frame; /* the line made of the next one */
	size_t n_frames;       /* of it that were replayed */
	bool had_addresses;    /* others are copied unchanged */
};

/* A report in JSON, buffered from its opening to its closing brace. */
struct json_report {
	struct text_buf text;
	struct ips_end end;
	struct ips ips;
	size_t done, next; /* bytes replayed; the next frame */
	bool announced;    /* the previous line is its header */
	bool held;
	bool whole; /* complete, or at the limit: being replayed */
	bool parsed;
};

struct filter {
	struct filter_images images;
	struct filter_options options;
	struct log_context context;
	struct pending_stack stack;
	struct report report;
	struct json_report json;
	struct text_buf line; /* the incomplete next line */
	bool passing;         /* inside a line that is too long */
};

struct filter *filter_new(const struct filter_images *images, const struct filter_options *options)
{
	struct filter *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->images = *images;
	f->options = *options;
	if (!pending_stack_init(&f->stack))
		return f;
	filter_free(f);
	return NULL;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	log_context_deinit(&filter->context);
	pending_stack_deinit(&filter->stack);
	text_deinit(&filter->report.text);
	text_deinit(&filter->report.frame);
	text_deinit(&filter->json.text);
	ips_deinit(&filter->json.ips);
	text_deinit(&filter->line);
	free(filter);
}

struct filter_counts filter_count(const struct filter *filter)
{
	return filter->stack.counts;
}

size_t filter_unexplained(const struct filter *filter, const struct filter_unexplained **ret)
{
	*ret = filter->stack.unexplained.entries.v;
	return filter->stack.unexplained.entries.n;
}

size_t filter_memory(const struct filter *filter)
{
	return sizeof(*filter) + log_context_memory(&filter->context) + pending_stack_memory(&filter->stack) +
	       filter->report.text.cap + filter->report.frame.cap + filter->json.text.cap +
	       filter->json.ips.frames.cap * sizeof(struct ips_frame) +
	       filter->json.ips.images.cap * sizeof(struct filter_module) + filter->line.cap;
}

static int flush(struct filter *f, struct text_buf *out)
{
	return pending_stack_flush(&f->stack, &f->images, &f->options, out);
}

/* ---- Lines ---- */

/* The line without its line ending. */
static struct text_scan content(const char *line, size_t size)
{
	size -= size && line[size - 1] == '\n';
	size -= size && line[size - 1] == '\r';
	return scan_from(line, line + size);
}

static size_t find_frames(struct filter *f, struct text_scan line, struct log_frame *frames,
			  const struct log_format **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t n = formats[i]->find(&f->context, line, frames);
		*ret = formats[i];
		if (n)
			return n;
	}
	return 0;
}

/* Processes one line. On -EAGAIN and -ENOMEM it is not consumed. */
static int take_line(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	struct log_frame frames[LINE_FRAMES_MAX];
	const struct log_format *format;
	struct text_scan text = content(line, size);
	struct stack_buffer *buffer = &f->stack.buffer;
	int err = 0;
	f->context.kernel_noted = f->context.kernel_booted = false;
	for (size_t i = 0; !err && i < ARRAY_SIZE(formats); i++)
		if (formats[i]->note && formats[i] != &format_apple)
			err = formats[i]->note(&f->context, text);
	if (f->context.kernel_noted)
		pending_stack_set_kernel(&f->stack, &f->context.kernel);
	if (!err && f->context.kernel_booted) {
		err = flush(f, out);
		if (!err)
			build_evidence_reset(&f->stack.evidence);
	}
	size_t n = find_frames(f, text, frames, &format);
	bool more = n ? stack_buffer_continues(buffer, format, line, size, frames, n)
		      : stack_buffer_spans(buffer, text, size);
	if (!err && !more)
		err = flush(f, out);
	if (err)
		return err;
	if (n)
		return stack_buffer_add(buffer, format, line, size, frames, n);
	if (more)
		return stack_buffer_add_gap(buffer, text, line, size);
	text_bytes(out, line, size);
	return out->failed ? -ENOMEM : 0;
}

/* ---- Reports ---- */

/* Replays the frame of the next address, unless it was. @end: of lines. */
static int take_address(struct filter *f, struct apple_addresses *list, struct text_scan end,
			struct text_buf *out, bool *ret_more)
{
	struct report *r = &f->report;
	text_reset(&r->frame);
	*ret_more = apple_addresses_next(list, &f->context.apple, &r->frame);
	text_bytes(&r->frame, end.at, scan_left(&end));
	if (r->frame.failed)
		return -ENOMEM;
	if (!*ret_more || list->number <= r->n_frames)
		return 0;
	int err = take_line(f, r->frame.v, r->frame.n, out);
	r->n_frames += !err;
	return err;
}

/* Replays a list of addresses as a stack. @end: of lines. */
static int take_addresses(struct filter *f, struct apple_addresses *list, struct text_scan end,
			  struct text_buf *out)
{
	struct report *r = &f->report;
	bool more = true;
	int err = r->n_frames ? 0 : flush(f, out);
	if (!err && !r->n_frames && scan_left(&list->title)) {
		text_bytes(out, list->prefix.at, (size_t)(list->title.end - list->prefix.at));
		text_bytes(out, end.at, scan_left(&end));
	}
	while (!err && more)
		err = take_address(f, list, end, out, &more);
	if (err)
		return err;
	r->n_frames = 0;
	r->had_addresses = true;
	return out->failed ? -ENOMEM : 0;
}

/*
 * Whether an image of the addresses is at hand: otherwise the list stays as it is. All are requested before
 * waiting. 0, -EAGAIN, -ENOMEM.
 */
static int find_images(const struct filter *f, struct apple_addresses list, bool *ret)
{
	const struct log_module *module;
	struct filter_image image;
	bool wait = false;
	*ret = false;
	while (apple_addresses_image(&list, &f->context.apple, &module)) {
		int err = module ? f->images.find(f->images.user, &module->is, &image) : -ENOENT;
		if (err == -ENOMEM)
			return err;
		wait |= err == -EAGAIN;
		*ret |= !err;
	}
	return wait ? -EAGAIN : 0;
}

static int replay_line(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	static const char newline[] = "\n";
	struct text_scan text = content(line, size), end = scan_from(text.end, line + size);
	struct apple_addresses list;
	bool found = f->report.n_frames;
	if (f->report.had_addresses || !apple_addresses_parse(text, &list))
		return take_line(f, line, size, out);
	int err = found ? 0 : find_images(f, list, &found);
	if (err)
		return err;
	if (!found)
		return take_line(f, line, size, out);
	return take_addresses(f, &list, scan_left(&end) ? end : scan_from(newline, newline + 1), out);
}

/* Replays the report: no more images will be declared. */
static int replay(struct filter *f, struct text_buf *out)
{
	struct report *r = &f->report;
	int err = 0;
	r->held = false;
	r->replayed = f->context.in_report = true;
	while (!err && r->done < r->text.n) {
		const char *line = r->text.v + r->done, *nl = memchr(line, '\n', r->text.n - r->done);
		size_t size = nl ? (size_t)(nl + 1 - line) : r->text.n - r->done;
		err = replay_line(f, line, size, out);
		r->done += err ? 0 : size;
	}
	if (!err)
		err = flush(f, out);
	if (err)
		return err;
	text_deinit(&r->text);
	text_deinit(&r->frame);
	*r = (struct report){.done = 0};
	f->context.in_report = false;
	vec_free(&f->context.apple.list);
	return 0;
}

/* Whether the line belongs to the buffered report, or begins one. */
static bool is_report(struct report *r, enum apple_line kind)
{
	bool begins = kind == APPLE_BACKTRACE ||
		      (r->after_thread && (kind == APPLE_FRAME || kind == APPLE_ADDRESSES));
	r->after_thread = kind == APPLE_THREAD;
	r->saw_images &= r->held || !begins; /* those before the first frame are known */
	r->held |= begins;
	return r->held;
}

/* Learns images. A second list belongs to another report. 0 or -ENOMEM. */
static int note_image(struct filter *f, enum apple_line kind, const char *line, size_t size)
{
	struct report *r = &f->report;
	if (kind == APPLE_REPORT || kind == APPLE_IMAGES)
		f->context.apple.list.n = 0;
	if (kind == APPLE_IMAGES)
		r->saw_images = true;
	else if (kind != APPLE_IMAGE && f->context.apple.list.n && !r->held)
		r->saw_images = false;
	return r->saw_images ? format_apple.note(&f->context, content(line, size)) : 0;
}

static int hold(struct filter *f, const char *line, size_t size)
{
	struct report *r = &f->report;
	text_bytes(&r->text, line, size);
	return r->text.failed ? -ENOMEM : 0;
}

/* Whether the report ends before a line of @kind and @size: it is complete, another one begins, or it is too
 * long. */
static bool report_ends(const struct filter *f, enum apple_line kind, size_t size)
{
	const struct report *r = &f->report;
	return r->held && ((r->saw_images && f->context.apple.list.n && kind != APPLE_IMAGE) ||
			   kind == APPLE_REPORT || r->text.n + size > FILTER_REPORT_MAX);
}

/* Processes one line of input. */
static int take_input(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	enum apple_line kind = apple_line_kind(content(line, size));
	int err = 0;
	if (f->report.replayed || report_ends(f, kind, size))
		err = replay(f, out);
	if (err)
		return err;
	bool held = is_report(&f->report, kind);
	err = note_image(f, kind, line, size);
	if (err)
		return err;
	if (held)
		return hold(f, line, size);
	err = take_line(f, line, size, out);
	f->json.announced = !err && ips_is_header(content(line, size));
	return err;
}

/* ---- Reports in JSON ---- */

/* Buffers frame @i, with the text up to the next one in its array. */
static int take_object(struct filter *f, size_t i)
{
	struct json_report *r = &f->json;
	const struct ips_frame *frame = &r->ips.frames.v[i],
			       *next = i + 1 < r->ips.frames.n ? frame + 1 : NULL;
	const struct log_frame found = ips_frame_of(&r->ips, i);
	size_t end = next && next->number ? next->from : frame->to;
	int err = stack_buffer_add(&f->stack.buffer, NULL, r->text.v + frame->from, end - frame->from, &found,
				   1);
	if (err)
		return err;
	r->done = end;
	r->next = i + 1;
	return 0;
}

static bool stack_is_full(const struct filter *f, const struct ips_frame *frame)
{
	return f->stack.buffer.frames.n >= STACK_FRAMES_MAX ||
	       f->stack.buffer.text.n + (frame->to - frame->from) > FILTER_STACK_BYTES;
}

static int replay_frames(struct filter *f, struct text_buf *out)
{
	struct json_report *r = &f->json;
	int err = 0;
	while (!err && r->next < r->ips.frames.n) {
		const struct ips_frame *frame = &r->ips.frames.v[r->next];
		if (!frame->number || stack_is_full(f, frame))
			err = flush(f, out);
		if (err)
			return err;
		if (frame->from > r->done)
			text_bytes(out, r->text.v + r->done, frame->from - r->done);
		r->done = frame->from;
		err = take_object(f, r->next);
	}
	return err ? err : flush(f, out);
}

static int replay_json(struct filter *f, struct text_buf *out)
{
	struct json_report *r = &f->json;
	int err = flush(f, out);
	r->held = false;
	r->whole = true;
	if (!err && !r->parsed) {
		err = ips_parse(&r->ips, r->text.v, r->text.n) == -ENOMEM ? -ENOMEM : 0;
		r->parsed = !err;
	}
	if (!err)
		err = replay_frames(f, out);
	if (err)
		return err;
	text_bytes(out, r->text.v + r->done, r->text.n - r->done);
	text_deinit(&r->text);
	ips_deinit(&r->ips);
	*r = (struct json_report){.done = 0};
	return out->failed ? -ENOMEM : 0;
}

/* Buffers the bytes that belong to the report; @ret: their number. */
static int hold_json(struct filter *f, const char *bytes, size_t size, size_t *ret)
{
	struct json_report *r = &f->json;
	size_t room = FILTER_REPORT_MAX - r->text.n;
	r->announced = false;
	r->held = true;
	*ret = ips_scan(&r->end, bytes, size < room ? size : room, &r->whole);
	text_bytes(&r->text, bytes, *ret);
	r->whole |= r->text.n >= FILTER_REPORT_MAX;
	return r->text.failed ? -ENOMEM : 0;
}

/* ---- Input ---- */

/* The buffered line is too long: copies it, and the rest of it as it comes. */
static int pass_line(struct filter *f, struct text_buf *out)
{
	int err = f->report.held || f->report.replayed ? replay(f, out) : 0;
	if (!err)
		err = flush(f, out);
	if (err)
		return err;
	f->report.after_thread = f->json.announced = false;
	f->passing = true;
	text_bytes(out, f->line.v, f->line.n);
	f->line.n = 0;
	return out->failed ? -ENOMEM : 0;
}

/* Processes f->line if it is complete or too long. */
static int take_whole(struct filter *f, struct text_buf *out)
{
	if (f->json.whole)
		return replay_json(f, out);
	if (!f->line.n)
		return 0;
	if (f->line.v[f->line.n - 1] != '\n')
		return f->line.n >= FILTER_LINE_MAX ? pass_line(f, out) : 0;
	int err = take_input(f, f->line.v, f->line.n, out);
	if (!err)
		f->line.n = 0;
	return err;
}

/* Buffers or copies bytes up to the end of the line; @ret: their number. */
static int take_bytes(struct filter *f, const char *bytes, size_t size, struct text_buf *out, size_t *ret)
{
	if (f->json.held || (f->json.announced && !f->line.n && *bytes == '{'))
		return hold_json(f, bytes, size, ret);
	const char *nl = memchr(bytes, '\n', size);
	size_t n = nl ? (size_t)(nl + 1 - bytes) : size;
	if (f->passing) {
		text_bytes(out, bytes, n);
		f->passing = !nl;
		*ret = n;
		return out->failed ? -ENOMEM : 0;
	}
	if (n > FILTER_LINE_MAX - f->line.n)
		n = FILTER_LINE_MAX - f->line.n;
	text_bytes(&f->line, bytes, n);
	*ret = n;
	return f->line.failed ? -ENOMEM : 0;
}

static int finish(struct filter *f, enum filter_rest rest, struct text_buf *out)
{
	int err = 0;
	if (rest == FILTER_END && f->line.n) {
		err = take_input(f, f->line.v, f->line.n, out);
		f->line.n = err ? f->line.n : 0;
	}
	if (!err && rest == FILTER_END && f->json.held)
		err = replay_json(f, out);
	if (!err && (f->report.replayed || (rest == FILTER_END && f->report.held)))
		err = replay(f, out);
	if (!err && rest != FILTER_MORE)
		err = flush(f, out);
	return err;
}

int filter_write(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		 struct text_buf *out, size_t *ret_used)
{
	size_t used = 0, n;
	int err = take_whole(filter, out);
	while (!err && used < size) {
		err = take_bytes(filter, bytes + used, size - used, out, &n);
		used += n;
		if (!err)
			err = take_whole(filter, out);
	}
	*ret_used = used;
	return err ? err : finish(filter, rest, out);
}

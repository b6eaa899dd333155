/*
 * Input is split into lines. Those of a report that says only at its end what its frames need are held back
 * until then (reports/); all others are processed at once (line_frames.c).
 */
#include "log/engine/filter.h"

#include <errno.h>

#include "log/engine/filter_state.h"
#include "log/line/json_member.h"

struct filter *filter_new(const struct filter_images *images, const struct filter_options *options)
{
	struct filter *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->images = *images;
	f->options = *options;
	f->context.mapped = &f->mapped;
	f->context.events = &f->events;
	f->context.given = &f->given;
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
	memory_map_deinit(&filter->mapped);
	memory_map_deinit(&filter->events);
	memory_map_deinit(&filter->given);
	text_deinit(&filter->heap.text);
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
	       filter->heap.text.cap + memory_map_size(&filter->mapped) + memory_map_size(&filter->events) +
	       memory_map_size(&filter->given) + filter->json.ips.frames.cap * sizeof(struct ips_frame) +
	       filter->json.ips.images.cap * sizeof(struct filter_module) + filter->line.cap;
}

/* ---- Lines of input ---- */

/* Processes one line of input. */
static int take_input(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	int in_heap = heap_file_hold(f, line, size, out);
	if (in_heap)
		return in_heap < 0 ? in_heap : 0;
	enum apple_line kind = apple_line_kind(line_content(line, size));
	int err = 0;
	if (f->report.replayed || apple_report_ends(f, kind, size))
		err = apple_report_replay(f, out);
	if (err)
		return err;
	bool held = apple_report_has(&f->report, kind);
	err = apple_report_note(f, kind, line, size);
	if (err)
		return err;
	if (held)
		return apple_report_hold(f, line, size);
	err = filter_take_line(f, line, size, out);
	const struct text_scan text = line_content(line, size);
	f->json.announced = !err && ips_is_header(text);
	f->json.opened = !err && json_is(text, "{");
	return err;
}

/* ---- Input ---- */

/* The buffered line is too long: copies it, and the rest of it as it comes. */
static int pass_line(struct filter *f, struct text_buf *out)
{
	int err = f->report.held || f->report.replayed ? apple_report_replay(f, out) : 0;
	if (!err && (f->heap.held || f->heap.replayed))
		err = heap_file_replay(f, out);
	if (!err)
		err = filter_flush(f, out);
	if (err)
		return err;
	f->report.after_thread = f->json.announced = f->json.opened = false;
	f->passing = true;
	text_bytes(out, f->line.v, f->line.n);
	f->line.n = 0;
	return out->failed ? -ENOMEM : 0;
}

/* Processes f->line if it is complete or too long. */
static int take_whole(struct filter *f, struct text_buf *out)
{
	int err = json_report_begin(f);
	if (!err && f->json.whole)
		err = json_report_replay(f, out);
	if (err || !f->line.n)
		return err;
	if (f->line.v[f->line.n - 1] != '\n')
		return f->line.n >= FILTER_LINE_MAX ? pass_line(f, out) : 0;
	err = take_input(f, f->line.v, f->line.n, out);
	if (!err)
		f->line.n = 0;
	return err;
}

/* Buffers or copies bytes up to the end of the line; @ret: their number. */
static int take_bytes(struct filter *f, const char *bytes, size_t size, struct text_buf *out, size_t *ret)
{
	if (f->json.held || (f->json.announced && !f->line.n && *bytes == '{'))
		return json_report_hold(f, bytes, size, ret);
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
		err = json_report_replay(f, out);
	if (!err && (f->report.replayed || (rest == FILTER_END && f->report.held)))
		err = apple_report_replay(f, out);
	if (!err && (f->heap.replayed || (rest == FILTER_END && f->heap.held)))
		err = heap_file_replay(f, out);
	if (!err && rest != FILTER_MORE)
		err = filter_flush(f, out);
	return err;
}

int filter_add_mapping(struct filter *filter, const char *line, size_t size)
{
	struct map_line mapping;
	if (!map_line_parse(line_content(line, size), &mapping) || mapping.is_event)
		return 0;
	filter->context.has_places = true;
	return memory_map_add_line(&filter->given, &mapping);
}

int filter_add_module(struct filter *filter, const struct filter_module *module, uint64_t start, uint64_t end,
		      uint64_t relative, bool is_link)
{
	const struct memory_range range = {.start = start,
					   .end = end,
					   .relative = relative,
					   .is_estimate = true,
					   .space = is_link ? FRAME_LINK : FRAME_RVA};
	filter->context.has_places = true;
	return memory_map_add(&filter->given, &range, module);
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

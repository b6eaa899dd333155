/*
 * Input is split into lines. Those of a report that says only at its end what its frames need are held back
 * until then (reports/); all others are processed at once (line_frames.c).
 */
#include "log/engine/filter.h"

#include <errno.h>

#include "log/engine/filter_state.h"

static const struct held_report *const held_reports[] = {
	[HELD_HEAP] = &held_heap, [HELD_APPLE] = &held_apple, [HELD_JSON] = &held_json};

static_assert(ARRAY_SIZE(held_reports) == HELD_KINDS, "a row for each enumerator");

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
	f->context.fixed = &f->fixed;
	int err = pending_stack_init(&f->stack);
	for (size_t i = 0; i < HELD_KINDS; i++) {
		f->held[i].kind = held_reports[i];
		f->held[i].own = calloc(1, held_reports[i]->own_size);
		err |= !f->held[i].own;
	}
	if (!err)
		return f;
	filter_free(f);
	return NULL;
}

/* Frees what is held, and what the kind keeps. */
static void held_deinit(struct held *held)
{
	if (held->own && held->kind->deinit)
		held->kind->deinit(held->own);
	text_deinit(&held->text);
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
	memory_map_deinit(&filter->fixed);
	for (size_t i = 0; i < HELD_KINDS; i++) {
		held_deinit(&filter->held[i]);
		free(filter->held[i].own);
	}
	text_deinit(&filter->line);
	free(filter);
}

struct filter_counts filter_count(const struct filter *filter)
{
	return filter->stack.counts;
}

size_t filter_unexplained(const struct filter *filter, const struct filter_unexplained **ret)
{
	*ret = filter->stack.unexplained.v;
	return filter->stack.unexplained.n;
}

size_t filter_memory(const struct filter *filter)
{
	size_t size = sizeof(*filter) + log_context_memory(&filter->context) +
		      pending_stack_memory(&filter->stack) + memory_map_size(&filter->mapped) +
		      memory_map_size(&filter->events) + memory_map_size(&filter->given) +
		      memory_map_size(&filter->fixed) + filter->line.cap;
	for (size_t i = 0; i < HELD_KINDS; i++) {
		const struct held *held = &filter->held[i];
		size += held->kind->own_size + held->text.cap;
		size += held->kind->memory ? held->kind->memory(held->own) : 0;
	}
	return size;
}

/* ---- Reports that are held ---- */

/* The report that is held or being replayed, or NULL. */
static struct held *held_now(struct filter *f)
{
	for (size_t i = 0; i < HELD_KINDS; i++)
		if (f->held[i].is_open || f->held[i].is_whole)
			return &f->held[i];
	return NULL;
}

/* Tells all kinds but @holder which line was written last. */
static void follow_line(struct filter *f, const struct held *holder, struct text_scan line)
{
	for (struct held *held = f->held; held < f->held + HELD_KINDS; held++)
		if (held != holder && held->kind->follow)
			held->kind->follow(held, line);
}

int held_replay_lines(struct filter *f, struct held *held,
		      int (*take)(struct filter *f, const char *line, size_t size, struct text_buf *out),
		      struct text_buf *out)
{
	while (held->done < held->text.n) {
		const char *line = held->text.v + held->done;
		const char *nl = memchr(line, '\n', held->text.n - held->done);
		size_t size = nl ? (size_t)(nl + 1 - line) : held->text.n - held->done;
		bool is_long = size > FILTER_LINE_MAX;
		int err = is_long ? filter_flush(f, out) : take(f, line, size, out);
		if (err)
			return err;
		if (is_long)
			filter_text(f, line, size, out);
		held->done += size;
	}
	return filter_flush(f, out);
}

static int replay_report(struct filter *f, struct held *held, struct text_buf *out)
{
	held->is_open = false;
	held->is_whole = true;
	int err = held->kind->replay(f, held, out);
	if (err)
		return err;
	held_deinit(held);
	memset(held->own, 0, held->kind->own_size);
	*held = (struct held){.kind = held->kind, .own = held->own};
	return 0;
}

/* Offers a line to a kind of lines: 1 if it is held, 0, -EAGAIN, -ENOMEM. */
static int offer_line(struct filter *f, struct held *held, const char *line, size_t size,
		      struct text_buf *out)
{
	const struct text_scan text = line_content(line, size);
	bool ends = held->is_whole || (held->is_open && (held->kind->ends(f, held, text) ||
							 held->text.n + size > FILTER_REPORT_MAX));
	int err = ends ? replay_report(f, held, out) : 0,
	    taken = err ? err : held->kind->takes(f, held, text);
	if (taken <= 0)
		return taken;
	held->is_open = true;
	follow_line(f, held, scan_from(line, line));
	text_bytes(&held->text, line, size);
	return held->text.failed ? -ENOMEM : 1;
}

/* Moves bytes to a kind of bytes; @ret: their number. 0 or -ENOMEM. */
static int hold_bytes(struct filter *f, struct held *held, const char *bytes, size_t size, size_t *ret)
{
	size_t room = FILTER_REPORT_MAX - held->text.n;
	if (!held->is_open)
		follow_line(f, NULL, scan_from(bytes, bytes));
	held->is_open = true;
	*ret = held->kind->hold(held, bytes, size < room ? size : room);
	text_bytes(&held->text, bytes, *ret);
	held->is_whole |= held->text.n >= FILTER_REPORT_MAX;
	return held->text.failed ? -ENOMEM : 0;
}

/* Begins a report with the buffered line, or what there is of it, if it is of one of bytes. */
static int begin_bytes(struct filter *f)
{
	size_t used;
	if (!f->line.n || f->passing || held_now(f))
		return 0;
	for (struct held *held = f->held; held < f->held + HELD_KINDS; held++) {
		if (!held->kind->begins ||
		    !held->kind->begins(held, scan_from(f->line.v, f->line.v + f->line.n)))
			continue;
		int err = hold_bytes(f, held, f->line.v, f->line.n, &used);
		memmove(f->line.v, f->line.v + used, f->line.n - used);
		f->line.n -= used;
		return err;
	}
	return 0;
}

/* ---- Lines of input ---- */

/* Processes one line of input. */
static int take_input(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	for (struct held *held = f->held; held < f->held + HELD_KINDS; held++) {
		const struct held *now = held_now(f);
		int taken =
			held->kind->takes && (!now || now == held) ? offer_line(f, held, line, size, out) : 0;
		if (taken)
			return taken < 0 ? taken : 0;
	}
	int err = filter_take_line(f, line, size, out);
	if (!err)
		follow_line(f, NULL, line_content(line, size));
	return err;
}

/* ---- Input ---- */

/* The buffered line is too long: copies it, and the rest of it as it comes. */
static int pass_line(struct filter *f, struct text_buf *out)
{
	struct held *held = held_now(f);
	int err = held ? replay_report(f, held, out) : 0;
	if (!err)
		err = filter_flush(f, out);
	if (err)
		return err;
	follow_line(f, NULL, scan_from(f->line.v, f->line.v));
	f->passing = true;
	filter_text(f, f->line.v, f->line.n, out);
	f->line.n = 0;
	return out->failed ? -ENOMEM : 0;
}

/* Processes f->line if it is complete or too long. */
static int take_whole(struct filter *f, struct text_buf *out)
{
	int err = begin_bytes(f);
	struct held *held = held_now(f);
	if (!err && held && held->kind->hold && held->is_whole)
		err = replay_report(f, held, out);
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
	struct held *held = held_now(f);
	if (held && held->kind->hold)
		return hold_bytes(f, held, bytes, size, ret);
	const char *nl = memchr(bytes, '\n', size);
	size_t n = nl ? (size_t)(nl + 1 - bytes) : size;
	if (f->passing) {
		filter_text(f, bytes, n, out);
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

static int finish_input(struct filter *f, enum filter_rest rest, struct text_buf *out)
{
	int err = 0;
	if (rest == FILTER_END && f->line.n) {
		err = take_input(f, f->line.v, f->line.n, out);
		f->line.n = err ? f->line.n : 0;
	}
	struct held *held = held_now(f);
	if (!err && held && (held->is_whole || rest == FILTER_END))
		err = replay_report(f, held, out);
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

int filter_add_fixed(struct filter *filter, const struct filter_module *module, uint64_t start, uint64_t end)
{
	struct memory_range range = {
		.start = start, .end = end, .relative = start, .is_estimate = true, .space = FRAME_LINK};
	for (size_t i = 0; i < filter->fixed.ranges.n; i++) {
		const struct memory_range *r = &filter->fixed.ranges.v[i];
		if (r->start >= range.end || range.start >= r->end)
			continue;
		range.disputed = true;
		range.start = r->start < range.start ? r->start : range.start;
		range.end = r->end > range.end ? r->end : range.end;
	}
	return memory_map_add(&filter->fixed, &range, module);
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
	return err ? err : finish_input(filter, rest, out);
}

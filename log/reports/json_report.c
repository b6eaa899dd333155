#include "log/engine/filter_state.h"

#include <errno.h>

/* Buffers frame @i, with the text up to the next one in its array. */
static int take_object(struct filter *f, size_t i)
{
	struct json_report *r = &f->json;
	const struct ips_frame *frame = &r->ips.frames.v[i],
			       *next = i + 1 < r->ips.frames.n ? frame + 1 : NULL;
	const struct log_frame found = ips_frame_of(&r->ips, r->text.v, i);
	size_t end = next && next->number == frame->number + 1 ? next->from : frame->to;
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
		if (frame->from > r->done || !frame->number || stack_is_full(f, frame))
			err = filter_flush(f, out);
		if (err)
			return err;
		if (frame->from > r->done)
			text_bytes(out, r->text.v + r->done, frame->from - r->done);
		r->done = frame->from;
		err = take_object(f, r->next);
	}
	return err ? err : filter_flush(f, out);
}

/* A report without frames may be another log, a line or more of it. */
static int replay_lines(struct filter *f, struct text_buf *out)
{
	struct json_report *r = &f->json;
	while (r->done < r->text.n) {
		const char *line = r->text.v + r->done;
		size_t size = report_line_size(&r->text, r->done);
		bool too_long = size > FILTER_LINE_MAX;
		int err = too_long ? filter_flush(f, out) : filter_take_line(f, line, size, out);
		if (err)
			return err;
		if (too_long)
			text_bytes(out, line, size);
		r->done += size;
	}
	return filter_flush(f, out);
}

int json_report_replay(struct filter *f, struct text_buf *out)
{
	struct json_report *r = &f->json;
	int err = filter_flush(f, out);
	r->held = false;
	r->whole = true;
	if (!err && !r->parsed) {
		err = ips_parse(&r->ips, r->text.v, r->text.n) == -ENOMEM ? -ENOMEM : 0;
		r->parsed = !err;
	}
	if (!err)
		err = r->ips.frames.n || !r->of_minidump ? replay_frames(f, out) : replay_lines(f, out);
	if (err)
		return err;
	text_bytes(out, r->text.v + r->done, r->text.n - r->done);
	text_deinit(&r->text);
	ips_deinit(&r->ips);
	*r = (struct json_report){.done = 0};
	return out->failed ? -ENOMEM : 0;
}

int json_report_hold(struct filter *f, const char *bytes, size_t size, size_t *ret)
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

int json_report_begin(struct filter *f)
{
	struct json_report *r = &f->json;
	struct text_buf *line = &f->line;
	bool is_long = line->n >= IPS_BEGIN_MAX;
	size_t used;
	if (!line->n || r->held || r->whole || f->passing || f->report.held || f->report.replayed ||
	    f->heap.held || f->heap.replayed || (!is_long && line->v[line->n - 1] != '\n') ||
	    !ips_begins(scan_from(line->v, line->v + line->n), r->opened))
		return 0;
	r->of_minidump = true;
	if (r->opened) { /* and written, but needed to parse the rest */
		text_char(&r->text, '{');
		r->end.depth = r->done = 1;
	}
	r->opened = false;
	int err = json_report_hold(f, line->v, line->n, &used);
	memmove(line->v, line->v + used, line->n - used);
	line->n -= used;
	return err;
}

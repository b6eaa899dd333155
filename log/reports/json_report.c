/* A report in JSON, held from its opening to its closing brace, or from the line after the former. */
#include "log/engine/filter_state.h"

#include <errno.h>

#include "log/formats/report_lines.h"
#include "log/line/json_member.h"

struct json {
	struct ips_end end;
	struct ips ips;
	size_t next;    /* frame to replay */
	bool announced; /* the previous line is its header */
	bool opened;    /* the previous line is nothing but a brace */
	bool parsed;
	bool of_minidump; /* not of Apple's systems */
};

/* Lines that objects make a stack of: no others belong to it. */
static const struct log_format format_json = {.gap = NULL};

/* Buffers frame @i, with the text up to the next one in its array. */
static int take_object(struct filter *f, struct held *held, size_t i)
{
	struct json *r = held->own;
	const struct ips_frame *frame = &r->ips.frames.v[i],
			       *next = i + 1 < r->ips.frames.n ? frame + 1 : NULL;
	const struct log_frame found = ips_frame_of(&r->ips, held->text.v, i);
	size_t end = next && next->number == frame->number + 1 ? next->from : frame->to;
	int err = stack_buffer_add(&f->stack.buffer, &format_json, held->text.v + frame->from,
				   end - frame->from, &found, 1);
	if (err)
		return err;
	held->done = end;
	r->next = i + 1;
	return 0;
}

static bool stack_is_full(const struct filter *f, const struct ips_frame *frame)
{
	return f->stack.buffer.frames.n >= STACK_FRAMES_MAX ||
	       f->stack.buffer.text.n + (frame->to - frame->from) > FILTER_STACK_BYTES;
}

static int replay_frames(struct filter *f, struct held *held, struct text_buf *out)
{
	struct json *r = held->own;
	int err = 0;
	while (!err && r->next < r->ips.frames.n) {
		const struct ips_frame *frame = &r->ips.frames.v[r->next];
		if (frame->from > held->done || !frame->number || stack_is_full(f, frame))
			err = filter_flush(f, out);
		if (err)
			return err;
		if (frame->from > held->done)
			filter_text(f, held->text.v + held->done, frame->from - held->done, out);
		held->done = frame->from;
		err = take_object(f, held, r->next);
	}
	return err ? err : filter_flush(f, out);
}

static int json_replay(struct filter *f, struct held *held, struct text_buf *out)
{
	struct json *r = held->own;
	int err = filter_flush(f, out);
	if (!err && !r->parsed) {
		err = ips_parse(&r->ips, held->text.v, held->text.n) == -ENOMEM ? -ENOMEM : 0;
		r->parsed = !err;
	}
	/* One without frames may be another log, a line or more of it. */
	if (!err && r->of_minidump && !r->ips.frames.n)
		err = held_replay_lines(f, held, filter_take_line, out);
	else if (!err)
		err = replay_frames(f, held, out);
	if (err)
		return err;
	filter_text(f, held->text.v + held->done, held->text.n - held->done, out);
	return out->failed ? -ENOMEM : 0;
}

static void json_follow(struct held *held, struct text_scan line)
{
	struct json *r = held->own;
	r->announced = ips_is_header(line);
	r->opened = json_is(line, "{");
}

static bool json_begins(struct held *held, struct text_scan line)
{
	struct json *r = held->own;
	bool is_long = scan_left(&line) >= IPS_BEGIN_MAX;
	if (r->announced && *line.at == '{')
		return true;
	if ((!is_long && line.end[-1] != '\n') || !ips_begins(line, r->opened))
		return false;
	r->of_minidump = true;
	if (r->opened) { /* and written, but needed to parse the rest */
		text_char(&held->text, '{');
		r->end.depth = held->done = 1;
	}
	return true;
}

static size_t json_hold(struct held *held, const char *bytes, size_t size)
{
	struct json *r = held->own;
	return ips_scan(&r->end, bytes, size, &held->is_whole);
}

static size_t json_memory(const void *own)
{
	const struct json *r = own;
	return r->ips.frames.cap * sizeof(struct ips_frame) + r->ips.images.cap * sizeof(struct ips_image);
}

static void json_deinit(void *own)
{
	struct json *r = own;
	ips_deinit(&r->ips);
}

const struct held_report held_json = {
	.own_size = sizeof(struct json),
	.follow = json_follow,
	.begins = json_begins,
	.hold = json_hold,
	.replay = json_replay,
	.memory = json_memory,
	.deinit = json_deinit,
};

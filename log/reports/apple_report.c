#include "log/engine/filter_state.h"

#include <errno.h>

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
	int err = filter_take_line(f, r->frame.v, r->frame.n, out);
	r->n_frames += !err;
	return err;
}

/* Replays a list of addresses as a stack. @end: of lines. */
static int take_addresses(struct filter *f, struct apple_addresses *list, struct text_scan end,
			  struct text_buf *out)
{
	struct report *r = &f->report;
	bool more = true;
	int err = r->n_frames ? 0 : filter_flush(f, out);
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
	struct text_scan text = line_content(line, size), end = scan_from(text.end, line + size);
	struct apple_addresses list;
	bool found = f->report.n_frames;
	if (f->report.had_addresses || !apple_addresses_parse(text, &list))
		return filter_take_line(f, line, size, out);
	int err = found ? 0 : find_images(f, list, &found);
	if (err)
		return err;
	if (!found)
		return filter_take_line(f, line, size, out);
	return take_addresses(f, &list, scan_left(&end) ? end : scan_from(newline, newline + 1), out);
}

int apple_report_replay(struct filter *f, struct text_buf *out)
{
	struct report *r = &f->report;
	int err = 0;
	r->held = false;
	r->replayed = f->context.in_report = true;
	while (!err && r->done < r->text.n) {
		size_t size = report_line_size(&r->text, r->done);
		err = replay_line(f, r->text.v + r->done, size, out);
		r->done += err ? 0 : size;
	}
	if (!err)
		err = filter_flush(f, out);
	if (err)
		return err;
	text_deinit(&r->text);
	text_deinit(&r->frame);
	*r = (struct report){.done = 0};
	f->context.in_report = false;
	vec_free(&f->context.apple.list);
	return 0;
}

bool apple_report_has(struct report *r, enum apple_line kind)
{
	bool begins = kind == APPLE_BACKTRACE ||
		      (r->after_thread && (kind == APPLE_FRAME || kind == APPLE_ADDRESSES));
	r->after_thread = kind == APPLE_THREAD;
	r->saw_images &= r->held || !begins; /* those before the first frame are known */
	r->held |= begins;
	return r->held;
}

int apple_report_note(struct filter *f, enum apple_line kind, const char *line, size_t size)
{
	struct report *r = &f->report;
	if (kind == APPLE_REPORT || kind == APPLE_IMAGES)
		f->context.apple.list.n = 0;
	if (kind == APPLE_IMAGES)
		r->saw_images = true;
	else if (kind != APPLE_IMAGE && f->context.apple.list.n && !r->held)
		r->saw_images = false;
	return r->saw_images ? format_apple.note(&f->context, line_content(line, size)) : 0;
}

int apple_report_hold(struct filter *f, const char *line, size_t size)
{
	struct report *r = &f->report;
	text_bytes(&r->text, line, size);
	return r->text.failed ? -ENOMEM : 0;
}

bool apple_report_ends(const struct filter *f, enum apple_line kind, size_t size)
{
	const struct report *r = &f->report;
	return r->held && ((r->saw_images && f->context.apple.list.n && kind != APPLE_IMAGE) ||
			   kind == APPLE_REPORT || r->text.n + size > FILTER_REPORT_MAX);
}

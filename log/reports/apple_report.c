/* A report of Apple's systems, held from its first frame until its images are known. */
#include "log/engine/filter_state.h"

#include <errno.h>

#include "log/formats/report_lines.h"

struct apple {
	bool after_thread; /* the previous line announces frames */
	bool saw_images;   /* since the first frame, or before it */
	/* The list of addresses that is being replayed. */
	struct text_buf frame; /* the line made of the next one */
	size_t n_frames;       /* of it that were replayed */
	bool had_addresses;    /* others are copied unchanged */
};

/* Replays the frame of the next address, unless it was. @end: of lines. */
static int take_address(struct filter *f, struct apple_addresses *list, struct text_scan end,
			struct text_buf *out, bool *ret_more)
{
	struct apple *r = f->held[HELD_APPLE].own;
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
	struct apple *r = f->held[HELD_APPLE].own;
	bool more = true;
	int err = r->n_frames ? 0 : filter_flush(f, out);
	if (!err && !r->n_frames && scan_left(&list->title)) {
		filter_text(f, list->prefix.at, (size_t)(list->title.end - list->prefix.at), out);
		filter_text(f, end.at, scan_left(&end), out);
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
	struct apple *r = f->held[HELD_APPLE].own;
	bool found = r->n_frames;
	if (r->had_addresses || !apple_addresses_parse(text, &list))
		return filter_take_line(f, line, size, out);
	int err = found ? 0 : find_images(f, list, &found);
	if (err)
		return err;
	if (!found)
		return filter_take_line(f, line, size, out);
	return take_addresses(f, &list, scan_left(&end) ? end : scan_from(newline, newline + 1), out);
}

static int apple_replay(struct filter *f, struct held *held, struct text_buf *out)
{
	f->context.in_report = true; /* no more images will be declared */
	int err = held_replay_lines(f, held, replay_line, out);
	if (err)
		return err;
	f->context.in_report = false;
	vec_free(&f->context.apple.list);
	return 0;
}

/* An empty line may be between a thread and its frames. */
static bool announces_frames(const struct apple *r, struct text_scan line, enum apple_line kind)
{
	return kind == APPLE_THREAD || (r->after_thread && line.at == line.end);
}

static void apple_follow(struct held *held, struct text_scan line)
{
	struct apple *r = held->own;
	r->after_thread = announces_frames(r, line, apple_line_kind(line));
}

/* Learns images. A second list belongs to another report. 0 or -ENOMEM. */
static int note_images(struct filter *f, struct held *held, enum apple_line kind, struct text_scan line)
{
	struct apple *r = held->own;
	if (kind == APPLE_REPORT || kind == APPLE_IMAGES)
		f->context.apple.list.n = 0;
	if (kind == APPLE_IMAGES)
		r->saw_images = true;
	else if (kind != APPLE_IMAGE && f->context.apple.list.n && !held->is_open)
		r->saw_images = false;
	return r->saw_images ? apple_note(&f->context, line) : 0;
}

static int apple_takes(struct filter *f, struct held *held, struct text_scan line)
{
	struct apple *r = held->own;
	enum apple_line kind = apple_line_kind(line);
	bool begins = kind == APPLE_BACKTRACE ||
		      (r->after_thread && (kind == APPLE_FRAME || kind == APPLE_ADDRESSES));
	r->after_thread = announces_frames(r, line, kind);
	r->saw_images &= held->is_open || !begins; /* those before the first frame are known */
	held->is_open |= begins;
	int err = note_images(f, held, kind, line);
	return err ? err : held->is_open;
}

static bool apple_ends(const struct filter *f, const struct held *held, struct text_scan line)
{
	const struct apple *r = held->own;
	enum apple_line kind = apple_line_kind(line);
	return (r->saw_images && f->context.apple.list.n && kind != APPLE_IMAGE) || kind == APPLE_REPORT;
}

static size_t apple_memory(const void *own)
{
	const struct apple *r = own;
	return r->frame.cap;
}

static void apple_deinit(void *own)
{
	struct apple *r = own;
	text_deinit(&r->frame);
}

const struct held_report held_apple = {
	.own_size = sizeof(struct apple),
	.follow = apple_follow,
	.ends = apple_ends,
	.takes = apple_takes,
	.replay = apple_replay,
	.memory = apple_memory,
	.deinit = apple_deinit,
};

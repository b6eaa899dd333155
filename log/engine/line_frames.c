/*
 * A line is offered to the formats in turn, and one with frames is added to the pending stack. It is consumed
 * once everything pending before it is flushed, so that after -EAGAIN it can be processed again.
 */

#include "log/engine/filter_state.h"

#include <errno.h>

#include "log/line/json_member.h"

static const struct log_format *const formats[] = {
	&format_markup, &format_apple,  &format_android,  &format_numbered, &format_minidump,
	&format_kernel, &format_perf,   &format_ksym,     &format_plain,    &format_windows,
	&format_shape,  &format_offset, &format_absolute, &format_address,
};

int filter_flush(struct filter *f, struct text_buf *out)
{
	return pending_stack_flush(&f->stack, &f->images, &f->options, out);
}

void filter_text(struct filter *f, const char *bytes, size_t size, struct text_buf *out)
{
	if (f->options.output == FILTER_RECORDS)
		record_text(out, bytes, size, &f->stack.line_number);
	else if (f->options.output != FILTER_STACKS)
		text_bytes(out, bytes, size);
}

struct text_scan line_content(const char *line, size_t size)
{
	size -= size && line[size - 1] == '\n';
	size -= size && line[size - 1] == '\r';
	return scan_from(line, line + size);
}

/* enum line_mark of the line. */
static unsigned marks_of(struct text_scan line)
{
	static const uint8_t marks[UINT8_MAX + 1] = {['+'] = MARK_PLUS,
						     ['#'] = MARK_HASH,
						     ['{'] = MARK_BRACES,
						     ['['] = MARK_BRACKET,
						     ['|'] = MARK_BAR};
	unsigned all = 0;
	for (const char *p = line.at; p < line.end; p++) {
		all |= marks[(unsigned char)*p];
		if (*p == 'x' && p > line.at && p[-1] == '0')
			all |= MARK_HEX;
	}
	return all;
}

static size_t find_in(struct filter *f, struct text_scan line, unsigned marks, struct log_frame *frames,
		      const struct log_format **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (formats[i]->needs & ~marks)
			continue;
		size_t n = formats[i]->find(&f->context, line, frames);
		*ret = formats[i];
		if (n)
			return n;
	}
	return 0;
}

/* Completes the modules that have a name alone by what is mapped in memory. */
static void identify_modules(struct filter *f, struct log_frame *frames, size_t n)
{
	const struct memory_map *const maps[] = {&f->events, &f->mapped, &f->given};
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(maps) && !frames[i].module.is_word; k++)
			memory_map_identify(maps[k], &frames[i].module);
}

/* A frame that was found @by bytes from the beginning of its line. */
static void shift_frame(struct log_frame *frame, uint32_t by)
{
	frame->from += by;
	frame->to += by;
	if (frame->space == FRAME_NAME || frame->space == FRAME_MANGLED) {
		frame->symbol_from += by;
		frame->symbol_to += by;
	}
	if (frame->style == STYLE_APPLE) {
		frame->label_from += by;
		frame->label_to += by;
	} else if (frame->style == STYLE_SANITIZER || frame->style == STYLE_MINIDUMP) {
		frame->tail += by;
	}
}

/*
 * "main;[example+0x11cc];work 12": frames from the outermost on, and how often the stack was met. Each that
 * is found as a whole gets its functions. Returns their number.
 */
static size_t find_folded(struct filter *f, struct text_scan line, unsigned marks, struct log_frame *frames,
			  const struct log_format **ret)
{
	static const struct log_format format_folded = {.gap = NULL};
	struct log_frame found[LINE_FRAMES_MAX];
	const char *count = memrchr(line.at, ' ', scan_left(&line));
	struct text_scan s = scan_from(count ? count + 1 : line.end, line.end);
	uint64_t times;
	size_t n = 0;
	if (!scan_decimal(&s, &times) || s.at != s.end)
		return 0;
	for (const char *from = line.at, *to; from < count && n < LINE_FRAMES_MAX; from = to + 1) {
		to = memchr(from, ';', (size_t)(count - from));
		to = to ? to : count;
		if (memchr(from, ' ', (size_t)(to - from)) ||
		    find_in(f, scan_from(from, to), marks, found, ret) != 1)
			continue;
		shift_frame(found, (uint32_t)(from - line.at));
		found->from = (uint32_t)(from - line.at);
		found->to = (uint32_t)(to - line.at);
		found->style = STYLE_FOLDED;
		found->kind = to == count ? PC_EXACT : PC_RETURN;
		found->first_exact = false;
		frames[n++] = *found;
	}
	*ret = &format_folded;
	return n;
}

/* Finds frames in the strings of a line in JSON, each of which may have several lines. */
static size_t find_in_strings(struct filter *f, struct text_scan line, struct log_frame *frames,
			      const struct log_format **ret)
{
	struct log_frame found[LINE_FRAMES_MAX];
	struct text_scan s = line, piece;
	const struct log_format *format;
	bool in_string = false;
	size_t n = 0;
	while (json_piece_next(&s, &in_string, &piece)) {
		f->context.marks = marks_of(piece);
		size_t more = find_in(f, piece, f->context.marks, found, &format);
		if (n + more > LINE_FRAMES_MAX)
			break;
		for (size_t i = 0; i < more; i++) {
			frames[n] = found[i];
			shift_frame(&frames[n++], (uint32_t)(piece.at - line.at));
		}
		*ret = more ? format : *ret;
	}
	return n;
}

static int note_line(struct filter *f, struct text_scan line, unsigned marks)
{
	int err = 0;
	f->context.marks = marks;
	for (size_t i = 0; !err && i < ARRAY_SIZE(formats); i++)
		if (formats[i]->note && !(formats[i]->note_needs & ~marks))
			err = formats[i]->note(&f->context, line);
	return err;
}

static int note_strings(struct filter *f, struct text_scan line)
{
	struct text_scan piece;
	bool in_string = false;
	int err = 0;
	while (!err && json_piece_next(&line, &in_string, &piece))
		err = note_line(f, piece, marks_of(piece));
	return err;
}

int filter_take_line(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	struct log_frame frames[LINE_FRAMES_MAX];
	const struct log_format *format;
	struct text_scan text = line_content(line, size);
	struct stack_buffer *buffer = &f->stack.buffer;
	unsigned marks = marks_of(text);
	bool is_json = json_is_line(text);
	f->context.kernel_noted = f->context.kernel_booted = false;
	int err = is_json ? note_strings(f, text) : note_line(f, text, marks);
	if (f->context.kernel_noted)
		pending_stack_set_kernel(&f->stack, &f->context.kernel);
	if (!err && f->context.kernel_booted) {
		err = filter_flush(f, out);
		if (!err)
			build_evidence_reset(&f->stack.evidence);
	}
	bool is_folded = f->options.output == FILTER_FOLDED;
	size_t n = is_folded ? find_folded(f, text, marks, frames, &format)
		   : is_json ? find_in_strings(f, text, frames, &format)
			     : find_in(f, text, marks, frames, &format);
	identify_modules(f, frames, n);
	bool more = n ? stack_buffer_continues(buffer, format, line, size, frames, n)
		      : stack_buffer_spans(buffer, text, size);
	if (!err && !more)
		err = filter_flush(f, out);
	if (err)
		return err;
	if (n)
		return stack_buffer_add(buffer, format, line, size, frames, n);
	if (more)
		return stack_buffer_add_gap(buffer, text, line, size);
	filter_text(f, line, size, out);
	return out->failed ? -ENOMEM : 0;
}

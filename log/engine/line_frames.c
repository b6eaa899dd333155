/*
 * A line is offered to the formats in turn, and one with frames is added to the pending stack. It is consumed
 * once everything pending before it is flushed, so that after -EAGAIN it can be processed again.
 */

#include "log/engine/filter_state.h"

#include <errno.h>

static const struct log_format *const formats[] = {
	&format_markup, &format_apple,  &format_android,  &format_numbered, &format_minidump,
	&format_kernel, &format_perf,   &format_ksym,     &format_plain,    &format_windows,
	&format_shape,  &format_offset, &format_absolute, &format_address,
};

int filter_flush(struct filter *f, struct text_buf *out)
{
	return pending_stack_flush(&f->stack, &f->images, &f->options, out);
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

static size_t find_frames(struct filter *f, struct text_scan line, unsigned marks, struct log_frame *frames,
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

int filter_take_line(struct filter *f, const char *line, size_t size, struct text_buf *out)
{
	struct log_frame frames[LINE_FRAMES_MAX];
	const struct log_format *format;
	struct text_scan text = line_content(line, size);
	struct stack_buffer *buffer = &f->stack.buffer;
	unsigned marks = marks_of(text);
	int err = 0;
	f->context.marks = marks;
	f->context.kernel_noted = f->context.kernel_booted = false;
	for (size_t i = 0; !err && i < ARRAY_SIZE(formats); i++)
		if (formats[i]->note && !(formats[i]->note_needs & ~marks))
			err = formats[i]->note(&f->context, text);
	if (f->context.kernel_noted)
		pending_stack_set_kernel(&f->stack, &f->context.kernel);
	if (!err && f->context.kernel_booted) {
		err = filter_flush(f, out);
		if (!err)
			build_evidence_reset(&f->stack.evidence);
	}
	size_t n = find_frames(f, text, marks, frames, &format);
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
	text_bytes(out, line, size);
	return out->failed ? -ENOMEM : 0;
}

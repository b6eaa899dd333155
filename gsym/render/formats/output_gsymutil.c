/* The lines llvm-gsymutil prints for a lookup: decimal offsets, stored names, "[inlined]". */
#include "gsym/render/output_format.h"

enum {
	ADDRESS_DIGITS = 16,
	INDENT = 20, /* the width of "0x", the digits and ": " */
};

/* LLVM puts a separator after every directory, a root included. */
static void place(struct text_buf *out, const struct gsym_frame *frame)
{
	if (!frame_has_file(frame))
		return;
	text_lit(out, " @ ");
	if (frame->dir[0]) {
		bool windows = strchr(frame->dir, '\\') && !strchr(frame->dir, '/');
		escape_str(out, frame->dir, ESCAPE_TEXT);
		text_char(out, windows ? '\\' : '/');
	}
	if (frame->base[0])
		escape_str(out, frame->base, ESCAPE_TEXT);
	else
		text_lit(out, "<invalid-file>");
	text_char(out, ':');
	text_dec(out, frame->line);
}

static void address(struct text_buf *out, uint64_t addr)
{
	text_lit(out, "0x");
	text_hex(out, addr, ADDRESS_DIGITS);
	text_lit(out, ": ");
}

static void answer(struct text_buf *out, const struct answer_view *view)
{
	const struct gsym_answer *found = view->answer;
	address(out, view->addr);
	for (size_t i = 0; i < found->n_frames; i++) {
		if (i > 0)
			text_fill(out, ' ', INDENT);
		const struct gsym_frame *frame = &found->frames[i];
		escape_str(out, frame->name, ESCAPE_TEXT);
		if (frame->offset) {
			text_lit(out, " + ");
			text_dec(out, frame->offset);
		}
		place(out, frame);
		if (frame->inlined)
			text_lit(out, " [inlined]");
		text_char(out, '\n');
	}
}

static void unknown(struct text_buf *out, const struct unresolved *query,
		    const struct render_options *options)
{
	(void)options;
	if (query->input) {
		format_unresolved(out, query, ESCAPE_TEXT);
		text_lit(out, ": error: not an address\n");
		return;
	}
	address(out, query->addr);
	text_lit(out, "error: address ");
	text_addr(out, query->addr);
	text_lit(out, " is not in GSYM\n");
}

const struct output_format output_gsymutil = {
	.no_module = "",
	.style = ESCAPE_TEXT,
	.answer = answer,
	.unknown = unknown,
};

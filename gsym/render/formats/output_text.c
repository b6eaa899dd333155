/*
 * The lines of llvm-addr2line -pfiC: innermost frame first, enclosing ones marked " (inlined by)". An
 * extension is the offset shown where only the symbol is known; "[merged N]" is one only on request.
 */
#include "gsym/render/output_format.h"

static void answer(struct text_buf *out, const struct answer_view *view)
{
	for (size_t i = 0; i < view->answer->n_frames; i++) {
		if (i > 0)
			text_lit(out, " (inlined by) ");
		const struct gsym_answer *found = view->answer;
		const struct gsym_frame *frame = &found->frames[i];
		view_name(out, view, i, ESCAPE_TEXT);
		if (!found->has_rows && frame->offset) {
			text_char(out, '+');
			text_addr(out, frame->offset);
		}
		if (view->options->mark_merged && !frame->inlined)
			render_merged(out, found->n_merged);
		text_lit(out, " at ");
		if (view_has_file(view, i))
			view_path(out, view, i, ESCAPE_TEXT);
		else
			text_lit(out, "??");
		text_char(out, ':');
		text_dec(out, frame->line);
		if (view->options->details) {
			text_char(out, ':');
			text_dec(out, view->options->details[i].column);
		}
		text_char(out, '\n');
	}
}

static void unknown(struct text_buf *out, const struct unresolved *query,
		    const struct render_options *options)
{
	(void)query;
	(void)options;
	text_lit(out, "?? at ??:0\n");
}

const struct output_format output_text = {
	.suffix = "",
	.no_module = "",
	.style = ESCAPE_TEXT,
	.takes_strings = true,
	.answer = answer,
	.unknown = unknown,
};

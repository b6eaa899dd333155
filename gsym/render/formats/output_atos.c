/*
 * The lines of Apple's atos -i: "function (in module) (file.m:965)", innermost frame first; where only the
 * symbol is known, "function (in module) + 2". Files and modules are shown by base name.
 */
#include "gsym/render/output_format.h"

static void module(struct text_buf *out, const struct render_options *options)
{
	const char *path = options->module ? options->module : "", *slash = strrchr(path, '/');
	text_lit(out, " (in ");
	if (*path)
		escape_str(out, slash ? slash + 1 : path, ESCAPE_TEXT);
	else
		text_lit(out, "??");
	text_char(out, ')');
}

static void answer(struct text_buf *out, const struct answer_view *view)
{
	for (size_t i = 0; i < view->answer->n_frames; i++) {
		const struct gsym_frame *frame = &view->answer->frames[i];
		render_name(out, frame->name, view->options, ESCAPE_TEXT);
		module(out, view->options);
		if (frame_has_file(frame)) {
			text_lit(out, " (");
			escape_str(out, frame->base, ESCAPE_TEXT);
			text_char(out, ':');
			text_dec(out, frame->line);
			text_char(out, ')');
		} else {
			text_lit(out, " + ");
			text_dec(out, frame->offset);
		}
		text_char(out, '\n');
	}
}

static void unknown(struct text_buf *out, const struct unresolved *query,
		    const struct render_options *options)
{
	format_unresolved(out, query, ESCAPE_TEXT);
	module(out, options);
	text_char(out, '\n');
}

const struct output_format output_atos = {
	.suffix = ".atos",
	.no_module = "??",
	.style = ESCAPE_TEXT,
	.lookup_flags = GSYM_LOOKUP_FIRST_ROW,
	.answer = answer,
	.unknown = unknown,
};

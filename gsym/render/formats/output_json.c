/*
 * The object that llvm-symbolizer prints with --output-style=JSON, on one line, keys in its (alphabetical)
 * order. GSYM has no columns, discriminators or declaration positions: unless the caller has them, those
 * keys have the values with which LLVM says "unknown". Extensions: Inlined, LinkageName and Offset of a
 * frame, Approximate where it is true, Merged and Source of the whole.
 */
#include "gsym/render/output_format.h"

static void head(struct text_buf *out, const struct unresolved *place)
{
	text_lit(out, "{\"Address\":\"");
	format_unresolved(out, place, ESCAPE_JSON);
	text_lit(out, "\",");
}

static void linkage(struct text_buf *out, const struct answer_view *view, size_t i)
{
	if (view->strings)
		view_span(out, &view->strings[i].linkage);
	else
		escape_str(out, view->answer->frames[i].name, ESCAPE_JSON);
}

static const struct frame_detail *detail_of(const struct answer_view *view, size_t i)
{
	static const struct frame_detail none = {.start_dir = "", .start_base = ""};
	return view->options->details ? &view->options->details[i] : &none;
}

static void names(struct text_buf *out, const struct answer_view *view, size_t i)
{
	const struct gsym_frame *frame = &view->answer->frames[i];
	text_str(out, frame->approximate ? "{\"Approximate\":true," : "{");
	const struct frame_detail *detail = detail_of(view, i);
	text_lit(out, "\"Column\":");
	text_dec(out, detail->column);
	text_lit(out, ",\"Discriminator\":");
	text_dec(out, detail->discriminator);
	text_lit(out, ",\"FileName\":\"");
	view_path(out, view, i, ESCAPE_JSON);
	text_lit(out, "\",\"FunctionName\":\"");
	view_name(out, view, i, ESCAPE_JSON);
	text_lit(out, "\",\"Inlined\":");
	text_str(out, frame->inlined ? "true" : "false");
	text_lit(out, ",\"Line\":");
	text_dec(out, frame->line);
	text_lit(out, ",\"LinkageName\":\"");
	linkage(out, view, i);
	text_char(out, '"');
}

static void answer(struct text_buf *out, const struct answer_view *view)
{
	struct unresolved place = {.addr = view->addr};
	const struct gsym_answer *found = view->answer;
	head(out, &place);
	if (found->n_merged > 1) {
		text_lit(out, "\"Merged\":");
		text_dec(out, found->n_merged);
		text_char(out, ',');
	}
	text_lit(out, "\"ModuleName\":\"");
	view_module(out, view, &output_json);
	text_lit(out, "\",\"Source\":\"");
	text_str(out, found->has_rows ? "debug" : "symbols");
	text_lit(out, "\",\"Symbol\":[");
	for (size_t i = 0; i < found->n_frames; i++) {
		if (i > 0)
			text_char(out, ',');
		uint64_t offset = view->answer->frames[i].offset;
		names(out, view, i);
		const struct frame_detail *detail = detail_of(view, i);
		text_lit(out, ",\"Offset\":\"");
		text_addr(out, offset);
		text_lit(out, "\",\"StartAddress\":\"");
		text_addr(out, view->addr - offset);
		text_lit(out, "\",\"StartFileName\":\"");
		if (detail->start_base[0])
			render_path(out, detail->start_dir, detail->start_base, ESCAPE_JSON);
		text_lit(out, "\",\"StartLine\":");
		text_dec(out, detail->start_line);
		text_char(out, '}');
	}
	text_lit(out, "]}\n");
}

static void unknown(struct text_buf *out, const struct unresolved *query,
		    const struct render_options *options)
{
	head(out, query);
	text_lit(out, "\"ModuleName\":\"");
	format_module(out, options, &output_json);
	text_lit(out,
		 "\",\"Symbol\":[{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"\","
		 "\"Line\":0,\"StartAddress\":\"\",\"StartFileName\":\"\",\"StartLine\":0}]}\n");
}

const struct output_format output_json = {
	.suffix = ".json",
	.no_module = "",
	.style = ESCAPE_JSON,
	.takes_strings = true,
	.one_line = true,
	.answer = answer,
	.unknown = unknown,
};

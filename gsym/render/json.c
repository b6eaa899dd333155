/*
 * The object llvm-symbolizer prints with --output-style=JSON, on one line, keys in its (alphabetical) order.
 * GSYM holds no columns, discriminators or places of declaration: those keys say "not known" as llvm says it.
 * Added are Inlined, LinkageName and Offset to a frame, Approximate to one where it is true, Merged and Source to the
 * whole.
 */
#include "formats.h"

static void string(struct text_buf *out, const char *text)
{
	text_char(out, '"');
	escape_str(out, text, ESCAPE_JSON);
	text_char(out, '"');
}

static void head(struct text_buf *out, const struct unknown *place)
{
	text_lit(out, "{\"Address\":\"");
	render_place(out, place, ESCAPE_JSON);
	text_lit(out, "\",");
}

static void module(struct text_buf *out, const struct render_options *options)
{
	text_lit(out, "\"ModuleName\":");
	string(out, options->module ? options->module : "");
}

static void names(struct text_buf *out, const struct gsym_frame *frame, const struct render_options *options)
{
	text_str(out, frame->approximate ? "{\"Approximate\":true," : "{");
	text_lit(out, "\"Column\":0,\"Discriminator\":0,\"FileName\":\"");
	render_path(out, frame, ESCAPE_JSON);
	text_lit(out, "\",\"FunctionName\":\"");
	render_name(out, frame, options, ESCAPE_JSON);
	text_lit(out, "\",\"Inlined\":");
	text_str(out, frame->inlined ? "true" : "false");
	text_lit(out, ",\"Line\":");
	text_dec(out, frame->line);
	text_lit(out, ",\"LinkageName\":");
	string(out, frame->name);
}

static void symbol(struct text_buf *out, uint64_t addr, const struct gsym_frame *frame,
		   const struct render_options *options)
{
	names(out, frame, options);
	text_lit(out, ",\"Offset\":\"");
	text_addr(out, frame->offset);
	text_lit(out, "\",\"StartAddress\":\"");
	text_addr(out, addr - frame->offset);
	text_lit(out, "\",\"StartFileName\":\"\",\"StartLine\":0}");
}

void json_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		 const struct render_options *options)
{
	struct unknown place = {.addr = addr};
	head(out, &place);
	if (answer->n_merged > 1) {
		text_lit(out, "\"Merged\":");
		text_dec(out, answer->n_merged);
		text_char(out, ',');
	}
	module(out, options);
	text_lit(out, ",\"Source\":\"");
	text_str(out, answer->has_rows ? "debug" : "symbols");
	text_lit(out, "\",\"Symbol\":[");
	for (size_t i = 0; i < answer->n_frames; i++) {
		if (i > 0)
			text_char(out, ',');
		symbol(out, addr, &answer->frames[i], options);
	}
	text_lit(out, "]}\n");
}

void json_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options)
{
	head(out, unknown);
	module(out, options);
	text_lit(out,
		 ",\"Symbol\":[{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"\","
		 "\"Line\":0,\"StartAddress\":\"\",\"StartFileName\":\"\",\"StartLine\":0}]}\n");
}

/* Keys are in LLVM's order, which is that of the alphabet. */
#include "cli/symbolizer/answer_style.h"
#include "gsym/base/escape.h"

static void print_source(struct text_buf *out, const struct symbol_answer *answer,
			 const struct shown_frame *frame)
{
	size_t start = out->n;
	text_lit(out, ",\"Source\":\"");
	size_t before = out->n;
	answer_source_append(out, answer, frame, ESCAPE_JSON);
	if (out->n == before)
		out->n = start;
	else
		text_char(out, '"');
}

static void print_frame(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame)
{
	const struct frame_detail *detail = &frame->detail;
	text_lit(out, "{\"Column\":");
	text_dec(out, detail->column);
	text_lit(out, ",\"Discriminator\":");
	text_dec(out, detail->discriminator);
	text_lit(out, ",\"FileName\":\"");
	answer_file_append(out, answer, frame->dir, frame->base, detail->comp_size, ESCAPE_JSON);
	text_lit(out, "\",\"FunctionName\":\"");
	if (answer->options->names != FUNCTION_NAMES_NONE)
		symbol_name_append(out, answer, frame->name, ESCAPE_JSON);
	text_lit(out, "\",\"Line\":");
	text_dec(out, frame->line);
	print_source(out, answer, frame);
	text_lit(out, ",\"StartAddress\":\"");
	if (frame->has_start)
		text_addr(out, frame->start);
	text_lit(out, "\",\"StartFileName\":\"");
	if (detail->start_line)
		answer_file_append(out, answer, detail->start_dir, detail->start_base,
				   detail->start_comp_size, ESCAPE_JSON);
	text_lit(out, "\",\"StartLine\":");
	text_dec(out, detail->start_line);
	text_char(out, '}');
}

static void print_frames(struct text_buf *out, const struct symbol_answer *answer)
{
	for (size_t i = 0; i < answer->frames.n; i++) {
		if (i > 0)
			text_char(out, ',');
		print_frame(out, answer, &answer->frames.v[i]);
	}
}

static void print_part(struct text_buf *out, const char *key, struct text_part part)
{
	text_str(out, key);
	escape_bytes(out, part.text, part.size, ESCAPE_JSON);
	text_char(out, '"');
}

static void print_module(struct text_buf *out, const struct symbol_query *query)
{
	text_lit(out, "\"ModuleName\":\"");
	answer_module_append(out, query, ESCAPE_JSON);
	text_char(out, '"');
}

static void print_error(struct text_buf *out, const char *error)
{
	text_lit(out, "\"Error\":{\"Message\":\"");
	escape_str(out, error, ESCAPE_JSON);
	text_lit(out, "\"},");
}

static void print_data(struct text_buf *out, const struct symbol_answer *answer)
{
	const struct object_symbol *data = answer->data;
	text_lit(out, "\"Data\":{\"Name\":\"");
	if (data)
		symbol_data_append(out, answer, ESCAPE_JSON);
	text_lit(out, "\",\"Size\":\"");
	text_addr(out, data ? data->size : 0);
	text_lit(out, "\",\"Start\":\"");
	text_addr(out, data ? data->addr : 0);
	text_lit(out, "\"},");
}

static void print_code(struct text_buf *out, const struct symbol_answer *answer)
{
	print_module(out, answer->query);
	if (answer->error && answer->query->kind != QUERY_INVALID)
		return;
	text_lit(out, ",\"Symbol\":[");
	print_frames(out, answer);
	if (!answer->frames.n && !(answer->module && answer->module->err))
		text_lit(out, "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"\","
			      "\"Line\":0,\"StartAddress\":\"\",\"StartFileName\":\"\",\"StartLine\":0}");
	text_char(out, ']');
}

static void print_symbol(struct text_buf *out, const struct symbol_answer *answer)
{
	if (!answer->error) {
		text_lit(out, "\"Loc\":[");
		print_frames(out, answer);
		text_lit(out, "],");
	}
	print_module(out, answer->query);
	print_part(out, ",\"SymName\":\"", answer->query->symbol);
}

void answer_print_json(struct text_buf *out, const struct symbol_answer *answer)
{
	enum query_kind kind = answer->query->kind;
	text_char(out, '{');
	if (kind != QUERY_SYMBOL && kind != QUERY_INVALID) {
		text_lit(out, "\"Address\":\"");
		text_addr(out, answer->addr);
		text_lit(out, "\",");
	}
	if (answer->error && kind != QUERY_INVALID)
		print_error(out, answer->error);
	else if (kind == QUERY_DATA)
		print_data(out, answer);
	else if (kind == QUERY_FRAME)
		text_lit(out, "\"Frame\":[],");
	if (kind == QUERY_SYMBOL)
		print_symbol(out, answer);
	else if (kind == QUERY_DATA || kind == QUERY_FRAME)
		print_module(out, answer->query);
	else
		print_code(out, answer);
	text_char(out, '}');
}

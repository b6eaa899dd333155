#include "cli/symbolizer/answer_style.h"

static void print_place(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame)
{
	if (!answer_file_append(out, answer, frame, ESCAPE_TEXT))
		text_lit(out, "??");
	text_char(out, ':');
	if (frame->line)
		text_dec(out, frame->line);
	else
		text_char(out, '?');
	text_char(out, '\n');
}

static void print_frame(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame, bool is_first)
{
	bool pretty = answer->options->pretty;
	if (pretty && !is_first)
		text_lit(out, " (inlined by) ");
	if (answer->options->names != FUNCTION_NAMES_NONE) {
		symbol_name_append(out, answer, frame->name, ESCAPE_TEXT);
		text_str(out, pretty ? " at " : "\n");
	}
	print_place(out, answer, frame);
}

void answer_print_binutils(struct text_buf *out, const struct symbol_answer *answer)
{
	bool pretty = answer->options->pretty;
	if (answer->options->addresses) {
		text_lit(out, "0x");
		text_hex(out, answer->addr, answer->module && answer->module->is_32_bit ? 8 : 16);
		text_str(out, pretty ? ": " : "\n");
	}
	for (size_t i = 0; i < answer->frames.n; i++)
		print_frame(out, answer, &answer->frames.v[i], i == 0);
	if (answer->frames.n)
		return;
	if (answer->options->names != FUNCTION_NAMES_NONE)
		text_str(out, pretty ? "?? " : "??\n");
	text_lit(out, "??:0\n");
}

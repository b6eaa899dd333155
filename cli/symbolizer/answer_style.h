/* answer_style.h - answers as the original programs print them. */
#ifndef CLI_SYMBOLIZER_ANSWER_STYLE_H
#define CLI_SYMBOLIZER_ANSWER_STYLE_H

#include "cli/symbolizer/symbol_answer.h"

typedef void answer_printer(struct text_buf *out, const struct symbol_answer *answer);

answer_printer answer_print_binutils; /* addr2line */
answer_printer answer_print_text;     /* LLVM's styles GNU and LLVM */
answer_printer answer_print_json;     /* without the end of the line */

/*
 * Appends the path of a frame, or the part of it that the options want; false, and nothing, without one.
 * @comp_size: see struct frame_detail.
 */
bool answer_file_append(struct text_buf *out, const struct symbol_answer *answer, const char *dir,
			const char *base, uint32_t comp_size, enum escape_style style);

/* Appends the lines of the source around @frame, if the options want them and it is known. */
void answer_source_append(struct text_buf *out, const struct symbol_answer *answer,
			  const struct shown_frame *frame, enum escape_style style);

/* Appends what was asked about, a build ID in capitals. */
void answer_module_append(struct text_buf *out, const struct symbol_query *query, enum escape_style style);

#endif

/* Lines of the source, from the path that the debug information tells, as numbered lines with a mark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbolizer/answer_style.h"
#include "gsym/base/escape.h"
#include "gsym/render/frame_text.h"

bool answer_file_append(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame, enum escape_style style)
{
	if (!frame->dir[0] && !frame->base[0])
		return false;
	if (answer->options->basenames && frame->base[0])
		escape_str(out, frame->base, style);
	else
		render_path(out, frame->dir, frame->base, style);
	return true;
}

/* How many digits the numbers before @last have: the width of the column. */
static unsigned width_of(uint64_t last)
{
	unsigned width = 0;
	for (uint64_t power = 1; power < last; power *= 10)
		width++;
	return width;
}

static void append_line(struct text_buf *out, uint64_t number, unsigned width, bool is_marked,
			const char *text, size_t size)
{
	char head[32];
	snprintf(head, sizeof(head), "%*llu %s: ", (int)width, (unsigned long long)number,
		 is_marked ? ">" : " ");
	text_str(out, head);
	size -= size && text[size - 1] == '\n';
	escape_bytes(out, text, size, ESCAPE_TSV);
	text_char(out, '\n');
}

static void append_lines(struct text_buf *out, FILE *source, uint64_t line, uint64_t n)
{
	uint64_t first = line > n / 2 ? line - n / 2 : 1, last = first + n - 1;
	char *text = NULL;
	size_t cap = 0;
	ssize_t size;
	for (uint64_t at = 1; at <= last && (size = getline(&text, &cap, source)) >= 0; at++)
		if (at >= first)
			append_line(out, at, width_of(last), at == line, text, (size_t)size);
	free(text);
}

void source_context_append(struct text_buf *out, const struct symbol_answer *answer,
			   const struct shown_frame *frame)
{
	struct text_buf path = {0};
	uint64_t n = answer->options->context;
	if (!n || !frame->line || (!frame->dir[0] && !frame->base[0]))
		return;
	text_str(&path, frame->dir);
	text_char(&path, '/');
	text_str(&path, frame->base);
	text_char(&path, 0);
	FILE *source = path.failed ? NULL : fopen(path.v, "re");
	if (source) {
		append_lines(out, source, frame->line, n);
		fclose(source);
	}
	out->failed |= path.failed;
	text_deinit(&path);
}

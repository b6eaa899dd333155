/*
 * escape.h - strings from files, made fit for a format.
 *
 * A name may hold any byte but NUL. Printable UTF-8 passes; all else is spelled out, so that no name can move
 * a cursor, end a line, or turn the text around it.
 */
#ifndef GSYM_BASE_ESCAPE_H
#define GSYM_BASE_ESCAPE_H

#include "gsym/base/text_buf.h"

enum escape_style {
	ESCAPE_TEXT, /* \xNN a byte; backslashes stay, so that paths read as in other tools */
	ESCAPE_TSV,  /* \t \n \\ and \xNN: can be undone */
	ESCAPE_JSON, /* the inside of a JSON string: strict UTF-8, an invalid byte is U+FFFD */
	ESCAPE_STYLES,
};

void escape_bytes(struct text_buf *out, const char *bytes, size_t size, enum escape_style style);

static inline void escape_str(struct text_buf *out, const char *str, enum escape_style style)
{
	escape_bytes(out, str, strlen(str), style);
}

/* Escapes in place what was appended since the buffer held @from bytes. */
void escape_tail(struct text_buf *out, size_t from, enum escape_style style);

#endif

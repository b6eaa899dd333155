/* source_position.h - whether a line of a log tells a source file and line already. */
#ifndef LOG_LINE_SOURCE_POSITION_H
#define LOG_LINE_SOURCE_POSITION_H

#include "log/line/text_scan.h"

/* Whether the text has "file.c:12" or "file.c, line 12", with the extension of a source language. */
bool has_source_position(struct text_scan text);

/* The same for the last word of the text, unless a bracket ends it, as in "main.c:12] message". */
bool ends_with_source_position(struct text_scan text);

#endif

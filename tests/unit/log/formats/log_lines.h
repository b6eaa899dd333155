/* log_lines.h - lines of each log format, and what it finds in them. */
#ifndef TESTS_UNIT_GSYM_LOG_LINES_H
#define TESTS_UNIT_GSYM_LOG_LINES_H

#include "log/line/log_format.h"

#define ID "0102030405060708090a0b0c0d0e0f10" /* of the module that a log has declared before */

enum { N_LOG_LINES = 14 }; /* formats */

/* A line, and the frames and the rest of what it says, as describe() of check_log_formats.c has it. */
struct step {
	const char *line, *expected;
};

extern const struct log_lines {
	const struct log_format *format;
	const struct step *steps; /* one after the other, with the same context */
	size_t n;
} log_lines[N_LOG_LINES];

#endif

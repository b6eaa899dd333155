/* symbolizer_rows.h - the table of options of all dialects, and what each does. */
#ifndef CLI_SYMBOLIZER_SYMBOLIZER_ROWS_H
#define CLI_SYMBOLIZER_SYMBOLIZER_ROWS_H

#include "cli/symbolizer/symbolizer_options.h"

struct symbolizer_option;

/* Applies a row; @value is NULL without one. False after an error message. */
typedef bool option_effect(struct symbolizer_options *options, const struct symbolizer_option *row,
			   const char *value);

struct symbolizer_option {
	unsigned dialects;
	char letter;          /* 0: none */
	const char *name;     /* NULL: a letter alone */
	const char *argument; /* "FILE"; "[STYLE]": optional, only after "="; NULL: none */
	option_effect *effect;
	size_t member; /* what it sets in struct symbolizer_options */
	uint64_t value;
	const char *help; /* or why it is refused */
};

/* Ends with a row without a name. */
extern const struct symbolizer_option symbolizer_rows[];

/* Effects of rows whose text is printed whatever else is wrong. */
option_effect symbolizer_print_help, symbolizer_print_version;

/* The usual spelling of @word, an option: itself, unless it is a synonym. */
const char *symbolizer_row_word(enum symbolizer_dialect dialect, const char *word);

#endif

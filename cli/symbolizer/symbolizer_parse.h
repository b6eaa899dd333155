/* symbolizer_parse.h - the command line of the three dialects. */
#ifndef CLI_SYMBOLIZER_SYMBOLIZER_PARSE_H
#define CLI_SYMBOLIZER_SYMBOLIZER_PARSE_H

#include "cli/symbolizer/symbolizer_options.h"

enum symbolizer_parse {
	SYMBOLIZER_RUN,
	SYMBOLIZER_DONE,  /* help or version was printed */
	SYMBOLIZER_ERROR, /* as was an error */
};

/*
 * Parses the command line of @ret->program and @ret->dialect. Words of @argv are moved, operands to the
 * front; they stay borrowed.
 */
enum symbolizer_parse symbolizer_options_parse(size_t argc, char **argv, struct symbolizer_options *ret);

#endif

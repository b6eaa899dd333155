/*
 * cli_options.h - one table per command: it is parsed, and it is what --help prints.
 */
#ifndef CONVERT_CLI_CLI_OPTIONS_H
#define CONVERT_CLI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "gsym/render/demangle/demangle.h"

/* Keys of options without a letter of their own begin here. */
enum { OPTION_LONG = 256 };

struct option_spec {
	int key;          /* its letter, or from OPTION_LONG on; 0 ends the table */
	const char *name; /* "out-file" is given as --out-file */
	const char *arg;  /* what its argument is called; NULL = it takes none */
	const char *help; /* a line; "\n" breaks it */
};

struct command_spec {
	const char *name;     /* "convert" */
	const char *operands; /* "INPUT" */
	const char *summary;  /* what the command does, in a line */
	const struct option_spec *options;
};

/* Results of options_next() beside the keys. */
enum {
	OPTIONS_END = -1,  /* optind is the first operand */
	OPTIONS_BAD = -2,  /* the user was told: leave with STATUS_USAGE */
	OPTIONS_HELP = -3, /* help was printed: leave with STATUS_OK */
};

/* The next option's key, or one of the above. The argument is in optarg. Operands and options may mix. */
int options_next(const struct command_spec *command, int argc, char **argv);

/* Tells what is wrong with the way the command was called and where to read on. Returns STATUS_USAGE. */
int options_error(const struct command_spec *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Parses optarg-like @text as a number from @least to @most. False, and the user was told, when it is none.
 */
bool options_number(const struct command_spec *command, const char *option, const char *text, uint64_t least,
		    uint64_t most, uint64_t *ret);

/* Parses the argument of --demangle. An enum exit_status; the user was told when it is none. */
int options_demangle(const struct command_spec *command, const char *word, enum demangle_mode *ret);

#endif

/*
 * cli_options.h - a command of the gsym program: parses its options, and prints its --help.
 *
 * Each command is one struct command, in the file of its implementation. Its table of options is parsed, and
 * --help is printed from it, which completions of shells read. To add an option: a row in that table, a
 * member of the struct it goes to, a paragraph in docs/gsym.1 (tests/system/manuals.py looks for it).
 */
#ifndef CLI_COMMAND_CLI_OPTIONS_H
#define CLI_COMMAND_CLI_OPTIONS_H

#include "gsym/render/demangle/demangle.h"
#include "work/options/option.h"

struct command {
	const char *name;                  /* "convert" */
	const char *operands;              /* "FILE [ADDRESS...]": those in brackets may be missing */
	const char *brief;                 /* a line in the list of commands; NULL: not listed */
	const char *summary;               /* what --help begins with */
	const struct option_row *options;  /* ends with OPTIONS_END; NULL: none but these */
	const char *examples;              /* "  gsym ...", one a line; NULL: none */
	int (*run)(int argc, char **argv); /* @argv[0] is the name; returns an enum command_status */
};

/* Rows that commands share. */

/* clang-format off */

/* Ends every table of a command. */
#define OPTIONS_END \
	{'h', "help", NULL, "print this help"}, {'V', "version", NULL, "print the version"}, {0}

/* @member is an enum demangle_mode. */
#define OPTIONS_DEMANGLE(type, member)                                                                      \
	{0, "demangle", "auto|ada",                                                                         \
	 "names to demangle: C++, Rust, D and OCaml (auto,\nthe default), or Ada as well",                   \
	 OPTION_CHOICE(type, member, DEMANGLE_AUTO)},                                                       \
	{0, "no-demangle", NULL, "print names as they are stored", OPTION_VALUE(type, member, DEMANGLE_OFF)}

#define OPTION_MARK_MERGED(type, member)                                                                    \
	{0, "mark-merged", NULL, "in text, add [merged N] to the name of a function\nthat shares its code",  \
	 OPTION_FLAG(type, member)}

/* @member is a bool. */
#define OPTION_APPROXIMATE(type, member)                                                                    \
	{0, "approximate", NULL, "where the line is 0, show the nearest before it in\nthe same function",    \
	 OPTION_FLAG(type, member)}

/* @member is an enum render_format. */
#define OPTION_FORMAT(type, member)                                                                         \
	{0, "format", OUTPUT_FORMAT_NAMES, "output format (default text)",                                  \
	 OPTION_CHOICE(type, member, RENDER_TEXT)}

/* clang-format on */

/*
 * Parses the command line. Operands and options may mix, and there are as many operands as the command says.
 *
 * @command:    its table of options, and its operands
 * @argc:       as main() gets it; becomes 1 and the number of operands
 * @argv:       operands are moved to the front, to @argv[1] and so on
 * @to:         the struct that the rows of the table refer to; NULL: the command has no options
 * @ret_status: exit status of the command, STATUS_OK if it is to go on
 *
 * False when the command is done: --help, --version or an error message has been printed.
 */
bool options_parse(const struct command *command, int *argc, char **argv, void *to, int *ret_status);

/* Prints an error in the command line, and to see --help. Returns STATUS_USAGE. */
int options_error(const struct command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints usage, options and examples of @command to standard output. */
void command_help(const struct command *command);

/* Prints the program's name and version to standard output. */
void program_version(void);

#endif

/*
 * command.h - a command of the gsym program.
 *
 * Each command is one struct command, in the file of its implementation. Its table of options is parsed, and
 * --help is printed from it (cli_options.h), which completions of shells read. To add an option: a row in
 * that table, a member of the struct it goes to, a paragraph in docs/gsym.1 (tests/system/manuals.py looks
 * for it).
 */
#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

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

#endif

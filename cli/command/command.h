/*
 * command.h - a command of the gsym program and its options.
 *
 * Each command is one struct command, in the file of its implementation. Its table of options is parsed, and
 * --help is printed from it (cli_help.h), which completions of shells read. To add an option: a row in
 * that table, a member of the struct it goes to, a paragraph in docs/gsym.1 (tests/system/manuals.py looks
 * for it).
 */
#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct command_option;

/*
 * Parses @value, the argument of @option, and stores it at @to: STATUS_OK, or another status after printing
 * an error.
 */
typedef int option_parser(const struct command *command, const struct command_option *option,
			  const char *value, void *to);

struct command_option {
	char letter;      /* "o" is given as -o; 0: the option has a name only */
	const char *name; /* "out-file" is given as --out-file */
	const char
		*argument; /* keywords separated by '|', or a placeholder: "DIR", "FILE", "N"; NULL: none */
	const char *help;  /* "\n" breaks it */
	option_parser *parse;
	size_t member;        /* offset of what it sets in the struct given to options_parse(), */
	size_t size;          /* and its size */
	uint64_t least, most; /* meaning depends on the parser */
	bool required;
};

struct command {
	const char *name;                     /* "convert" */
	const char *operands;                 /* "FILE [ADDRESS...]": those in brackets may be missing */
	const char *brief;                    /* a line in the list of commands; NULL: not listed */
	const char *summary;                  /* what --help begins with */
	const struct command_option *options; /* ends with an empty row; NULL: none but --help */
	const char *examples;                 /* "  gsym ...", one a line; NULL: none */
	int (*run)(int argc, char **argv);    /* @argv[0] is the name; returns an enum command_status */
};

#endif

/*
 * cli_options.h - a command of the gsym program and its options.
 *
 * Each command is one struct command, in the file of its implementation. Its table of options is parsed, and
 * --help is printed from it, which completions of shells read. To add an option: a row in that table,
 * a member of the struct it goes to, a paragraph in docs/gsym.1 (tests/system/manuals.py looks for it).
 */
#ifndef CONVERT_CLI_CLI_OPTIONS_H
#define CONVERT_CLI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsym/render/demangle/demangle.h"

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
	int (*run)(int argc, char **argv);    /* @argv[0] is the name; returns an enum command_status */
};

/* The arguments of an option that may be repeated, and NULL after them. */
enum { OPTION_LIST_MAX = 64 };

struct option_list {
	const char *v[OPTION_LIST_MAX + 1];
	size_t n;
};

option_parser option_flag;   /* bool: true */
option_parser option_string; /* const char * */
option_parser option_list;   /* struct option_list */
option_parser option_number; /* unsigned integer of any size, @least to @most */
option_parser option_choice; /* enum: @least + the index of the word in @argument */
option_parser option_value;  /* enum: @least; takes no argument */
option_parser option_format; /* enum render_format: one of the keywords in @argument */

/* clang-format off */

/* Evaluates to 0; does not compile unless the member has the type. */
#define OPTION_CHECK(value, struct_type, member)                                                            \
	(0 * sizeof(struct {                                                                                \
		_Static_assert(__builtin_types_compatible_p(value,                                          \
				__typeof__(((struct struct_type *)0)->member)), "type of " #member);        \
		int unused;                                                                                 \
	}))

/* Initialisers for what follows @help in a row; @member is one of struct @type. */
#define OPTION_(parser, type, member, least, most) \
	parser, offsetof(struct type, member), sizeof(((struct type *)0)->member), least, most
#define OPTION_FLAG(type, member) \
	OPTION_(option_flag, type, member, 0, 0 + OPTION_CHECK(bool, type, member))
#define OPTION_STRING(type, member) \
	OPTION_(option_string, type, member, 0, 0 + OPTION_CHECK(const char *, type, member))
#define OPTION_LIST(type, member) \
	OPTION_(option_list, type, member, 0, 0 + OPTION_CHECK(struct option_list, type, member))
#define OPTION_NUMBER(type, member, least, most) OPTION_(option_number, type, member, least, most)
#define OPTION_CHOICE(type, member, first) OPTION_(option_choice, type, member, first, 0)
#define OPTION_VALUE(type, member, value) OPTION_(option_value, type, member, value, 0)
#define OPTION_PARSED(type, member, parser) OPTION_(parser, type, member, 0, 0)

/* Rows that commands share; @member is an enum demangle_mode. */
#define OPTIONS_DEMANGLE(type, member)                                                                      \
	{0, "demangle", "auto|ada",                                                                         \
	 "names to demangle: C++, Rust and D (auto, the\ndefault), or Ada as well",                         \
	 OPTION_CHOICE(type, member, DEMANGLE_AUTO)},                                                       \
	{0, "no-demangle", NULL, "print names as they are stored", OPTION_VALUE(type, member, DEMANGLE_OFF)}

#define OPTION_MARK_MERGED(type, member)                                                                    \
	{0, "mark-merged", NULL, "in text, add [merged N] to the name of a function\nthat shares its code",  \
	 OPTION_FLAG(type, member)}

/* clang-format on */

/*
 * Parses the command line; optind is then the first operand. Operands and options may mix, and there are as
 * many operands as the command says.
 *
 * @command:     its table of options, and its operands
 * @argc, @argv: as main() gets them, operands are moved to the end
 * @to:          the struct that the rows of the table refer to; NULL: the command has no options
 * @ret_status:  exit status of the command, STATUS_OK if it is to go on
 *
 * False when the command is done: --help or an error message has been printed.
 */
bool options_parse(const struct command *command, int argc, char **argv, void *to, int *ret_status);

/* Prints an error in the command line, and to see --help. Returns STATUS_USAGE. */
int options_error(const struct command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints that @value is wrong for @option, and what is allowed. Returns STATUS_USAGE. */
int option_bad_value(const struct command *command, const struct command_option *option, const char *value,
		     const char *allowed);

#endif

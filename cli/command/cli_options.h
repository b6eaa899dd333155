/*
 * cli_options.h - parses the options of a command (command.h).
 */
#ifndef CLI_COMMAND_CLI_OPTIONS_H
#define CLI_COMMAND_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command/command.h"
#include "gsym/render/demangle/demangle.h"

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
 * False when the command is done: --help, --version or an error message has been printed.
 */
bool options_parse(const struct command *command, int argc, char **argv, void *to, int *ret_status);

/* Prints an error in the command line, and to see --help. Returns STATUS_USAGE. */
int options_error(const struct command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/*
 * option.h - tables of options: parsing, messages and --help follow from their rows.
 *
 * gsym's commands, the symbolizers and gsymfs have one table each. They differ in how words become options
 * (option_next() for the former two, libfuse's parser for the last), and in the sentence around an error.
 * Values are stored in a struct of the caller, at the member that a row names.
 */
#ifndef WORK_OPTIONS_OPTION_H
#define WORK_OPTIONS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gsym/base/diag.h"
#include "gsym/base/suggestion.h"

struct option_row;

/*
 * Stores @value, the argument of the option or NULL, at @to. Returns 0; -EDOM with the allowed values in
 * @diag; or another errno with what is wrong in @diag.
 */
typedef int option_parser(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag);

/* A table ends with an empty row. */
struct option_row {
	char letter;      /* "o" is given as -o; 0: the option has a name only */
	const char *name; /* "out-file" is given as --out-file */
	/* Keywords separated by '|', or a placeholder such as "DIR"; in brackets if it may be missing, and is
	 * given after "=" only; NULL: none. */
	const char *argument;
	const char *help;     /* "\n" breaks it */
	option_parser *parse; /* NULL: the caller acts on the row itself, as it prints --help */
	size_t member, size;  /* offset of what it sets, in the struct of the caller, and its size */
	uint64_t least, most; /* meaning depends on the parser */
	bool required;
	const char *initial; /* default value that --help tells; NULL: none, or told in @help */
	const char *section; /* title in --help of this row and those after it; NULL: as before */
	unsigned groups;     /* bits of the programs that have the option */
};

/* The arguments of an option that may be repeated, and NULL after them. */
enum { OPTION_LIST_MAX = 64 };

struct option_list {
	const char *v[OPTION_LIST_MAX + 1];
	size_t n;
};

option_parser option_value;   /* bool or enum: @least; takes no argument */
option_parser option_string;  /* const char *, borrowed */
option_parser option_list;    /* struct option_list, its elements borrowed */
option_parser option_number;  /* unsigned integer of any size, @least to @most */
option_parser option_seconds; /* likewise */
option_parser option_bytes;   /* likewise */
option_parser option_size;    /* uint64_t: bytes with an optional suffix K, M, G or T, from @least on */
option_parser option_choice;  /* enum: @least + the index of the word in @argument; without one @most */
option_parser option_yes_no;  /* bool, the argument being "yes|no..." */
option_parser option_ignored;

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
	OPTION_(option_value, type, member, true, 0 + OPTION_CHECK(bool, type, member))
#define OPTION_STRING(type, member) \
	OPTION_(option_string, type, member, 0, 0 + OPTION_CHECK(const char *, type, member))
#define OPTION_LIST(type, member) \
	OPTION_(option_list, type, member, 0, 0 + OPTION_CHECK(struct option_list, type, member))
#define OPTION_NUMBER(type, member, least, most) OPTION_(option_number, type, member, least, most)
#define OPTION_SIZE(type, member, least) \
	OPTION_(option_size, type, member, least, 0 + OPTION_CHECK(uint64_t, type, member))
#define OPTION_CHOICE(type, member, first) OPTION_(option_choice, type, member, first, 0)
#define OPTION_YES_NO(type, member) \
	OPTION_(option_yes_no, type, member, 0, 0 + OPTION_CHECK(bool, type, member))
#define OPTION_VALUE(type, member, value) OPTION_(option_value, type, member, value, 0)
#define OPTION_PARSED(type, member, parser) OPTION_(parser, type, member, 0, 0)
#define OPTION_IGNORED option_ignored, 0, 0, 0, 0

/* clang-format on */

/* Parses @value into the struct @to; returns what the row's parser does. */
int option_set(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag);

/* The row of @group (0: of any) called by the @size bytes of @name, or by @letter; NULL if there is none. */
const struct option_row *option_named(const struct option_row *rows, unsigned group, const char *name,
				      size_t size);
const struct option_row *option_lettered(const struct option_row *rows, unsigned group, char letter);

/* Compares the names of the rows of @group with a misspelt one. */
void option_suggest(struct suggestion *meant, const struct option_row *rows, unsigned group);

/* ---- Command lines ---- */

/* Another spelling of an option, for some groups. */
struct option_synonym {
	unsigned groups;
	const char *word, *means;
};

/*
 * Words of a command line that option_next() goes through. Options may stand after operands, and letters be
 * grouped. As in getopt_long(3), names may be cut short where that is unambiguous, and "--" ends the options.
 */
struct option_words {
	char **v; /* borrowed; operands are moved to the front */
	size_t n;
	const struct option_row *rows;
	unsigned group;
	bool as_llvm; /* names are whole, a letter's value may follow "=", and empty words do not count */
	const struct option_synonym *synonyms; /* end with an empty one; NULL: none */
	size_t n_operands;
	/* What was found last: */
	const char *word;             /* as given */
	const struct option_row *row; /* NULL if it is unknown */
	const char *value;            /* of its argument, or NULL */
	char letter;                  /* 0: it was called by its name */
	/* How far it came: */
	size_t at;
	const char *letters; /* that are left of the word; NULL: none */
	bool ended;
};

enum option_event {
	OPTION_END,
	OPTION_GIVEN,
	OPTION_UNKNOWN,
	OPTION_AMBIGUOUS,
	OPTION_LACKS_ARGUMENT,
	OPTION_TAKES_NONE,
};

enum option_event option_next(struct option_words *words);

/* The usual spelling of @word: itself, unless it is a synonym. */
const char *option_spelling(const struct option_words *words, const char *word);

/* ---- Help ---- */

struct option_look {
	const char *indent; /* of each row */
	const char *prefix; /* of a name without a letter */
	int column;         /* where explanations begin */
	bool one_line;      /* they begin in the same line, even if the option reaches beyond @column */
};

/* Prints the lines of @row, which begin with its section if it has one. */
void option_print(FILE *file, const struct option_row *row, const struct option_look *look);

#endif

/*
 * Options may stand after operands. GNU's long options may be cut short where that is unambiguous, and "--"
 * ends them; LLVM's letters may have "=" before their value. Letters may be grouped in both.
 */
#include "cli/symbolizer/symbolizer_parse.h"

#include <string.h>

#include "cli/command/message.h"
#include "cli/symbolizer/symbolizer_rows.h"
#include "gsym/base/suggestion.h"
#include "work/run/defaults.h"

struct words {
	char **v;
	size_t n, at;
	struct symbolizer_options *options;
	bool ended; /* by "--" */
};

static bool bad(const struct symbolizer_options *options, const char *what, const char *word, int size)
{
	say(stderr, "%s: %s '%.*s'; try '%s --help'", options->program, what, size, word, options->program);
	return false;
}

static bool unknown_long(const struct symbolizer_options *options, const char *word, size_t size)
{
	struct suggestion meant = suggestion_begin(word + 2, size);
	for (const struct symbolizer_option *row = symbolizer_rows; row->name; row++)
		if (row->dialects & options->dialect)
			suggestion_try(&meant, row->name);
	if (!meant.best)
		return bad(options, "unknown option", word, (int)size + 2);
	say(stderr, "%s: unknown option '%.*s'; did you mean '--%s'? '%s --help' lists all", options->program,
	    (int)size + 2, word, meant.best, options->program);
	return false;
}

static const struct symbolizer_option *row_of_letter(const struct words *words, char letter)
{
	for (const struct symbolizer_option *row = symbolizer_rows; row->name; row++)
		if ((row->dialects & words->options->dialect) && row->letter == letter)
			return row;
	return NULL;
}

/* The row called by the @size bytes of @name. GNU's names may be cut short if that fits one only. */
static const struct symbolizer_option *row_of_name(const struct words *words, const char *name, size_t size)
{
	const struct symbolizer_option *found = NULL;
	bool cut = words->options->dialect == DIALECT_BINUTILS, several = false;
	for (const struct symbolizer_option *row = symbolizer_rows; row->name; row++) {
		if (!(row->dialects & words->options->dialect) || strncmp(row->name, name, size) != 0)
			continue;
		if (!row->name[size])
			return row;
		several |= found != NULL;
		found = row;
	}
	return cut && !several ? found : NULL;
}

static bool is_optional(const struct symbolizer_option *row)
{
	return row->argument && row->argument[0] == '[';
}

/* Calls the effect of @row, with @value or, if that is NULL and one is needed, the next word. */
static bool apply(struct words *words, const struct symbolizer_option *row, const char *value)
{
	if (!value && row->argument && !is_optional(row)) {
		if (words->at == words->n)
			return bad(words->options, "missing argument of option", row->name,
				   (int)strlen(row->name));
		value = words->v[words->at++];
	}
	return row->effect(words->options, row, value);
}

static bool take_long(struct words *words, const char *word)
{
	size_t size = strcspn(word + 2, "=");
	const struct symbolizer_option *row = size ? row_of_name(words, word + 2, size) : NULL;
	const char *value = word[2 + size] ? word + 2 + size + 1 : NULL;
	if (!row)
		return unknown_long(words->options, word, size);
	if (value && !row->argument)
		return bad(words->options, "no argument is taken by option", word, (int)size + 2);
	return apply(words, row, value);
}

/* "-fCi", "-eFILE", "-e=FILE", "-f=short" */
static bool take_letters(struct words *words, const char *word)
{
	bool is_llvm = words->options->dialect != DIALECT_BINUTILS;
	for (const char *at = word + 1; *at; at++) {
		const struct symbolizer_option *row = row_of_letter(words, *at);
		if (!row)
			return bad(words->options, "unknown option in", word, (int)strlen(word));
		bool has_value = row->argument && at[1] && (!is_optional(row) || (is_llvm && at[1] == '='));
		if (has_value)
			return apply(words, row, at + 1 + (is_llvm && at[1] == '='));
		if (!apply(words, row, NULL))
			return false;
	}
	return true;
}

static bool is_end(const struct words *words, const char *word)
{
	return words->options->dialect == DIALECT_BINUTILS && strcmp(word, "--") == 0;
}

static bool take_word(struct words *words)
{
	char *given = words->v[words->at++];
	const char *word = symbolizer_row_word(words->options->dialect, given);
	if (!word[0] && words->options->dialect != DIALECT_BINUTILS)
		return true;
	if (words->ended || word[0] != '-' || !word[1]) {
		/* Nothing is lost of the list, which owns its words. */
		words->v[words->at - 1] = words->v[words->options->n_operands];
		words->v[words->options->n_operands++] = given;
		return true;
	}
	if (is_end(words, word)) {
		words->ended = true;
		return true;
	}
	return word[1] == '-' ? take_long(words, word) : take_letters(words, word);
}

static bool asks_for_text(const struct words *words, option_effect *effect)
{
	for (size_t i = 0; i < words->n && !is_end(words, words->v[i]); i++) {
		const char *word = symbolizer_row_word(words->options->dialect, words->v[i]);
		size_t size = strlen(word);
		const struct symbolizer_option *row = NULL;
		if (size == 2 && word[0] == '-' && word[1] != '-')
			row = row_of_letter(words, word[1]);
		else if (size > 2 && word[0] == '-' && word[1] == '-')
			row = row_of_name(words, word + 2, size - 2);
		if (row && row->effect == effect)
			return effect(words->options, row, NULL);
	}
	return false;
}

static void set_defaults(struct symbolizer_options *options)
{
	bool is_symbolizer = options->dialect == DIALECT_LLVM;
	options->style = is_symbolizer                          ? ANSWER_LLVM
			 : options->dialect == DIALECT_BINUTILS ? ANSWER_BINUTILS
								: ANSWER_GNU;
	options->names = is_symbolizer ? FUNCTION_NAMES_LINKAGE : FUNCTION_NAMES_NONE;
	options->demangle = is_symbolizer ? DEMANGLE_AUTO : DEMANGLE_OFF;
	options->inlines = is_symbolizer;
}

enum symbolizer_parse symbolizer_options_parse(size_t argc, char **argv, struct symbolizer_options *ret)
{
	struct words words = {.v = argv, .n = argc, .options = ret};
	ret->operands = argv;
	ret->n_operands = 0;
	set_defaults(ret);
	if (asks_for_text(&words, symbolizer_print_help) || asks_for_text(&words, symbolizer_print_version))
		return SYMBOLIZER_DONE;
	while (words.at < words.n)
		if (!take_word(&words))
			return SYMBOLIZER_ERROR;
	if (ret->object && ret->build_id) {
		say(stderr, "%s: options '--build-id' and '--obj' exclude one another", ret->program);
		return SYMBOLIZER_ERROR;
	}
	ret->debug_dirs[ret->n_debug_dirs] = DEBUG_DIR_DEFAULT;
	if (ret->dialect == DIALECT_BINUTILS && !ret->object)
		ret->object = "a.out";
	return SYMBOLIZER_RUN;
}

#include "cli/symbolizer/symbolizer_parse.h"

#include <errno.h>
#include <string.h>

#include "cli/command/message.h"
#include "cli/symbolizer/symbolizer_rows.h"
#include "work/run/defaults.h"

/* ---- Texts ---- */

static void print_version(const struct symbolizer_options *options)
{
	static const char *const like[] = {[DIALECT_BINUTILS] = "GNU addr2line 2.40",
					   [DIALECT_LLVM_ADDR2LINE] = "llvm-addr2line 22",
					   [DIALECT_LLVM] = "llvm-symbolizer 22"};
	printf("gsym %s, with the options and the output of %s\n", GSYMFS_VERSION, like[options->dialect]);
}

static void print_help(const struct symbolizer_options *options)
{
	static const struct option_look look = {.indent = "  ", .prefix = "    --", .column = 34};
	printf("Usage: %s [OPTION...] [%s...]\n"
	       "Prints the functions, files and lines of addresses; without an operand, of those on\n"
	       "standard input, one a line. Files are converted once; the results are kept in the cache of\n"
	       "gsymfs.\n\nOptions:\n  @FILE                           read options from FILE\n",
	       options->program, options->dialect == DIALECT_LLVM ? "[CODE|DATA] FILE ADDRESS" : "ADDRESS");
	for (const struct option_row *row = symbolizer_rows; row->name; row++)
		if (row->groups & options->dialect)
			option_print(stdout, row, &look);
}

/* True if a word before "--" begins with the option @letter, which has no parser. */
static bool asks_for(const struct option_words *words, char letter)
{
	for (size_t i = 0; i < words->n && (words->as_llvm || strcmp(words->v[i], "--") != 0); i++) {
		struct option_words word = *words;
		word.v += i;
		word.n = 1;
		if (option_next(&word) == OPTION_GIVEN && !word.row->parse && word.row->letter == letter)
			return true;
	}
	return false;
}

/* ---- The command line ---- */

static void bad(const struct symbolizer_options *options, const char *what, const char *word, size_t size)
{
	say(stderr, "%s: %s '%.*s'; try '%s --help'", options->program, what, (int)size, word,
	    options->program);
}

static void unknown_option(const struct symbolizer_options *options, const char *word)
{
	size_t size = strcspn(word, "=");
	struct suggestion meant = suggestion_begin(word + 2, size - 2);
	option_suggest(&meant, symbolizer_rows, options->dialect);
	if (meant.best)
		say(stderr, "%s: unknown option '%.*s'; did you mean '--%s'? '%s --help' lists all",
		    options->program, (int)size, word, meant.best, options->program);
	else
		bad(options, "unknown option", word, size);
}

static void report(const struct symbolizer_options *options, const struct option_words *words,
		   enum option_event event)
{
	const char *word = words->word;
	if (event == OPTION_LACKS_ARGUMENT)
		bad(options, "missing argument of option", words->row->name, strlen(words->row->name));
	else if (event == OPTION_TAKES_NONE)
		bad(options, "no argument is taken by option", word, strcspn(word, "="));
	else if (words->letter)
		bad(options, "unknown option in", word, strlen(word));
	else
		unknown_option(options, word);
}

static bool set_option(struct symbolizer_options *options, const struct option_words *words)
{
	struct gsym_diag diag = {0};
	int err = option_set(words->row, words->value, options, &diag);
	if (err)
		say(stderr, "%s: option '--%s': %s%s", options->program, words->row->name,
		    err == -EDOM ? "expected " : "", diag.text);
	return !err;
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
	struct option_words words = {.v = argv,
				     .n = argc,
				     .rows = symbolizer_rows,
				     .group = ret->dialect,
				     .as_llvm = ret->dialect != DIALECT_BINUTILS,
				     .synonyms = symbolizer_synonyms};
	enum option_event event;
	set_defaults(ret);
	bool asks_for_help = asks_for(&words, 'h'), asks_for_version = asks_for(&words, 'v');
	while (!asks_for_help && !asks_for_version && (event = option_next(&words)) != OPTION_END) {
		if (event != OPTION_GIVEN) {
			report(ret, &words, event);
			return SYMBOLIZER_ERROR;
		}
		asks_for_help = !words.row->parse && words.row->letter == 'h';
		asks_for_version = !words.row->parse && words.row->letter == 'v';
		if (words.row->parse && !set_option(ret, &words))
			return SYMBOLIZER_ERROR;
	}
	if (asks_for_help || asks_for_version) {
		(asks_for_help ? print_help : print_version)(ret);
		return SYMBOLIZER_DONE;
	}
	ret->operands = argv;
	ret->n_operands = words.n_operands;
	if (ret->object && ret->build_id) {
		say(stderr, "%s: options '--build-id' and '--obj' exclude one another", ret->program);
		return SYMBOLIZER_ERROR;
	}
	ret->debug_dirs[ret->n_debug_dirs] = DEBUG_DIR_DEFAULT;
	if (ret->dialect == DIALECT_BINUTILS && !ret->object)
		ret->object = "a.out";
	return SYMBOLIZER_RUN;
}

#include "cli/symbolizer/symbolizer_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "gsym/base/vec.h"
#include "work/run/defaults.h"

/* ---- The table of options ---- */

enum {
	GNU = DIALECT_BINUTILS,
	LLVM = DIALECT_LLVM_ADDR2LINE | DIALECT_LLVM,
	ALL = GNU | LLVM,
};

static int set_number(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	char *end;
	(void)row;
	errno = 0;
	uint64_t number = strtoull(value, &end, 0);
	if (errno || *end || value[0] < '0' || value[0] > '9')
		return diag_set(diag, -EDOM, "a non-negative integer");
	*(uint64_t *)to = number;
	return 0;
}

static int set_build_id(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	if (!value[0] || value[strspn(value, "0123456789abcdefABCDEF")])
		return diag_set(diag, -EDOM, "a build ID");
	return option_string(row, value, to, diag);
}

/* @to: the options. */
static int add_debug_dir(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	struct symbolizer_options *options = to;
	(void)row;
	if (options->n_debug_dirs == DEBUG_DIRS_MAX)
		return diag_set(diag, -E2BIG, "given too often");
	if (value[0] != '/')
		return diag_set(diag, -EDOM, "an absolute path");
	options->debug_dirs[options->n_debug_dirs++] = value;
	return 0;
}

/* @to: the options. */
static int add_dsym_hint(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	struct symbolizer_options *options = to;
	(void)row;
	if (options->n_dsym_hints == DEBUG_DIRS_MAX)
		return diag_set(diag, -E2BIG, "given too often");
	options->dsym_hints[options->n_dsym_hints++] = value;
	return 0;
}

/* @to: PATH_MAX bytes. */
static int set_package(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	char dir[PATH_MAX] = "";
	bool is_relative = value[0] != '/';
	(void)row;
	if (is_relative && !getcwd(dir, sizeof(dir)))
		return diag_set(diag, -errno, "%s: %s", value, strerror(errno));
	if (snprintf(to, PATH_MAX, "%s%s%s", dir, is_relative ? "/" : "", value) >= PATH_MAX)
		return diag_set(diag, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	return 0;
}

static int set_demangle(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	static const struct {
		const char *word;
		enum demangle_mode mode;
	} styles[] = {{"auto", DEMANGLE_GNU}, {"none", DEMANGLE_OFF},  {"gnu-v3", DEMANGLE_GNU},
		      {"rust", DEMANGLE_GNU}, {"dlang", DEMANGLE_GNU}, {"gnat", DEMANGLE_ADA}};
	(void)row;
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		if (!value || strcmp(styles[i].word, value) == 0) {
			*(enum demangle_mode *)to = styles[i].mode;
			return 0;
		}
	}
	return diag_set(diag, -EINVAL,
			"unknown demangling style; known are none, auto, gnu-v3, rust, dlang, gnat");
}

/* The help is the reason. */
static int not_done(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)value, (void)to;
	return diag_set(diag, -EOPNOTSUPP, "%s", row->help);
}

#define NOT_DONE not_done, 0, 0, 0, 0

/* clang-format off */
const struct option_row symbolizer_rows[] = {
	{'a', "addresses", NULL, "print the address before each answer",
	 OPTION_FLAG(symbolizer_options, addresses), .groups = ALL},
	{0, "print-address", NULL, "the same as --addresses",
	 OPTION_FLAG(symbolizer_options, addresses), .groups = LLVM},
	{'b', "target", "FORMAT", "no effect: the file tells its format", OPTION_IGNORED, .groups = GNU},
	{'e', "exe", "FILE", "the file that addresses are of (default a.out)",
	 OPTION_STRING(symbolizer_options, object), .groups = GNU},
	{'e', "obj", "FILE", "the file that addresses are of",
	 OPTION_STRING(symbolizer_options, object), .groups = LLVM},
	{0, "exe", "FILE", "the same as --obj", OPTION_STRING(symbolizer_options, object), .groups = LLVM},
	{0, "build-id", "ID", "the build ID of that file",
	 OPTION_PARSED(symbolizer_options, build_id, set_build_id), .groups = LLVM},
	{'f', "functions", NULL, "print names of functions",
	 OPTION_VALUE(symbolizer_options, names, FUNCTION_NAMES_LINKAGE), .groups = GNU},
	{'f', "functions", "[none|short|linkage]", "print names of functions (linkage)",
	 OPTION_(option_choice, symbolizer_options, names, FUNCTION_NAMES_NONE, FUNCTION_NAMES_LINKAGE),
	 .groups = LLVM},
	{'i', "inlines", NULL, "print the callers of inlined functions",
	 OPTION_FLAG(symbolizer_options, inlines), .groups = ALL},
	{0, "no-inlines", NULL, "do not print them",
	 OPTION_VALUE(symbolizer_options, inlines, false), .groups = LLVM},
	{'j', "section", "NAME", "addresses are offsets in the section NAME",
	 OPTION_STRING(symbolizer_options, section), .groups = GNU},
	{'p', "pretty-print", NULL, "print each frame on one line",
	 OPTION_FLAG(symbolizer_options, pretty), .groups = ALL},
	{'s', "basenames", NULL, "print files without their directories",
	 OPTION_VALUE(symbolizer_options, paths, PATHS_BASE), .groups = ALL},
	{'C', "demangle", "[STYLE]", "demangle names of functions",
	 OPTION_PARSED(symbolizer_options, demangle, set_demangle), .groups = GNU},
	{'C', "demangle", NULL, "demangle names of functions",
	 OPTION_VALUE(symbolizer_options, demangle, DEMANGLE_SYMBOLIZER), .groups = LLVM},
	{0, "no-demangle", NULL, "print names as they are in the file",
	 OPTION_VALUE(symbolizer_options, demangle, DEMANGLE_OFF), .groups = LLVM},
	{'R', "recurse-limit", NULL, "no effect: demangling is always limited",
	 OPTION_IGNORED, .groups = GNU},
	{0, "recursion-limit", NULL, "no effect: demangling is always limited",
	 OPTION_IGNORED, .groups = GNU},
	{'r', "no-recurse-limit", NULL, "no effect: demangling is always limited",
	 OPTION_IGNORED, .groups = GNU},
	{0, "no-recursion-limit", NULL, "no effect: demangling is always limited",
	 OPTION_IGNORED, .groups = GNU},
	{0, "output-style", "GNU|LLVM|JSON", "how answers are printed",
	 OPTION_CHOICE(symbolizer_options, style, ANSWER_GNU), .groups = LLVM},
	{0, "adjust-vma", "OFFSET", "subtract OFFSET from all addresses",
	 OPTION_PARSED(symbolizer_options, adjust_vma, set_number), .groups = LLVM},
	{0, "relative-address", NULL, "addresses count from the image base",
	 OPTION_FLAG(symbolizer_options, relative), .groups = LLVM},
	{0, "default-arch", "ARCH", "the image of a universal file",
	 OPTION_STRING(symbolizer_options, arch), .groups = LLVM},
	{0, "skip-line-zero", NULL, "where the line is 0, print the nearest before it",
	 OPTION_FLAG(symbolizer_options, skip_line_zero), .groups = LLVM},
	{0, "no-untag-addresses", NULL, "keep the tags of addresses of data",
	 OPTION_FLAG(symbolizer_options, tagged), .groups = LLVM},
	{0, "print-source-context-lines", "N", "print N lines of the source",
	 OPTION_PARSED(symbolizer_options, context, set_number), .groups = LLVM},
	{0, "verbose", NULL, "print each property on a line of its own",
	 OPTION_FLAG(symbolizer_options, verbose), .groups = LLVM},
	{0, "debug-file-directory", "DIR", "look for debug files in DIR, too",
	 add_debug_dir, 0, 0, 0, 0, .groups = LLVM},
	{0, "fallback-debug-path", "DIR", "the same", add_debug_dir, 0, 0, 0, 0, .groups = LLVM},
	{0, "gsym-file-directory", "DIR", "take NAME.gsym in DIR for a file NAME",
	 OPTION_STRING(symbolizer_options, gsym_dir), .groups = LLVM},
	{0, "cache-size", "BYTES", "close images above so many bytes",
	 OPTION_PARSED(symbolizer_options, cache_size, set_number), .groups = LLVM},
	{0, "color", "[always|auto|never]", "no effect: only markup is coloured",
	 OPTION_IGNORED, .groups = LLVM},
	{0, "debuginfod", NULL, "take what debuginfod's clients have fetched; no server is asked",
	 OPTION_VALUE(symbolizer_options, debuginfod, DEBUGINFOD_YES), .groups = LLVM},
	{0, "no-debuginfod", NULL, "do not",
	 OPTION_VALUE(symbolizer_options, debuginfod, DEBUGINFOD_NO), .groups = LLVM},
	{0, "relativenames", NULL, "print files without the directory of the compilation",
	 OPTION_VALUE(symbolizer_options, paths, PATHS_RELATIVE), .groups = LLVM},
	{0, "dwp", "FILE", "the DWARF package, if it is not beside the file",
	 OPTION_PARSED(symbolizer_options, package, set_package), .groups = LLVM},
	{0, "dsym-hint", "DIR.dSYM", "look for debug files in this bundle, too",
	 add_dsym_hint, 0, 0, 0, 0, .groups = LLVM},
	{0, "filter-markup", NULL, "not done: use gsym filter", NOT_DONE, .groups = LLVM},
	{0, "disable-gsym", NULL, "take no NAME.gsym beside a file or in DIR",
	 OPTION_FLAG(symbolizer_options, no_gsym_file), .groups = LLVM},
	{0, "dia", NULL, "no effect: for Windows only", OPTION_IGNORED, .groups = LLVM},
	{0, "cache", "DIR", "directory of converted files (default: that of gsymfs)",
	 OPTION_STRING(symbolizer_options, cache), .groups = ALL},
	{'h', "help", NULL, "print this help", .groups = ALL},
	{'v', "version", NULL, "print the version", .groups = ALL},
	{0},
};

/* Spellings of the above that take part in no list. */
const struct option_synonym symbolizer_synonyms[] = {
	{LLVM, "-demangle=true", "--demangle"},   {LLVM, "-demangle=false", "--no-demangle"},
	{LLVM, "--inlining", "--inlines"},        {LLVM, "--inlining=true", "--inlines"},
	{LLVM, "--inlining=false", "--no-inlines"}, {GNU, "-H", "--help"}, {GNU, "-V", "--version"},
	{0},
};
/* clang-format on */

/* ---- Texts ---- */

static const char *name_of(const struct symbolizer_options *options)
{
	return options->dialect == DIALECT_LLVM ? "llvm-symbolizer" : "llvm-addr2line";
}

static void print_version(const struct symbolizer_options *options)
{
	/* Scripts read the number at the end of GNU's line, and that after LLVM's "version". */
	if (options->dialect == DIALECT_BINUTILS)
		printf("GNU addr2line (gsym %s) 2.40\n", GSYMFS_VERSION);
	else
		printf("%s\ngsym %s, with the options and the output of LLVM version 22.1.8\n",
		       name_of(options), GSYMFS_VERSION);
}

static void print_help(const struct symbolizer_options *options)
{
	static const struct option_look look = {.indent = "  ", .prefix = "    --", .column = 34};
	if (options->dialect == DIALECT_BINUTILS)
		printf("Usage: %s [OPTION...] [ADDRESS...]\n", options->program);
	else
		printf("OVERVIEW: %s\n\nUSAGE: %s [options] addresses...\n\n", name_of(options),
		       options->program);
	printf("Prints the functions, files and lines of addresses; without an operand, of those on\n"
	       "standard input, one a line. Files are converted once; the results are kept in the cache of\n"
	       "gsymfs.\n\n%s:\n  @FILE                           read options from FILE\n",
	       options->dialect == DIALECT_BINUTILS ? "Options" : "OPTIONS");
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

static void complain_of(const struct symbolizer_options *options, const char *what, const char *word,
			size_t size)
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
		complain_of(options, "unknown option", word, size);
}

/* The words of LLVM's programs. */
static void report_word_llvm(const struct option_words *words, enum option_event event)
{
	const char *word = words->word, *value = strchr(word, '=');
	struct suggestion meant = suggestion_begin(word + 2, strcspn(word, "=") - 2);
	if (event == OPTION_LACKS_ARGUMENT) {
		say(stderr, "error: %s: missing argument", word);
		return;
	}
	if (word[1] == '-')
		option_suggest(&meant, symbolizer_rows, words->group);
	if (meant.best)
		say(stderr, "error: unknown argument '%s', did you mean '--%s%s'?", word, meant.best,
		    value ? value : "");
	else
		say(stderr, "error: unknown argument '%s'", word);
}

static void report_word(const struct symbolizer_options *options, const struct option_words *words,
			enum option_event event)
{
	const char *word = words->word;
	if (words->as_llvm)
		report_word_llvm(words, event);
	else if (event == OPTION_LACKS_ARGUMENT)
		complain_of(options, "missing argument of option", words->row->name,
			    strlen(words->row->name));
	else if (event == OPTION_TAKES_NONE)
		complain_of(options, "no argument is taken by option", word, strcspn(word, "="));
	else if (words->letter)
		complain_of(options, "unknown option in", word, strlen(word));
	else
		unknown_option(options, word);
}

static bool set_option(struct symbolizer_options *options, const struct option_words *words)
{
	struct gsym_diag diag = {0};
	int err = option_set(words->row, words->value, options, &diag);
	if (err == -EDOM && words->as_llvm)
		say(stderr, "--%s=: expected %s, but got '%s'", words->row->name, diag.text, words->value);
	else if (err)
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
	options->demangle = is_symbolizer ? DEMANGLE_SYMBOLIZER : DEMANGLE_OFF;
	options->inlines = is_symbolizer;
	options->tagged = options->dialect == DIALECT_LLVM_ADDR2LINE;
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
	bool is_wrong = false;
	bool asks_for_help = asks_for(&words, 'h'), asks_for_version = asks_for(&words, 'v');
	while (!asks_for_help && !asks_for_version && (event = option_next(&words)) != OPTION_END) {
		if (event != OPTION_GIVEN) {
			report_word(ret, &words, event);
			if (!words.as_llvm)
				return SYMBOLIZER_ERROR;
			is_wrong = true;
			continue;
		}
		asks_for_help = !words.row->parse && words.row->letter == 'h';
		asks_for_version = !words.row->parse && words.row->letter == 'v';
		if (words.row->parse && !set_option(ret, &words))
			return SYMBOLIZER_ERROR;
	}
	if (is_wrong)
		return SYMBOLIZER_ERROR;
	if (asks_for_help || asks_for_version) {
		(asks_for_help ? print_help : print_version)(ret);
		return SYMBOLIZER_DONE;
	}
	ret->operands = argv;
	ret->n_operands = words.n_operands;
	if (ret->object && ret->build_id) {
		say(stderr, "error: cannot specify both --build-id and --obj");
		return SYMBOLIZER_ERROR;
	}
	ret->debug_dirs[ret->n_debug_dirs] = DEBUG_DIR_DEFAULT;
	if (ret->dialect == DIALECT_BINUTILS && !ret->object)
		ret->object = "a.out";
	return SYMBOLIZER_RUN;
}

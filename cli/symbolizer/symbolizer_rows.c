#include "cli/symbolizer/symbolizer_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/message.h"
#include "gsym/base/vec.h"

enum {
	GNU = DIALECT_BINUTILS,
	LLVM = DIALECT_LLVM_ADDR2LINE | DIALECT_LLVM,
	ALL = GNU | LLVM,
	HELP_WIDTH = 32,
};

static bool refuse(const struct symbolizer_options *options, const struct symbolizer_option *row,
		   const char *why)
{
	say(stderr, "%s: option '--%s': %s", options->program, row->name, why);
	return false;
}

static void *member_of(struct symbolizer_options *options, const struct symbolizer_option *row)
{
	return (char *)options + row->member;
}

static bool set_flag(struct symbolizer_options *options, const struct symbolizer_option *row,
		     const char *value)
{
	(void)value;
	*(bool *)member_of(options, row) = row->value;
	return true;
}

static bool set_string(struct symbolizer_options *options, const struct symbolizer_option *row,
		       const char *value)
{
	*(const char **)member_of(options, row) = value;
	return true;
}

static bool set_number(struct symbolizer_options *options, const struct symbolizer_option *row,
		       const char *value)
{
	char *end;
	errno = 0;
	uint64_t number = strtoull(value, &end, 0);
	if (errno || *end || value[0] < '0' || value[0] > '9')
		return refuse(options, row, "expected a non-negative integer");
	*(uint64_t *)member_of(options, row) = number;
	return true;
}

static bool set_build_id(struct symbolizer_options *options, const struct symbolizer_option *row,
			 const char *value)
{
	if (!value[0] || value[strspn(value, "0123456789abcdefABCDEF")])
		return refuse(options, row, "expected a build ID in hexadecimal");
	options->build_id = value;
	return true;
}

static bool add_debug_dir(struct symbolizer_options *options, const struct symbolizer_option *row,
			  const char *value)
{
	if (options->n_debug_dirs == DEBUG_DIRS_MAX)
		return refuse(options, row, "given too often");
	if (value[0] != '/')
		return refuse(options, row, "expected an absolute path");
	options->debug_dirs[options->n_debug_dirs++] = value;
	return true;
}

static bool set_style(struct symbolizer_options *options, const struct symbolizer_option *row,
		      const char *value)
{
	static const char *const words[] = {
		[ANSWER_GNU] = "GNU", [ANSWER_LLVM] = "LLVM", [ANSWER_JSON] = "JSON"};
	for (size_t i = ANSWER_GNU; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], value) == 0) {
			options->style = (enum answer_style)i;
			return true;
		}
	}
	return refuse(options, row, "expected GNU, LLVM or JSON");
}

static bool set_names(struct symbolizer_options *options, const struct symbolizer_option *row,
		      const char *value)
{
	static const char *const words[] = {"none", "short", "linkage"};
	if (!value)
		value = "linkage";
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], value) == 0) {
			options->names = (enum function_names)i;
			return true;
		}
	}
	return refuse(options, row, "expected none, short or linkage");
}

static bool set_demangle(struct symbolizer_options *options, const struct symbolizer_option *row,
			 const char *value)
{
	static const struct {
		const char *word;
		enum demangle_mode mode;
	} styles[] = {{"none", DEMANGLE_OFF}, {"auto", DEMANGLE_GNU},  {"gnu-v3", DEMANGLE_GNU},
		      {"rust", DEMANGLE_GNU}, {"dlang", DEMANGLE_GNU}, {"gnat", DEMANGLE_ADA}};
	if (options->dialect != DIALECT_BINUTILS || !value) {
		options->demangle = (enum demangle_mode)row->value;
		if (options->dialect == DIALECT_BINUTILS)
			options->demangle = DEMANGLE_GNU;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		if (strcmp(styles[i].word, value) == 0) {
			options->demangle = styles[i].mode;
			return true;
		}
	}
	return refuse(options, row,
		      "unknown demangling style; known are none, auto, gnu-v3, rust, dlang, gnat");
}

static bool ignore(struct symbolizer_options *options, const struct symbolizer_option *row, const char *value)
{
	(void)options, (void)row, (void)value;
	return true;
}

/* The help is the reason. */
static bool not_done(struct symbolizer_options *options, const struct symbolizer_option *row,
		     const char *value)
{
	(void)value;
	return refuse(options, row, row->help);
}

#define MEMBER(name) offsetof(struct symbolizer_options, name)

/* clang-format off */
const struct symbolizer_option symbolizer_rows[] = {
	{ALL, 'a', "addresses", NULL, set_flag, MEMBER(addresses), true,
	 "print the address before each answer"},
	{LLVM, 0, "print-address", NULL, set_flag, MEMBER(addresses), true, "the same as --addresses"},
	{GNU, 'b', "target", "FORMAT", ignore, 0, 0, "no effect: the file tells its format"},
	{GNU, 'e', "exe", "FILE", set_string, MEMBER(object), 0,
	 "the file that addresses are of (default a.out)"},
	{LLVM, 'e', "obj", "FILE", set_string, MEMBER(object), 0, "the file that addresses are of"},
	{LLVM, 0, "exe", "FILE", set_string, MEMBER(object), 0, "the same as --obj"},
	{LLVM, 0, "build-id", "ID", set_build_id, 0, 0, "the build ID of that file"},
	{GNU, 'f', "functions", NULL, set_names, 0, 0, "print names of functions"},
	{LLVM, 'f', "functions", "[none|short|linkage]", set_names, 0, 0,
	 "print names of functions (linkage)"},
	{ALL, 'i', "inlines", NULL, set_flag, MEMBER(inlines), true,
	 "print the callers of inlined functions"},
	{LLVM, 0, "no-inlines", NULL, set_flag, MEMBER(inlines), false, "do not print them"},
	{GNU, 'j', "section", "NAME", set_string, MEMBER(section), 0,
	 "addresses are offsets in the section NAME"},
	{ALL, 'p', "pretty-print", NULL, set_flag, MEMBER(pretty), true, "print each frame on one line"},
	{ALL, 's', "basenames", NULL, set_flag, MEMBER(basenames), true,
	 "print files without their directories"},
	{GNU, 'C', "demangle", "[STYLE]", set_demangle, 0, DEMANGLE_AUTO, "demangle names of functions"},
	{LLVM, 'C', "demangle", NULL, set_demangle, 0, DEMANGLE_AUTO, "demangle names of functions"},
	{LLVM, 0, "no-demangle", NULL, set_demangle, 0, DEMANGLE_OFF, "print names as they are in the file"},
	{GNU, 'R', "recurse-limit", NULL, ignore, 0, 0, "no effect: demangling is always limited"},
	{GNU, 0, "recursion-limit", NULL, ignore, 0, 0, "no effect: demangling is always limited"},
	{GNU, 'r', "no-recurse-limit", NULL, ignore, 0, 0, "no effect: demangling is always limited"},
	{GNU, 0, "no-recursion-limit", NULL, ignore, 0, 0, "no effect: demangling is always limited"},
	{LLVM, 0, "output-style", "LLVM|GNU|JSON", set_style, 0, 0, "how answers are printed"},
	{LLVM, 0, "adjust-vma", "OFFSET", set_number, MEMBER(adjust_vma), 0,
	 "subtract OFFSET from all addresses"},
	{LLVM, 0, "relative-address", NULL, set_flag, MEMBER(relative), true,
	 "addresses count from the image base"},
	{LLVM, 0, "default-arch", "ARCH", set_string, MEMBER(arch), 0, "the image of a file with several"},
	{LLVM, 0, "skip-line-zero", NULL, set_flag, MEMBER(skip_line_zero), true,
	 "where the line is 0, print the nearest before it"},
	{LLVM, 0, "no-untag-addresses", NULL, set_flag, MEMBER(tagged), true,
	 "keep the tags of addresses of data"},
	{LLVM, 0, "print-source-context-lines", "N", set_number, MEMBER(context), 0,
	 "print N lines of the source"},
	{LLVM, 0, "verbose", NULL, set_flag, MEMBER(verbose), true,
	 "print each property on a line of its own"},
	{LLVM, 0, "debug-file-directory", "DIR", add_debug_dir, 0, 0, "look for debug files in DIR, too"},
	{LLVM, 0, "fallback-debug-path", "DIR", add_debug_dir, 0, 0, "the same"},
	{LLVM, 0, "gsym-file-directory", "DIR", set_string, MEMBER(gsym_dir), 0,
	 "take NAME.gsym in DIR for a file NAME"},
	{LLVM, 0, "cache-size", "BYTES", set_number, MEMBER(cache_size), 0,
	 "close images above so many bytes"},
	{LLVM, 0, "color", "[always|auto|never]", ignore, 0, 0, "no effect: only markup is coloured"},
	{LLVM, 0, "no-debuginfod", NULL, ignore, 0, 0, "no effect: no server is asked"},
	{LLVM, 0, "debuginfod", NULL, not_done, 0, 0,
	 "not done: gsymfs with debuginfod=yes asks servers, see GSYMFS_MOUNT"},
	{LLVM, 0, "relativenames", NULL, not_done, 0, 0,
	 "not done: GSYM does not tell the directory of a compilation"},
	{LLVM, 0, "dwp", "FILE", not_done, 0, 0, "not done: a DWARF package is found beside its program"},
	{LLVM, 0, "dsym-hint", "DIR", not_done, 0, 0, "not done: a dSYM is found beside its program"},
	{LLVM, 0, "filter-markup", NULL, not_done, 0, 0, "not done: use gsym filter"},
	{LLVM, 0, "disable-gsym", NULL, not_done, 0, 0, "not done: all answers are of GSYM"},
	{LLVM, 0, "dia", NULL, not_done, 0, 0, "not done: for Windows only"},
	{ALL, 0, "cache", "DIR", set_string, MEMBER(cache), 0,
	 "directory of converted files (default: that of gsymfs)"},
	{ALL, 'h', "help", NULL, symbolizer_print_help, 0, 0, "print this help"},
	{ALL, 'v', "version", NULL, symbolizer_print_version, 0, 0, "print the version"},
	{0},
};

/* Spellings of the above that take part in no list. */
static const struct {
	unsigned dialects;
	const char *word, *means;
} synonyms[] = {
	{LLVM, "-demangle=true", "--demangle"},   {LLVM, "-demangle=false", "--no-demangle"},
	{LLVM, "--inlining", "--inlines"},        {LLVM, "--inlining=true", "--inlines"},
	{LLVM, "--inlining=false", "--no-inlines"}, {GNU, "-H", "--help"}, {GNU, "-V", "--version"},
};
/* clang-format on */

bool symbolizer_print_version(struct symbolizer_options *options, const struct symbolizer_option *row,
			      const char *value)
{
	static const char *const like[] = {[DIALECT_BINUTILS] = "GNU addr2line 2.40",
					   [DIALECT_LLVM_ADDR2LINE] = "llvm-addr2line 22",
					   [DIALECT_LLVM] = "llvm-symbolizer 22"};
	(void)row, (void)value;
	printf("gsym %s, with the options and the output of %s\n", GSYMFS_VERSION, like[options->dialect]);
	return true;
}

static void print_row(const struct symbolizer_option *row)
{
	char text[128] = "    ";
	size_t n = 4;
	bool optional = row->argument && row->argument[0] == '[';
	if (row->letter)
		snprintf(text, sizeof(text), "-%c, ", row->letter);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "--%s", row->name);
	if (optional)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "[=%s", row->argument + 1);
	else if (row->argument)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "=%s", row->argument);
	if (n >= HELP_WIDTH)
		printf("  %s\n  %*s%s\n", text, HELP_WIDTH, "", row->help);
	else
		printf("  %-*s%s\n", HELP_WIDTH, text, row->help);
}

bool symbolizer_print_help(struct symbolizer_options *options, const struct symbolizer_option *row,
			   const char *value)
{
	(void)value;
	printf("Usage: %s [OPTION...] [%s...]\n"
	       "Prints the functions, files and lines of addresses; without an operand, of those on\n"
	       "standard input, one a line. Files are converted once; the results are kept in the cache of\n"
	       "gsymfs.\n\nOptions:\n  @FILE                           read options from FILE\n",
	       options->program, options->dialect == DIALECT_LLVM ? "[CODE|DATA] FILE ADDRESS" : "ADDRESS");
	for (row = symbolizer_rows; row->name; row++)
		if (row->dialects & options->dialect)
			print_row(row);
	return true;
}

const char *symbolizer_row_word(enum symbolizer_dialect dialect, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
		if ((synonyms[i].dialects & dialect) && strcmp(synonyms[i].word, word) == 0)
			return synonyms[i].means;
	return word;
}

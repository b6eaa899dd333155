/* The command lines of the symbolizers: what each word sets, and what is refused. */

#include "cli/symbolizer/symbolizer_options.h"
#include "gsym/base/text_buf.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 20, GNU = DIALECT_BINUTILS, L2L = DIALECT_LLVM_ADDR2LINE, LLVM = DIALECT_LLVM };

static void set(struct text_buf *out, bool is_set, const char *what)
{
	text_str(out, is_set ? what : "");
}

static void named(struct text_buf *out, const char *what, const char *value)
{
	set(out, value != NULL, what);
	set(out, value != NULL, value ? value : "");
}

static void number(struct text_buf *out, const char *what, uint64_t value)
{
	set(out, value, what);
	if (value)
		text_dec(out, value);
}

/* "GNU short demangle=4 ...: operands" */
static void describe(struct text_buf *out, const struct symbolizer_options *o)
{
	static const char *const styles[] = {"binutils", "GNU", "LLVM", "JSON"}, *const names[] = {
											 "", " short",
											 " linkage"};
	text_str(out, styles[o->style]);
	text_str(out, names[o->names]);
	number(out, " demangle=", o->demangle);
	set(out, o->addresses, " addresses");
	set(out, o->paths == PATHS_BASE, " basenames");
	set(out, o->paths == PATHS_RELATIVE, " relative");
	set(out, o->inlines, " inlines");
	set(out, o->pretty, " pretty");
	set(out, o->verbose, " verbose");
	set(out, o->relative, " relative");
	set(out, o->skip_line_zero, " skip");
	set(out, o->tagged, " tagged");
	number(out, " adjust=", o->adjust_vma);
	number(out, " context=", o->context);
	number(out, " size=", o->cache_size);
	named(out, " of ", o->object);
	named(out, " of id ", o->build_id);
	named(out, " in ", o->section);
	named(out, " for ", o->arch);
	named(out, " gsym=", o->gsym_dir);
	named(out, " cache=", o->cache);
	for (size_t i = 0; i < o->n_debug_dirs; i++)
		named(out, " debug=", o->debug_dirs[i]);
	text_str(out, o->n_operands ? ":" : "");
	for (size_t i = 0; i < o->n_operands; i++)
		named(out, " ", o->operands[i]);
}

/* Words are separated by blanks; an error is its message without the program's name, without the advice. */
static const struct {
	unsigned dialect;
	const char *words, *expected;
} lines[] = {
	{GNU, "", "binutils of a.out"},
	{L2L, "", "GNU tagged"},
	{LLVM, "", "LLVM linkage demangle=4 inlines"},
	{GNU, "-afips 0x10 0x20", "binutils linkage addresses basenames inlines pretty of a.out: 0x10 0x20"},
	{GNU, "0x10 -f 0x20 -s 0x30", "binutils linkage basenames of a.out: 0x10 0x20 0x30"},
	{GNU, "-e f.o -j .text", "binutils of f.o in .text"},
	{GNU, "-ef.o -j.text", "binutils of f.o in .text"},
	{GNU, "-e=f.o", "binutils of =f.o"},
	{L2L, "-e=f.o -fe=g.o", "GNU linkage tagged of g.o"},
	{GNU, "-fe f.o -fCeg.o", "binutils linkage demangle=3 of g.o"},
	{GNU, "--exe f.o --section=.text", "binutils of f.o in .text"},
	{GNU, "--exe= --sect x", "binutils of  in x"},
	{GNU, "-C --demangle", "binutils demangle=3 of a.out"},
	{GNU, "--demangle=none", "binutils of a.out"},
	{GNU, "--demangle=auto", "binutils demangle=3 of a.out"},
	{GNU, "--demangle=gnu-v3", "binutils demangle=3 of a.out"},
	{GNU, "--demangle=rust", "binutils demangle=3 of a.out"},
	{GNU, "--demangle=dlang", "binutils demangle=3 of a.out"},
	{GNU, "--demangle=gnat", "binutils demangle=2 of a.out"},
	{GNU, "--demangle=x",
	 "option '--demangle': unknown demangling style; known are none, auto, gnu-v3, rust, dlang, gnat"},
	{GNU, "-b elf -R -r --recursion-limit --no-recursion-limit --target=x", "binutils of a.out"},
	{GNU, "-- -f", "binutils of a.out: -f"},
	{GNU, "-f -- --", "binutils linkage of a.out: --"},
	{GNU, "-", "binutils of a.out: -"},
	{GNU, "--inl --pretty", "binutils inlines pretty of a.out"},
	{GNU, "--no-rec",
	 "unknown option '--no-rec'; did you mean '--no-recurse-limit'? './p --help' lists all"},
	{GNU, "--addressesx",
	 "unknown option '--addressesx'; did you mean '--addresses'? './p --help' lists all"},
	{GNU, "--zzzzzzzz", "unknown option '--zzzzzzzz'"},
	{GNU, "--=x", "unknown option '--'"},
	{GNU, "--inlines=1", "no argument is taken by option '--inlines'"},
	{GNU, "-x", "unknown option in '-x'"},
	{GNU, "-fx", "unknown option in '-fx'"},
	{GNU, "-e", "missing argument of option 'exe'"},
	{GNU, "--exe", "missing argument of option 'exe'"},
	{GNU, "-f -e", "missing argument of option 'exe'"},
	{GNU, "--verbose", "unknown option '--verbose'"},
	{GNU, "--build-id=0a", "unknown option '--build-id'"},
	{L2L, "--inl", "error: unknown argument '--inl', did you mean '--inlines'?"},
	{L2L, "-a -f -C -i -p -s", "GNU linkage demangle=4 addresses basenames inlines pretty tagged"},
	{L2L, "-f=short -s", "GNU short basenames tagged"},
	{L2L, "-fs", "GNU linkage basenames tagged"},
	{LLVM, "-f=none", "LLVM demangle=4 inlines"},
	{LLVM, "--functions=short --functions=linkage", "LLVM linkage demangle=4 inlines"},
	{LLVM, "--functions", "LLVM linkage demangle=4 inlines"},
	{LLVM, "--functions=x", "--functions=: expected none, short or linkage, but got 'x'"},
	{LLVM, "--no-inlines --no-demangle", "LLVM linkage"},
	{LLVM, "--no-demangle --demangle", "LLVM linkage demangle=4 inlines"},
	{LLVM, "-demangle=false --inlining=false", "LLVM linkage"},
	{L2L, "-demangle=true --inlining", "GNU demangle=4 inlines tagged"},
	{L2L, "--inlining=true", "GNU inlines tagged"},
	{LLVM, "--output-style=GNU", "GNU linkage demangle=4 inlines"},
	{LLVM, "--output-style=JSON --output-style LLVM", "LLVM linkage demangle=4 inlines"},
	{LLVM, "--output-style=JSON", "JSON linkage demangle=4 inlines"},
	{LLVM, "--output-style=gnu", "--output-style=: expected GNU, LLVM or JSON, but got 'gnu'"},
	{LLVM, "--adjust-vma=0x10 --print-source-context-lines=3 --cache-size=010",
	 "LLVM linkage demangle=4 inlines adjust=16 context=3 size=8"},
	{LLVM, "--adjust-vma=18446744073709551615",
	 "LLVM linkage demangle=4 inlines adjust=18446744073709551615"},
	{LLVM, "--adjust-vma=18446744073709551616",
	 "--adjust-vma=: expected a non-negative integer, but got '18446744073709551616'"},
	{LLVM, "--adjust-vma=-1", "--adjust-vma=: expected a non-negative integer, but got '-1'"},
	{LLVM, "--adjust-vma=:", "--adjust-vma=: expected a non-negative integer, but got ':'"},
	{LLVM, "--adjust-vma=1x", "--adjust-vma=: expected a non-negative integer, but got '1x'"},
	{LLVM, "--adjust-vma=9", "LLVM linkage demangle=4 inlines adjust=9"},
	{LLVM, "--adjust-vma=", "--adjust-vma=: expected a non-negative integer, but got ''"},
	{LLVM, "--relative-address --skip-line-zero --no-untag-addresses --verbose --print-address",
	 "LLVM linkage demangle=4 addresses inlines verbose relative skip tagged"},
	{LLVM, "--default-arch=x --gsym-file-directory=g --cache=c --obj=o",
	 "LLVM linkage demangle=4 inlines of o for x gsym=g cache=c"},
	{LLVM, "--exe=o", "LLVM linkage demangle=4 inlines of o"},
	{LLVM, "--build-id=0aF", "LLVM linkage demangle=4 inlines of id 0aF"},
	{LLVM, "--build-id=0g", "--build-id=: expected a build ID, but got '0g'"},
	{LLVM, "--build-id=", "--build-id=: expected a build ID, but got ''"},
	{LLVM, "--build-id=0a --obj=o", "error: cannot specify both --build-id and --obj"},
	{LLVM, "--debug-file-directory=/a --fallback-debug-path /b",
	 "LLVM linkage demangle=4 inlines debug=/a debug=/b"},
	{LLVM, "--debug-file-directory=a", "--debug-file-directory=: expected an absolute path, but got 'a'"},
	{LLVM, "--color --color=x --no-debuginfod", "LLVM linkage demangle=4 inlines"},
	{LLVM, "-s --relativenames", "LLVM linkage demangle=4 relative inlines"},
	{LLVM, "--relativenames -s", "LLVM linkage demangle=4 basenames inlines"},
	{LLVM, "--", "error: unknown argument '--'"},
	{LLVM, "-x", "error: unknown argument '-x'"},
	{LLVM, "--flag=1 -y", "error: unknown argument '--flag=1'\nerror: unknown argument '-y'"},
	{LLVM, "--colour=x", "error: unknown argument '--colour=x', did you mean '--color=x'?"},
	{LLVM, "-e", "error: -e: missing argument"},
	{LLVM, "--disable-gsym", "LLVM linkage demangle=4 inlines"},
	{LLVM, "a.o 0x10", "LLVM linkage demangle=4 inlines: a.o 0x10"},
};

/* Parses the line; the description of the options, or the error. @ret_status: what it is. */
static void parse(unsigned dialect, const char *text, struct text_buf *out, enum symbolizer_parse *ret_status)
{
	struct symbolizer_options options = {.program = "./p", .dialect = (enum symbolizer_dialect)dialect};
	char *copy = strdup(text), *words[WORDS_MAX], *message = NULL, *rest = copy;
	size_t n = 0, size = 0;
	FILE *before = stderr;
	for (char *word; *text && (word = strsep(&rest, " "));)
		words[n++] = word;
	stderr = open_memstream(&message, &size);
	assert_non_null(stderr);
	*ret_status = symbolizer_options_parse(n, words, &options);
	fclose(stderr);
	stderr = before;
	text_reset(out);
	if (*ret_status == SYMBOLIZER_RUN) {
		describe(out, &options);
		assert_int_equal(size, 0);
		assert_string_equal(options.debug_dirs[options.n_debug_dirs], "/usr/lib/debug");
	} else if (size) {
		char *advice = strstr(message, "; try './p --help'"),
		     *end = advice ? advice : message + size - 1;
		size_t skip = strncmp(message, "./p: ", 5) == 0 ? 5 : 0;
		assert_true(skip || dialect != GNU);
		text_bytes(out, message + skip, (size_t)(end - message) - skip);
	}
	text_char(out, '\0');
	free(message);
	free(copy);
}

TEST(command_lines)
{
	struct text_buf out = {0};
	enum symbolizer_parse status;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		parse(lines[i].dialect, lines[i].words, &out, &status);
		if (strcmp(out.v, lines[i].expected) != 0)
			print_error("%s\n", lines[i].words);
		assert_string_equal(out.v, lines[i].expected);
		assert_true(status != SYMBOLIZER_DONE);
	}
	text_deinit(&out);
}

/* As many directories of debug files as there is room for, beside the default one. */
TEST(debug_dirs)
{
	struct text_buf words = {0}, out = {0};
	enum symbolizer_parse status;
	for (unsigned i = 0; i < DEBUG_DIRS_MAX; i++)
		text_str(&words, i ? " --debug-file-directory=/d" : "--debug-file-directory=/d");
	text_char(&words, '\0');
	parse(LLVM, words.v, &out, &status);
	assert_int_equal(status, SYMBOLIZER_RUN);
	words.n--;
	text_str(&words, " --debug-file-directory=/d");
	text_char(&words, '\0');
	parse(LLVM, words.v, &out, &status);
	assert_int_equal(status, SYMBOLIZER_ERROR);
	assert_string_equal(out.v, "option '--debug-file-directory': given too often");
	text_deinit(&words);
	text_deinit(&out);
}

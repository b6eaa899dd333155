/* The command line of a command: kinds of options and their values, operands, and what is refused. */
#include "cli/command/message.h" /* has a function called as a macro of cmocka */

#include "cli/command/cli_options.h"
#include "gsym/base/text_buf.h"
#include "gsym/render/render.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 80 };

struct made_options {
	bool flag;
	const char *string;
	struct option_list list;
	uint8_t one;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	enum demangle_mode demangle;
	enum render_format format;
};

static const struct option_row rows[] = {
	{'f', "flag", NULL, "", OPTION_FLAG(made_options, flag)},
	{'s', "string", "TEXT", "", OPTION_STRING(made_options, string)},
	{'l', "list", "TEXT", "", OPTION_LIST(made_options, list)},
	{0, "one", "N", "", OPTION_NUMBER(made_options, one, 2, 255)},
	{0, "two", "N", "", OPTION_NUMBER(made_options, two, 0, 65535)},
	{0, "four", "N", "", OPTION_NUMBER(made_options, four, 0, UINT32_MAX)},
	{0, "eight", "N", "", OPTION_NUMBER(made_options, eight, 0, UINT64_MAX)},
	OPTIONS_DEMANGLE(made_options, demangle),
	{0, "format", "text|tsv|json", "", OPTION_CHOICE(made_options, format, RENDER_TEXT)},
	OPTIONS_END,
};

/* The last row must be given. */
static const struct option_row with_required[] = {
	{'s', "string", "TEXT", "", OPTION_STRING(made_options, string)},
	{0, "must", "N", "", OPTION_NUMBER(made_options, one, 0, 9), .required = true},
	OPTIONS_END,
};

static void describe(struct text_buf *out, const struct made_options *o)
{
	text_str(out, o->flag ? "flag " : "");
	text_str(out, o->string ? o->string : "");
	for (size_t i = 0; i < o->list.n; i++) {
		text_char(out, '+');
		text_str(out, o->list.v[i]);
	}
	const uint64_t numbers[] = {o->one, o->two, o->four, o->eight};
	for (size_t i = 0; i < 4; i++) {
		text_char(out, ' ');
		text_dec(out, numbers[i]);
	}
	text_str(out, o->demangle == DEMANGLE_ADA ? " ada" : o->demangle == DEMANGLE_AUTO ? " auto" : "");
	text_char(out, ' ');
	text_dec(out, o->format);
}

/* Parses the words of @text; what is set and the operands, or the message without the name of the command. */
static bool parse(const struct command *command, const char *text, struct text_buf *out, int *ret_status)
{
	struct made_options options = {.format = RENDER_TEXT};
	char *copy = strdup(text), *words[WORDS_MAX + 2] = {(char *)"made"}, *message = NULL, *rest = copy;
	int n = 1;
	size_t size = 0;
	FILE *before = stderr;
	for (char *word; *text && (word = strsep(&rest, " "));)
		words[n++] = word;
	words[n] = NULL;
	stderr = open_memstream(&message, &size);
	assert_non_null(stderr);
	bool ok = options_parse(command, &n, words, &options, ret_status);
	fclose(stderr);
	stderr = before;
	text_reset(out);
	if (ok) {
		assert_int_equal(*ret_status, STATUS_OK);
		assert_int_equal(size, 0);
		describe(out, &options);
		for (int i = 1; i < n; i++) {
			text_str(out, i == 1 ? ": " : " ");
			text_str(out, words[i]);
		}
	} else if (size) {
		static const char head[] = "gsym made: ", advice[] = "; try 'gsym made --help'\n";
		assert_memory_equal(message, head, strlen(head));
		const char *end = strstr(message, advice);
		text_bytes(out, message + strlen(head),
			   (size_t)((end ? end : message + size - 1) - message) - strlen(head));
	}
	text_char(out, '\0');
	free(message);
	free(copy);
	return ok;
}

static const struct {
	const char *operands, *words, *expected;
	bool ok;
} lines[] = {
	{"[FILE...]", "", " 0 0 0 0 0", true},
	{"[FILE...]", "-f --string=x -l a -lb --list c", "flag x+a+b+c 0 0 0 0 0", true},
	{"[FILE...]", "a -f b -s c d", "flag c 0 0 0 0 0: a b d", true},
	{"[FILE...]", "-fsx -- -f", "flag x 0 0 0 0 0: -f", true},
	{"[FILE...]", "--fl --str x", "flag x 0 0 0 0 0", true},
	{"[FILE...]", "--one=2 --two=65535 --four=4294967295 --eight=18446744073709551615",
	 " 2 65535 4294967295 18446744073709551615 0", true},
	{"[FILE...]", "--one=255 --two 0", " 255 0 0 0 0", true},
	{"[FILE...]", "--one=1", "option '--one': invalid value '1'; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=256", "option '--one': invalid value '256'; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=", "option '--one': invalid value ''; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=3x", "option '--one': invalid value '3x'; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=+3", "option '--one': invalid value '+3'; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=:3", "option '--one': invalid value ':3'; allowed is a number from 2 to 255"},
	{"[FILE...]", "--one=9", " 9 0 0 0 0", true},
	{"[FILE...]", "--eight=18446744073709551616",
	 "option '--eight': invalid value '18446744073709551616'; allowed is a number from 0 to "
	 "18446744073709551615"},
	{"[FILE...]", "--demangle=auto", " 0 0 0 0 auto 0", true},
	{"[FILE...]", "--demangle=ada", " 0 0 0 0 ada 0", true},
	{"[FILE...]", "--demangle=ada --no-demangle", " 0 0 0 0 0", true},
	{"[FILE...]", "--demangle=ad", "option '--demangle': invalid value 'ad'; allowed is auto or ada"},
	{"[FILE...]", "--demangle=adax", "option '--demangle': invalid value 'adax'; allowed is auto or ada"},
	{"[FILE...]", "--demangle=auto|ada",
	 "option '--demangle': invalid value 'auto|ada'; allowed is auto or ada"},
	{"[FILE...]", "--format=tsv", " 0 0 0 0 1", true},
	{"[FILE...]", "--format=x", "option '--format': invalid value 'x'; allowed is text, tsv or json"},
	{"[FILE...]", "--string", "option '--string': missing argument"},
	{"[FILE...]", "-s", "option '-s': missing argument"},
	{"[FILE...]", "-x", "option '-x': unknown"},
	{"[FILE...]", "-fx", "option '-x': unknown"},
	{"[FILE...]", "--flag=x", "option '--flag=x': takes no argument"},
	{"[FILE...]", "--f", "option '--f': ambiguous"},
	{"[FILE...]", "--fo=x", "option '--fo=x': ambiguous"},
	{"[FILE...]", "--strung=x",
	 "option '--strung=x': unknown; did you mean '--string'? 'gsym made --help' lists all"},
	{"[FILE...]", "--zzzzzzz", "option '--zzzzzzz': unknown"},
	{"FILE", "", "missing operand 'FILE'"},
	{"FILE", "a", " 0 0 0 0 0: a", true},
	{"FILE", "a b", "extra operand 'b'"},
	{"FILE", "a b c", "extra operand 'b'"},
	{"FILE [ADDRESS]", "a", " 0 0 0 0 0: a", true},
	{"FILE [ADDRESS]", "a b", " 0 0 0 0 0: a b", true},
	{"FILE [ADDRESS]", "a b c", "extra operand 'c'"},
	{"FILE ADDRESS", "a", "missing operand 'ADDRESS'"},
	{"FILE ADDRESS...", "a", "missing operand 'ADDRESS'"},
	{"FILE ADDRESS...", "a b c", " 0 0 0 0 0: a b c", true},
	{"FILE [ADDRESS...]", "a b c", " 0 0 0 0 0: a b c", true},
	{"FILE [ADDRESS...]", "", "missing operand 'FILE'"},
	{"", "", " 0 0 0 0 0", true},
	{"", "a", "extra operand 'a'"},
};

TEST(command_lines)
{
	struct text_buf out = {0};
	int status;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct command command = {
			.name = "made", .operands = lines[i].operands, .options = rows};
		bool ok = parse(&command, lines[i].words, &out, &status);
		if (strcmp(out.v, lines[i].expected) != 0)
			print_error("%s\n got  %s\n want %s\n", lines[i].words, out.v, lines[i].expected);
		assert_string_equal(out.v, lines[i].expected);
		assert_int_equal(ok, lines[i].ok);
		assert_int_equal(status, ok ? STATUS_OK : STATUS_USAGE);
	}
	text_deinit(&out);
}

TEST(required)
{
	const struct command command = {.name = "made", .operands = "[FILE]", .options = with_required},
			     none = {.name = "made", .operands = "[FILE]"};
	struct text_buf out = {0};
	int status;
	assert_false(parse(&command, "-s x", &out, &status));
	assert_int_equal(status, STATUS_USAGE);
	assert_string_equal(out.v, "missing option '--must=N'");
	assert_true(parse(&command, "--must=9", &out, &status));
	assert_true(parse(&none, "x", &out, &status));
	assert_false(parse(&none, "-s x", &out, &status));
	assert_string_equal(out.v, "option '-s': unknown");
	text_deinit(&out);
}

/* A list has so many elements, and NULL after them. */
TEST(lists)
{
	const struct command command = {.name = "made", .operands = "", .options = rows};
	struct text_buf words = {0}, out = {0};
	int status;
	for (unsigned i = 0; i < OPTION_LIST_MAX; i++)
		text_str(&words, i ? " -lx" : "-lx");
	text_char(&words, '\0');
	assert_true(parse(&command, words.v, &out, &status));
	words.n--;
	text_str(&words, " -lx");
	text_char(&words, '\0');
	assert_false(parse(&command, words.v, &out, &status));
	assert_int_equal(status, STATUS_USAGE);
	assert_string_equal(out.v, "option '--list': given more than 64 times");
	text_deinit(&words);
	text_deinit(&out);
}

/* Help and version end the command well. */
TEST(texts)
{
	static const char *const words[] = {"-h", "--help", "-V", "--version", "-f --he", "x y -h"};
	const struct command command = {.name = "made", .operands = "", .summary = "Makes", .options = rows};
	struct text_buf out = {0};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		FILE *before = stdout;
		char *text = NULL;
		size_t size = 0;
		int status = -1;
		stdout = open_memstream(&text, &size);
		assert_non_null(stdout);
		bool ok = parse(&command, words[i], &out, &status);
		fclose(stdout);
		stdout = before;
		assert_false(ok);
		assert_int_equal(status, STATUS_OK);
		static const char usage[] =
			"Usage: gsym made [OPTION...] \nMakes.\n\nOptions:\n  -f, --flag ";
		if (i == 2 || i == 3)
			assert_memory_equal(text, "gsym ", 5);
		else
			assert_memory_equal(text, usage, strlen(usage));
		free(text);
	}
	text_deinit(&out);
}

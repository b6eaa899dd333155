#include "cli/command/cli_options.h"

#include "cli/command/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct option_row *rows_of(const struct command *command)
{
	static const struct option_row none[] = {OPTIONS_END};
	return command->options ? command->options : none;
}

/* ---- Help ---- */

void command_help(const struct command *command)
{
	static const struct option_look look = {.indent = "  ", .prefix = "    --", .column = 30};
	printf("Usage: gsym %s [OPTION...] %s\n%s.\n\nOptions:\n", command->name, command->operands,
	       command->summary);
	for (const struct option_row *row = rows_of(command); row->name; row++)
		option_print(stdout, row, &look);
	if (command->examples)
		printf("\nExamples:\n%s\n", command->examples);
}

void program_version(void)
{
	printf("gsym %s\ndemangles by %s\n", GSYMFS_VERSION, demangle_libraries());
}

/* ---- Errors ---- */

int options_error(const struct command *command, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	complain("%s; try 'gsym %s --help'", text, command->name);
	return STATUS_USAGE;
}

static int unknown_option(const struct command *command, const char *given)
{
	struct suggestion meant = suggestion_begin(given + 2, strcspn(given + 2, "="));
	option_suggest(&meant, rows_of(command), 0);
	if (!meant.best)
		return options_error(command, "option '%s': unknown", given);
	complain("option '%s': unknown; did you mean '--%s'? 'gsym %s --help' lists all", given, meant.best,
		 command->name);
	return STATUS_USAGE;
}

static int bad_option(const struct command *command, const struct option_words *words,
		      enum option_event event)
{
	static const char *const faults[] = {[OPTION_UNKNOWN] = "unknown",
					     [OPTION_AMBIGUOUS] = "ambiguous",
					     [OPTION_LACKS_ARGUMENT] = "missing argument",
					     [OPTION_TAKES_NONE] = "takes no argument"};
	if (words->letter)
		return options_error(command, "option '-%c': %s", words->letter, faults[event]);
	if (event == OPTION_UNKNOWN)
		return unknown_option(command, words->word);
	return options_error(command, "option '%s': %s", words->word, faults[event]);
}

static int set_option(const struct command *command, const struct option_words *words, void *to)
{
	struct gsym_diag diag = {0};
	int err = option_set(words->row, words->value, to, &diag);
	if (err == -ENOMEM)
		return fail(words->row->name, err, NULL);
	if (err != -EDOM)
		return err ? options_error(command, "option '--%s': %s", words->row->name, diag.text)
			   : STATUS_OK;
	complain("option '--%s': invalid value '%s'; allowed is %s", words->row->name, words->value,
		 diag.text);
	return STATUS_USAGE;
}

/* ---- The command line ---- */

static int check_operands(const struct command *command, size_t n, char **operands)
{
	const char *at = command->operands;
	for (size_t i = 0;; i++, at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		bool is_repeated = memmem(at, length, "...", 3);
		if (i < n && !length)
			return options_error(command, "extra operand '%s'", operands[i]);
		if (i >= n && length && *at != '[')
			return options_error(command, "missing operand '%.*s'",
					     (int)(length - 3 * is_repeated), at);
		if (!length || is_repeated)
			return STATUS_OK;
		at += length;
	}
}

static int check_required(const struct command *command, uint64_t given)
{
	const struct option_row *rows = rows_of(command);
	for (size_t i = 0; rows[i].name; i++)
		if (rows[i].required && !(given >> i & 1))
			return options_error(command, "missing option '--%s=%s'", rows[i].name,
					     rows[i].argument);
	return STATUS_OK;
}

bool options_parse(const struct command *command, int *argc, char **argv, void *to, int *ret_status)
{
	struct option_words words = {.v = argv + 1, .n = (size_t)*argc - 1, .rows = rows_of(command)};
	enum option_event event;
	uint64_t given = 0;
	message_speaker("gsym", command->name);
	while ((event = option_next(&words)) == OPTION_GIVEN) {
		*ret_status = STATUS_OK;
		if (words.row->parse) {
			given |= UINT64_C(1) << (words.row - words.rows);
			*ret_status = set_option(command, &words, to);
		} else if (words.row->letter == 'h') {
			command_help(command);
		} else {
			program_version();
		}
		if (!words.row->parse || *ret_status != STATUS_OK)
			return false;
	}
	if (event != OPTION_END)
		*ret_status = bad_option(command, &words, event);
	else
		*ret_status = check_operands(command, words.n_operands, words.v);
	if (*ret_status == STATUS_OK)
		*ret_status = check_required(command, given);
	*argc = (int)words.n_operands + 1;
	return *ret_status == STATUS_OK;
}

#include "cli/command/cli_options.h"

#include "cli/command/cli_help.h"
#include "cli/command/message.h"
#include "gsym/base/suggestion.h"
#include "gsym/render/render.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_HELP = 'h',
	KEY_VERSION = 'V',
	KEY_FIRST = 256, /* getopt's value of the first row */
	OPTIONS_MAX = 40,
};

static const struct command_option *options_of(const struct command *command)
{
	static const struct command_option none[] = {{0}};
	return command->options ? command->options : none;
}

/* ---- Errors ---- */

int options_error(const struct command *command, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	say(stderr, "gsym %s: %s; try 'gsym %s --help'", command->name, text, command->name);
	return STATUS_USAGE;
}

static int option_bad_value(const struct command *command, const struct command_option *option,
			    const char *value, const char *allowed)
{
	say(stderr, "gsym %s: option '--%s': invalid value '%s'; allowed is %s", command->name, option->name,
	    value, allowed);
	return STATUS_USAGE;
}

static bool is_ambiguous(const struct command *command, const char *given)
{
	size_t size = strcspn(given, "="), n = 0;
	for (const struct command_option *option = options_of(command); option->name; option++)
		n += strncmp(option->name, given, size) == 0;
	return n > 1;
}

static int unknown_option(const struct command *command, const char *given)
{
	struct suggestion meant = suggestion_begin(given + 2, strcspn(given + 2, "="));
	for (const struct command_option *option = options_of(command); option->name; option++)
		suggestion_try(&meant, option->name);
	if (!meant.best)
		return options_error(command, "option '%s': unknown", given);
	say(stderr, "gsym %s: option '%s': unknown; did you mean '--%s'? 'gsym %s --help' lists all",
	    command->name, given, meant.best, command->name);
	return STATUS_USAGE;
}

/* getopt leaves a long option in argv and a letter in optopt. */
static int bad_option(const struct command *command, int result, char **argv)
{
	const char *given = argv[optind - 1];
	const char *what = result == ':' ? "missing argument" : "unknown";
	if (given[0] != '-' || given[1] != '-')
		return options_error(command, "option '-%c': %s", optopt, what);
	if (result == '?' && optopt)
		what = "takes no argument";
	else if (result == '?' && is_ambiguous(command, given + 2))
		what = "ambiguous";
	else if (result == '?')
		return unknown_option(command, given);
	return options_error(command, "option '%s': %s", given, what);
}

/* ---- Values ---- */

static void store_number(void *to, size_t size, uint64_t value)
{
	switch (size) {
	case 1: *(uint8_t *)to = (uint8_t)value; break;
	case 2: *(uint16_t *)to = (uint16_t)value; break;
	case 4: *(uint32_t *)to = (uint32_t)value; break;
	case 8: *(uint64_t *)to = value; break;
	}
}

int option_flag(const struct command *command, const struct command_option *option, const char *value,
		void *to)
{
	(void)command, (void)option, (void)value;
	*(bool *)to = true;
	return STATUS_OK;
}

int option_value(const struct command *command, const struct command_option *option, const char *value,
		 void *to)
{
	(void)command, (void)value;
	store_number(to, option->size, option->least);
	return STATUS_OK;
}

int option_string(const struct command *command, const struct command_option *option, const char *value,
		  void *to)
{
	(void)command, (void)option;
	*(const char **)to = value;
	return STATUS_OK;
}

int option_list(const struct command *command, const struct command_option *option, const char *value,
		void *to)
{
	struct option_list *list = to;
	if (list->n == OPTION_LIST_MAX)
		return options_error(command, "option '--%s': given more than %d times", option->name,
				     OPTION_LIST_MAX);
	list->v[list->n++] = value;
	return STATUS_OK;
}

int option_number(const struct command *command, const struct command_option *option, const char *value,
		  void *to)
{
	char *end, allowed[80];
	errno = 0;
	uint64_t number = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || number < option->least ||
	    number > option->most) {
		snprintf(allowed, sizeof(allowed), "a number from %llu to %llu",
			 (unsigned long long)option->least, (unsigned long long)option->most);
		return option_bad_value(command, option, value, allowed);
	}
	store_number(to, option->size, number);
	return STATUS_OK;
}

/* "text|tsv|json" as "text, tsv or json". */
static void list_words(const char *words, char *to, size_t size)
{
	size_t n = 0;
	for (;;) {
		size_t length = strcspn(words, "|");
		const char *rest = words + length;
		const char *after = !*rest ? "" : strchr(rest + 1, '|') ? ", " : " or ";
		n += (size_t)snprintf(to + n, size - n, "%.*s%s", (int)length, words, after);
		if (!*rest || n >= size)
			return;
		words = rest + 1;
	}
}

/* The index of @word in the words of @option's argument. False, after an error message, if it is none of
 * them. */
static bool find_word(const struct command *command, const struct command_option *option, const char *word,
		      unsigned *ret_index)
{
	char allowed[128];
	unsigned index = 0;
	for (const char *at = option->argument;; at++, index++) {
		size_t length = strcspn(at, "|");
		if (strlen(word) == length && memcmp(word, at, length) == 0) {
			*ret_index = index;
			return true;
		}
		at += length;
		if (!*at)
			break;
	}
	list_words(option->argument, allowed, sizeof(allowed));
	option_bad_value(command, option, word, allowed);
	return false;
}

int option_choice(const struct command *command, const struct command_option *option, const char *value,
		  void *to)
{
	unsigned index;
	if (!find_word(command, option, value, &index))
		return STATUS_USAGE;
	store_number(to, option->size, option->least + index);
	return STATUS_OK;
}

int option_format(const struct command *command, const struct command_option *option, const char *value,
		  void *to)
{
	unsigned index;
	bool ok = find_word(command, option, value, &index) && render_format_parse(value, to) == 0;
	return ok ? STATUS_OK : STATUS_USAGE;
}

/* ---- The command line ---- */

/* Fills getopt's two tables from ours. @letters has room for ":hV" and two bytes an option. */
static void getopt_tables(const struct command *command, struct option *longs, char *letters)
{
	const struct command_option *options = options_of(command);
	size_t n = 0;
	*letters++ = ':';
	*letters++ = KEY_HELP;
	*letters++ = KEY_VERSION;
	for (; options[n].name; n++) {
		int has_argument = options[n].argument ? required_argument : no_argument;
		longs[n] = (struct option){options[n].name, has_argument, NULL, KEY_FIRST + (int)n};
		if (options[n].letter)
			*letters++ = options[n].letter;
		if (options[n].letter && options[n].argument)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[n] = (struct option){"help", no_argument, NULL, KEY_HELP};
	longs[n + 1] = (struct option){"version", no_argument, NULL, KEY_VERSION};
	longs[n + 2] = (struct option){NULL, 0, NULL, 0};
}

/* The row of what getopt found. */
static size_t row_of(const struct command_option *options, int key)
{
	size_t i = 0;
	if (key >= KEY_FIRST)
		return (size_t)(key - KEY_FIRST);
	while (options[i].letter != key)
		i++;
	return i;
}

/* The operand that is missing, or the one that is too many; false when their number is right. */
static bool has_wrong_operands(const struct command *command, int argc, char **argv)
{
	const char *at = command->operands;
	int left = argc - optind;
	for (; *at; at += strspn(at, " "), left--) {
		size_t length = strcspn(at, " ");
		bool is_optional = *at == '[', is_repeated = memmem(at, length, "...", 3);
		if (left <= 0 && !is_optional) {
			options_error(command, "missing operand '%.*s'", (int)(length - 3 * is_repeated), at);
			return true;
		}
		if (is_repeated)
			return false;
		at += length;
	}
	if (left > 0)
		options_error(command, "extra operand '%s'", argv[argc - left]);
	return left > 0;
}

static bool lacks_required(const struct command *command, const bool *given)
{
	const struct command_option *options = options_of(command);
	for (size_t i = 0; options[i].name; i++) {
		if (options[i].required && !given[i]) {
			options_error(command, "missing option '--%s=%s'", options[i].name,
				      options[i].argument);
			return true;
		}
	}
	return false;
}

bool options_parse(const struct command *command, int argc, char **argv, void *to, int *ret_status)
{
	const struct command_option *options = options_of(command);
	struct option longs[OPTIONS_MAX + 3];
	char letters[3 + 2 * OPTIONS_MAX + 1];
	bool given[OPTIONS_MAX] = {false};
	int key;
	getopt_tables(command, longs, letters);
	opterr = 0;
	*ret_status = STATUS_OK;
	while ((key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (key == KEY_HELP || key == KEY_VERSION) {
			if (key == KEY_HELP)
				command_help(command);
			else
				program_version();
			return false;
		}
		if (key == '?' || key == ':') {
			*ret_status = bad_option(command, key, argv);
			return false;
		}
		size_t i = row_of(options, key);
		given[i] = true;
		*ret_status = options[i].parse(command, &options[i], optarg, (char *)to + options[i].member);
		if (*ret_status != STATUS_OK)
			return false;
	}
	if (has_wrong_operands(command, argc, argv) || lacks_required(command, given))
		*ret_status = STATUS_USAGE;
	return *ret_status == STATUS_OK;
}

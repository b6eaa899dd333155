#include "convert/cli/cli_options.h"

#include "convert/cli/commands.h"
#include "convert/cli/message.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_HELP = 'h',
	SPECS_MAX = 30,   /* options of one command, --help included */
	HELP_COLUMN = 30, /* where explanations begin */
};

static size_t specs_count(const struct command_spec *command)
{
	size_t n = 0;
	while (command->options[n].key)
		n++;
	return n;
}

/* Fills getopt's two tables from ours. @letters has room for ":", "h" and three bytes an option. */
static void getopt_tables(const struct command_spec *command, struct option *longs, char *letters)
{
	size_t n = specs_count(command);
	*letters++ = ':';
	*letters++ = KEY_HELP;
	for (size_t i = 0; i < n; i++) {
		const struct option_spec *spec = &command->options[i];
		longs[i] = (struct option){spec->name, spec->arg ? required_argument : no_argument, NULL,
					   spec->key};
		if (spec->key < OPTION_LONG) {
			*letters++ = (char)spec->key;
			if (spec->arg)
				*letters++ = ':';
		}
	}
	*letters = '\0';
	longs[n] = (struct option){"help", no_argument, NULL, KEY_HELP};
	longs[n + 1] = (struct option){NULL, 0, NULL, 0};
}

static void print_help_text(const char *text)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		printf("%.*s\n%*s", (int)(end - text), text, HELP_COLUMN, "");
	printf("%s\n", text);
}

static void print_option(const struct option_spec *spec)
{
	char letter[8] = "    ";
	int width;
	if (spec->key < OPTION_LONG)
		snprintf(letter, sizeof(letter), "-%c, ", spec->key);
	width = printf("  %s--%s%s%s", letter, spec->name, spec->arg ? "=" : "", spec->arg ? spec->arg : "");
	if (width >= HELP_COLUMN) {
		printf("\n");
		width = 0;
	}
	printf("%*s", HELP_COLUMN - width, "");
	print_help_text(spec->help);
}

static void print_help(const struct command_spec *command)
{
	static const struct option_spec help = {KEY_HELP, "help", NULL, "print this"};
	printf("Usage: gsym %s [OPTION...] %s\n%s.\n\nOptions:\n", command->name, command->operands,
	       command->summary);
	for (size_t i = 0; command->options[i].key; i++)
		print_option(&command->options[i]);
	print_option(&help);
}

/* getopt leaves a long option in argv and a letter in optopt. */
static int bad_option(const struct command_spec *command, int result, char **argv)
{
	const char *given = argv[optind - 1];
	const char *what = result == ':' ? "needs an argument" : "is not an option here";
	if (given[0] == '-' && given[1] == '-')
		options_error(command, "'%s' %s", given,
			      result == '?' && optopt ? "takes no argument" : what);
	else
		options_error(command, "'-%c' %s", optopt, what);
	return OPTIONS_BAD;
}

int options_next(const struct command_spec *command, int argc, char **argv)
{
	struct option longs[SPECS_MAX + 1];
	char letters[2 + 2 * SPECS_MAX + 1];
	getopt_tables(command, longs, letters);
	opterr = 0;
	int result = getopt_long(argc, argv, letters, longs, NULL);
	if (result == '?' || result == ':')
		return bad_option(command, result, argv);
	if (result == KEY_HELP) {
		print_help(command);
		return OPTIONS_HELP;
	}
	return result;
}

int options_error(const struct command_spec *command, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	complain("%s: %s (see gsym %s --help)", command->name, text, command->name);
	return STATUS_USAGE;
}

bool options_number(const struct command_spec *command, const char *option, const char *text, uint64_t least,
		    uint64_t most, uint64_t *ret)
{
	char *end;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || value < least || value > most) {
		options_error(command, "--%s takes a number from %llu to %llu, not '%s'", option,
			      (unsigned long long)least, (unsigned long long)most, text);
		return false;
	}
	*ret = value;
	return true;
}

int options_demangle(const struct command_spec *command, const char *word, enum demangle_mode *ret)
{
	if (strcmp(word, "auto") == 0)
		*ret = DEMANGLE_AUTO;
	else if (strcmp(word, "ada") == 0)
		*ret = DEMANGLE_ADA;
	else
		return options_error(command, "--demangle is auto or ada, not '%s'", word);
	return STATUS_OK;
}

#include "cli/command/cli_help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 30 }; /* where explanations begin */

static void print_help_text(const char *text)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		printf("%.*s\n%*s", (int)(end - text), text, HELP_COLUMN, "");
	printf("%s\n", text);
}

static void print_option(const struct command_option *option)
{
	char letter[8] = "    ";
	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	int width = printf("  %s--%s%s%s", letter, option->name, option->argument ? "=" : "",
			   option->argument ? option->argument : "");
	if (width >= HELP_COLUMN) {
		printf("\n");
		width = 0;
	}
	printf("%*s", HELP_COLUMN - width, "");
	print_help_text(option->help);
}

void command_help(const struct command *command)
{
	static const struct command_option help = {'h', "help", NULL, "print this help"},
					   version = {'V', "version", NULL, "print the version"};
	printf("Usage: gsym %s [OPTION...] %s\n%s.\n\nOptions:\n", command->name, command->operands,
	       command->summary);
	for (const struct command_option *option = command->options; option && option->name; option++)
		print_option(option);
	print_option(&help);
	print_option(&version);
	if (command->examples)
		printf("\nExamples:\n%s\n", command->examples);
}

void program_version(void)
{
	printf("gsym %s\n", GSYMFS_VERSION);
}

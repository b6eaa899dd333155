/*
 * cli_help.h - what --help and --version print.
 */
#ifndef CLI_COMMAND_CLI_HELP_H
#define CLI_COMMAND_CLI_HELP_H

#include "cli/command/command.h"

/* Prints usage, options and examples of @command to standard output. */
void command_help(const struct command *command);

/* Prints the program's name and version to standard output. */
void program_version(void);

#endif

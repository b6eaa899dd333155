/*
 * gsym: conversion, lookup and inspection of GSYM files on the command line.
 *
 * The steps in order, and where each is (paths below cli/):
 *   main.c                     finds the command in the table below; reports failed output at the end
 *   command/cli_options.c      parses the command's options, prints its --help
 *   convert/cmd_convert.c      object file to GSYM: command/out_file.c publishes the output, summary.c
 *                              reports, compare.c verifies in a child; recursive.c converts a directory,
 *                              several files at a time
 *   convert/cmd_segment.c      splits GSYM into several files: segment.c
 *   convert/cmd_transcode.c    writes GSYM in another version or byte order
 *   convert/cmd_verify.c       gsym/check: rules of the format; compare.c: against the object file
 *   lookup/cmd_lookup.c        addresses to functions and lines; lookup_merged.c: all that share code;
 *                              object_lookup.c: of object files, through the cache of gsymfs
 *   lookup/cmd_stack.c         the same for stacks; cmd_filter.c: for logs; image_files.c and
 *                              image_name.c find the images that these refer to
 *   symbolizer/symbolizer.c    the program under the name of addr2line or llvm-symbolizer: parses options
 *                              (symbolizer_options.c, response_file.c), for each line makes the query
 *                              (symbol_query.c), finds its module (module_table.c) and the answer
 *                              (symbol_answer.c), and prints that in a style (style_*.c)
 *   inspect/cmd_dump.c         prints a whole file
 *   inspect/cmd_statistics.c   counts its bytes
 *   store/cmd_store.c          a store that several hosts share: keygen, get, put, list, verify, prune
 *   worker/cmd_worker.c        the sandboxed process that converts for a client: work/sandbox drops
 *                              privileges; debuginfod_client.c obtains files from servers, swift_worker.c
 *                              demangles Swift's names
 *   command/message.c          standard error, standard output
 *
 * To add a command: a file with a struct command, its declaration in command/commands.h, a row below, a
 * line in meson.build and a section in docs/gsym.1.
 */
#include "cli/command/commands.h"
#include "cli/command/message.h"
#include "cli/symbolizer/symbolizer.h"
#include "gsym/base/suggestion.h"
#include "gsym/base/vec.h"
#include "work/swift/swift_names.h"
#include "work/types/convert_revision.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&command_convert,   &command_lookup, &command_stack,      &command_filter,
	&command_dump,      &command_verify, &command_statistics, &command_segment,
	&command_transcode, &command_store,  &command_worker,
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

static void list_commands(FILE *to)
{
	fputs("Usage: gsym COMMAND [OPTION...] FILE...\n\nCommands:\n", to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i]->brief)
			fprintf(to, "  %-12s%s\n", commands[i]->name, commands[i]->brief);
	fputs("\n'gsym help COMMAND' lists the options of a command; gsym(1) has the details.\n", to);
}

static int refuse_command(const char *name)
{
	struct suggestion meant = suggestion_begin(name, strlen(name));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i]->brief)
			suggestion_try(&meant, commands[i]->name);
	if (meant.best)
		complain("command '%s': unknown; did you mean '%s'? 'gsym help' lists all", name, meant.best);
	else
		complain("command '%s': unknown; 'gsym help' lists all", name);
	return STATUS_USAGE;
}

/* gsym help [COMMAND] */
static int help(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (argc > 2) {
		complain("extra operand '%s'; try 'gsym help COMMAND'", argv[2]);
		return STATUS_USAGE;
	}
	bool is_itself = argc > 1 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0);
	if (argc > 1 && !command && !is_itself)
		return refuse_command(argv[1]);
	if (command)
		command_help(command);
	else
		list_commands(stdout);
	return STATUS_OK;
}

static int run_command(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	char revision[REVISION_TEXT_SIZE];
	if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return help(argc, argv);
	if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
		program_version();
		printf("converter: %s\n", convert_revision_all(revision));
		return STATUS_OK;
	}
	return command ? command->run(argc, argv) : refuse_command(argv[0]);
}

/* Output that cannot be written is a failure, even if the command succeeded. */
static int finish_output(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("standard output: write failed");
		return STATUS_FAILED;
	}
	return status;
}

/*
 * Occupies standard descriptors that are closed, so that no output file gets one, and with it the messages.
 * Reading and writing them fails as before.
 */
static bool occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	if (!occupy_standard_descriptors())
		return STATUS_FAILED; /* there may be nowhere to say so */
	swift_names_begin("/proc/self/exe", -1);
	enum symbolizer_dialect dialect = argc ? symbolizer_dialect_of(argv[0]) : 0;
	if (dialect)
		return finish_output(symbolizer_main(dialect, argc, argv));
	if (argc < 2) {
		list_commands(stderr);
		return STATUS_USAGE;
	}
	return finish_output(run_command(argc - 1, argv + 1));
}

/*
 * gsym: conversion, lookup and inspection of GSYM files on the command line.
 *
 * What happens, in order, and where (paths below convert/cli/):
 *   main.c                     finds the command in the table below; reports failed output at the end
 *   cli_options.c              parses the command's options, prints its --help
 *   convert/cmd_convert.c      object file to GSYM: progress.c while it runs, out_file.c publishes the
 *                              output, summary.c reports, compare.c verifies in a child (isolate.c)
 *   convert/cmd_segment.c      splits GSYM into several files: segment.c, segment_files.c
 *   convert/cmd_transcode.c    writes GSYM in another version or byte order
 *   convert/cmd_verify.c       check.c: rules of the format; compare.c: against the object file
 *   lookup/cmd_lookup.c        addresses to functions and lines; lookup_merged.c: all that share code;
 *                              object_lookup.c: of object files, through the cache of gsymfs
 *   lookup/cmd_stack.c         the same for stacks; cmd_filter.c: for logs; image_files.c and
 *                              image_name.c find the images that these refer to
 *   inspect/cmd_dump.c         prints a whole file: dump_tables.c, dump_function.c
 *   inspect/cmd_statistics.c   counts its bytes
 *   worker/cmd_worker.c        the sandboxed process that converts for a client: sandbox.c drops
 *                              privileges, file_requests.c obtains files from the client,
 *                              debuginfod_client.c from servers
 *   message.c, output.c        standard error, standard output
 *
 * To add a command: a file with a struct command, its declaration in commands.h, a row below, a line in
 * meson.build and a section in docs/gsym.1.
 */
#include "convert/cli/commands.h"
#include "convert/cli/message.h"
#include "gsym/base/vec.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
	&command_convert, &command_lookup,     &command_stack,   &command_filter,    &command_dump,
	&command_verify,  &command_statistics, &command_segment, &command_transcode, &command_worker,
};

static int help(void)
{
	printf("Usage: gsym COMMAND [OPTION...] FILE...\n\nCommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i]->brief)
			printf("  %-12s%s\n", commands[i]->name, commands[i]->brief);
	printf("\n'gsym COMMAND --help' lists the options of a command; gsym(1) has the details.\n");
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[0], commands[i]->name) == 0)
			return commands[i]->run(argc, argv);
	complain("command '%s': unknown; try 'gsym --help'", argv[0]);
	return STATUS_USAGE;
}

/* Output that cannot be written is a failure, even if the command succeeded. */
static int finish(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("standard output: write failed");
		return STATUS_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		complain("missing command; try 'gsym --help'");
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return finish(help());
	if (strcmp(argv[1], "--version") == 0) {
		printf("gsym %s\n", GSYMFS_VERSION);
		return finish(STATUS_OK);
	}
	return finish(run(argc - 1, argv + 1));
}

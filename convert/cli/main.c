/* gsym: conversion, lookup and inspection of GSYM files on the command line. */
#include "convert/cli/commands.h"
#include "convert/cli/message.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary; /* NULL: not for users */
};

static const struct command commands[] = {
	{"convert", cmd_convert, "make a GSYM file from an object file"},
	{"lookup", cmd_lookup, "say which functions, files and lines addresses belong to"},
	{"stack", cmd_stack, "the same for the frames of stacks, telling folded functions apart"},
	{"filter", cmd_filter, "copy a log and write functions, files and lines to its addresses"},
	{"dump", cmd_dump, "print everything a GSYM file holds"},
	{"verify", cmd_verify, "check a GSYM file, alone or against the object file it was made from"},
	{"statistics", cmd_statistics, "say how many bytes of a GSYM file go where"},
	{"segment", cmd_segment, "cut a GSYM file into several of about one size"},
	{"transcode", cmd_transcode, "write a GSYM file again in another version or byte order"},
	{"worker", cmd_worker, NULL},
};

static int help(void)
{
	printf("Usage: gsym COMMAND [OPTION...] FILE...\n\nCommands:\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].summary)
			printf("  %-12s%s\n", commands[i].name, commands[i].summary);
	printf("\n\"gsym COMMAND --help\" lists the options of a command; gsym(1) has the details.\n");
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
	complain("'%s' is not a command (gsym --help lists them)", argv[0]);
	return STATUS_USAGE;
}

/* Output that did not reach its file is a failure, whatever the command thought of itself. */
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
		complain("no command given (gsym --help lists them)");
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

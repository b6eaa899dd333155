/* compare.h - comparing a GSYM file with its object file, and the report. */
#ifndef CLI_CONVERT_COMPARE_H
#define CLI_CONVERT_COMPARE_H

#include "convert/verify/verify.h"

#include <stdbool.h>
#include <stdio.h>

struct comparison {
	const char *input; /* the object file */
	const struct gsym_reader *reader;
	struct verify_options options;
	FILE *file;          /* where the report goes */
	bool quiet;          /* report differences only */
	bool dwarf_optional; /* an object file without DWARF, with which nothing can be compared, is no
				failure */
};

/*
 * Returns an enum command_status: STATUS_FAILED also when there are differences. Forks, so that the caller
 * must have no other threads.
 */
int compare(const struct comparison *comparison);

#endif

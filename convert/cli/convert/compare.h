/* compare.h - a comparison of a GSYM file with its object file, and what is told of it. */
#ifndef CONVERT_CLI_CONVERT_COMPARE_H
#define CONVERT_CLI_CONVERT_COMPARE_H

#include "convert/verify/verify.h"

#include <stdbool.h>
#include <stdio.h>

struct comparison {
	const char *input; /* the object file */
	const struct gsym_reader *reader;
	struct verify_options options;
	FILE *file;        /* where the report goes */
	bool quiet;        /* report differences only */
	bool dwarf_or_not; /* an object file without DWARF is no failure: there is nothing that could differ
			    */
};

/* Returns an enum exit_status: STATUS_FAILED also when there are differences. */
int compare(struct comparison *comparison);

#endif

/* summary.h - the report of a conversion or a comparison. */
#ifndef CLI_CONVERT_SUMMARY_H
#define CLI_CONVERT_SUMMARY_H

#include "convert/convert.h"
#include "convert/verify/verify.h"

#include <stdio.h>

/* Prints what was read and written, then the warnings of the input by kind. */
void summary_print(FILE *file, const char *input, const char *output, const struct convert_summary *summary);

/*
 * Writes the warnings as JSON to @path: "error-categories" by kind with "count", and "error-count"; of a
 * relocatable file also "sections" with "name", "address", "size", "code".
 */
int summary_write_json(const char *path, const struct convert_summary *summary, struct gsym_diag *diag);

/* Prints the classes of results of a comparison with @input, differences with examples. */
void summary_print_report(FILE *file, const char *input, const struct verify_report *report);

#endif

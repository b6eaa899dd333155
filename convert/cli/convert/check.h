/* check.h - checks a GSYM file against the rules of the format. */
#ifndef CONVERT_CLI_CONVERT_CHECK_H
#define CONVERT_CLI_CONVERT_CHECK_H

#include "gsym/gsym.h"

/*
 * Decodes every record, follows every string and file index and checks the order of addresses. Prints the
 * first faults with their places in @path on standard error and stores their number. 0 or -ENOMEM.
 */
int check_gsym(const struct gsym_reader *reader, const char *path, uint64_t *ret_faults);

#endif

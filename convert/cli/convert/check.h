/* check.h - checks a GSYM file against the rules of the format. */
#ifndef CONVERT_CLI_CONVERT_CHECK_H
#define CONVERT_CLI_CONVERT_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "gsym/gsym.h"

/*
 * Decodes every record, follows every string and file index and checks the order of addresses. Prints the
 * first faults with their places in @path on standard error and stores their number. 0 or -ENOMEM.
 */
int check_gsym(const struct gsym_reader *reader, const char *path, uint64_t *ret_faults);

/*
 * Likewise, but ends with the first fault, and prints nothing. 0; -EBADMSG, also if records share so many of
 * their bytes that to decode them all would take too long; -ECANCELED once @canceled is true; or -ENOMEM.
 */
int check_gsym_first(const struct gsym_reader *reader, const atomic_bool *canceled, struct gsym_diag *diag);

#endif

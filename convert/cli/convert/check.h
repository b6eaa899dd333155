/* check.h - is every byte of a GSYM file as the format wants it? */
#ifndef CONVERT_CLI_CONVERT_CHECK_H
#define CONVERT_CLI_CONVERT_CHECK_H

#include "gsym/gsym.h"

/*
 * Decodes every record, follows every string and file index and checks the order of addresses. Each fault is
 * told on standard error with the place it has in @path, the first ones in full. Writes their number.
 * 0 or -ENOMEM.
 */
int check_gsym(const struct gsym_reader *reader, const char *path, uint64_t *ret_faults);

#endif

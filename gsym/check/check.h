/* check.h - checks a GSYM file against the rules of the format, gsym(5), "What verify refuses". */
#ifndef GSYM_CHECK_CHECK_H
#define GSYM_CHECK_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "gsym/gsym.h"

/* Takes the faults of a file. */
struct check_report {
	/* Receives one fault with its place; false ends the check. */
	bool (*fault)(void *user, const char *text);
	void *user;
};

/* Reads every byte of the file. Returns 0 when all were read or the report ended the check, or -ENOMEM. */
int check_gsym(const struct gsym_reader *reader, const struct check_report *report);

/*
 * Checks likewise, but ends with the first fault. Returns 0; -EBADMSG, also if records share so many of their
 * bytes that to decode them all would take too long; -ECANCELED once @canceled is true; or -ENOMEM.
 */
int check_gsym_first(const struct gsym_reader *reader, const atomic_bool *canceled, struct gsym_diag *diag);

#endif

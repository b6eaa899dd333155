/* message.h - what the program says on standard error. Names from files are escaped on their way there. */
#ifndef CONVERT_CLI_MESSAGE_H
#define CONVERT_CLI_MESSAGE_H

#include "gsym/gsym.h"

#include <stdio.h>

/* Prints "gsym: " and the line. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints one line to @file, escaped. */
void say(FILE *file, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reports that @what (a file, mostly) failed with @err, in the words of @diag when it has any. Returns
 * STATUS_FAILED.
 */
int fail(const char *what, int err, const struct gsym_diag *diag);

#endif

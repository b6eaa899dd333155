/* message.h - messages on standard error, in which names from files are escaped; exit status. */
#ifndef CLI_COMMAND_MESSAGE_H
#define CLI_COMMAND_MESSAGE_H

#include "gsym/gsym.h"

#include <stdio.h>

/* What a command, and main(), returns. */
enum command_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/* Prints "gsym: " and the line. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints one line to @file, escaped. */
void say(FILE *file, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints that @what, usually a file, failed: the text of @diag if it has one, else that of the negative errno
 * @err. Returns STATUS_FAILED.
 */
int fail(const char *what, int err, const struct gsym_diag *diag);

#endif

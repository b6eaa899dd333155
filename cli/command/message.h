/*
 * message.h - messages on standard error, in which names from files are escaped; buffered writing to standard
 * output; exit status.
 */
#ifndef CLI_COMMAND_MESSAGE_H
#define CLI_COMMAND_MESSAGE_H

#include "gsym/base/text_buf.h"
#include "gsym/gsym.h"

#include <stdio.h>

/* What a command, and main(), returns. */
enum command_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/*
 * Sets whom messages are from, "gsym" at first: @program, and its @command, which may be empty. Longer ones
 * are cut.
 */
void message_speaker(const char *program, const char *command);

/* Prints a line on standard error that begins with whom it is from: "gsym lookup: ". */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints one line to @file, escaped. */
void say(FILE *file, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints that @what, usually a file, failed: the text of @diag if it has one, else that of the negative errno
 * @err. Returns STATUS_FAILED.
 */
int fail(const char *what, int err, const struct gsym_diag *diag);

/* ---- Output ---- */

enum { OUTPUT_PIECE = 64 * 1024 };

/*
 * Writes all of @buf and empties it: 0, -ENOMEM if the buffer had failed, or the negative errno of write(2).
 */
int output_flush(struct text_buf *buf);

/* The same, once the buffer holds a piece. */
static inline int output_drain(struct text_buf *buf)
{
	return buf->n >= OUTPUT_PIECE || buf->failed ? output_flush(buf) : 0;
}

/* Reports that making or writing output failed with @err. Returns STATUS_FAILED. */
int output_fail(int err);

#endif

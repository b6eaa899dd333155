/*
 * diag.h - diagnostics that accompany an error code.
 *
 * Functions that can fail return 0 or a negative errno; the message goes into an optional struct gsym_diag
 * of the caller (NULL is accepted everywhere). Layers that know more prepend context: a decoder says what
 * is wrong and where, its callers put section and file in front.
 */
#ifndef GSYM_BASE_DIAG_H
#define GSYM_BASE_DIAG_H

#include "gsym/gsym.h"

/* Replaces the text and returns @err, so that a failure is one statement. */
int diag_set(struct gsym_diag *diag, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the text, or of what strerror(3) says if there is none, and returns @err. */
int diag_prefix(struct gsym_diag *diag, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

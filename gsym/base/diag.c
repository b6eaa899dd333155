#include "gsym/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int diag_set(struct gsym_diag *diag, int err, const char *fmt, ...)
{
	if (!diag)
		return err;
	va_list args;
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	return err;
}

int diag_prefix(struct gsym_diag *diag, int err, const char *fmt, ...)
{
	if (!diag)
		return err;
	char old[sizeof(diag->text)];
	memcpy(old, diag->text, sizeof(old));
	if (!*old) /* no message was set: fall back to that of the errno */
		snprintf(old, sizeof(old), "%s", strerror(-err));
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	/* The precision is all that fits after an empty prefix; without it gcc -O0 warns of a truncation. */
	if (n >= 0 && (size_t)n < sizeof(diag->text))
		snprintf(diag->text + n, sizeof(diag->text) - (size_t)n, ": %.*s", (int)sizeof(old) - 3, old);
	return err;
}

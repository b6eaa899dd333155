/*
 * tell_reason.h - says on standard error why answers are "??", each reason once a module: to people on a
 * terminal, and to who asks for it with --verbose. Nothing is computed for others.
 */
#ifndef CLI_LOOKUP_TELL_REASON_H
#define CLI_LOOKUP_TELL_REASON_H

#include <unistd.h>

#include "work/run/reason.h"

#define OPTION_VERBOSE(type, member)                                                                 \
	{                                                                                            \
		0, "verbose", NULL,                                                                  \
			"say on standard error why an answer is unknown, as\nis done on a terminal", \
			OPTION_FLAG(type, member)                                                    \
	}

/* Returns whether reasons are printed. */
static inline bool tells_reasons(bool verbose)
{
	return verbose || isatty(STDERR_FILENO);
}

/* The reasons that a module's user has been told. Zero-initialise. */
struct told_reasons {
	unsigned kinds;    /* bits of enum reason */
	unsigned examined; /* addresses */
};

/*
 * Says why the link-time address @addr has no function, or no file and line, if that was not told.
 *
 * @told: of the module, kept by the caller
 * @module: what the line begins with
 * @reader, @handle: as for reason_append(); a NULL reader has no reasons
 */
void tell_reason(struct told_reasons *told, const char *module, const struct gsym_reader *reader,
		 const struct handle *handle, uint64_t addr);

#endif

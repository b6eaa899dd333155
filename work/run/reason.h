/*
 * reason.h - why the answer to an address is "??", or has a "??" in it: one line for people.
 */
#ifndef WORK_RUN_REASON_H
#define WORK_RUN_REASON_H

#include "work/cache/handle.h"

/* The reasons; people are told each once a module, however many addresses have it. */
enum reason {
	REASON_NONE,    /* the address has a function and a file */
	REASON_BEFORE,  /* it is before the image */
	REASON_AFTER,   /* it is after the image, as runtime addresses are */
	REASON_BETWEEN, /* no function has it */
	REASON_NO_LINE, /* its function has no file and line */
};

/*
 * Appends to @out, as one line without its end, why the link-time address @addr has no function, or no file
 * and line, with the range that has none, where debug data was looked for, and what to do.
 *
 * @reader: the image
 * @handle: its entry of the cache, which is mapped and may be cut short, see handle_run(); NULL where the
 *          image is a GSYM file, of whose conversion nothing is known
 * @answer: memory, of the caller as all that is allocated while the file is read
 *
 * The reason; of REASON_NONE the line says what the address is.
 */
enum reason reason_append(struct text_buf *out, const struct gsym_reader *reader, const struct handle *handle,
			  uint64_t addr, struct gsym_answer *answer);

#endif

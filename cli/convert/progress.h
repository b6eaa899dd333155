/* progress.h - a line on the terminal while a conversion runs, and a way to stop it. */
#ifndef CLI_CONVERT_PROGRESS_H
#define CLI_CONVERT_PROGRESS_H

#include "work/types/convert_types.h"

#include <stdbool.h>

struct progress_line {
	bool visible;
	bool dirty;    /* a line is shown and has to be erased */
	int64_t shown; /* milliseconds of the monotonic clock when the line was last written */
};

/*
 * Makes @options report to @progress. From now on SIGINT and SIGTERM make the conversion return -ECANCELED,
 * so that its output can be removed; a second signal terminates the process.
 */
void progress_start(struct progress_line *progress, struct convert_options *options);

/* Erases the line. */
void progress_end(struct progress_line *progress);

#endif

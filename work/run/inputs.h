/*
 * inputs.h - the neighbours that a conversion looked for, to detect later that its result is outdated.
 *
 * Stored as text with the result: for each path, as neighbour_open() takes it, a line of a fingerprint and
 * the path. Dashes stand for a file that did not exist, exclamation marks for one that this process was not
 * allowed to read or to look for, which holds for others only if they are not, either. In the path a
 * line break is \n, and a backslash is doubled. A line for debuginfod servers has a fingerprint of their
 * URLs, and instead of a path the word "debuginfod" and a time.
 */
#ifndef WORK_RUN_INPUTS_H
#define WORK_RUN_INPUTS_H

#include "gsym/base/bytes.h"
#include "gsym/base/text_buf.h"
#include "work/run/neighbour.h"

/*
 * Records that @path was looked for and what was found: @file, or NULL. False, and nothing is recorded, if
 * there are too many: then it must not be used.
 */
bool inputs_add(struct text_buf *inputs, const char *path, const struct neighbour *file);

/* Appends that this process was not allowed to open @path: as inputs_add(). */
bool inputs_add_denied(struct text_buf *inputs, const char *path);

enum { INPUTS_LINE_SIZE = 4096 + 64 }; /* of a path with what is before it, and its NUL */

/*
 * Takes the next line of [@at, @end): @ret is the fingerprint, a space and the path. Returns what follows the
 * line, or NULL if it is malformed.
 */
const char *inputs_next(const char *at, const char *end, char ret[static INPUTS_LINE_SIZE]);

enum { ASKED_SECONDS_MAX = 2 * 3600 }; /* for which servers are not queried again, at most */

/*
 * Records that the servers of @search had no usable debug data and are to be queried again at @again, in
 * seconds since the epoch. Files they did send are not recorded: the build id identifies their content.
 */
void inputs_add_asked(struct text_buf *inputs, const struct search_path *search, int64_t again);

/*
 * 0 if no input has changed and no server is due to be queried again; -ESTALE if one has, or the text is
 * malformed; else the errno of looking at one, which may be there unchanged: what was made of them is neither
 * outdated nor known to be right. @inputs may lie in a mapped file, see guard.h; one cut short is malformed.
 */
int inputs_check(struct span inputs, const struct search_path *search);

#endif

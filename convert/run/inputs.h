/*
 * inputs.h - the neighbours a conversion asked for, so that it can be told later whether its result is still
 * what a new one would be.
 *
 * Kept as text in the cache beside what was made: for each path a line of a fingerprint and the path, with
 * a fingerprint of dashes for a file that was not there. A line for servers of debuginfod has a fingerprint
 * of which, and instead of a path the word "debuginfod" and a time.
 */
#ifndef CONVERT_RUN_INPUTS_H
#define CONVERT_RUN_INPUTS_H

#include "gsym/base/bytes.h"
#include "gsym/base/text_buf.h"
#include "convert/run/neighbour.h"

/*
 * Notes that @path was asked for, and what it was; NULL: not there. False when it cannot be noted, and must
 * then not be used: its name has a line break, or there are too many.
 */
bool inputs_add(struct text_buf *inputs, const char *path, const struct neighbour *file);

/*
 * Notes that the servers of @search were asked for debug data in vain, and may have it @again, in seconds
 * since the epoch. What they gave is not noted: it has a build id, which stands for its content.
 */
void inputs_add_asked(struct text_buf *inputs, const struct search_path *search, int64_t again);

/*
 * Whether all of them are what they were, and no server is to be asked again. Anything but such text counts
 * as a change. @inputs may lie in a mapped file that shrinks.
 */
bool inputs_unchanged(struct span inputs, const struct search_path *search);

#endif

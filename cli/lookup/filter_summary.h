/* filter_summary.h - what gsym filter tells on standard error: what it did not explain, why, what helps. */
#ifndef CLI_LOOKUP_FILTER_SUMMARY_H
#define CLI_LOOKUP_FILTER_SUMMARY_H

#include "cli/lookup/image_files.h"
#include "log/engine/filter.h"

/*
 * Tells at once of frames with another size than in the image: a log that is followed has no end.
 *
 * @filter: after a call of filter_write()
 * @reported:   entries of filter_unexplained() looked at; advanced
 */
void filter_report_builds(const struct filter *filter, size_t *reported);

/* Tells at the end how many frames were explained, and of each module that was not, with what is at hand. */
void filter_tell_summary(const struct filter *filter, const struct image_files *images);

#endif

/*
 * share.h - conversions taken from, and given to, the directory that hosts share.
 *
 * An entry must not depend on who made it. Its key is made of what the converter was given: the id, the file
 * by a sample of its content, its path, owner and permissions, where neighbours may be, and options.
 * Neighbours are noted as in inputs.h, but by a sample of their content. A sample tells versions of a file
 * apart, not forgeries, so only files of root or of the daemon's user, which nobody else may write to, and
 * with 256 neighbours at most, are shared: of others, a copy with the same id could reach answers which it
 * must not, or bring wrong ones to all hosts. Nor is shared what servers of debuginfod were asked for.
 */
#ifndef CONVERT_RUN_SHARE_H
#define CONVERT_RUN_SHARE_H

#include "convert/run/convert_job.h"
#include "convert/cache/shared_dir.h"

/* A conversion that others may have. */
struct share_offer;

/*
 * Looks for what @job would make: true, with the job's outcome, when another host has made it of the same
 * files. The job is prepared; whatever happens, its conversion can still be run if there is no outcome.
 */
bool share_take(struct convert_job *job);

/* What was made of @job, which has ended well, to be given when nobody waits any more; NULL: it is not for
 * others. */
struct share_offer *share_offer(const struct convert_job *job);

/* Puts it into the directory, and frees it. NULL is allowed. May block for as long as a file server does. */
void share_give(struct shared_dir *shared, struct run_counters *counters, struct share_offer *offer);

#endif

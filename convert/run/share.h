/*
 * share.h - takes conversions from the shared directory, and publishes them there.
 *
 * An entry must not depend on the host that made it. Its key is a hash of all inputs of the converter: the
 * id, the file's sampled hash, path, owner and permissions, the search path, and options. Neighbours are
 * recorded as in inputs.h, but by a sampled hash. A sampled hash can be forged, so only files that belong to
 * root or the daemon's user and are writable by no other user are shared, with at most 256 neighbours:
 * otherwise a forged file with the same id could inject wrong answers into all hosts. Conversions that
 * queried debuginfod servers are not shared either.
 */
#ifndef CONVERT_RUN_SHARE_H
#define CONVERT_RUN_SHARE_H

#include "convert/run/convert_job.h"
#include "convert/cache/shared_dir.h"

/* A conversion to be published. */
struct share_offer;

/*
 * Looks for the result of @job, which is prepared, in the shared directory. True, with the job's outcome set,
 * if another host converted the same files. If false, the job can still be run.
 */
bool share_take(struct convert_job *job);

/* The result of @job, which succeeded, to be published after waiting calls were woken; NULL: not to be
 * shared. */
struct share_offer *share_offer(const struct convert_job *job);

/* Publishes @offer and frees it; NULL is allowed. Blocks as long as the file server does. */
void share_give(struct shared_dir *shared, struct run_counters *counters, struct share_offer *offer);

#endif

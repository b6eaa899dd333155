/* job_files.h - files that a worker asks its client for. For convert_run.c and fragment_run.c only. */
#ifndef WORK_RUN_JOB_FILES_H
#define WORK_RUN_JOB_FILES_H

#include "work/worker/child.h"
#include "work/run/convert_job.h"

/* Opens a neighbour for the worker, or replies with an errno. 0. */
int job_open_neighbour(struct convert_job *job, const struct child *child, const struct worker_open *m);

/* Fetches a debug file for the worker, which waits. 0, or -ECANCELED if the daemon ends. */
int job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m);

#endif

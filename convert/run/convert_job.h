/* convert_job.h - a conversion under way. For convert_run.c, judge.c and share.c only. */
#ifndef CONVERT_RUN_CONVERT_JOB_H
#define CONVERT_RUN_CONVERT_JOB_H

#include "convert/run/converter.h"
#include "convert/worker/worker.h"
#include "gsym/base/text_buf.h"

struct convert_job {
	const struct converter *converter;
	const struct convert_request *request;
	struct outcome *out;
	int input, binary; /* the object file and its other half; -1: none */
	struct cache_temp temp;
	struct text_buf notes;
	struct text_buf inputs;
	bool asked;        /* for a neighbour, or a file from servers */
	unsigned uses;     /* neighbours opened */
	unsigned fetches;  /* of debug files from servers */
	bool fetched;      /* one of them was given */
	int fetch_failure; /* why servers could not be asked, or 0 */
	int64_t again; /* when to ask those who failed or did not have it, in seconds since the epoch; 0: not
			*/
	int64_t waited_ms; /* for servers, which takes none of the conversion's time */
	bool has_done, has_failed;
	struct worker_done done;
	struct worker_failed failed;
	int64_t started_ms;
};

/*
 * Opens the object file, and its other half if there is one, and makes a file in the cache. 0, or a negative
 * errno with the job's outcome set. Undone by job_close().
 */
int job_prepare(struct convert_job *job);
void job_close(struct convert_job *job);

/* Fills in how it ends; the words are set by the caller. */
static inline void job_fail(struct outcome *out, enum verdict verdict, int err)
{
	out->verdict = verdict;
	out->err = err;
}

/* Whether the object file is still in the state that was scanned, and that the key stands for. */
bool job_input_is_unchanged(const struct convert_job *job);

#endif

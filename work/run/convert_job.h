/* convert_job.h - a running conversion. For files of this directory only. */
#ifndef WORK_RUN_CONVERT_JOB_H
#define WORK_RUN_CONVERT_JOB_H

#include "work/cache/cache_temp.h"
#include "work/run/converter.h"
#include "work/worker/worker.h"
#include "gsym/base/text_buf.h"
#include "work/cache/handle.h"

struct convert_job {
	const struct converter *converter;
	const struct convert_request *request;
	struct outcome *out;
	int input, binary; /* the object file, and the file with its code; -1: none */
	struct cache_temp temp;
	int fragment; /* what the worker writes first, in memory; -1: none yet */
	bool has_fragment;
	struct text_buf notes;
	struct text_buf inputs;
	bool asked;        /* the worker requested a neighbour, or a file from servers */
	unsigned uses;     /* neighbours opened */
	unsigned denials;  /* files that this process may not read */
	unsigned fetches;  /* of debug files from servers */
	bool fetched;      /* a server had one */
	int fetch_failure; /* why servers could not be reached, or 0 */
	int64_t again;     /* when to query servers again, in seconds since the epoch; 0: not applicable */
	int64_t waited_ms; /* for servers: not charged to convert_time */
	bool in_memory;    /* the output, since the cache is full */
	bool no_room;      /* the outcome: the cache is full, memory was not tried */
	bool has_done, has_failed;
	struct worker_done done;
	struct worker_failed failed;
	int64_t started_ms;
	bool has_slot; /* of converter.slots */
};

/*
 * Opens the input files and creates a temporary file in the cache. 0, or a negative errno with the job's
 * outcome set. Undone by job_close().
 */
int job_prepare(struct convert_job *job);
/* The input files alone. */
int job_open_files(struct convert_job *job);
/* The same without the temporary file, for a job that is to make fragments only. */
int job_prepare_fragments(struct convert_job *job);
void job_close(struct convert_job *job);

/* Sets verdict and errno; the caller sets the message. */
static inline void job_fail(struct outcome *out, enum verdict verdict, int err)
{
	out->verdict = verdict;
	out->err = err;
}

/* There is no room for the output: in the cache, or not even in memory. Sets no message. */
void job_fail_for_room(struct convert_job *job);

/*
 * Opens the fragment of which the worker tells with @m: 0, also if there is none; -ESTALE if an input file
 * has changed; or the errnos of fragment_take().
 */
int job_take_fragment(const struct convert_job *job, const struct worker_fragment *m, struct handle **ret);

/*
 * 0 if the input files are still in the state that was scanned and from which the key was computed; else as
 * file_state_check().
 */
int job_check_input(const struct convert_job *job);

/* ---- The fragment that a worker has written, as an open image ---- */

enum { FRAGMENT_SIZE_MAX = 64 << 20 };

/*
 * A file in memory for a worker to write, which cannot grow beyond FRAGMENT_SIZE_MAX: no other limit of the
 * worker counts it. A descriptor or a negative errno.
 */
int fragment_file_new(void);

/*
 * Opens a copy: the worker could change its own while it is read.
 *
 * @from: what the worker has written, and
 * @m:    what it says of that
 * @key:  of the entry that the whole is going to be
 * @ret:  with a reference for the caller
 *
 * 0; -EPROTO if the fragment is not what the message says, or no GSYM of this image; -EFBIG if it is too
 * large to be copied; or a negative errno of this machine.
 */
int fragment_take(int from, const struct worker_fragment *m, const char *key, struct handle **ret);

#endif

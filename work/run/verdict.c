#include "work/run/job_worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "gsym/base/diag.h"
#include "work/os/retry.h"
#include "work/run/inputs.h"
#include "work/cache/notes.h"
#include "work/cache/publish.h"
#include "work/worker/child.h"

enum {
	CPU_GRACE_SECONDS = 5,  /* between SIGXCPU and SIGKILL, as the worker sets its limit */
	USELESS_SECONDS = 3600, /* before servers are asked again whose file had no debug data */
};

/* Records that servers may have more later, if they failed, had no file, or sent one without debug data. */
static void note_asked(struct convert_job *job)
{
	bool in_vain = job->fetched && !job->done.units;
	int64_t again = job->again;
	if (!again && in_vain)
		again = time(NULL) + USELESS_SECONDS;
	if (again)
		inputs_add_asked(&job->inputs, &job->converter->search, again);
}

/* No debug data here, and no server could be reached: a temporary failure, not one of the file. */
static void verdict_unreachable(struct convert_job *job)
{
	struct outcome *out = job->out;
	diag_prefix(&out->diag, job->fetch_failure, "debuginfod: %s; asking again later",
		    strerror(-job->fetch_failure));
	job_fail(out, VERDICT_FAILED, fetch_errno(job->fetch_failure));
	out->again = job->again;
}

/*
 * The worker says that the directory is full. It is not trusted, and its file may be too large for a
 * directory that has room for others: theirs are kept in memory only if hardly anything can be written.
 */
static void verdict_no_room(struct convert_job *job)
{
	struct cache *cache = job->converter->cache;
	int err = job->in_memory ? 0 : cache_temp_probe(&job->temp);
	if (cache_error_is_full(err))
		cache_note_full(cache, err);
	else if (!job->in_memory)
		log_info(cache->log, "no room in the cache directory for '%s' (%s): trying memory",
			 job->request->source.path, job->request->id);
	job_fail_for_room(job);
}

/* The worker reported an error. Limits of this mount are not recorded in the cache. */
static void verdict_reported(struct convert_job *job)
{
	struct outcome *out = job->out;
	int err = -job->failed.error;
	diag_set(&out->diag, err, "%s", job->failed.text);
	if (fault_of(err) == FAULT_ROOM) {
		verdict_no_room(job);
	} else if (err == -EFBIG && job->in_memory) {
		job_fail_for_room(job);
	} else if (err == -ENOMEM && job->failed.at_limit) {
		diag_prefix(&out->diag, err, "needs more than convert_memory=%llu bytes of memory",
			    (unsigned long long)job->converter->memory);
		job_fail(out, VERDICT_FAILED, -EFBIG);
	} else if (err == -ENODATA && job->fetch_failure) {
		verdict_unreachable(job);
	} else {
		const enum fault fault = fault_of_report(err);
		job_fail(out,
			 fault == FAULT_FILE    ? VERDICT_FAILED_FOREVER
			 : fault == FAULT_LIMIT ? VERDICT_FAILED
						: VERDICT_TRANSIENT,
			 fault == FAULT_LIMIT ? -EFBIG : -EIO);
	}
}

static void verdict_signal(struct convert_job *job, int sig, const struct rusage *usage)
{
	struct outcome *out = job->out;
	unsigned limit = job->converter->seconds * job->converter->threads;
	uint64_t used = (uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;
	if (sig == SIGXCPU || (sig == SIGKILL && used + 1 >= (uint64_t)limit + CPU_GRACE_SECONDS)) {
		diag_set(&out->diag, -EFBIG, "needs more processor time than convert_time=%u allows",
			 job->converter->seconds);
		job_fail(out, VERDICT_FAILED, -EFBIG);
		return;
	}
	char end[CHILD_END_SIZE];
	child_end_text(sig, end);
	diag_set(&out->diag, -EIO, "the worker %s%s", end, sig == SIGKILL ? ", as when memory is short" : "");
	out->killed = true;
	job_fail(out, is_crash_signal(sig) ? VERDICT_CRASHED : VERDICT_TRANSIENT, -EIO);
}

/* The daemon killed the worker because of @why. */
static void verdict_killed(struct convert_job *job, int why)
{
	struct outcome *out = job->out;
	if (why == -ETIMEDOUT) {
		diag_set(&out->diag, why, "took longer than convert_time=%u seconds",
			 job->converter->seconds);
		job_fail(out, VERDICT_FAILED, -EFBIG);
	} else if (why == -ECANCELED) {
		diag_set(&out->diag, why, "the conversion was stopped");
		job_fail(out, VERDICT_TRANSIENT, -ENOTCONN);
	} else if (why == -EPROTO) {
		diag_set(&out->diag, why, "the worker violated the protocol");
		job_fail(out, VERDICT_CRASHED, -EIO);
	} else {
		diag_set(&out->diag, why, "cannot speak with the worker: %s", strerror(-why));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
	}
}

static void add_note(struct text_buf *notes, const char *key, uint64_t value)
{
	text_str(notes, key);
	text_char(notes, '\t');
	text_dec(notes, value);
	text_char(notes, '\n');
}

static void publish(struct convert_job *job)
{
	struct outcome *out = job->out;
	struct cache *cache = job->converter->cache;
	note_image_base(&job->notes, job->done.image_base);
	if (job->done.is_relative)
		note_relative(&job->notes);
	if (job->done.has_ada)
		note_ada(&job->notes);
	add_note(&job->notes, "units", job->done.units);
	add_note(&job->notes, "functions_dwarf", job->done.functions_dwarf);
	add_note(&job->notes, "functions_symbols", job->done.functions_symbols);
	if (*job->done.bounded_by)
		note_bounds(&job->notes, job->done.bounded_by);
	struct stat st;
	int why = job->notes.failed || job->inputs.failed ? -ENOMEM : fstat(job->temp.fd, &st) ? -errno : 0;
	if (why) {
		diag_set(&out->diag, why, "cannot take the worker's output: %s", strerror(-why));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
		return;
	}
	if ((uint64_t)st.st_size != job->done.output_size) {
		diag_set(&out->diag, -EIO, "the worker's output has not the size that it reported");
		job_fail(out, VERDICT_CRASHED, -EIO);
		return;
	}
	int err = (job->in_memory ? cache_keep : cache_publish)(
		cache, &job->temp, job->request->key, !job->asked, job->done.output_size,
		text_span(&job->notes), text_span(&job->inputs), &out->handle, &out->diag);
	if (cache_error_is_full(err)) {
		if (!job->in_memory)
			cache_note_full(cache, err);
		job_fail_for_room(job);
		return;
	}
	/* Damage is in what the worker wrote. */
	if (err)
		job_fail(out, fault_of_report(err) == FAULT_FILE ? VERDICT_CRASHED : VERDICT_TRANSIENT, -EIO);
}

/* The result, whatever it is, does not belong to the file that the key was computed from. */
static void verdict_replaced(struct convert_job *job)
{
	diag_set(&job->out->diag, -ESTALE, "%s: changed while it was converted", job->request->source.path);
	job_fail(job->out, VERDICT_REPLACED, -ESTALE);
}

/* Whether it does is not known. */
static void verdict_unchecked(struct convert_job *job, int err)
{
	diag_set(&job->out->diag, err, "%s: cannot stat: %s", job->request->source.path, strerror(-err));
	job_fail(job->out, VERDICT_TRANSIENT, -EIO);
}

/* The worker has exited by itself, without a signal. */
static void verdict_exit(struct convert_job *job, int status)
{
	if (job->has_failed) {
		verdict_reported(job);
	} else if (job->has_done && WEXITSTATUS(status) == 0) {
		publish(job);
	} else {
		diag_set(&job->out->diag, -EIO, "the worker exited without a result (status %d)",
			 WEXITSTATUS(status));
		job_fail(job->out, VERDICT_CRASHED, -EIO);
	}
}

void verdict_decide(struct convert_job *job, int why_killed, int status, const struct rusage *usage)
{
	struct outcome *out = job->out;
	note_asked(job);
	int err = why_killed == -ECANCELED ? 0 : job_check_input(job);
	if (err == -ESTALE)
		verdict_replaced(job);
	else if (err)
		verdict_unchecked(job, err);
	else if (why_killed)
		verdict_killed(job, why_killed);
	else if (WIFSIGNALED(status))
		verdict_signal(job, WTERMSIG(status), usage);
	else
		verdict_exit(job, status);
	if (!out->again && (out->verdict == VERDICT_FAILED || out->verdict == VERDICT_CRASHED))
		out->again = retry_at_limit();
}

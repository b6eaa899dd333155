/*
 * One conversion: opens the object file and a temporary file in the cache, runs a worker that fills it, opens
 * neighbours on the worker's behalf, decides the verdict and publishes the result.
 *
 * The worker is untrusted. Its messages are validated, it has exited before its output is read, and the
 * output is verified by the reader that treats every cache file as hostile. Text from it is escaped in status
 * and log.
 */
#include "work/run/convert_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/cache/failure_record.h"
#include "work/cache/notes.h"
#include "work/types/convert_types.h"
#include "work/worker/child.h"
#include "work/run/convert_job.h"
#include "work/run/inputs.h"
#include "work/run/job_worker.h"
#include "work/run/result_store.h"
#include "work/run/run_slots.h"
#include "work/run/zygote.h"
#include "work/os/retry.h"
#include "gsym/base/invariant.h"

enum { READING_PER_CENT = 95 /* share of the progress; the rest is writing */ };

/* ---- From the cache ---- */

/* True if @ret is the outcome. */
static bool take_loaded(const struct converter *c, bool is_known, struct outcome *ret)
{
	if (inputs_check(ret->handle->inputs, &c->search) != -ESTALE)
		return true;
	handle_put(ret->handle);
	ret->handle = NULL;
	ret->verdict = VERDICT_OUTDATED;
	return is_known;
}

static bool failed_before(const struct converter *c, const struct convert_request *request,
			  struct outcome *ret)
{
	int err = failure_record_load(c->cache, request->key, ret->diag.text, &ret->inputs);
	struct span inputs = {(uint8_t *)ret->inputs, ret->inputs ? strlen(ret->inputs) : 0};
	if (err && inputs_check(inputs, &c->search) != -ESTALE) {
		job_fail(ret, VERDICT_FAILED, err);
		return true;
	}
	free(ret->inputs);
	ret->inputs = NULL;
	return false;
}

bool convert_from_cache(const struct converter *c, const struct convert_request *request, bool is_known,
			struct outcome *ret)
{
	*ret = (struct outcome){.verdict = VERDICT_READY};
	int err = cache_load(c->cache, request->key, &ret->handle, &ret->diag);
	if (!err)
		return take_loaded(c, is_known, ret);
	if (err == -EEXIST) { /* a conversion could not be published */
		job_fail(ret, VERDICT_FAILED, -EIO);
		ret->again = retry_at_limit();
		return true;
	}
	if (err != -ENOENT) {
		job_fail(ret, VERDICT_TRANSIENT, err == -ENOMEM ? err : -EIO);
		return true;
	}
	return failed_before(c, request, ret);
}

/* ---- With a worker ---- */

static void note_progress(struct convert_job *job, const struct worker_progress *m)
{
	double share = m->total ? (double)m->done / (double)m->total : 0;
	unsigned percent = m->phase == CONVERT_READING
				   ? (unsigned)(share * READING_PER_CENT)
				   : READING_PER_CENT + (unsigned)(share * (99 - READING_PER_CENT));
	const struct convert_request *request = job->request;
	if (request->progress)
		request->progress(request->user, percent);
}

/* What this machine lacks for a fragment is no reason to give up the whole. */
static int take_fragment(struct convert_job *job, const struct worker_fragment *m)
{
	const struct convert_request *request = job->request;
	struct handle *handle = NULL;
	if (job->has_fragment || !request->fragment)
		return -EPROTO;
	job->has_fragment = true;
	int err = job_take_fragment(job, m, &handle);
	if (err == -EPROTO)
		return err;
	request->fragment(request->asker, handle);
	return 0;
}

/* 0 if the message is valid in this state, else -EPROTO. */
static int take_message(struct convert_job *job, const struct child *child, const union worker_message *msg)
{
	if (job->has_done || job->has_failed)
		return -EPROTO;
	switch (msg->head.type) {
	case WORKER_OPEN: return job_open_neighbour(job, child, &msg->open);
	case WORKER_FETCH: return job_fetch(job, child, &msg->fetch);
	case WORKER_FRAGMENT: return take_fragment(job, &msg->fragment);
	case WORKER_PROGRESS: note_progress(job, &msg->progress); return 0;
	case WORKER_WARNING: note_warning(&job->notes, &msg->warning); return 0;
	case WORKER_MISSING: note_missing(&job->notes, &msg->missing); return 0;
	case WORKER_SECTION: note_section(&job->notes, &msg->section); return 0;
	case WORKER_SEGMENT: note_segment(&job->notes, &msg->segment); return 0;
	case WORKER_DONE:
		job->done = msg->done;
		job->has_done = true;
		return 0;
	case WORKER_FAILED:
		job->failed = msg->failed;
		job->has_failed = true;
		return 0;
	}
	return -EPROTO;
}

/*
 * Waits for a message while the store may still send the conversion: 0, or -EALREADY when it has. The
 * deadline is left to child_receive().
 */
static int await_either(struct convert_job *job, struct share_turn *turn, const struct child *child,
			int stop_fd, int64_t deadline)
{
	const struct result_store *store = job->converter->store;
	int fd;
	while ((fd = store ? store->pending_fd(turn) : -1) >= 0) {
		struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
				       {.fd = child->sock, .events = POLLIN},
				       {.fd = stop_fd, .events = POLLIN}};
		int64_t left = deadline - monotonic_ms();
		if (poll(fds, 3, left < 0 ? 0 : left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR)
			return 0;
		if (fds[0].revents && store->has_arrived(job, turn))
			return -EALREADY;
		if (fds[1].revents || fds[2].revents || left <= 0)
			return 0;
	}
	return 0;
}

/*
 * Handles messages until the worker closes its socket: 0, or the negative errno for which it must be killed.
 */
static int listen_to(struct convert_job *job, struct share_turn *turn, const struct child *child)
{
	const struct converter *c = job->converter;
	int64_t deadline = job->started_ms + (int64_t)c->seconds * 1000;
	int stop_fd = job->request->stop_fd ? *job->request->stop_fd : c->stop_fd;
	union worker_message msg;
	for (;;) {
		int got = await_either(job, turn, child, stop_fd, deadline + job->waited_ms);
		if (!got)
			got = child_receive(child, stop_fd, deadline + job->waited_ms, &msg);
		if (got != 1)
			return got;
		got = take_message(job, child, &msg);
		if (got)
			return got;
	}
}

static void report_worker(const struct convert_job *job, pid_t pid)
{
	const struct convert_request *request = job->request;
	if (request->worker)
		request->worker(request->user, pid);
}

static void work(struct convert_job *job, struct share_turn *turn)
{
	const struct convert_request *request = job->request;
	struct convert_address asked[WORKER_ASKED_MAX];
	struct child child;
	struct rusage usage = {.ru_maxrss = 0};
	if (job_start_worker(job, job->temp.fd, &child)) {
		job_fail(job->out, VERDICT_TRANSIENT, -EIO);
		return;
	}
	report_worker(job, child.pid);
	size_t n_asked = request->asked ? request->asked(request->asker, asked, WORKER_ASKED_MAX) : 0;
	int why = job_send_order(job, &child, asked, n_asked, WORKER_WHOLE);
	if (!why || child_has_gone(why)) /* then its exit status tells why */
		why = listen_to(job, turn, &child);
	if (why)
		child_kill(&child);
	report_worker(job, 0);
	int status = child_finish(&child, &usage);
	if (why == -EALREADY) {
		job->converter->store->adopt(job, turn);
		return;
	}
	zygote_note_end(job->converter->zygote, status);
	verdict_decide(job, why, status, &usage);
}

/* ---- The whole conversion ---- */

static void log_outcome(const struct convert_job *job)
{
	struct outcome *out = job->out;
	const struct log *log = job->converter->log;
	const char *path = job->request->source.path, *id = job->request->id;
	if (out->err)
		out->told = XXH3_64bits(out->diag.text, strlen(out->diag.text));
	if (out->verdict == VERDICT_ELSEWHERE)
		log_debug(log, "another host converts '%s' (%s)", path, id);
	else if (out->adopted && out->verdict == VERDICT_READY)
		log_event(log, "took '%s' (%s) from the shared store", path, id);
	else if (out->verdict == VERDICT_READY)
		log_event(log, "converted '%s' (%s): %llu functions, %llu bytes, %.2f s", path, id,
			  (unsigned long long)job->done.functions, (unsigned long long)job->done.output_size,
			  out->seconds);
	else if (out->err == -ENOTCONN)
		log_event(log, "stopped converting '%s' (%s)", path, id);
	else if (out->verdict != VERDICT_REPLACED)
		log_say(log, out->told == job->request->told ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
			"cannot convert '%s' (%s): %s%s%s", path, id, out->diag.text,
			out->adopted ? " (as the shared store says)" : "",
			out->err == -ENOSPC ? "; make room or set another -o cache=DIR" : "");
	if (out->verdict == VERDICT_FAILED_FOREVER)
		failure_record_store(job->converter->cache, job->request->key, out->err, out->diag.text,
				     text_span(&job->inputs));
}

/* In a slot, for which the store had time to answer after all. */
static void work_or_adopt(struct convert_job *job, struct share_turn *turn)
{
	const struct result_store *store = job->converter->store;
	struct run_slots *slots = job->converter->slots;
	if (!job->has_slot)
		job->has_slot = run_slot_take(slots, -1);
	job->started_ms = monotonic_ms();
	if (turn && store->has_arrived(job, turn))
		store->adopt(job, turn);
	else
		work(job, turn);
	run_slot_give(slots);
}

/* False if the cache turned out to be full, so that it must be done in memory. */
static bool convert(const struct converter *converter, const struct convert_request *request, bool in_memory,
		    struct outcome *ret)
{
	*ret = (struct outcome){.verdict = VERDICT_READY};
	struct convert_job job = {
		.converter = converter,
		.request = request,
		.out = ret,
		.input = -1,
		.binary = -1,
		.temp = CACHE_TEMP_NONE,
		.in_memory = in_memory,
		.fragment = -1,
		.started_ms = monotonic_ms(),
	};
	const struct result_store *store = converter->store;
	struct share_turn *turn = request->turn ? TAKE(*request->turn) : NULL;
	if (job_prepare(&job) == 0 && (!store || store->take(&job, &turn) == SHARE_CONVERT)) {
		work_or_adopt(&job, turn);
		invariant(!ret->handle == (ret->verdict != VERDICT_READY));
		if (!ret->adopted)
			ret->seconds = (double)(monotonic_ms() - job.started_ms) / 1000;
		ret->offer = store ? store->offer(&job, turn) : NULL;
	}
	if (ret->verdict == VERDICT_ELSEWHERE && request->turn)
		*request->turn = TAKE(turn);
	if (store)
		store->end(converter->share, turn);
	if (!job.no_room)
		log_outcome(&job);
	if (ret->verdict == VERDICT_FAILED || ret->verdict == VERDICT_FAILED_FOREVER ||
	    ret->verdict == VERDICT_CRASHED)
		ret->inputs = strndup(job.inputs.v ? job.inputs.v : "", job.inputs.n);
	job_close(&job);
	return !job.no_room;
}

void convert_run(const struct converter *converter, const struct convert_request *request,
		 struct outcome *ret)
{
	if (convert(converter, request, false, ret))
		return;
	free(ret->inputs);
	convert(converter, request, true, ret);
}

/*
 * One conversion: opens the object file and a temporary file in the cache, runs a worker that fills it, opens
 * neighbours on the worker's behalf, decides the verdict and publishes the result.
 *
 * The worker is untrusted. Its messages are validated, it has exited before its output is read, and the
 * output is verified by the reader that treats every cache file as hostile. Text from it is escaped in status
 * and log.
 */
#include "convert/run/convert_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/cache/failure_record.h"
#include "convert/cache/image_id.h"
#include "convert/cache/notes.h"
#include "convert/record/convert_types.h"
#include "convert/run/child.h"
#include "convert/run/convert_job.h"
#include "convert/run/fragment_take.h"
#include "convert/run/inputs.h"
#include "convert/run/verdict.h"
#include "convert/run/share.h"
#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"

enum {
	READING_PER_CENT = 95, /* share of the progress; the rest is writing */
	FETCHES_MAX = 2,       /* of one conversion: the debug file, and what it shares with others */
};

/* ---- From the cache ---- */

/* True if @ret is the outcome. */
static bool take_loaded(const struct converter *c, bool is_known, struct outcome *ret)
{
	if (inputs_unchanged(ret->handle->inputs, &c->search))
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
	if (err && inputs_unchanged((struct span){(uint8_t *)ret->inputs, strlen(ret->inputs)}, &c->search)) {
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
		return true;
	}
	if (err != -ENOENT) {
		job_fail(ret, VERDICT_TRANSIENT, err == -ENOMEM ? err : -EIO);
		return true;
	}
	return failed_before(c, request, ret);
}

/* ---- With a worker ---- */

/* Output is rarely larger than the input; four times allows for compressed sections. */
static uint64_t output_limit(const struct convert_job *job)
{
	const uint64_t least = 256ULL << 20;
	uint64_t limit;
	if (job->in_memory)
		return CACHE_MEMORY_MAX;
	if (__builtin_mul_overflow(job->request->source.state.size, 4, &limit))
		limit = INT64_MAX;
	return limit < least ? least : limit;
}

/* The absolute path of a file. If too long, its name only: no neighbours are then found relative to it. */
static void full_path(const struct converter *c, const char *path, char ret[static WORKER_PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *root = c->root ? c->root : "";
	if (snprintf(ret, WORKER_PATH_MAX, "%s%s%s", root, c->root ? "/" : "", path) >= WORKER_PATH_MAX)
		snprintf(ret, WORKER_PATH_MAX, "%s", slash ? slash + 1 : path);
}

static void list_dirs(const struct converter *c, char ret[static WORKER_PATH_MAX])
{
	size_t n = 0;
	for (const char *const *dir = c->search.dirs; *dir; dir++) {
		size_t size = strlen(*dir) + 1;
		if (n + size >= WORKER_PATH_MAX)
			return; /* options_parse() limits their length */
		memcpy(ret + n, *dir, size);
		n += size;
	}
}

static uint32_t list_asked(const struct convert_request *request, struct worker_convert *order)
{
	struct convert_address asked[WORKER_ASKED_MAX];
	size_t n = request->asked ? request->asked(request->asker, asked, WORKER_ASKED_MAX) : 0;
	invariant(n <= WORKER_ASKED_MAX);
	for (size_t i = 0; i < n; i++) {
		order->asked[i].value = asked[i].value;
		order->asked[i].from_base = asked[i].from_base;
	}
	return (uint32_t)n;
}

static int send_order(const struct convert_job *job, const struct child *child)
{
	const struct converter *c = job->converter;
	const struct convert_request *request = job->request;
	_Static_assert(sizeof(((struct worker_convert *)0)->id) == IMAGE_ID_MAX, "one layout");
	struct worker_convert order = {
		.threads = c->threads,
		.version = IMAGE_GSYM_VERSION,
		.memory = c->memory,
		.cpu_seconds = (uint64_t)c->seconds * c->threads,
		.output_size = output_limit(job),
		.has_binary = request->binary.path != NULL,
		.merged = c->merged,
		.fetch = c->search.servers != 0,
	};
	order.id_size = (uint32_t)id_parse(request->id, order.id);
	snprintf(order.arch, sizeof(order.arch), "%s", request->arch);
	full_path(c, request->source.path, order.input);
	if (request->binary.path)
		full_path(c, request->binary.path, order.binary);
	list_dirs(c, order.debug_dirs);
	order.n_asked = list_asked(request, &order);
	return worker_send(child->sock, &order.head, WORKER_CONVERT, -1);
}

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

/* Opens a neighbour for the worker, or replies with an errno. One request at a time: the reply does not
 * block. */
static int answer_open(struct convert_job *job, const struct child *child, const struct worker_open *m)
{
	struct neighbour file;
	job->asked = true;
	int fd = neighbour_open(&job->converter->search, &job->request->source.state, m->path, &file);
	bool seen = fd >= 0 || fd == -EPERM, outside = fd == -EXDEV;
	/* A path outside the search path can never be found: no input. */
	if (!outside && !inputs_add(&job->inputs, m->path, seen ? &file : NULL) && fd >= 0) {
		close(fd);
		fd = -EMFILE;
	}
	if (fd >= 0)
		note_neighbour(&job->notes, job->uses++, m->path);
	struct worker_opened answer = {.head.serial = m->head.serial, .error = fd < 0 ? -fd : 0};
	worker_send(child->sock, &answer.head, WORKER_OPENED,
		    fd); /* errors are ignored: a dead worker is noticed by listen_to() */
	if (fd >= 0)
		close(fd);
	return 0;
}

static void note_fetched(struct convert_job *job, const struct worker_fetch *m, const struct fetched *file)
{
	bool found = file->fd >= 0;
	note_fetch(&job->notes, m->id, m->id_size, found ? 0 : file->fd);
	if (found) {
		note_neighbour(&job->notes, job->uses++, file->path);
		job->fetched = true;
		return;
	}
	if (fetch_failed(file->fd))
		job->fetch_failure = file->fd;
	job->again = file->again;
}

/* Fetches a debug file for the worker, which waits. The worker chooses the id, so the number is limited. */
static int answer_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m)
{
	struct fetched file = {.fd = -EPERM};
	int64_t start = monotonic_ms();
	job->asked = true;
	if (job->converter->search.servers && job->fetches++ < FETCHES_MAX) {
		fetcher_get(job->converter->fetcher, m->id, m->id_size, &file);
		if (file.fd == -ECANCELED)
			return file.fd;
		note_fetched(job, m, &file);
	}
	job->waited_ms += monotonic_ms() - start;
	struct worker_opened answer = {.head.serial = m->head.serial, .error = file.fd < 0 ? -file.fd : 0};
	worker_send(child->sock, &answer.head, WORKER_OPENED, file.fd);
	if (file.fd >= 0)
		close(file.fd);
	return 0;
}

/* What this machine lacks for a fragment is no reason to give up the whole. */
static int take_fragment(struct convert_job *job, const struct worker_fragment *m)
{
	const struct convert_request *request = job->request;
	struct handle *handle;
	if (job->has_fragment || !request->fragment)
		return -EPROTO;
	job->has_fragment = true;
	int err = job_input_is_unchanged(job) ? fragment_take(job->fragment, m, request->key->text, &handle)
					      : -ESTALE;
	if (!err)
		request->fragment(request->asker, handle);
	return err == -EPROTO ? err : 0;
}

/* 0 if the message is valid in this state, else -EPROTO. */
static int take_message(struct convert_job *job, const struct child *child, const union worker_message *msg)
{
	if (job->has_done || job->has_failed)
		return -EPROTO;
	switch (msg->head.type) {
	case WORKER_OPEN: return answer_open(job, child, &msg->open);
	case WORKER_FETCH: return answer_fetch(job, child, &msg->fetch);
	case WORKER_FRAGMENT: return take_fragment(job, &msg->fragment);
	case WORKER_PROGRESS: note_progress(job, &msg->progress); return 0;
	case WORKER_ODDITY: note_oddity(&job->notes, &msg->oddity); return 0;
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
 * Handles messages until the worker closes its socket: 0, or the negative errno for which it must be killed.
 */
static int listen_to(struct convert_job *job, const struct child *child)
{
	const struct converter *c = job->converter;
	int64_t deadline = job->started_ms + (int64_t)c->seconds * 1000;
	union worker_message msg;
	int got;
	while ((got = child_receive(child, c->stop_fd, deadline + job->waited_ms, &msg)) == 1) {
		int err = take_message(job, child, &msg);
		if (err)
			return err;
	}
	return got;
}

static void report_worker(const struct convert_job *job, pid_t pid)
{
	const struct convert_request *request = job->request;
	if (request->worker)
		request->worker(request->user, pid);
}

static void work(struct convert_job *job)
{
	const int fds[] = {job->temp.fd, job->fragment, job->input, job->binary};
	const struct child_order order = {
		.program = job->converter->worker,
		.mode = "convert",
		.fds = fds,
		.n_fds = job->binary >= 0 ? 4 : 3,
		.stop_fd = job->converter->stop_fd,
	};
	struct child child;
	struct rusage usage = {.ru_maxrss = 0};
	if (child_start(&order, &child, &job->out->diag)) {
		job_fail(job->out, VERDICT_TRANSIENT, -EIO);
		return;
	}
	report_worker(job, child.pid);
	/* Fails only if the worker has died: its exit status tells why. */
	send_order(job, &child);
	int why = listen_to(job, &child);
	if (why)
		child_kill(&child);
	report_worker(job, 0);
	int status = child_finish(&child, &usage);
	verdict_decide(job, why, status, &usage);
}

/* ---- The whole conversion ---- */

static void report(const struct convert_job *job)
{
	const struct outcome *out = job->out;
	const struct log *log = job->converter->log;
	const char *path = job->request->source.path, *id = job->request->id;
	if (out->adopted)
		log_info(log, "took '%s' (%s) from the shared directory", path, id);
	else if (out->verdict == VERDICT_READY)
		log_info(log, "converted '%s' (%s): %llu functions, %llu bytes, %.2f s", path, id,
			 (unsigned long long)job->done.functions, (unsigned long long)job->done.output_size,
			 out->seconds);
	else if (out->verdict != VERDICT_REPLACED)
		log_warning(log, "cannot convert '%s' (%s): %s%s", path, id, out->diag.text,
			    out->err == -ENOSPC ? "; make room or set another -o cache=DIR" : "");
	if (out->verdict == VERDICT_FAILED_FOREVER)
		failure_record_store(job->converter->cache, job->request->key, out->err, out->diag.text,
				     text_span(&job->inputs));
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
		.temp = {.fd = -1},
		.in_memory = in_memory,
		.fragment = -1,
		.started_ms = monotonic_ms(),
	};
	if (job_prepare(&job) == 0 && !share_take(&job)) {
		work(&job);
		invariant(!ret->handle == (ret->verdict != VERDICT_READY));
		ret->seconds = (double)(monotonic_ms() - job.started_ms) / 1000;
		ret->offer = ret->verdict == VERDICT_READY ? share_offer(&job) : NULL;
	}
	if (!job.no_room)
		report(&job);
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

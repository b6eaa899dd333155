/*
 * One conversion: open the object file, make a file in the cache, let a worker fill it, judge what it did,
 * publish.
 *
 * The worker is not trusted. Its messages are checked, it is dead before its output is looked at, and the
 * output is read by the same reader that treats every cache file as hostile. What it says goes to status and
 * log, escaped.
 */
#include "convert_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../convert/convert.h"
#include "../gsym/base/diag.h"
#include "../gsym/render/escape.h"
#include "beneath.h"
#include "child.h"
#include "convert_job.h"
#include "revision.h"

enum { READING_PER_CENT = 95 /* of the progress; the rest is writing */ };

/* ---- Before ---- */

bool convert_from_cache(const struct converter *c, const struct revision *rev, struct outcome *ret)
{
	*ret = (struct outcome){.verdict = VERDICT_READY};
	int err = cache_load(c->cache, &rev->key, &ret->handle, &ret->diag);
	if (!err)
		return true;
	if (err == -EEXIST) { /* nothing could be published there */
		job_fail(ret, VERDICT_FAILED, -EIO);
		return true;
	}
	if (err != -ENOENT) {
		job_fail(ret, VERDICT_TRANSIENT, err == -ENOMEM ? err : -EIO);
		return true;
	}
	err = cache_failure_load(c->cache, &rev->key, ret->diag.text);
	if (err)
		job_fail(ret, VERDICT_FAILED, err);
	return err != 0;
}

static int open_input(const struct converter *c, const struct source *source)
{
	int dir = open(c->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	int fd = open_beneath(dir, source->path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	close(dir);
	return fd;
}

static int64_t nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static bool is_scanned_file(int fd, const struct source *source)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == source->dev &&
	       st.st_ino == source->ino && (uint64_t)st.st_size == source->size &&
	       nanoseconds(st.st_mtim) == source->mtime_ns && nanoseconds(st.st_ctim) == source->ctime_ns &&
	       st.st_uid == source->uid;
}

bool job_input_is_unchanged(const struct job *job)
{
	return is_scanned_file(job->input, &job->rev->source);
}

static int prepare(struct job *job)
{
	struct outcome *out = job->out;
	const struct source *source = &job->rev->source;
	job->input = open_input(job->converter, source);
	if (job->input < 0 && job->input != -ENOENT && job->input != -ELOOP && job->input != -ENOTDIR) {
		diag_set(&out->diag, job->input, "'%s': cannot open: %s", source->path,
			 strerror(-job->input));
		job_fail(out, VERDICT_TRANSIENT, -EIO);
		return -EIO;
	}
	if (job->input < 0 || !job_input_is_unchanged(job)) {
		diag_set(&out->diag, -ESTALE, "'%s' changed after it was scanned", source->path);
		job_fail(out, VERDICT_REPLACED, -ESTALE);
		return -ESTALE;
	}
	int err = cache_temp_open(job->converter->cache, &job->temp, &out->diag);
	if (err)
		job_fail(out, VERDICT_TRANSIENT, err == -ENOSPC || err == -EDQUOT ? -ENOSPC : -EIO);
	return err;
}

/* ---- During ---- */

/* Debug data is rarely larger once converted; four times is for compressed sections. */
static uint64_t output_limit(uint64_t input_size)
{
	const uint64_t least = 256ULL << 20;
	uint64_t limit;
	if (__builtin_mul_overflow(input_size, 4, &limit))
		limit = INT64_MAX;
	return limit < least ? least : limit;
}

static int send_order(const struct job *job, const struct child *child)
{
	const struct converter *c = job->converter;
	struct worker_convert order = {
		.threads = c->threads,
		.version = IMAGE_GSYM_VERSION,
		.memory = c->memory,
		.cpu_seconds = (uint64_t)c->seconds * c->threads,
		.output_size = output_limit(job->rev->source.size),
	};
	return worker_send(child->sock, &order.head, WORKER_CONVERT, -1);
}

static void note_progress(struct job *job, const struct worker_progress *m)
{
	double share = m->total ? (double)m->done / (double)m->total : 0;
	unsigned percent = m->phase == CONVERT_READING
				   ? (unsigned)(share * READING_PER_CENT)
				   : READING_PER_CENT + (unsigned)(share * (99 - READING_PER_CENT));
	atomic_store(&job->rev->progress, percent);
}

static void note_oddity(struct text_buf *notes, const struct worker_oddity *m)
{
	if (notes->n > NOTES_MAX / 2)
		return; /* a worker that invents kinds without end */
	text_lit(notes, "skipped\t");
	text_dec(notes, m->count);
	text_char(notes, ' ');
	escape_str(notes, m->kind, ESCAPE_TSV);
	if (m->first[0]) {
		text_lit(notes, " (first: ");
		escape_str(notes, m->first, ESCAPE_TSV);
		text_char(notes, ')');
	}
	text_char(notes, '\n');
}

static void note_missing(struct text_buf *notes, const struct worker_missing *m)
{
	if (notes->n > NOTES_MAX / 2)
		return;
	text_lit(notes, "missing\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, '\n');
}

/* Sections come last: they have the room that oddities and missing files leave. */
static void note_section(struct text_buf *notes, const struct worker_section *m)
{
	if (notes->n > NOTES_MAX * 3 / 4)
		return;
	text_lit(notes, "section\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, ' ');
	text_addr(notes, m->addr);
	text_char(notes, ' ');
	text_dec(notes, m->size);
	text_char(notes, '\n');
}

/* 0 when the message makes sense at this point, else -EPROTO. */
static int take_message(struct job *job, const union worker_message *msg)
{
	if (job->has_done || job->has_failed)
		return -EPROTO;
	switch (msg->head.type) {
	case WORKER_PROGRESS: note_progress(job, &msg->progress); return 0;
	case WORKER_ODDITY: note_oddity(&job->notes, &msg->oddity); return 0;
	case WORKER_MISSING: note_missing(&job->notes, &msg->missing); return 0;
	case WORKER_SECTION: note_section(&job->notes, &msg->section); return 0;
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

/* Listens until the worker closes its side: 0, or why it must be killed. */
static int listen_to(struct job *job, const struct child *child)
{
	const struct converter *c = job->converter;
	int64_t deadline = job->started_ms + (int64_t)c->seconds * 1000;
	union worker_message msg;
	int got;
	while ((got = child_receive(child, c->stop_fd, deadline, &msg)) == 1) {
		int err = take_message(job, &msg);
		if (err)
			return err;
	}
	return got;
}

static void work(struct job *job)
{
	const int fds[] = {job->temp.fd, job->input};
	const struct child_order order = {
		.program = job->converter->worker,
		.mode = "convert",
		.fds = fds,
		.n_fds = 2,
		.stop_fd = job->converter->stop_fd,
	};
	struct child child;
	struct rusage usage = {.ru_maxrss = 0};
	if (child_start(&order, &child, &job->out->diag)) {
		job_fail(job->out, VERDICT_TRANSIENT, -EIO);
		return;
	}
	/* An order that cannot be sent finds a worker that is dead already: its status says why. */
	send_order(job, &child);
	int why = listen_to(job, &child);
	if (why)
		child_kill(&child);
	int status = child_finish(&child, &usage);
	judge(job, why, status, &usage);
}

/* ---- All of it ---- */

static void report(const struct job *job)
{
	const struct outcome *out = job->out;
	const struct log *log = job->converter->log;
	const char *path = job->rev->source.path, *id = job->rev->image->id;
	if (out->verdict == VERDICT_READY)
		log_info(log, "converted '%s' (%s): %llu functions, %llu bytes, %.2f s", path, id,
			 (unsigned long long)job->done.functions, (unsigned long long)job->done.output_size,
			 out->seconds);
	else if (out->verdict != VERDICT_REPLACED)
		log_warning(log, "cannot convert '%s' (%s): %s%s", path, id, out->diag.text,
			    out->err == -ENOSPC ? "; make room or set another -o cache=DIR" : "");
	if (out->verdict == VERDICT_FAILED_FOREVER)
		cache_failure_store(job->converter->cache, &job->rev->key, out->err, out->diag.text);
}

void convert_run(const struct converter *converter, struct revision *rev, struct outcome *ret)
{
	*ret = (struct outcome){.verdict = VERDICT_READY};
	struct job job = {
		.converter = converter,
		.rev = rev,
		.out = ret,
		.input = -1,
		.temp = {.fd = -1},
		.started_ms = monotonic_ms(),
	};
	if (prepare(&job) == 0)
		work(&job);
	ret->seconds = (double)(monotonic_ms() - job.started_ms) / 1000;
	report(&job);
	cache_temp_close(converter->cache, &job.temp);
	text_deinit(&job.notes);
	if (job.input >= 0)
		close(job.input);
}

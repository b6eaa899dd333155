#include "work/run/job_worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gsym/base/invariant.h"
#include "work/cache/image_id.h"
#include "work/cache/notes.h"
#include "work/run/inputs.h"
#include "work/run/zygote.h"
#include "work/types/packed_name.h"

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
	bool below = c->root && *path != '/';
	if (snprintf(ret, WORKER_PATH_MAX, "%s%s%s", below ? root : "", below ? "/" : "", path) >=
	    WORKER_PATH_MAX)
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

uint32_t job_put_asked(const struct convert_address *asked, size_t n, struct worker_address *ret)
{
	invariant(n <= WORKER_ASKED_MAX);
	for (size_t i = 0; i < n; i++)
		ret[i] = (struct worker_address){asked[i].value, asked[i].origin};
	return (uint32_t)n;
}

int job_start_worker(const struct convert_job *job, int output, struct child *ret)
{
	const int fds[] = {output, job->fragment, job->input, job->binary};
	const struct child_order order = {
		.program = job->converter->worker,
		.mode = "convert",
		.fds = fds,
		.n_fds = job->binary >= 0 ? 4 : 3,
		.stop_fd = job->converter->stop_fd,
	};
	return zygote_start_worker(job->converter->zygote, &order, ret, &job->out->diag);
}

int job_send_order(const struct convert_job *job, const struct child *child,
		   const struct convert_address *asked, size_t n_asked, enum worker_purpose purpose)
{
	const struct converter *c = job->converter;
	const struct convert_request *request = job->request;
	static_assert(sizeof(((struct worker_convert *)0)->id) == IMAGE_ID_MAX, "one layout");
	struct worker_convert order = {
		.threads = c->threads,
		.version = IMAGE_GSYM_VERSION,
		.memory = c->memory,
		.cpu_seconds = (uint64_t)c->seconds * c->threads,
		.output_size = output_limit(job),
		.has_binary = request->binary.path != NULL,
		.merged = c->merged,
		.fetch = c->search.servers != 0,
		.purpose = purpose,
	};
	order.id_size = (uint32_t)id_parse(request->id, order.id);
	snprintf(order.arch, sizeof(order.arch), "%s", request->arch);
	full_path(c, request->source.path, order.input);
	if (request->binary.path)
		full_path(c, request->binary.path, order.binary);
	list_dirs(c, order.debug_dirs);
	order.n_asked = job_put_asked(asked, n_asked, order.asked);
	return worker_send(child->sock, &order.head, WORKER_CONVERT, -1);
}

/* ---- Files that the worker asks for ---- */

enum { FETCHES_MAX = 2 /* of one conversion: the debug file, and what it shares with others */ };

static void note_used(struct convert_job *job, const struct neighbour *file)
{
	char path[WORKER_PATH_MAX + PACKED_ENDING_SIZE];
	snprintf(path, sizeof(path), "%s%s", file->path, file->ending);
	note_neighbour(&job->notes, job->uses++, path);
}

/*
 * Sends @fd, which is closed, if it is not negative. A dead worker is noticed when its next message is
 * awaited; one that lives would wait for ever for an answer that could not be sent.
 */
static int reply_file(const struct child *child, struct worker_opened *answer, int fd)
{
	int err = worker_send(child->sock, &answer->head, WORKER_OPENED, fd);
	if (fd >= 0)
		close(fd);
	return child_has_gone(err) ? 0 : err;
}

/* @fd: what neighbour_open() gave. */
static bool add_input(struct convert_job *job, const char *path, int fd, const struct neighbour *file)
{
	if (fd != -EACCES)
		return inputs_add(&job->inputs, path, fd >= 0 || fd == -EPERM ? file : NULL);
	note_denied(&job->notes, job->denials++, file->path);
	return inputs_add_denied(&job->inputs, path);
}

/* One request at a time: the reply_file does not block. */
int job_open_neighbour(struct convert_job *job, const struct child *child, const struct worker_open *m)
{
	struct neighbour file;
	job->asked = true;
	int fd = neighbour_open(&job->converter->search, &job->request->source.state, m->path, &file);
	/* A path outside the search path can never be found: no input. */
	if (fd != -EXDEV && !add_input(job, m->path, fd, &file) && fd >= 0) {
		close(fd);
		fd = -ENOENT; /* for this conversion, each time it is made */
	}
	if (fd >= 0)
		note_used(job, &file);
	struct worker_opened answer = {.head.serial = m->head.serial, .error = fd < 0 ? -fd : 0};
	return reply_file(child, &answer, fd);
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

/* Whether it is the object file itself that is requested, which came from servers. */
static bool is_fetched_source(const struct convert_request *request, const struct worker_fetch *m)
{
	uint8_t id[IMAGE_ID_MAX];
	return request->source.fetched && id_parse(request->id, id) == m->id_size &&
	       !memcmp(id, m->id, m->id_size);
}

/* The worker chooses the id, so the number is limited. */
int job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m)
{
	struct fetched file = {.fd = -EPERM};
	int64_t start = monotonic_ms();
	job->asked = true;
	if (is_fetched_source(job->request, m)) {
		file.fd = -ENOENT;
	} else if (job->converter->search.servers && job->fetches++ < FETCHES_MAX) {
		fetcher_get(job->converter->fetcher, m->id, m->id_size, 0, &file);
		if (file.fd == -ECANCELED)
			return file.fd;
		note_fetched(job, m, &file);
	}
	job->waited_ms += monotonic_ms() - start;
	struct worker_opened answer = {.head.serial = m->head.serial, .error = file.fd < 0 ? -file.fd : 0};
	return reply_file(child, &answer, file.fd);
}

#include "work/run/order.h"

#include <stdio.h>
#include <string.h>

#include "work/cache/image_id.h"
#include "work/cache/publish.h"
#include "work/run/zygote.h"
#include "gsym/base/invariant.h"

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

uint32_t asked_put(const struct convert_address *asked, size_t n, struct worker_address *ret)
{
	invariant(n <= WORKER_ASKED_MAX);
	for (size_t i = 0; i < n; i++)
		ret[i] = (struct worker_address){asked[i].value, asked[i].origin};
	return (uint32_t)n;
}

int order_start_worker(const struct convert_job *job, int output, struct child *ret)
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

int order_send(const struct convert_job *job, const struct child *child, const struct convert_address *asked,
	       size_t n_asked, bool fragments_only)
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
		.fragments_only = fragments_only,
	};
	order.id_size = (uint32_t)id_parse(request->id, order.id);
	snprintf(order.arch, sizeof(order.arch), "%s", request->arch);
	full_path(c, request->source.path, order.input);
	if (request->binary.path)
		full_path(c, request->binary.path, order.binary);
	list_dirs(c, order.debug_dirs);
	order.n_asked = asked_put(asked, n_asked, order.asked);
	return worker_send(child->sock, &order.head, WORKER_CONVERT, -1);
}

#include "fs/answer/symbol_names.h"

#include <errno.h>

#include "fs/answer/background.h"
#include "fs/call/call.h"
#include "fs/images/revision.h"
#include "gsym/render/shown_names.h"

enum {
	/* CPU seconds: a million real names take two. Names after that are not in the index. */
	BUILD_MAX = 10,
	CHECK_INTERVAL = 32, /* names between reads of the clock, which cost as much as a short name */
};

void cpu_budget_begin(struct cpu_budget *budget, unsigned seconds, const atomic_bool *stopping)
{
	*budget = (struct cpu_budget){.stopping = stopping};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &budget->end);
	budget->end.tv_sec += seconds;
}

bool cpu_budget_is_spent(void *user)
{
	struct cpu_budget *p = user;
	struct timespec now;
	if (p->checks++ % CHECK_INTERVAL || p->end.tv_sec == 0)
		return p->end.tv_sec == 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	if ((p->stopping && atomic_load(p->stopping)) || now.tv_sec > p->end.tv_sec ||
	    (now.tv_sec == p->end.tv_sec && now.tv_nsec > p->end.tv_nsec))
		p->end.tv_sec = 0;
	return p->end.tv_sec == 0;
}

static bool is_built(const struct handle *handle, enum symbol_names kind)
{
	return kind == NAMES_STORED ? name_index_is_made(handle->reader)
				    : handle_attached(handle, SLOT_NAMES) != NULL;
}

int symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
		       enum symbol_names kind, struct wait *ret_wait)
{
	return is_built(handle, kind) ? 0 : background_await(&answers->names, rev, kind, ret_wait);
}

/* ---- Building ---- */

struct names_job {
	struct answers *answers;
	struct revision *rev;
	struct handle *handle;
	enum symbol_names kind;
	struct shown_builder builder;
};

static void *names_job_new(void *user, struct revision *rev, unsigned part)
{
	struct answers *answers = user;
	struct wait wait;
	struct names_job *m = calloc(1, sizeof(*m));
	if (!m || revision_use(answers->images, rev, &m->handle, &wait)) {
		free(m);
		return NULL;
	}
	m->answers = answers;
	m->rev = rev;
	m->kind = (enum symbol_names)part;
	return m;
}

static void names_job_free(void *job)
{
	struct names_job *m = job;
	shown_builder_deinit(&m->builder);
	handle_put(m->handle);
	free(m);
}

static int build_names(void *arg)
{
	struct names_job *m = arg;
	if (m->kind == NAMES_SHOWN)
		return shown_builder_run(&m->builder, m->handle->reader);
	m->builder.names.reader = m->handle->reader;
	return name_builder_run(&m->builder.names);
}

static void destroy_names(void *table)
{
	name_table_free(table);
}

/* Not sliced: BUILD_MAX limits the time. */
static int names_job_go_on(void *job, int64_t until)
{
	struct names_job *m = job;
	const atomic_bool *stopping = &m->answers->names.stopping;
	struct cpu_budget budget;
	(void)until;
	if (is_built(m->handle, m->kind))
		return 0;
	cpu_budget_begin(&budget, BUILD_MAX, stopping);
	m->builder.shown.mode = handle_demangle(m->handle);
	m->builder.shown.limit = (struct shown_limit){cpu_budget_is_spent, &budget};
	int err = handle_run(m->handle, build_names, m);
	if (!err && atomic_load(stopping))
		err = -ENOTCONN;
	if (err == -EFAULT) {
		answers_report_corrupt(m->answers, m->rev, m->handle, err, NULL);
		err = -EIO;
	}
	/* Only this thread builds indexes, so none is attached yet. */
	if (!err && m->kind == NAMES_SHOWN &&
	    handle_attach(m->handle, SLOT_NAMES, m->builder.names.table, destroy_names))
		m->builder.names.table = NULL;
	else if (!err && m->kind == NAMES_STORED)
		name_index_publish(m->handle->reader, TAKE(m->builder.names.table));
	return err;
}

const struct job_kind symbol_names_kind = {"names", names_job_new, names_job_go_on, names_job_free};

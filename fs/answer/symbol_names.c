#include "fs/answer/symbol_names.h"

#include <errno.h>

#include "fs/answer/attached.h"
#include "convert/os/guard.h"
#include "fs/call/call.h"
#include "fs/images/revision.h"
#include "gsym/render/shown_names.h"

enum {
	MAKING_MAX =
		10, /* seconds: a million real names take two. Later names are not found as they are shown */
	ASKED_EACH = 32, /* names: to ask for the time takes as long as a short one */
};

void cpu_budget_begin(struct cpu_budget *cpu_budget, unsigned seconds, const atomic_bool *stopping)
{
	*cpu_budget = (struct cpu_budget){.stopping = stopping};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_budget->end);
	cpu_budget->end.tv_sec += seconds;
}

bool cpu_budget_is_spent(void *user)
{
	struct cpu_budget *p = user;
	struct timespec now;
	if (p->asked++ % ASKED_EACH || p->end.tv_sec == 0)
		return p->end.tv_sec == 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	if ((p->stopping && atomic_load(p->stopping)) || now.tv_sec > p->end.tv_sec ||
	    (now.tv_sec == p->end.tv_sec && now.tv_nsec > p->end.tv_nsec))
		p->end.tv_sec = 0;
	return p->end.tv_sec == 0;
}

static bool is_made(const struct handle *handle, enum symbol_names kind)
{
	return kind == NAMES_STORED ? name_index_is_made(handle->reader)
				    : handle_attached(handle, SLOT_NAMES) != NULL;
}

int symbol_names_ready(struct answers *answers, struct revision *rev, const struct handle *handle,
		       enum symbol_names kind, struct wait *ret_wait)
{
	return is_made(handle, kind) ? 0 : background_await(&answers->names, rev, kind, ret_wait);
}

/* ---- Making ---- */

/* Outlives a fault in the middle. */
struct making {
	struct answers *answers;
	struct revision *rev;
	struct handle *handle;
	enum symbol_names kind;
	struct shown_builder builder;
};

static void *making_new(void *user, struct revision *rev, unsigned part)
{
	struct answers *answers = user;
	struct wait wait;
	struct making *m = calloc(1, sizeof(*m));
	if (!m || revision_use(answers->images, rev, &m->handle, &wait)) {
		free(m);
		return NULL;
	}
	m->answers = answers;
	m->rev = rev;
	m->kind = (enum symbol_names)part;
	return m;
}

static void making_free(void *making)
{
	struct making *m = making;
	shown_builder_deinit(&m->builder);
	handle_put(m->handle);
	free(m);
}

static int make(void *arg)
{
	struct making *m = arg;
	if (m->kind == NAMES_SHOWN)
		return shown_builder_run(&m->builder, m->handle->reader);
	m->builder.names.reader = m->handle->reader;
	return name_builder_run(&m->builder.names);
}

static void destroy_names(void *table)
{
	name_table_free(table);
}

/* In one go: there is a limit to the time it takes. */
static int making_go_on(void *making, int64_t until)
{
	struct making *m = making;
	const atomic_bool *stopping = &m->answers->names.stopping;
	struct cpu_budget cpu_budget;
	(void)until;
	if (is_made(m->handle, m->kind))
		return 0;
	cpu_budget_begin(&cpu_budget, MAKING_MAX, stopping);
	m->builder.shown.mode = handle_demangle(m->handle);
	m->builder.shown.limit = (struct shown_limit){cpu_budget_is_spent, &cpu_budget};
	int err = guard_run(make, m);
	if (!err && atomic_load(stopping))
		err = -ENOTCONN;
	if (err == -EFAULT) {
		answers_report_corrupt(m->answers, m->rev, m->handle, err, NULL);
		err = -EIO;
	}
	/* Only this thread makes them, so that no other can be faster. */
	if (!err && m->kind == NAMES_SHOWN &&
	    handle_attach(m->handle, SLOT_NAMES, m->builder.names.table, destroy_names))
		m->builder.names.table = NULL;
	else if (!err && m->kind == NAMES_STORED)
		name_index_publish(m->handle->reader, TAKE(m->builder.names.table));
	return err;
}

const struct job_kind symbol_names_kind = {"names", making_new, making_go_on, making_free};

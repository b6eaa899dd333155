#include "fs/answer/symbol_names.h"

#include <errno.h>

#include "gsym/render/shown_names.h"
#include "fs/answer/answer.h"
#include "fs/answer/attached.h"
#include "convert/os/guard.h"
#include "fs/images/revision.h"

enum {
	MAKING_MAX =
		10, /* seconds: a million real names take two. Later names are not found as they are shown */
	ASKED_EACH = 32, /* names: to ask for the time takes as long as a short one */
};

void patience_begin(struct patience *patience, unsigned seconds, const atomic_bool *stopping)
{
	*patience = (struct patience){.stopping = stopping};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &patience->end);
	patience->end.tv_sec += seconds;
}

bool patience_is_over(void *user)
{
	struct patience *p = user;
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

int symbol_names_ready(struct revision *rev, const struct handle *handle, enum symbol_names kind,
		       struct wait *wait)
{
	if (is_made(handle, kind))
		return 0;
	*wait = (struct wait){.revision = rev, .work = WORK_NAMES, .part = (uint8_t)kind};
	return -EAGAIN;
}

/* Outlives a fault in the middle. */
struct making {
	struct handle *handle;
	enum symbol_names kind;
	struct shown_builder builder;
};

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

static int make_open(struct gsymfs *fs, struct revision *rev, struct handle *handle, enum symbol_names kind)
{
	struct making m = {.handle = handle, .kind = kind};
	struct patience patience;
	patience_begin(&patience, MAKING_MAX, &fs->queue.stopping);
	m.builder.shown.mode = handle_demangle(handle);
	m.builder.shown.limit = (struct shown_limit){patience_is_over, &patience};
	int err = guard_run(make, &m);
	if (!err && atomic_load(&fs->queue.stopping))
		err = -ENOTCONN;
	if (err == -EFAULT) {
		answer_complain(fs, rev, handle, err, NULL);
		err = -EIO;
	}
	/* Only this thread makes them, so that no other can be faster. */
	if (!err && kind == NAMES_SHOWN &&
	    handle_attach(handle, SLOT_NAMES, m.builder.names.table, destroy_names))
		m.builder.names.table = NULL;
	else if (!err && kind == NAMES_STORED)
		name_index_publish(handle->reader, TAKE(m.builder.names.table));
	shown_builder_deinit(&m.builder);
	return err;
}

int symbol_names_make(struct gsymfs *fs, struct revision *rev, enum symbol_names kind)
{
	struct handle *handle;
	struct wait wait;
	if (revision_use(&fs->images, rev, &handle, &wait))
		return 0; /* the call will find out itself, and wait if it must */
	int err = is_made(handle, kind) ? 0 : make_open(fs, rev, handle, kind);
	handle_put(handle);
	return err;
}

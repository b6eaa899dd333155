#include "work/run/fragment_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "gsym/base/diag.h"
#include "work/worker/child.h"
#include "work/run/convert_job.h"
#include "work/run/job_worker.h"
#include "work/run/zygote.h"

enum { DETAILS_MAX = 4096 /* frames: more than calls are inlined into one another */ };

struct fragment_run {
	struct convert_job job;
	struct outcome outcome; /* only its diagnosis is used */
	struct child child;
	run_detail_vec *details; /* those of the address that is asked for are appended */
	size_t n_before;         /* how many there were */
};

static int start_fragment(const struct converter *converter, const struct convert_request *request,
			  struct fragment_run **ret)
{
	struct fragment_run *run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->job = (struct convert_job){
		.converter = converter,
		.request = request,
		.out = &run->outcome,
		.input = -1,
		.binary = -1,
		.temp = CACHE_TEMP_NONE,
		.fragment = -1,
	};
	*ret = run;
	int err = job_prepare_fragments(&run->job);
	/* There is no output. */
	return err ? err : job_start_worker(&run->job, run->job.fragment, &run->child);
}

/* Appends the details of a frame. 1 if they are the last, 0 if not, or -ENOMEM. */
static int take_detail(struct fragment_run *run, const struct worker_detail *m)
{
	size_t dir_size = strlen(m->start_dir) + 1;
	size_t base_size = strlen(m->start_base) + 1;
	char *start = malloc(dir_size + base_size + m->source_size);
	if (!m->has_frame || !start) {
		free(start);
		return start ? 1 : -ENOMEM;
	}
	strcpy(start, m->start_dir);
	strcpy(start + dir_size, m->start_base);
	memcpy(start + dir_size + base_size, m->source, m->source_size);
	const struct run_detail detail = {
		.frame = {.line = m->line,
			  .column = m->column,
			  .discriminator = m->discriminator,
			  .start_line = m->start_line,
			  .start_dir = start,
			  .start_base = start + dir_size,
			  .start = m->start,
			  .has_start = m->has_start,
			  .comp_size = m->comp_size,
			  .start_comp_size = m->start_comp_size,
			  .source = start + dir_size + base_size,
			  .source_size = m->source_size},
		.start = start,
	};
	if (vec_push(run->details, detail)) {
		free(start);
		return -ENOMEM;
	}
	return run->details->n - run->n_before > DETAILS_MAX ? -EPROTO : !m->more;
}

/* Handles a message: 1 after the last one for what was asked, 0 before, or a negative errno. */
static int take_message(struct fragment_run *run, const union worker_message *msg, struct handle **ret)
{
	switch (msg->head.type) {
	case WORKER_OPEN: return job_open_neighbour(&run->job, &run->child, &msg->open);
	case WORKER_FETCH: return job_fetch(&run->job, &run->child, &msg->fetch);
	case WORKER_DETAIL: return run->details ? take_detail(run, &msg->detail) : -EPROTO;
	case WORKER_FRAGMENT: {
		if (run->details)
			return -EPROTO;
		int err = job_take_fragment(&run->job, &msg->fragment, ret);
		return err ? err : 1;
	}
	case WORKER_FAILED:
		if (!run->details || msg->failed.error <= 0 || msg->failed.at_limit)
			return -ENODATA;
		return diag_set(&run->outcome.diag, -msg->failed.error, "%s", msg->failed.text);
	}
	return -EPROTO;
}

static int receive(struct fragment_run *run, struct handle **ret)
{
	const struct converter *c = run->job.converter;
	int64_t deadline = monotonic_ms() + (int64_t)c->seconds * 1000;
	union worker_message msg;
	int got, done = 0;
	run->job.waited_ms = 0;
	while (!done &&
	       (got = child_receive(&run->child, c->stop_fd, deadline + run->job.waited_ms, &msg)) == 1)
		done = take_message(run, &msg, ret);
	if (!done)
		return got < 0 ? got : -EPIPE;
	return done < 0 ? done : 0;
}

static int ask_more(const struct fragment_run *run, const struct convert_address *asked, size_t n,
		    const struct detail_question *question)
{
	struct worker_ask m = {
		.line = question->line, .is_data = question->is_data, .n_source = question->n_source};
	m.n_asked = job_put_asked(asked, n, m.asked);
	return worker_send(run->child.sock, &m.head, WORKER_ASK, -1);
}

int fragment_run(const struct converter *converter, const struct convert_request *request,
		 const struct convert_address *asked, size_t n, struct fragment_run **run,
		 struct handle **ret_handle)
{
	int err;
	*ret_handle = NULL;
	if (*run) {
		err = ask_more(*run, asked, n, &(struct detail_question){0});
	} else {
		err = start_fragment(converter, request, run);
		if (!err)
			err = job_send_order(&(*run)->job, &(*run)->child, asked, n, WORKER_FRAGMENTS);
	}
	return err ? err : receive(*run, ret_handle);
}

/* Starts a worker that answers details, and waits until it has all files. */
static int start_details(const struct converter *converter, const struct convert_request *request,
			 run_detail_vec *details, struct fragment_run **ret)
{
	int err = start_fragment(converter, request, ret);
	if (err)
		return err;
	(*ret)->details = details;
	(*ret)->n_before = details->n;
	err = job_send_order(&(*ret)->job, &(*ret)->child, NULL, 0, WORKER_DETAILS);
	return err ? err : receive(*ret, NULL);
}

int fragment_run_details(const struct converter *converter, const struct convert_request *request,
			 const struct detail_question *question, struct fragment_run **run,
			 run_detail_vec *ret, struct gsym_diag *diag)
{
	const struct convert_address asked = {.value = question->addr};
	int err = *run ? 0 : start_details(converter, request, ret, run);
	if (!err) {
		(*run)->details = ret;
		(*run)->n_before = ret->n;
		err = ask_more(*run, &asked, 1, question);
	}
	if (!err)
		err = receive(*run, NULL);
	const char *text = err && *run ? (*run)->outcome.diag.text : "";
	if (err)
		diag_set(diag, err, "%s",
			 *text           ? text
			 : err == -EPIPE ? "the worker has ended"
					 : strerror(-err));
	return err;
}

void run_details_cut(run_detail_vec *details, size_t n)
{
	while (details->n > n)
		free(details->v[--details->n].start);
}

void fragment_run_end(struct fragment_run *run)
{
	if (!run)
		return;
	if (run->child.pid) {
		child_kill(&run->child);
		int status = child_finish(&run->child, NULL);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) /* that was us */
			zygote_note_end(run->job.converter->zygote, status);
	}
	job_close(&run->job);
	free(run);
}

/*
 * A symbol is searched by its stored name first, and then by its demangled forms, for which an index must
 * have been made (symbol_names.h). All reads of the mapped cache file are guarded (guard.h): what an attempt
 * allocates lives in struct answering, so that a fault in the middle leaks nothing.
 */
#include "fs/answer/answer.h"

#include <errno.h>

#include "gsym/read/lookup.h"
#include "gsym/render/namesakes.h"
#include "gsym/render/render.h"
#include "fs/answer/symbol_names.h"
#include "work/run/reason.h"

enum {
	SEARCH_MAX = 1,    /* CPU seconds to compare demangled names: real ones take far less than a
				 millisecond */
	ANSWER_SIZE = 512, /* bytes that most answers fit into, so that their buffer need not grow */
};

/* An answer being rendered. */
struct answering {
	const struct gsym_reader *reader;
	const struct handle *handle;
	const struct request *request;
	const struct render_options *options;
	const struct address_map *map;
	const struct name_table *shown_names; /* index of demangled names; NULL: not made yet */
	struct shown_search shown;
	struct nearest_names nearest;
	struct cpu_budget budget;
	bool print_unknown;
	bool known;     /* out */
	unsigned flags; /* enum gsym_lookup_flags */
	struct gsym_answer answer;
	struct text_buf out;
	struct gsym_diag diag;
};

/* ---- Answers ---- */

/* Renders one function of the name; -ENOENT when the offset is past its end. */
static int symbol_answer(void *user, const struct name_hit *hit)
{
	struct answering *w = user;
	const struct request *request = w->request;
	uint64_t off = request->address, back = request->context.is_return;
	uint64_t given = gsym_reader_address(w->reader, hit->index) + off;
	if (off < back || (hit->size && off - back >= hit->size))
		return -ENOENT;
	int err = gsym_lookup_flags(w->reader, given - back, hit->which, w->flags, &w->answer, &w->diag);
	if (err)
		return err;
	if (back)
		answer_count_from_return(&w->answer);
	if (w->out.n)
		render_end_record(&w->out, w->options->format);
	return render_answer(&w->out, given, &w->answer, w->options);
}

/* -EAGAIN when the index of demangled names is needed. */
static int find_symbol(struct answering *w)
{
	const struct request *request = w->request;
	cpu_budget_begin(&w->budget, SEARCH_MAX, NULL);
	w->shown.shown.limit = (struct shown_limit){cpu_budget_is_spent, &w->budget};
	int n = namesakes_visit(w->reader, w->shown_names, &w->shown, request->symbol, request->symbol_size,
				symbol_answer, w);
	return n < 0 ? n : 0;
}

/* Writes which names are like the one that no function has. */
static int give_nearest(struct answering *w)
{
	const struct request *request = w->request;
	cpu_budget_begin(&w->budget, SEARCH_MAX, NULL);
	w->nearest.shown =
		(struct shown_names){.limit = {cpu_budget_is_spent, &w->budget}, .mode = w->shown.shown.mode};
	int err = nearest_names_find(&w->nearest, w->reader, request->symbol, request->symbol_size);
	text_lit(&w->out, "no function is called so");
	nearest_names_append(&w->out, &w->nearest);
	text_char(&w->out, '\n');
	return err ? err : w->out.failed ? -ENOMEM : 0;
}

static int find_symbol_and_render(struct answering *w)
{
	int err = find_symbol(w);
	if (err || w->out.n)
		return err;
	return w->request->context.why ? give_nearest(w) : -ENOENT;
}

/* Writes the line of why an address is not answered. */
static int give_reason(struct answering *w)
{
	uint64_t given = w->request->address, address = 0;
	text_addr(&w->out, given);
	text_lit(&w->out, ": ");
	if (context_to_link(&w->request->context, w->map, given, &address))
		reason_append(&w->out, w->reader, w->handle, address, &w->answer);
	else
		text_lit(&w->out, "stands for no place of the image: it is below the load address, or in no "
				  "segment of the file");
	text_char(&w->out, '\n');
	return w->out.failed ? -ENOMEM : 0;
}

static int look_up_and_render(void *arg)
{
	struct answering *w = arg;
	if (w->request->kind == REQUEST_SYMBOL)
		return find_symbol_and_render(w);
	if (w->request->context.why)
		return give_reason(w);
	uint64_t given = w->request->address, address = 0;
	int err = -ENOENT;
	if (context_to_link(&w->request->context, w->map, given, &address))
		err = gsym_lookup_flags(w->reader, address, 0, w->flags, &w->answer, &w->diag);
	if (err == -ENOENT && w->print_unknown) {
		w->known = false;
		return render_unknown(&w->out, given, w->options);
	}
	if (err)
		return err;
	if (w->request->context.is_return)
		answer_count_from_return(&w->answer);
	return render_answer(&w->out, given, &w->answer, w->options);
}

static int take_content(const struct answering *w, struct content **ret)
{
	struct content *content = content_new(w->out.v, w->out.n);
	if (!content)
		return -ENOMEM;
	*ret = content;
	return 0;
}

static int finish(const struct answers *answers, struct revision *rev, const struct handle *handle,
		  struct answering *w, int err, struct content **ret)
{
	if (err == -ENOENT || err == -ENOMEM || err == -EAGAIN)
		return err;
	if (err) {
		answers_report_corrupt(answers, rev, handle, err, w->diag.text);
		return -EIO;
	}
	return take_content(w, ret);
}

/* A function that a fragment lacks may be in the rest, and damage of a fragment is none of the image. */
static int finish_early(const struct answers *answers, struct revision *rev, const struct handle *handle,
			struct answering *w, int err, struct content **ret)
{
	(void)answers;
	(void)rev;
	(void)handle;
	if (!err && !w->known)
		err = -ENOENT;
	return err ? err : take_content(w, ret);
}

static bool wants_near(const struct answers *answers, const struct context *place)
{
	return place->near || answers->approximate;
}

struct batch_options answer_batch_options(const struct answers *answers, const struct request *request,
					  const struct context *place)
{
	return (struct batch_options){
		.render.format = request->format,
		.render.mark_merged = answers->mark_merged,
		.near = wants_near(answers, place),
		.is_return = place->is_return,
	};
}

/* Takes what was made, or what went wrong with reading the cache file. */
typedef int finish_fn(const struct answers *answers, struct revision *rev, const struct handle *handle,
		      struct answering *w, int err, struct content **ret);

static int attempt(const struct answers *answers, struct revision *rev, struct handle *handle,
		   const struct request *request, finish_fn *end, struct content **ret, bool *ret_known)
{
	char module[PATH_MAX];
	struct render_options options = {
		.format = request->format,
		.demangle = answers_demangle(answers, handle, request->raw),
		.mark_merged = answers->mark_merged,
	};
	module[0] = 0; /* all of it would be 4 KiB of zeros */
	if (request->format != RENDER_TEXT)
		answers_module(answers, rev, module);
	options.module = module;
	struct answering w = {
		.reader = handle->reader,
		.handle = handle,
		.request = request,
		.options = &options,
		.map = &handle->addresses,
		.shown.shown.mode = handle_demangle(handle),
		.shown_names = handle_attached(handle, SLOT_NAMES),
		.print_unknown = answers->unknown_print,
		.known = true,
		.flags = render_lookup_flags(options.format) |
			 (wants_near(answers, &request->context) ? GSYM_LOOKUP_NEAR : 0),
	};
	text_reserve(&w.out, ANSWER_SIZE); /* without memory, it fails there */
	int err = handle_run(handle, look_up_and_render, &w);
	err = end(answers, rev, handle, &w, err, ret);
	if (!err && ret_known)
		*ret_known = w.known;
	gsym_answer_deinit(&w.answer);
	shown_search_deinit(&w.shown);
	nearest_names_deinit(&w.nearest);
	text_deinit(&w.out);
	return err;
}

int answer_make(struct answers *answers, struct revision *rev, struct handle *handle,
		const struct request *request, struct wait *ret_wait, struct content **ret, bool *ret_known)
{
	int err = request->kind == REQUEST_SYMBOL
			  ? symbol_names_ready(answers, rev, handle, NAMES_STORED, ret_wait)
			  : 0;
	if (err)
		return err;
	do
		err = attempt(answers, rev, handle, request, finish, ret, ret_known);
	while (err == -EAGAIN && !symbol_names_ready(answers, rev, handle, NAMES_SHOWN, ret_wait));
	return err;
}

int answer_make_early(struct answers *answers, struct revision *rev, struct handle *fragment,
		      const struct request *request, struct content **ret)
{
	return attempt(answers, rev, fragment, request, finish_early, ret, NULL);
}

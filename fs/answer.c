#include "answer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../gsym/base/diag.h"
#include "../gsym/names.h"
#include "../gsym/render/render.h"
#include "guard.h"
#include "place.h"
#include "revision.h"

enum { NAMESAKES_MAX = 1000 }; /* functions of one name that are shown */

static const enum render_format render_formats[] = {
	[FORMAT_TEXT] = RENDER_TEXT,
	[FORMAT_TSV] = RENDER_TSV,
	[FORMAT_JSON] = RENDER_JSON,
	[FORMAT_ATOS] = RENDER_ATOS,
};

/* One answer being made; outlives a fault in the middle of it. */
struct work {
	const struct gsym_reader *reader;
	const struct request *request;
	const struct render_options *options;
	const struct address_map *map;
	bool print_unknown;
	bool known; /* out */
	unsigned flags; /* enum gsym_lookup_flags */
	struct gsym_answer answer;
	struct text_buf out;
	struct gsym_diag diag;
};

/* ---- Answers ---- */

/* What was asked for lies one byte behind what was looked up. */
static void step_back(struct gsym_answer *answer)
{
	for (size_t i = 0; i < answer->n_frames; i++)
		answer->frames[i].offset++;
}

/* One function of the name that was asked for; -ENOENT when it ends before the place. */
static int symbol_answer(struct work *w, const struct name_hit *hit)
{
	const struct request *request = w->request;
	uint64_t off = request->address, back = request->context.is_return;
	uint64_t given = gsym_reader_address(w->reader, hit->index) + off;
	if (off < back || (hit->size && off - back >= hit->size))
		return -ENOENT;
	int err = gsym_lookup_flags(w->reader, given - back, hit->which, w->flags, &w->answer, &w->diag);
	if (err)
		return err;
	if (back)
		step_back(&w->answer);
	if (w->out.n && w->options->format != RENDER_TSV && w->options->format != RENDER_JSON)
		text_char(&w->out, '\n');
	return render_answer(&w->out, given, &w->answer, w->options);
}

/* All functions of the name, in the order of their addresses. */
static int find_symbol_and_render(struct work *w)
{
	struct name_search search;
	struct name_hit hit;
	int err = name_search_begin(&search, w->reader, w->request->symbol, w->request->symbol_size);
	for (unsigned n = 0; !err && n < NAMESAKES_MAX && name_search_next(&search, &hit); n++) {
		err = symbol_answer(w, &hit);
		if (err == -ENOENT)
			err = 0;
	}
	return err ? err : w->out.n ? 0 : -ENOENT;
}

static int look_up_and_render(void *arg)
{
	struct work *w = arg;
	if (w->request->kind == REQUEST_SYMBOL)
		return find_symbol_and_render(w);
	uint64_t given = w->request->address, address = 0;
	int err = -ENOENT;
	if (place_to_link(&w->request->context, w->map, given, &address))
		err = gsym_lookup_flags(w->reader, address, 0, w->flags, &w->answer, &w->diag);
	if (err == -ENOENT && w->print_unknown) {
		w->known = false;
		return render_unknown(&w->out, given, w->options);
	}
	if (err)
		return err;
	if (w->request->context.is_return)
		step_back(&w->answer);
	return render_answer(&w->out, given, &w->answer, w->options);
}

void answer_complain(struct gsymfs *fs, struct revision *rev, int err, const char *text)
{
	bool lost = err == -EFAULT;
	const char *reason = lost ? "the converted file in the cache was cut short" : text;
	if (lost)
		cache_forget(&fs->cache, &rev->key);
	if (revision_complain(&fs->images, rev, reason, lost))
		log_warning(&fs->log, "'%s': %s", rev->source.path, reason);
}

static int finish(struct gsymfs *fs, struct revision *rev, struct work *w, int err, struct content **ret)
{
	if (err == -ENOENT || err == -ENOMEM)
		return err;
	if (err) {
		answer_complain(fs, rev, err, w->diag.text);
		return -EIO;
	}
	struct content *content = content_new(w->out.v, w->out.n);
	if (!content)
		return -ENOMEM;
	*ret = content;
	return 0;
}

void answer_module(const struct gsymfs *fs, const struct revision *rev, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", fs->source, rev->binary.path ? rev->binary.path : rev->source.path);
}

enum demangle_mode answer_demangle(const struct gsymfs *fs, const struct handle *handle, bool raw)
{
	if (raw || !fs->options.demangle)
		return DEMANGLE_OFF;
	return handle->addresses.has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO;
}

static bool wants_near(const struct gsymfs *fs, const struct context *place)
{
	return place->near || fs->options.approximate;
}

struct batch_options answer_batch_options(const struct gsymfs *fs, const struct request *request, const struct context *place)
{
	return (struct batch_options){
		.render.format = render_formats[request->format],
		.near = wants_near(fs, place),
		.is_return = place->is_return,
	};
}

int answer_make(struct gsymfs *fs, struct revision *rev, struct handle *handle, const struct request *request,
		struct content **ret, bool *ret_known)
{
	char module[PATH_MAX] = "";
	struct render_options options = {
		.format = render_formats[request->format],
		.demangle = answer_demangle(fs, handle, request->raw),
	};
	if (request->format != FORMAT_TEXT)
		answer_module(fs, rev, module);
	options.module = module;
	struct work w = {
		.reader = handle->reader,
		.request = request,
		.options = &options,
		.map = &handle->addresses,
		.print_unknown = fs->options.unknown_print,
		.known = true,
		.flags = render_lookup_flags(options.format) | (wants_near(fs, &request->context) ? GSYM_LOOKUP_NEAR : 0),
	};
	int err = guard_run(look_up_and_render, &w);
	err = finish(fs, rev, &w, err, ret);
	if (!err && ret_known)
		*ret_known = w.known;
	gsym_answer_deinit(&w.answer);
	text_deinit(&w.out);
	return err;
}

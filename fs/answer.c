#include "answer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../gsym/base/diag.h"
#include "../gsym/render/render.h"
#include "guard.h"
#include "revision.h"

static const enum render_format render_formats[] = {
	[FORMAT_TEXT] = RENDER_TEXT,
	[FORMAT_TSV] = RENDER_TSV,
	[FORMAT_JSON] = RENDER_JSON,
};

/* One answer being made; outlives a fault in the middle of it. */
struct work {
	const struct gsym_reader *reader;
	const struct request *request;
	const struct render_options *options;
	bool print_unknown;
	struct gsym_answer answer;
	struct text_buf out;
	struct gsym_diag diag;
};

static int look_up_and_render(void *arg)
{
	struct work *w = arg;
	uint64_t address = w->request->address;
	int err = gsym_lookup(w->reader, address, &w->answer, &w->diag);
	if (err == -ENOENT && w->print_unknown)
		return render_unknown(&w->out, address, w->options);
	return err ? err : render_answer(&w->out, address, &w->answer, w->options);
}

/* The converted file let us down: why goes to status and, now and then, to the log. */
static int complain(struct gsymfs *fs, struct revision *rev, int err, const char *text)
{
	bool lost = err == -EFAULT;
	const char *reason = lost ? "the converted file in the cache was cut short" : text;
	if (lost)
		cache_forget(&fs->cache, &rev->key);
	if (revision_complain(&fs->images, rev, reason, lost))
		log_warning(&fs->log, "'%s': %s", rev->source.path, reason);
	return -EIO;
}

static int finish(struct gsymfs *fs, struct revision *rev, struct work *w, int err, struct content **ret)
{
	if (err == -ENOENT || err == -ENOMEM)
		return err;
	if (err)
		return complain(fs, rev, err, w->diag.text);
	struct content *content = content_new(w->out.v, w->out.n);
	if (!content)
		return -ENOMEM;
	*ret = content;
	return 0;
}

int answer_make(struct gsymfs *fs, struct revision *rev, struct handle *handle, const struct request *request,
		struct content **ret)
{
	char module[PATH_MAX] = "";
	if (request->format != FORMAT_TEXT)
		snprintf(module, sizeof(module), "%s/%s", fs->source, rev->source.path);
	const struct render_options options = {
		.format = render_formats[request->format],
		.demangle = request->raw || !fs->options.demangle ? DEMANGLE_OFF : DEMANGLE_AUTO,
		.module = module,
	};
	struct work w = {
		.reader = handle->reader,
		.request = request,
		.options = &options,
		.print_unknown = fs->options.unknown_print,
	};
	int err = guard_run(look_up_and_render, &w);
	err = finish(fs, rev, &w, err, ret);
	gsym_answer_deinit(&w.answer);
	text_deinit(&w.out);
	return err;
}

#include "fs/answer/answers.h"

#include <errno.h>
#include <stdio.h>

#include "work/os/log.h"
#include "fs/images/revision.h"

static void init_background(struct answers *answers, struct background *background,
			    const struct job_kind *kind)
{
	*background = (struct background){.kind = kind, .user = answers, .images = answers->images};
	background_init(background);
}

void answers_init(struct answers *answers, const struct job_kind *tables, const struct job_kind *names)
{
	accounts_init(&answers->accounts);
	list_init(&answers->streams);
	init_background(answers, &answers->tables, tables);
	init_background(answers, &answers->names, names);
}

void answers_deinit(struct answers *answers)
{
	background_deinit(&answers->tables);
	background_deinit(&answers->names);
	accounts_deinit(&answers->accounts);
}

enum demangle_mode answers_demangle(const struct answers *answers, const struct handle *handle, bool raw)
{
	return raw || !answers->demangle ? DEMANGLE_OFF : handle_demangle(handle);
}

void answers_path(const struct answers *answers, const char *path, char ret[static PATH_MAX])
{
	bool below = *path != '/';
	snprintf(ret, PATH_MAX, "%s%s%s", below ? answers->source : "", below ? "/" : "", path);
}

void answers_module(const struct answers *answers, const struct revision *rev, char ret[static PATH_MAX])
{
	answers_path(answers, rev->binary.path ? rev->binary.path : rev->source.path, ret);
}

void answers_report_corrupt(const struct answers *answers, struct revision *rev, const struct handle *handle,
			    int err, const char *text)
{
	static const char truncated[] = "the converted file in the cache was truncated";
	bool loud = err == -EFAULT ? revision_lose(answers->images, answers->cache, rev, handle, truncated)
				   : revision_complain(answers->images, rev, text);
	char path[PATH_MAX];
	answers_path(answers, rev->source.path, path);
	if (loud)
		log_warning(answers->log, "%s: %s", path, err == -EFAULT ? truncated : text);
}

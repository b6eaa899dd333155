#include "store/share/share_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *absolute_path(const struct converter *c, const char *path)
{
	char *ret = NULL;
	bool below = c->root && *path != '/';
	return asprintf(&ret, "%s%s%s", below ? c->root : "", below ? "/" : "", path) < 0 ? NULL : ret;
}

static int make_file(const struct converter *c, const struct convert_input *input, struct share_file *ret)
{
	if (!input->path)
		return 0;
	ret->path = absolute_path(c, input->path);
	ret->state = input->state;
	ret->kind = input->kind;
	return ret->path ? 0 : -ENOMEM;
}

int share_facts_make(const struct convert_job *job, struct share_facts *ret)
{
	const struct converter *c = job->converter;
	const struct convert_request *request = job->request;
	*ret = (struct share_facts){
		.id = strdup(request->id),
		.arch = strdup(request->arch),
		.search = c->search,
		.merged = c->merged,
	};
	int err = make_file(c, &request->source, &ret->files[SHARE_SOURCE]);
	if (!err)
		err = make_file(c, &request->binary, &ret->files[SHARE_BINARY]);
	if (!err) {
		const char *path = ret->files[SHARE_SOURCE].path;
		ret->directory = strndup(path, (size_t)(strrchr(path, '/') - path));
	}
	return err || !ret->id || !ret->arch || !ret->directory ? -ENOMEM : 0;
}

void share_facts_deinit(struct share_facts *facts)
{
	free(facts->id);
	free(facts->arch);
	free(facts->directory);
	for (size_t i = 0; i < SHARE_FILES; i++)
		free(facts->files[i].path);
	*facts = (struct share_facts){0};
}

static int print_file(const struct share_file *file, int fd, struct store_file *ret)
{
	ret->size = file->state.size;
	ret->kind = file->kind;
	return file->path ? file_print(fd, file->state.size, ret->print) : 0;
}

int share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES], struct store_key *ret)
{
	struct store_facts all = {
		.id = facts->id,
		.arch = facts->arch,
		.version = IMAGE_GSYM_VERSION,
		.merged = facts->merged,
		.servers = facts->search.servers,
	};
	int err = print_file(&facts->files[SHARE_SOURCE], fds[SHARE_SOURCE], &all.source);
	if (!err)
		err = print_file(&facts->files[SHARE_BINARY], fds[SHARE_BINARY], &all.binary);
	return err ? err : store_key_make(&all, ret);
}

#include "store/share/share_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "work/cache/sampled_hash.h"
#include "store/share/share_inputs.h"
#include "store/client/file_digest.h"

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
	ret->has_digest = input->digest;
	if (input->digest)
		memcpy(ret->digest, input->digest, STORE_DIGEST);
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

static struct file_key key_of(const struct file_state *state)
{
	return (struct file_key){state->dev, state->ino, state->size, state->mtime_ns, state->ctime_ns};
}

static int digest_file(struct share_file *file, const struct share_digests *digests, int fd,
		       bool (*more)(void *user), void *user)
{
	const struct file_key key = key_of(&file->state);
	bool settled = !file_key_unsettled(&key);
	int err = file_digest(fd, key.size, more, user, file->digest);
	file->has_digest = !err;
	if (!err && settled && digests->keep && !file_state_check(fd, &file->state))
		digests->keep(digests->user, &key, file->digest);
	return err;
}

static bool is_known(struct share_file *file, const struct share_digests *digests)
{
	const struct file_key key = key_of(&file->state);
	if (!file->has_digest)
		file->has_digest = digests->find && digests->find(digests->user, &key, file->digest);
	return file->has_digest;
}

int share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
		       const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user), void *user)
{
	int err = 0;
	for (size_t i = 0; i < SHARE_FILES && !err; i++) {
		struct share_file *file = &facts->files[i];
		if (file->path && !is_known(file, digests) && file->state.size <= most)
			err = digest_file(file, digests, fds[i], more, user);
	}
	return err;
}

static int key_file(const struct share_file *file, int fd, struct store_file *ret)
{
	XXH128_hash_t sample;
	struct stat st;
	if (!file->path)
		return 0;
	ret->path = file->path;
	ret->state = file->state;
	if (file->has_digest) {
		ret->digest = file->digest;
		return 0;
	}
	if (fstat(fd, &st))
		return -errno;
	int err = share_is_trusted(&st) ? sampled_hash(fd, file->state.size, &sample) : -EPERM;
	if (!err) {
		ret->sample[0] = sample.high64;
		ret->sample[1] = sample.low64;
	}
	return err;
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
	int err = key_file(&facts->files[SHARE_SOURCE], fds[SHARE_SOURCE], &all.source);
	if (!err)
		err = key_file(&facts->files[SHARE_BINARY], fds[SHARE_BINARY], &all.binary);
	return err ? err : store_key_make(&all, ret);
}

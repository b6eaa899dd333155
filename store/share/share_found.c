#include "store/share/share_found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work/cache/publish.h"
#include "store/share/share_inputs.h"
#include "store/share/share_payload.h"
#include "store/client/store_object.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	FAILURE_SECONDS = 24 * 3600, /* for which a failure is believed */
	CLOCKS_SECONDS = 3600,       /* that clocks may differ: of a server, its files, and this host */
	/*
	 * A conversion is about as large as the code it is of; sections that are compressed, which are the
	 * least that it may be made of, shrink to a fifth.
	 */
	SIZE_LEAST = 64 << 20,
	SIZE_FACTOR = 16,
};

void share_found_deinit(struct share_found *found, struct cache *cache)
{
	handle_put(found->handle);
	text_deinit(&found->inputs);
	text_deinit(&found->notes);
	cache_temp_close(cache, &found->copy);
	*found = (struct share_found){.copy = CACHE_TEMP_NONE};
}

/* Or a store that sends without end, or little that is much when it is decompressed, would fill the disk. */
uint64_t share_found_size_max(const struct share_facts *facts, const struct cache *cache)
{
	const uint64_t limit = cache->limit;
	uint64_t bytes = 0;
	for (size_t i = 0; i < SHARE_FILES; i++)
		bytes += facts->files[i].path ? facts->files[i].state.size : 0;
	return limit < SIZE_LEAST || bytes > (limit - SIZE_LEAST) / SIZE_FACTOR
		       ? limit
		       : SIZE_LEAST + bytes * SIZE_FACTOR;
}

/* ---- Checks ---- */

/*
 * Seconds since it was written; INT64_MAX: not known. By the clock of the store, or ours if that has none:
 * what has no age would be believed for ever. So would be what was written at a time that is to come.
 */
static int64_t age_of(const struct store_reply *reply)
{
	int64_t now = reply->now > 0 ? reply->now : (int64_t)time(NULL);
	if (reply->modified <= 0 || reply->modified - CLOCKS_SECONDS > now)
		return INT64_MAX;
	return now > reply->modified ? now - reply->modified : 0;
}

/* The neighbours that the object was made with, and those that are here. */
static int compare_inputs(struct share_found *found, const struct share_facts *facts, struct span inputs,
			  const struct store_reply *reply)
{
	const struct share_place place = {&facts->search, facts->directory,
					  &facts->files[SHARE_SOURCE].state};
	found->alone = !inputs.size;
	return share_inputs_read(&place, inputs, age_of(reply), &found->inputs, &found->notes);
}

struct copying {
	const struct handle *handle;
	struct text_buf notes, inputs;
};

static int copy_texts(void *arg)
{
	struct copying *c = arg;
	text_bytes(&c->notes, c->handle->notes.data, c->handle->notes.size);
	text_bytes(&c->inputs, c->handle->inputs.data, c->handle->inputs.size);
	return c->notes.failed || c->inputs.failed ? -ENOMEM : 0;
}

static int check_conversion(struct share_found *found, const struct share_facts *facts,
			    const struct store_key *key, const struct store_reply *reply,
			    struct gsym_diag *diag)
{
	char name[CACHE_KEY_SIZE];
	share_entry_name(key, facts->id, name);
	int err = handle_open(found->copy.fd, name, &found->handle, diag);
	if (err)
		return err;
	struct copying c = {.handle = found->handle};
	err = handle_run(found->handle, copy_texts, &c);
	found->notes = c.notes;
	text_lit(&found->notes, "origin\tstore\n");
	if (!err)
		err = compare_inputs(found, facts, text_span(&c.inputs), reply);
	text_deinit(&c.inputs);
	return err;
}

static int check_failure(struct share_found *found, const struct share_facts *facts, uint64_t size,
			 const struct store_reply *reply, struct gsym_diag *diag)
{
	struct span inputs;
	if (age_of(reply) >= FAILURE_SECONDS) /* the fault may have been mended meanwhile */
		return diag_set(diag, -ETIME, "a failure of more than a day ago");
	if (size > SHARED_FAILURE_MAX)
		return diag_set(diag, -EBADMSG, "a failure of %llu bytes", (unsigned long long)size);
	CLEANUP(freep) uint8_t *payload = malloc((size_t)size + 1);
	if (!payload)
		return -ENOMEM;
	int err = read_all(found->copy.fd, payload, (size_t)size, 0);
	if (!err)
		err = share_failure_read((struct span){payload, (size_t)size}, found->message,
					 sizeof(found->message), &inputs);
	if (err)
		return diag_set(diag, err, "not the text of a failure");
	return compare_inputs(found, facts, inputs, reply);
}

int share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
		      const struct store_key *key, int fd, const struct store_reply *reply,
		      struct gsym_diag *diag)
{
	struct object_trailer trailer;
	int err = cache_temp_open(share->cache, &found->copy, diag);
	if (!err)
		err = copy_all(fd, found->copy.fd, reply->size);
	if (!err)
		err = object_check(found->copy.fd, reply->size, key, share->trust, &trailer, diag);
	if (!err && ftruncate(found->copy.fd, (off_t)trailer.size))
		err = -errno;
	if (err)
		return err;
	return trailer.kind == OBJECT_FAILURE ? check_failure(found, facts, trailer.size, reply, diag)
					      : check_conversion(found, facts, key, reply, diag);
}

/* ---- Adopting ---- */

static void adopt_failure(const struct share_found *found, struct outcome *out)
{
	diag_set(&out->diag, -EIO, "%s", found->message);
	job_fail(out, VERDICT_FAILED_FOREVER, -EIO);
}

int share_found_adopt(struct share_found *found, struct convert_job *job)
{
	struct outcome *out = job->out;
	struct cache *cache = job->converter->cache;
	int err = job_check_input(job);
	if (err)
		return err;
	text_reset(&job->notes);
	text_reset(&job->inputs);
	text_bytes(&job->notes, found->notes.v, found->notes.n);
	text_bytes(&job->inputs, found->inputs.v, found->inputs.n);
	if (job->notes.failed || job->inputs.failed)
		return -ENOMEM;
	out->diag = (struct gsym_diag){""};
	if (!found->handle) {
		adopt_failure(found, out);
		return 0;
	}
	uint64_t size = found->handle->gsym.size;
	if (ftruncate(found->copy.fd, (off_t)size))
		return -errno;
	err = cache_publish(cache, &found->copy, job->request->key, found->alone, size,
			    text_span(&job->notes), text_span(&job->inputs), &out->handle, &out->diag);
	if (!err)
		out->verdict = VERDICT_READY;
	return err;
}

#include "store/share/share_object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "work/cache/publish.h"
#include "store/share/share_inputs.h"
#include "store/client/store_object.h"
#include "gsym/base/ascii.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

enum {
	KEY_BYTES = FINGERPRINT_DIGITS / 2, /* of the key that are in the name of a conversion */
	FAILURE_SECONDS = 24 * 3600,        /* for which a failure is believed */
	CLOCKS_SECONDS = 3600, /* that clocks may differ: of a server, its files, and this host */
	/*
	 * A conversion is about as large as the code it is of; sections that are compressed, which are the
	 * least that it may be made of, shrink to a fifth.
	 */
	SIZE_LEAST = 64 << 20,
	SIZE_FACTOR = 16,
};

#define FAILURE "gsymfs-failure 1\n"
#define USES    "uses\t"

/* The name of a conversion as an entry. */
static void entry_name(const struct store_key *key, const char *id, char ret[static CACHE_KEY_SIZE])
{
	int n = snprintf(ret, CACHE_KEY_SIZE, "%.*s-", ID_TEXT_SIZE - 1, id);
	hex_write(ret + n, key->digest, KEY_BYTES);
}

/* ---- Writing ---- */

struct notes_copy {
	struct span notes;
	struct text_buf out;
};

/* All but the lines of neighbours. */
static int copy_notes(void *arg)
{
	struct notes_copy *c = arg;
	const char *at = (const char *)c->notes.data, *end = at + c->notes.size;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop + 1 : end) - at);
		if (n < sizeof(USES) - 1 || memcmp(at, USES, sizeof(USES) - 1) != 0)
			text_bytes(&c->out, at, n);
		at += n;
	}
	return c->out.failed ? -ENOMEM : 0;
}

/* The payload of a conversion in @fd, which is empty, and its size. */
static int write_entry(int fd, const char *name, const struct handle *handle, struct span inputs,
		       uint64_t *ret_size)
{
	struct notes_copy c = {.notes = handle->notes};
	struct stat st;
	int err = handle_run(handle, copy_notes, &c);
	/* From a truncated mapping write(2) fails with EFAULT instead of raising SIGBUS. */
	if (!err)
		err = write_all(fd, handle->gsym.data, handle->gsym.size, 0);
	if (!err)
		err = trailer_write(fd, name, handle->gsym.size, text_span(&c.out), inputs);
	if (!err)
		err = handle_check(handle);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		*ret_size = (uint64_t)st.st_size;
	text_deinit(&c.out);
	return err;
}

static int write_conversion(struct share *share, int fd, const struct store_key *key, const char *id,
			    const struct handle *handle, struct span inputs, uint64_t *ret_size,
			    struct gsym_diag *diag)
{
	char name[CACHE_KEY_SIZE];
	struct cache_temp temp;
	uint64_t size = 0;
	int err = cache_temp_open(share->cache, &temp, diag);
	if (err)
		return err;
	entry_name(key, id, name);
	err = write_entry(temp.fd, name, handle, inputs, &size);
	/* It is ours alone, so that no other process shortens it. */
	void *at = err ? MAP_FAILED : file_map(temp.fd, size, MAP_PRIVATE);
	if (!err && at == MAP_FAILED)
		err = -errno;
	if (!err)
		err = object_write(fd, key, OBJECT_CONVERSION, (struct span){at, (size_t)size}, true,
				   share->trust, ret_size, diag);
	if (at != MAP_FAILED)
		munmap(at, (size_t)size);
	cache_temp_close(share->cache, &temp);
	return err;
}

static int write_failure(struct share *share, int fd, const struct store_key *key, const char *message,
			 struct span inputs, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct text_buf text = {0};
	text_lit(&text, FAILURE);
	for (; *message; message++)
		text_char(&text, *message == '\n' ? ' ' : *message);
	text_char(&text, '\n');
	text_bytes(&text, inputs.data, inputs.size);
	int err = text.failed ? -ENOMEM
			      : object_write(fd, key, OBJECT_FAILURE, text_span(&text), true, share->trust,
					     ret_size, diag);
	text_deinit(&text);
	return err;
}

int share_object_write(struct share *share, int fd, const struct store_key *key, const char *id,
		       const struct handle *handle, const char *message, struct span inputs,
		       uint64_t *ret_size, struct gsym_diag *diag)
{
	return handle ? write_conversion(share, fd, key, id, handle, inputs, ret_size, diag)
		      : write_failure(share, fd, key, message, inputs, ret_size, diag);
}

/* ---- What was received ---- */

void share_found_deinit(struct share_found *found, struct cache *cache)
{
	handle_put(found->handle);
	text_deinit(&found->inputs);
	text_deinit(&found->notes);
	cache_temp_close(cache, &found->copy);
	*found = (struct share_found){.copy = CACHE_TEMP_NONE};
}

/* Bounds the download: an endless response or a decompression bomb must not fill the disk. */
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
	found->alone = !inputs.size;
	return share_inputs_read(facts, inputs, age_of(reply), &found->inputs, &found->notes);
}

struct texts_copy {
	const struct handle *handle;
	struct text_buf notes, inputs;
};

static int copy_texts(void *arg)
{
	struct texts_copy *c = arg;
	text_bytes(&c->notes, c->handle->notes.data, c->handle->notes.size);
	text_bytes(&c->inputs, c->handle->inputs.data, c->handle->inputs.size);
	return c->notes.failed || c->inputs.failed ? -ENOMEM : 0;
}

static int check_conversion(struct share_found *found, const struct share_facts *facts,
			    const struct store_key *key, const struct store_reply *reply,
			    struct gsym_diag *diag)
{
	char name[CACHE_KEY_SIZE];
	entry_name(key, facts->id, name);
	int err = handle_open(found->copy.fd, name, &found->handle, diag);
	if (err)
		return err;
	struct texts_copy c = {.handle = found->handle};
	err = handle_run(found->handle, copy_texts, &c);
	found->notes = c.notes;
	text_lit(&found->notes, "origin\tstore\n");
	if (!err)
		err = compare_inputs(found, facts, text_span(&c.inputs), reply);
	text_deinit(&c.inputs);
	return err;
}

/* Finds the parts of @payload: the message, NUL-terminated and printable, and inputs. 0 or -EBADMSG. */
static int split_failure(struct span payload, char *ret_message, size_t size, struct span *ret_inputs)
{
	const size_t head = sizeof(FAILURE) - 1;
	if (payload.size < head || memcmp(payload.data, FAILURE, head) != 0)
		return -EBADMSG;
	const uint8_t *at = payload.data + head, *end = payload.data + payload.size;
	const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop || stop == at)
		return -EBADMSG;
	size_t n = (size_t)(stop - at);
	n = n < size ? n : size - 1;
	for (size_t i = 0; i < n; i++)
		ret_message[i] = (char)(at[i] >= 0x20 && at[i] < 0x7f ? at[i] : '?');
	ret_message[n] = 0;
	*ret_inputs = (struct span){stop + 1, (size_t)(end - stop - 1)};
	return 0;
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
		err = split_failure((struct span){payload, (size_t)size}, found->message,
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

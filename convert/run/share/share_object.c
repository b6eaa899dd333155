#include "convert/run/share/share_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "convert/run/share/share_facts.h"
#include "convert/run/share/share_found.h"
#include "convert/run/share/share_offer.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum { TAKE_MS = 3600 * 1000 /* limits of the transfer end it long before */ };

/* Both are to be freed in any case. */
static int make_facts(const struct converter *converter, const struct convert_request *request, int fd,
		      struct share_facts *ret, struct store_key *ret_key)
{
	const struct convert_job job = {.converter = converter, .request = request};
	const int fds[SHARE_FILES] = {fd, -1};
	int err = share_facts_make(&job, ret);
	if (!err)
		err = share_facts_digest(ret, &converter->share->digests, fds, UINT64_MAX, NULL, NULL);
	return err ? err : share_facts_key(ret, fds, ret_key);
}

int share_object_key(const struct converter *converter, const struct convert_request *request, int fd,
		     struct store_key *ret)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	return make_facts(converter, request, fd, &facts, ret);
}

/* ---- Taking ---- */

static int receive(struct share *share, const struct share_facts *facts, const struct store_key *key,
		   struct store_reply *reply, struct share_found *found, struct gsym_diag *diag)
{
	char name[STORE_NAME_SIZE];
	struct cache_temp got;
	int err = cache_temp_open(share->cache, &got, diag);
	if (err)
		return err;
	store_name(key, STORE_CONVERSION, share->bazel, name);
	const struct store_request request = {.operation = STORE_GET,
					      .name = name,
					      .fd = got.fd,
					      .size = share->cache->limit,
					      .object = true};
	store_do(share->store, &request, TAKE_MS, reply);
	err = reply->err ? reply->err : share_found_check(found, share, facts, key, got.fd, reply, diag);
	cache_temp_close(share->cache, &got);
	return err;
}

/* Under the key of the samples of a file, which has its place, owner and permissions. */
static int receive_by_sample(struct share *share, struct share_facts *facts, int fd,
			     struct store_reply *reply, struct share_found *found, struct gsym_diag *diag)
{
	struct store_reply again = {.err = 0};
	struct store_key key;
	facts->files[SHARE_SOURCE].has_digest = false;
	if (share_facts_key(facts, (const int[SHARE_FILES]){fd, -1}, &key))
		return reply->err;
	int err = receive(share, facts, &key, &again, found, diag);
	*reply = again;
	return err;
}

int share_object_take(const struct converter *converter, const struct convert_request *request, int fd,
		      struct store_reply *reply, struct handle **ret, struct gsym_diag *diag)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	struct share_found found = {.copy = {.fd = -1}};
	struct store_key key;
	*reply = (struct store_reply){.err = 0};
	int err = make_facts(converter, request, fd, &facts, &key);
	if (!err)
		err = receive(converter->share, &facts, &key, reply, &found, diag);
	if (err == -ENOENT && reply->err == err)
		err = receive_by_sample(converter->share, &facts, fd, reply, &found, diag);
	if (!err && !found.handle)
		err = diag_set(diag, -EIO, "%s", found.message);
	if (!err)
		*ret = TAKE(found.handle);
	share_found_deinit(&found, converter->share->cache);
	return err;
}

/* ---- Giving ---- */

struct share_offer *share_object_offer(const struct converter *converter,
				       const struct convert_request *request, int fd, struct handle *handle)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	struct store_key key;
	if (make_facts(converter, request, fd, &facts, &key))
		return NULL;
	struct share_offer *offer = calloc(1, sizeof(*offer));
	if (!offer)
		return NULL;
	list_init(&offer->link);
	offer->fds[SHARE_SOURCE] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	offer->fds[SHARE_BINARY] = -1;
	offer->handle = handle_get(handle);
	text_bytes(&offer->inputs, handle->inputs.data, handle->inputs.size);
	offer->facts = facts;
	facts = (struct share_facts){0};
	offer->has_key = true;
	offer->key = key;
	offer->may_exist = true;
	return offer;
}

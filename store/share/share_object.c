#include "store/share/share_object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/share/share_facts.h"
#include "store/share/share_found.h"
#include "store/share/share_offer.h"
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
	store_name(key, STORE_CONVERSION, name);
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

int share_object_take(const struct converter *converter, const struct convert_request *request, int fd,
		      struct store_reply *reply, struct handle **ret, struct gsym_diag *diag)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	struct share_found found = {.copy = CACHE_TEMP_NONE};
	struct store_key key;
	*reply = (struct store_reply){.err = 0};
	int err = make_facts(converter, request, fd, &facts, &key);
	if (!err)
		err = receive(converter->share, &facts, &key, reply, &found, diag);
	if (!err && !found.handle)
		err = diag_set(diag, -EIO, "%s", found.message);
	if (!err)
		*ret = TAKE(found.handle);
	share_found_deinit(&found, converter->share->cache);
	return err;
}

/* ---- Giving ---- */

/* @err: of looking at what the store has. 0: there is none, or one to be replaced: @ret then says so. */
static int note_present(const struct share *share, int err, const struct store_reply *reply,
			struct share_offer *ret, struct gsym_diag *diag)
{
	if (err == -EPERM && trust_signs(share->trust))
		err = -ESTALE;
	switch (err) {
	case -ENOENT: return 0;
	case -ETIME:
	case -ESTALE:
	case -EBADMSG:
	case -EFBIG:
	case -EPROTO:
		ret->replaces = true;
		snprintf(ret->etag, sizeof(ret->etag), "%s", reply->etag);
		return 0;
	case -EXDEV:
		diag_set(diag, err, "made by a host that searches other directories for debug files");
		break;
	}
	if (!*diag->text)
		diag_set(diag, err, "%s", *reply->text ? reply->text : strerror(-err));
	return diag_prefix(diag, err, "was not published%s",
			   reply->err ? "" : "; what the store has cannot be used");
}

/* Fills in @ret. 0; -EEXIST: the store has it, and it is sound; or another negative errno. */
static int compare_stored(const struct converter *converter, struct share_offer *ret, struct gsym_diag *diag)
{
	struct share_found found = {.copy = CACHE_TEMP_NONE};
	struct store_reply reply;
	int err = receive(converter->share, &ret->facts, &ret->key, &reply, &found, diag);
	share_found_deinit(&found, converter->share->cache);
	return err ? note_present(converter->share, err, &reply, ret, diag) : -EEXIST;
}

int share_object_offer(const struct converter *converter, const struct convert_request *request, int fd,
		       struct handle *handle, struct share_offer **ret, struct gsym_diag *diag)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	struct store_key key;
	int err = make_facts(converter, request, fd, &facts, &key);
	struct share_offer *offer =
		err ? NULL
		    : share_offer_new(&facts, (const int[SHARE_FILES]){fd, -1}, handle, handle->inputs);
	if (!err && !offer)
		return diag_set(diag, -ENOMEM, "no memory or descriptor for the offer");
	if (!err) {
		offer->has_key = true;
		offer->key = key;
		err = compare_stored(converter, offer, diag);
	}
	if (err)
		share_offer_free(converter->share, offer);
	else
		*ret = offer;
	return err;
}

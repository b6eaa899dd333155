#include "fs/answer/requester.h"

#include <errno.h>
#include <string.h>

#include "fs/call/call.h"
#include "fs/convert/queue.h"
#include "fs/images/basename.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "fs/scan/remote.h"

/* ---- Held files ---- */

static void charge_held(struct held_handles *held)
{
	size_t size = 0;
	for (size_t i = 0; i < held->n; i++)
		size += held->v[i].handle->map_size;
	account_charge(held->account, ACCOUNT_HELD, size, &held->charged);
}

static void remove_held(struct held_handles *held, size_t i)
{
	handle_put(held->v[i].handle);
	memmove(&held->v[i], &held->v[i + 1], (--held->n - i) * sizeof(*held->v));
}

static void use_held(struct held_handles *held, size_t i)
{
	const struct held_handle used = held->v[i];
	memmove(&held->v[1], &held->v[0], i * sizeof(*held->v));
	held->v[0] = used;
}

/* The index of the handle of @rev, or n. */
static size_t index_of_held(const struct held_handles *held, const struct revision *rev)
{
	size_t i = 0;
	while (i < held->n && held->v[i].revision != rev->number)
		i++;
	return i;
}

/* Closes handles until the user holds no more than permitted. */
static void shrink_held(struct held_handles *held)
{
	charge_held(held);
	while (held->n > 1 && !account_has_room(held->account, ACCOUNT_HELD, 0)) {
		remove_held(held, held->n - 1);
		charge_held(held);
	}
}

void held_handles_add(struct held_handles *held, const struct revision *rev, struct handle *handle)
{
	size_t i = index_of_held(held, rev);
	if (i < held->n && held->v[i].handle == handle) {
		use_held(held, i);
		return;
	}
	if (i < held->n)
		remove_held(held, i);
	else if (held->n == HELD_HANDLES)
		remove_held(held, HELD_HANDLES - 1);
	held->v[held->n++] = (struct held_handle){rev->number, handle_get(handle)};
	use_held(held, held->n - 1);
	shrink_held(held);
}

struct handle *held_handles_find(struct held_handles *held, const struct revision *rev)
{
	size_t i = index_of_held(held, rev);
	if (i == held->n)
		return NULL;
	use_held(held, i);
	return held->v[0].handle;
}

void held_handles_drop(struct held_handles *held, const struct handle *handle)
{
	for (size_t i = 0; i < held->n; i++) {
		if (held->v[i].handle == handle) {
			remove_held(held, i);
			break;
		}
	}
	charge_held(held);
}

void held_handles_clear(struct held_handles *held)
{
	while (held->n)
		remove_held(held, held->n - 1);
	charge_held(held);
}

/* ---- Images ---- */

void requester_deinit(struct requester *requester)
{
	held_handles_clear(&requester->held);
	caller_deinit(&requester->caller);
}

void requester_begin(struct requester *requester)
{
	requester->named = NULL;
}

static bool is_named(const struct requester *requester, struct span id)
{
	return requester->named && strlen(requester->id) == id.size &&
	       memcmp(requester->id, id.data, id.size) == 0;
}

int requester_find_image(struct requester *requester, struct span id, struct call *call, struct image **ret)
{
	struct request request;
	*ret = NULL;
	if (!id.size || id.size > NAME_BYTES_MAX || memchr(id.data, 0, id.size))
		return 0;
	if (is_named(requester, id)) {
		*ret = requester->named;
		return 0;
	}
	memcpy(requester->id, id.data, id.size);
	requester->id[id.size] = 0;
	requester->named = NULL;
	name_parse(PLACE_ROOT, NULL, requester->id, &request);
	if (request.kind != REQUEST_ID)
		return 0;
	struct images *images = requester->answers->images;
	/* A call that has asked for as many as it may takes the rest as unknown. */
	struct remote *remote = call->works < CALL_WORKS_MAX ? requester->answers->remote : NULL;
	mutex_lock(&images->lock);
	int err = remote_find_image(remote, images, &request, &requester->named, &call->wait);
	if (requester->named)
		requester->named->kept = true;
	mutex_unlock(&images->lock);
	*ret = requester->named;
	return err == -EAGAIN ? err : 0;
}

int requester_find_name(struct requester *requester, const char *name, struct call *call, struct image **ret)
{
	struct images *images = requester->answers->images;
	mutex_lock(&images->lock);
	int err = !images->scanned || images->hashing
			  ? images_await_name(images, &call->wait)
			  : images_find_only(images, name, &requester->caller, ret);
	if (!err)
		(*ret)->kept = true;
	mutex_unlock(&images->lock);
	return err;
}

/* 0 when the requester may read the image and its conversion has not failed for this call. */
static int check_access(struct requester *requester, const struct revision *rev, const struct call *call)
	REQUIRES(&requester->answers->images->lock)
{
	if (!rev)
		return -ESTALE;
	if (!caller_may_read(&requester->caller, &rev->source))
		return -EACCES;
	if (rev->number + UINT64_C(1) != call->failed)
		return 0;
	requester->failed_here = call->failed_here;
	return call->failure;
}

/* revision_use() of an evicted image takes the held file. */
static int open_or_held(struct requester *requester, struct revision *rev, struct call *call,
			struct handle **ret)
{
	int err = revision_use(requester->answers->images, rev, ret, &call->wait);
	/* Memory in place of the cache is not for one user to hold, and is freed when it is short. */
	if (!err && !(*ret)->in_memory)
		held_handles_add(&requester->held, rev, *ret);
	if (err != -EAGAIN || call->wait.revision != rev)
		return err;
	struct handle *held = held_handles_find(&requester->held, rev);
	if (!held)
		return err;
	*ret = handle_get(held);
	return 0;
}

int requester_open_image(struct requester *requester, struct image *image, struct call *call,
			 struct revision **ret_rev, struct handle **ret)
{
	requester->failed_here = false;
	mutex_lock(&requester->answers->images->lock);
	struct revision *rev = image_revision(requester->answers->images, image);
	int err = check_access(requester, rev, call);
	mutex_unlock(&requester->answers->images->lock);
	if (!err) {
		call->wait.failed_here = false;
		err = open_or_held(requester, rev, call, ret);
		requester->failed_here = err && err != -EAGAIN && call->wait.failed_here;
	}
	if (err)
		return err;
	/* Checked again: until the handle is held, the source may be replaced. */
	if (!caller_may_read(&requester->caller, &rev->source)) {
		handle_put(*ret);
		return -EACCES;
	}
	*ret_rev = rev;
	return 0;
}

void requester_prefetch(struct requester *requester, struct image *image, bool whole)
{
	const struct source *source = image_source(image);
	bool wanted = source && caller_may_read(&requester->caller, source);
	struct revision *rev = wanted ? image_revision(requester->answers->images, image) : NULL;
	if (rev && !held_handles_find(&requester->held, rev))
		queue_want(requester->answers->queue, rev, requester->caller.uid, whole);
}

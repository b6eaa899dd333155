#include "fs/answer/asker.h"

#include <errno.h>
#include <string.h>

#include "fs/call/call.h"
#include "fs/convert/queue.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"

void asker_begin(struct asker *asker)
{
	asker->named = NULL;
}

static bool is_named(const struct asker *asker, struct span id)
{
	return asker->named && strlen(asker->id) == id.size && memcmp(asker->id, id.data, id.size) == 0;
}

int asker_find(struct asker *asker, struct span id, struct call *call, struct image **ret)
{
	struct request request;
	*ret = NULL;
	if (!id.size || id.size > NAME_BYTES_MAX || memchr(id.data, 0, id.size))
		return 0;
	if (is_named(asker, id)) {
		*ret = asker->named;
		return 0;
	}
	memcpy(asker->id, id.data, id.size);
	asker->id[id.size] = 0;
	asker->named = NULL;
	name_parse(PLACE_ROOT, NULL, asker->id, &request);
	if (request.kind != REQUEST_ID)
		return 0;
	struct images *images = asker->answers->images;
	mutex_lock(&images->lock);
	int err = images_lookup(images, &request, &asker->named, &call->wait);
	mutex_unlock(&images->lock);
	*ret = asker->named;
	return err == -EAGAIN ? err : 0;
}

/* With images.lock. */
static int judge(const struct asker *asker, const struct revision *rev, const struct call *call)
{
	if (!rev)
		return -ESTALE;
	if (!caller_may_read(&asker->caller, &rev->source))
		return -EACCES;
	return rev == call->failed ? call->failure : 0;
}

int asker_use(const struct asker *asker, struct image *image, struct call *call, struct revision **ret_rev,
	      struct handle **ret)
{
	struct images *images = asker->answers->images;
	mutex_lock(&images->lock);
	struct revision *rev = image->revision;
	int err = judge(asker, rev, call);
	mutex_unlock(&images->lock);
	if (!err)
		err = revision_use(images, rev, ret, &call->wait);
	if (err)
		return err;
	/* Until it is in use its source may have been exchanged. */
	if (!caller_may_read(&asker->caller, &rev->source)) {
		handle_put(*ret);
		return -EACCES;
	}
	*ret_rev = rev;
	return 0;
}

void asker_want(const struct asker *asker, const struct image *image)
{
	if (image->revision && caller_may_read(&asker->caller, &image->revision->source))
		queue_want(asker->answers->queue, image->revision, asker->caller.uid);
}

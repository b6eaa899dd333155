#include "store/share/share_offer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "work/os/guard.h"
#include "work/run/convert_job.h"
#include "store/share/share_hold.h"
#include "gsym/base/vec.h"

static void close_files(struct share_offer *offer)
{
	for (size_t i = 0; i < SHARE_FILES; i++)
		if (offer->fds[i] >= 0)
			close(offer->fds[i]);
}

/* Descriptors of the offer's own; false if there are none left. */
static bool keep_files(struct share_offer *offer, const int fds[static SHARE_FILES])
{
	bool all = true;
	for (size_t i = 0; i < SHARE_FILES; i++) {
		offer->fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		all &= fds[i] < 0 || offer->fds[i] >= 0;
	}
	return all;
}

struct inputs_copy {
	struct text_buf *to;
	struct span from;
};

static int copy_inputs(void *arg)
{
	const struct inputs_copy *copy = arg;
	text_bytes(copy->to, copy->from.data, copy->from.size);
	return copy->to->failed ? -ENOMEM : 0;
}

struct share_offer *share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
				    struct handle *handle, struct span inputs)
{
	struct share_offer *offer = calloc(1, sizeof(*offer));
	if (!offer)
		return NULL;
	if (!keep_files(offer, fds) ||
	    guard_run(copy_inputs, &(struct inputs_copy){&offer->inputs, inputs}) ||
	    (handle && handle_check(handle))) {
		text_deinit(&offer->inputs);
		close_files(offer);
		free(offer);
		return NULL;
	}
	list_init(&offer->link);
	offer->handle = handle ? handle_get(handle) : NULL;
	offer->facts = *facts;
	*facts = (struct share_facts){0};
	return offer;
}

void share_offer_free(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	share_hold_end(share, offer->hold);
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	text_deinit(&offer->portable);
	share_facts_deinit(&offer->facts);
	close_files(offer);
	free(offer);
}

/* ---- What is in the cache already ---- */

/* Of the files of @job. */
static struct share_offer *offer_of_entry(const struct convert_job *job, struct handle *handle)
{
	CLEANUP(share_facts_deinit) struct share_facts facts = {0};
	if (share_facts_make(job, &facts))
		return NULL;
	struct share_offer *offer = share_offer_new(&facts, (const int[SHARE_FILES]){job->input, job->binary},
						    handle, handle->inputs);
	if (offer)
		offer->may_exist = true;
	return offer;
}

struct share_offer *share_again(const struct converter *converter, const struct convert_request *request,
				struct handle *handle)
{
	struct outcome unused = {.verdict = VERDICT_READY};
	struct convert_job job = {.converter = converter,
				  .request = request,
				  .out = &unused,
				  .input = -1,
				  .binary = -1,
				  .temp = CACHE_TEMP_NONE,
				  .fragment = -1};
	if (!handle || !handle->pending)
		return NULL;
	struct share_offer *offer = job_open_files(&job) ? NULL : offer_of_entry(&job, handle);
	job_close(&job);
	return offer;
}

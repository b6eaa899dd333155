#include "store/share/share_again.h"

#include "work/run/convert_job.h"
#include "store/share/share_offer.h"
#include "gsym/base/vec.h"

/* Of the files of @job. */
static struct share_offer *make_offer(const struct convert_job *job, struct handle *handle)
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
	if (!converter->share || !handle || !handle->pending)
		return NULL;
	struct share_offer *offer = job_open_files(&job) ? NULL : make_offer(&job, handle);
	job_close(&job);
	return offer;
}

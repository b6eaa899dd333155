/* answer.h - the content of the files of addresses and symbols. */
#ifndef FS_ANSWER_ANSWER_H
#define FS_ANSWER_ANSWER_H

#include "fs/answer/answers.h"
#include "fs/sys/content.h"
#include "gsym/render/batch/batch.h"

struct wait;

/*
 * The frames of request->address, as text. -ENOENT when no function covers it (unless unknown=print: then
 * *ret_known, which may be left out, is false); -EIO when the converted file is damaged; -ENOMEM; -EAGAIN
 * with @ret_wait filled.
 */
int answer_make(struct answers *answers, struct revision *rev, struct handle *handle,
		const struct request *request, struct wait *ret_wait, struct content **ret, bool *ret_known);

/* How a batch of such requests is answered, whose numbers are those of @place; without the module, a cache of
 * names, and how names are shown, which is up to the image. */
struct batch_options answer_batch_options(const struct answers *answers, const struct request *request,
					  const struct context *place);

#endif

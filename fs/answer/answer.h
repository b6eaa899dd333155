/* answer.h - the content of address and symbol files. */
#ifndef FS_ANSWER_ANSWER_H
#define FS_ANSWER_ANSWER_H

#include "fs/answer/answers.h"
#include "fs/sys/content.h"
#include "gsym/render/batch/batch.h"

struct wait;

/*
 * Renders the frames of an address, or of an offset in the functions of a name.
 * @rev, @handle: the image, and its open cache file
 * @request: of REQUEST_ADDRESS or REQUEST_SYMBOL
 * @ret_wait: with -EAGAIN, what to wait for: an index of names
 * @ret: the text, with a reference
 * @ret_known: false for an address outside all functions, which unknown=print has rendered; may be NULL
 * -ENOENT when no function covers it; -EIO when the cache file is corrupt; -ENOMEM; -EAGAIN.
 */
int answer_make(struct answers *answers, struct revision *rev, struct handle *handle,
		const struct request *request, struct wait *ret_wait, struct content **ret, bool *ret_known);

/*
 * The same of an address, before the image is converted.
 * @rev, @fragment: the image, and a fragment of it (fragments.h)
 * @request: of REQUEST_ADDRESS
 * @ret: the text, with a reference
 * Any error means that the whole must be waited for.
 */
int answer_make_early(struct answers *answers, struct revision *rev, struct handle *fragment,
		      const struct request *request, struct content **ret);

/*
 * The options of a batch in the format of @request, whose numbers count as in @place. The caller sets those
 * that depend on the image: module and demangling.
 */
struct batch_options answer_batch_options(const struct answers *answers, const struct request *request,
					  const struct context *place);

#endif

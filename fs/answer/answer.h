/*
 * answer.h - the content of the files of an image.
 */
#ifndef FS_ANSWER_ANSWER_H
#define FS_ANSWER_ANSWER_H

#include <limits.h>

#include "gsym/render/batch/batch.h"
#include "fs/call/call.h"
#include "fs/sys/content.h"
#include "fs/gsymfs.h"
#include "convert/cache/handle.h"
#include "fs/name/name.h"

/*
 * The frames of request->address, as text. -ENOENT when no function covers it (unless unknown=print: then
 * *ret_known, which may be left out, is false); -EIO when the converted file is damaged; -ENOMEM; -EAGAIN
 * with call->wait filled.
 */
int answer_make(struct call *call, struct revision *rev, struct handle *handle, const struct request *request,
		struct content **ret, bool *ret_known);

/* How names of an open image are shown, as the options have it; @raw as they are stored. */
enum demangle_mode answer_demangle(const struct gsymfs *fs, const struct handle *handle, bool raw);

/* How a batch of such requests is answered, whose numbers are those of @place; without the module, a cache of
 * names, and how names are shown, which is up to the image. */
struct batch_options answer_batch_options(const struct gsymfs *fs, const struct request *request,
					  const struct context *place);

/* What answers call the image: the path of its file. */
void answer_module(const struct gsymfs *fs, const struct revision *rev, char ret[static PATH_MAX]);

/*
 * The converted file @handle let us down: @text, or -EFAULT as @err, says how. It goes to status and, now and
 * then, to the log; a file that has become shorter is made again.
 */
void answer_complain(struct gsymfs *fs, struct revision *rev, const struct handle *handle, int err,
		     const char *text);

/*
 * The file status: lines of key, tab, value; with @json, info.json: the same as an object. Never starts or
 * waits for anything. NULL without memory.
 */
struct content *status_make(struct gsymfs *fs, struct revision *rev, bool json);

#endif

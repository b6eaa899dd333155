/* batch_file.h - the files q: addresses are written, answers read. */
#ifndef FS_ANSWER_BATCH_FILE_H
#define FS_ANSWER_BATCH_FILE_H

#include "fs/answer/requester.h"
#include "fs/answer/stream.h"

/*
 * One that was opened: lines of @image are addresses as @request has them, in the format it says; with NULL,
 * lines of the root's, "<id> <address>". Takes over @caller. NULL without memory.
 */
struct stream *batch_file_new(struct answers *answers, struct image *image, const struct request *request,
			      struct caller caller);

#endif

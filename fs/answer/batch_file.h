/* batch_file.h - the files q: addresses are written, their answers are read. */
#ifndef FS_ANSWER_BATCH_FILE_H
#define FS_ANSWER_BATCH_FILE_H

#include "fs/answer/requester.h"
#include "fs/answer/stream.h"

/*
 * Opens a q.
 * @image: its lines are addresses, in the context and format of @request; NULL: the root's q, with lines
 *         "<id> <address>"
 * @caller: the user; consumed, on failure too
 * NULL when out of memory.
 */
struct stream *batch_file_new(struct answers *answers, struct image *image, const struct request *request,
			      struct caller caller);

#endif

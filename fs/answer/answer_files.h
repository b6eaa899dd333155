/* answer_files.h - files of the mount about images: q, log, status, info.json and images.tsv. */
#ifndef FS_ANSWER_ANSWER_FILES_H
#define FS_ANSWER_ANSWER_FILES_H

#include "fs/answer/draft.h"
#include "fs/answer/requester.h"
#include "fs/answer/stream.h"
#include "fs/sys/content.h"

/*
 * Opens a q: addresses are written, their answers are read.
 * @image: its lines are addresses, in the context and format of @request; NULL: the root's q, with lines
 *         "<id> <address>"
 * @caller: the user; consumed, on failure too
 * NULL when out of memory.
 */
struct stream *batch_file_new(struct answers *answers, struct image *image, const struct request *request,
			      struct caller caller);

/*
 * Opens the file log: a log is written, and read back with its addresses symbolized. Consumes @caller, on
 * failure too. NULL when out of memory.
 */
struct stream *log_file_new(struct answers *answers, struct caller caller);

/*
 * Makes the file status: lines of key, tab, value; with @json, info.json: the same as an object. Starts no
 * conversion and does not block. NULL when out of memory.
 */
struct content *status_make(const struct answers *answers, struct revision *rev, bool json);

/*
 * images.tsv: id, kind, architecture, name, state, functions and path of each image that its reader may read,
 * in the order of the ids.
 */
extern const struct draft_kind images_table;

#endif

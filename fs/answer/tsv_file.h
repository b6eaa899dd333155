/* tsv_file.h - the tables of an image: functions.tsv, lines.tsv and files.tsv. */
#ifndef FS_ANSWER_TSV_FILE_H
#define FS_ANSWER_TSV_FILE_H

#include "fs/answer/answers.h"
#include "fs/answer/tsv_index.h"

struct call;
struct wait;

/*
 * The index of an open image's table, with its size. -EAGAIN with @ret_wait filled: the call is to be parked
 * until the background thread has measured the table.
 */
int tsv_file_measured(struct answers *answers, struct revision *rev, struct handle *handle,
		      enum listing_kind kind, struct wait *ret_wait, const struct tsv_index **ret);

/* Jobs of answers.tables: measure a table; the part is enum listing_kind. */
extern const struct job_kind tsv_file_kind;

/* An open table. */
struct tsv_file;

/*
 * Opens a measured table for @uid. Consumes the reference @handle, on failure too. NULL when out of memory.
 */
struct tsv_file *tsv_file_new(struct answers *answers, uid_t uid, struct revision *rev, struct handle *handle,
			      enum listing_kind kind);
/* NULL is allowed. */
void tsv_file_free(struct tsv_file *file);

/* Answers a READ, as call->attempt does. */
int tsv_file_read(struct tsv_file *file, struct call *call);

#endif

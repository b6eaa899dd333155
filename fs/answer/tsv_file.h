/* tsv_file.h - functions.tsv, lines.tsv and files.tsv of an image. */
#ifndef FS_ANSWER_TSV_FILE_H
#define FS_ANSWER_TSV_FILE_H

#include "fs/answer/answers.h"
#include "fs/answer/tsv_index.h"

struct call;
struct wait;

/*
 * The measured table of an open image: 0, or -EAGAIN with @ret_wait filled, so that the call is parked until
 * somebody has measured it.
 */
int tsv_file_measured(struct answers *answers, struct revision *rev, struct handle *handle,
		      enum listing_kind kind, struct wait *ret_wait, const struct tsv_index **ret);

/* Of answers.tables: measures one; its part is enum listing_kind. */
extern const struct job_kind tsv_file_kind;

/* An open one. */
struct tsv_file;

/* Opened by @uid. Takes over @handle, whose table is measured. NULL without memory, and it is put. */
struct tsv_file *tsv_file_new(struct answers *answers, uid_t uid, struct revision *rev, struct handle *handle,
			      enum listing_kind kind);
/* NULL is allowed. */
void tsv_file_free(struct tsv_file *file);

/* Answers a READ, as call->attempt does. */
int tsv_file_read(struct tsv_file *file, struct call *call);

#endif

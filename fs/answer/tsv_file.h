/* tsv_file.h - functions.tsv, lines.tsv and files.tsv of an image. */
#ifndef FS_ANSWER_TSV_FILE_H
#define FS_ANSWER_TSV_FILE_H

#include "fs/answer/tsv_index.h"
#include "fs/gsymfs.h"

/*
 * The measured table of an open image: 0, or -EAGAIN with @call->wait filled, so that the call is parked
 * until somebody has measured it.
 */
int tsv_file_measured(struct call *call, struct revision *rev, struct handle *handle, enum listing_kind kind,
		      const struct tsv_index **ret);

/* What a parked call waits for, made by a thread that may take its time. */
struct measuring;

/* Begins with the open image; NULL when it is not open, or without memory. */
struct measuring *measuring_new(struct gsymfs *fs, struct revision *rev, enum listing_kind kind);
/* NULL is allowed. */
void measuring_free(struct measuring *measuring);

/* Goes on, and stops soon after @until (see slice.h): 0 when the table is measured; -EAGAIN when there is
 * more; the errno of the calls. */
int measuring_go_on(struct measuring *measuring, int64_t until);

/* An open one. */
struct tsv_file;

/* Opened by @call. Takes over @handle, whose table is measured. NULL without memory, and it is put. */
struct tsv_file *tsv_file_new(struct call *call, struct revision *rev, struct handle *handle,
			      enum listing_kind kind);
/* NULL is allowed. */
void tsv_file_free(struct tsv_file *file);

/* Answers a READ, as call->attempt does. */
int tsv_file_read(struct tsv_file *file, struct call *call);

#endif

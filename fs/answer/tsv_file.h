/*
 * tsv_file.h - the tables of an image: functions.tsv, lines.tsv and files.tsv.
 *
 * Tables are rendered when they are read, a piece at a time, and not stored. stat(2) needs the size and a
 * read needs the piece to begin with, so the background thread renders each table once, and discards the
 * text, to measure it.
 */
#ifndef FS_ANSWER_TSV_FILE_H
#define FS_ANSWER_TSV_FILE_H

#include "fs/answer/answers.h"
#include "gsym/base/vec.h"

struct call;
struct wait;

enum { TSV_PIECE = 64 * 1024 /* bytes; a piece ends with the entry that reaches it */ };

struct tsv_piece {
	uint64_t off;
	uint32_t entry; /* the first of the piece */
};

/* The size of a table, and the offsets of its pieces. */
struct tsv_index {
	uint64_t size;
	VEC(struct tsv_piece) pieces;
};

/* Frees a struct tsv_index. */
void tsv_index_free(void *index);

/*
 * The index of a table, with its size.
 * @rev, @handle: the image, and its open cache file
 * @kind: which table
 * @ret_wait: with -EAGAIN, what the call is to be parked on until the table is measured
 * @ret: of the handle
 * 0; -EAGAIN.
 */
int tsv_file_measured(struct answers *answers, struct revision *rev, struct handle *handle,
		      enum listing_kind kind, struct wait *ret_wait, const struct tsv_index **ret);

/* Jobs of answers.tables: measure a table; the part is enum listing_kind. */
extern const struct job_kind tsv_file_kind;

/* An open table. */
struct tsv_file;

/*
 * Opens a table that is measured.
 * @uid: the user who opens it
 * @rev, @handle: the image, and its open cache file, whose reference is consumed, on failure too
 * @kind: which table
 * NULL when out of memory.
 */
struct tsv_file *tsv_file_new(struct answers *answers, uid_t uid, struct revision *rev, struct handle *handle,
			      enum listing_kind kind);
/* NULL is allowed. */
void tsv_file_free(struct tsv_file *file);

/* Answers a READ, as call->attempt does. */
int tsv_file_read(struct tsv_file *file, struct call *call);

#endif

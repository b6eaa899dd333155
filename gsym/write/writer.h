/*
 * writer.h - the state of a file being written. Internal.
 */
#ifndef GSYM_WRITE_WRITER_H
#define GSYM_WRITE_WRITER_H

#include "gsym/codec/buf.h"
#include "gsym/codec/filetab.h"
#include "gsym/codec/format.h"
#include "gsym/gsym.h"
#include "gsym/write/layout.h"
#include "gsym/codec/strtab.h"

/* The address of a function, and the offset of its record in the buffer of records. */
struct writer_slot {
	uint64_t start;
	uint64_t record;
};

struct gsym_writer {
	uint16_t version;
	bool has_base;
	bool finished;
	uint64_t base_address; /* set by the first function unless has_base */
	uint64_t size_limit;   /* of strings and records, see writer_limit() */
	struct buf uuid;
	struct strtab strings;
	struct filetab files;
	struct buf records; /* encoded as they are added, aligned among themselves */
	VEC(struct writer_slot) slots;
};

/*
 * Limits the bytes of strings and records: strings and functions beyond it are refused with -EFBIG. A writer
 * has no limit at first.
 */
void writer_limit(struct gsym_writer *w, uint64_t bytes);

/* 0, or -EFBIG if the limit is exceeded, @more bytes of records being added. */
int writer_check_size(const struct gsym_writer *w, uint64_t more, struct gsym_diag *diag);

/* Sizes of the tables that records refer to. */
struct gsym_tables writer_tables(const struct gsym_writer *w);

/* Whether a function that starts at @start may be the next one. */
int writer_check_start(const struct gsym_writer *w, uint64_t start, struct gsym_diag *diag);

/*
 * Adds the slot of the function at @start, whose record is at offset @record of w->records: 0 or -ENOMEM.
 */
int writer_add_slot(struct gsym_writer *w, uint64_t start, uint64_t record, struct gsym_diag *diag);

/* The layout of a file of the functions added so far: 0, -EINVAL when there is none, or
 * -EOVERFLOW. */
int writer_layout(const struct gsym_writer *w, struct layout *ret, struct gsym_diag *diag);

#endif

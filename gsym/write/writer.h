/*
 * writer.h - the state of a file being written. Internal.
 */
#ifndef GSYM_WRITE_WRITER_H
#define GSYM_WRITE_WRITER_H

#include "gsym/codec/buf.h"
#include "gsym/codec/format.h"
#include "gsym/gsym.h"
#include "gsym/write/layout.h"
#include "gsym/codec/strtab.h"

/* The address of a function, and the offset of its record in the buffer of records. */
struct writer_slot {
	uint64_t start;
	uint64_t record;
};

/* A record that others may share. */
struct known_record {
	uint64_t at; /* in the buffer of records */
	uint32_t size, hash;
};

struct gsym_writer {
	uint16_t version;
	bool shares;  /* see writer_save_space() */
	bool compact; /* the same */
	bool has_base;
	bool finished;
	uint64_t base_address; /* set by the first function unless has_base */
	uint64_t size_limit;   /* of strings and records, see writer_limit() */
	bool chooses;          /* see writer_choose_version() */
	uint64_t v1_most;      /* offset that a file of version 1 may have */
	struct buf uuid;
	struct strtab strings;
	struct filetab files;
	struct buf records; /* encoded as they are added, aligned among themselves */
	VEC(struct writer_slot) slots;
	uint64_t last_record; /* the highest offset in slots */

	/* Of a writer that shares records: those that differ, and their hashes */
	VEC(struct known_record) known;
	struct index_table known_table;
};

/*
 * Limits the bytes of strings and records: strings and functions beyond it are refused with -EFBIG. A writer
 * has no limit at first.
 */
void writer_limit(struct gsym_writer *w, uint64_t bytes);

/*
 * Lets a writer of version 1 without strings and functions become one of version 2, by writer_widen(), if
 * version 1 would have an offset above @v1_most, which is UINT32_MAX at most.
 */
void writer_choose_version(struct gsym_writer *w, uint64_t v1_most);

/*
 * Makes @w a writer of version 2. Strings and files remain, functions must be added again. 0, or -EOVERFLOW
 * if it is one already, or may not choose.
 */
int writer_widen(struct gsym_writer *w);

/*
 * Functions whose records have the same bytes share one, and line tables are compact. Readers need nothing
 * for that, but a file that is copied record by record is no longer the same then, so a writer does not do it
 * at first. 0 or -ENOMEM.
 */
int writer_save_space(struct gsym_writer *w);

/* 0, or -EFBIG if the limit is exceeded, @more bytes of records being added. */
int writer_check_size(const struct gsym_writer *w, uint64_t more, struct gsym_diag *diag);

/* Sizes of the tables that records refer to. */
struct gsym_tables writer_tables(const struct gsym_writer *w);

/* Whether a function that starts at @start may be the next one. */
int writer_check_start(const struct gsym_writer *w, uint64_t start, struct gsym_diag *diag);

/* The hash of a record, by which those that may be shared are found. 0 if the writer shares none. */
uint32_t writer_record_hash(const struct gsym_writer *w, const void *record, size_t size);

/*
 * Adds the slot of the function at @start, whose record is the end of w->records from offset @record on, and
 * has the hash @hash. It is dropped if another one is shared instead. 0 or -ENOMEM.
 */
int writer_add_slot(struct gsym_writer *w, uint64_t start, uint64_t record, uint32_t hash,
		    struct gsym_diag *diag);

/*
 * Adds many functions as gsym_writer_add_many() does, but a block that breaks a rule of the format costs no
 * more than itself: @leave_out takes it out of function @index, which is fetched and encoded again. It is
 * called on any thread.
 */
int writer_add_fitting(struct gsym_writer *w, size_t n, unsigned threads,
		       int (*get)(void *user, size_t index, struct gsym_func *ret),
		       void (*leave_out)(void *user, size_t index, enum info_type part), void *user,
		       struct gsym_diag *diag);

/* The layout of a file of the functions added so far: 0, -EINVAL when there is none, or
 * -EOVERFLOW. */
int writer_layout(const struct gsym_writer *w, struct layout *ret, struct gsym_diag *diag);

#endif

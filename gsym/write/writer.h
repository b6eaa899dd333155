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

/* Which function, and where its record begins in the buffer of records. */
struct writer_slot {
	uint64_t start;
	uint64_t record;
};

struct gsym_writer {
	uint16_t version;
	bool has_base;
	bool finished;
	uint64_t base_address; /* until has_base: to be that of the first function */
	struct buf uuid;
	struct strtab strings;
	struct filetab files;
	struct buf records; /* encoded as they are added, aligned among themselves */
	VEC(struct writer_slot) slots;
};

/* The tables that a record's numbers lead into. */
struct gsym_tables writer_tables(const struct gsym_writer *w);

/* Whether a function that starts at @start may be the next one. */
int writer_check_start(const struct gsym_writer *w, uint64_t start, struct gsym_diag *diag);

/*
 * Records that the record at offset @record of w->records is that of the function at @start: 0 or -ENOMEM.
 */
int writer_add_slot(struct gsym_writer *w, uint64_t start, uint64_t record, struct gsym_diag *diag);

/* Where everything goes if the file ends with the function added last: 0, -EINVAL when there is none, or
 * -EOVERFLOW. */
int writer_layout(const struct gsym_writer *w, struct layout *ret, struct gsym_diag *diag);

#endif

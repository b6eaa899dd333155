/*
 * writer.h - the state of a file being written. Internal.
 */
#ifndef GSYM_WRITER_H
#define GSYM_WRITER_H

#include "buf.h"
#include "filetab.h"
#include "format.h"
#include "gsym.h"
#include "strtab.h"

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

#endif

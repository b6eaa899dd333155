/*
 * golang.h - functions of a Go program from its function table (pclntab.h).
 */
#ifndef CONVERT_GOLANG_GOLANG_H
#define CONVERT_GOLANG_GOLANG_H

#include "convert/object/object_file.h"
#include "convert/record/func_record.h"
#include "convert/record/warning.h"

struct golang_job {
	struct object_file *object; /* the file with the table */
	struct pool *pool;
	struct arena *arena; /* for the arrays of records; outlives them */
	struct warnings *warnings;
	uint64_t work;  /* steps that were done, filled in */
	uint64_t added; /* records, filled in */
};

/*
 * Appends the functions that no record of DWARF covers to @records, as such records: with rows and inlined
 * calls. Without a table nothing happens. 0 or -ENOMEM.
 */
int golang_add_records(struct golang_job *job, record_vec *records);

#endif

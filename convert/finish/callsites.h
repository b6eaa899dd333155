/*
 * callsites.h - call sites once all functions are known: flags, and those listed in a file.
 */
#ifndef CONVERT_FINISH_CALLSITES_H
#define CONVERT_FINISH_CALLSITES_H

#include "convert/finish/callsites_file.h"

/*
 * Flags every call site that names its callee: GSYM_CALLSITE_INTERNAL if this object file has a function of
 * that name, else GSYM_CALLSITE_EXTERNAL. Must precede pruning, which drops names. 0 or -ENOMEM.
 */
int callsites_flag(record_vec *records, const struct pool *pool);

/* The range of a function listed in a file; functions of one name share that of the first. */
struct listed_place {
	uint32_t name;  /* string of the pool */
	uint32_t first; /* index of the first function of that name */
	bool known;     /* a record has the name; start and end are those of the first one, in input order */
	uint64_t start, end;
	struct func_record *record; /* receives the call sites */
};

/*
 * Looks up the listed functions among the names of all records. Must precede pruning, which drops some. The
 * caller frees *ret. 0 or -ENOMEM.
 */
int callsites_locate(const struct callsites_file *file, const record_vec *records, struct pool *pool,
		     struct listed_place **ret);

/*
 * Adds the listed call sites to the final records: to that of the function's name, or one merged into a
 * record, preferably with the range that callsites_locate() found; else to the record that replaced it in
 * that range. They follow the call sites from DWARF and replace those with the same return address.
 *
 * @file:    the list
 * @places:  from callsites_locate()
 * @records: final, in address order
 * @pool:    names of @records; names of callees are added
 * @append:  as llvm-gsymutil: replace nothing and check no return address
 * @arena:   for the joined arrays
 *
 * 0, -EINVAL when there is no such function or the return address is past its end, -ENOMEM.
 */
int callsites_apply(const struct callsites_file *file, struct listed_place *places, record_vec *records,
		    struct pool *pool, bool append, struct arena *arena, struct gsym_diag *diag);

#endif

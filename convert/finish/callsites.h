/*
 * callsites.h - what is derived about call sites once all functions are known, and those a file lists.
 */
#ifndef CONVERT_FINISH_CALLSITES_H
#define CONVERT_FINISH_CALLSITES_H

#include "convert/finish/callsites_file.h"

/*
 * Flags every call site that names its callee: GSYM_CALLSITE_INTERNAL when this object file has a function of
 * that name, else GSYM_CALLSITE_EXTERNAL. Before pruning, which drops names. 0 or -ENOMEM.
 */
int callsites_flag(record_vec *records, const struct pool *pool);

/* Where the functions that a file lists are: one element a function, those of one name share the first's. */
struct listed_place {
	uint32_t name;  /* string of the pool */
	uint32_t first; /* index of the first function of that name */
	bool known;     /* a record has the name: the first one, in the order of input, had this range */
	uint64_t start, end;
	struct func_record *record; /* that will have the call sites */
};

/*
 * Looks the functions up by all names there are, before pruning drops some. *@ret is freed by the caller.
 * 0 or -ENOMEM.
 */
int callsites_locate(const struct callsites_file *file, const record_vec *records, struct pool *pool,
		     struct listed_place **ret);

/*
 * Gives the call sites of @file to the finished records: to the one of that name (or one merged into it),
 * best the one that callsites_locate() saw; else to the function that took its place. They follow those of
 * DWARF, whose sites at the same return address they replace; with @append they do not, as upstream has it.
 * -EINVAL when there is no such function or the return address lies behind it.
 */
int callsites_apply(const struct callsites_file *file, struct listed_place *places, record_vec *records,
		    struct pool *pool, bool append, struct arena *arena, struct gsym_diag *diag);

#endif

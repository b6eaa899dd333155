/*
 * build_types.h - input and output of a builder: settings, and the result of one unit.
 */
#ifndef CONVERT_BUILD_BUILD_TYPES_H
#define CONVERT_BUILD_BUILD_TYPES_H

#include "convert/build/symtab.h"
#include "convert/dwarf/dwarf.h"
#include "convert/dwarf/split.h"
#include "convert/record/func_record.h"

/* The records of one unit. Strings and files are numbered within it; file 0 is "no file". */
struct unit_result {
	struct func_record *records;
	struct pool_string *strings;
	struct unit_file {
		struct pool_string dir, base;
	} * files;
	uint32_t n_records, n_strings, n_files;
	const char *missing; /* the split file that was not found, or NULL */
	int err;             /* 0, -EBADMSG (the unit was skipped) or -ENOMEM */
};

/* Settings shared by all builders. */
struct build_context {
	const struct dwarf *dwarf;
	struct split_files *split; /* NULL: split units are not looked for */
	const range_vec *text;     /* code sections; empty when the object file has no section headers */
	const symbol_vec *symbols;
	bool match_llvm;
	bool callsites; /* collect them */
	bool merged;    /* look for functions folded into others */
	bool columns;   /* keep those of lines and of inlined calls, for builder_details() */
	bool closes;    /* the file is closed before results are used: their strings must not point into it */
	/* Whether to build the function at @addr; NULL: all are built. */
	bool (*wanted)(const void *user, uint64_t addr);
	const void *wanted_user;
};

#endif

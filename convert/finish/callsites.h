/*
 * callsites.h - call sites once all functions are known: flags, and those listed in a file.
 */
#ifndef CONVERT_FINISH_CALLSITES_H
#define CONVERT_FINISH_CALLSITES_H

#include "convert/record/func_record.h"

/* ---- Call sites listed in a file (callsites_file.c) ---- */

/*
 * They are listed in a YAML or JSON file, for calls that DWARF cannot describe: virtual and indirect calls,
 * selectors.
 *
 *     functions:                  # a list
 *       - name: work              # as in a symbol table
 *         callsites:              # a list; may be left out
 *           - return_offset: 0x18 # return address - start of the function; decimal or 0x...
 *             match_regex: [a]    # names or regular expressions of callees; may be empty
 *             flags: []           # InternalCall, ExternalCall; may be left out
 *
 * The schema is that of llvm-gsymutil. Other keys, directives, anchors, aliases, tags, several documents and
 * encodings other than UTF-8 are rejected. The file is parsed as a stream of events, in time and memory
 * linear in its size.
 */

enum {
	CALLSITES_FILE_MAX = 64 << 20, /* bytes of a file */
	CALLSITES_TEXT_MAX = 1 << 20,  /* bytes of a name or pattern */
};

struct listed_site {
	uint64_t return_off;
	uint32_t first_pattern, n_patterns;
	uint32_t line, column; /* where it is in the file, from 1 */
	uint8_t flags;         /* enum gsym_callsite_flags */
};

struct listed_function {
	struct pool_string name;
	uint32_t first_site, n_sites;
	uint32_t line, column;
};

/* Texts are in the arena. */
struct callsites_file {
	const char *path; /* borrowed: for messages */
	VEC(struct listed_function) functions;
	VEC(struct listed_site) sites;
	VEC(struct pool_string) patterns;
	struct arena arena;
};

/*
 * Reads the file at @path. 0, -EINVAL when it violates the schema, -EFBIG when it exceeds a limit, -ENOMEM,
 * or the errno of opening or reading; @diag has line and column.
 */
int callsites_file_read(const char *path, struct callsites_file **ret, struct gsym_diag *diag);

/*
 * The same from memory.
 *
 * @data, @size: the text, bytes
 * @path:        for messages, borrowed
 * @ret:         callsites_file_free() frees it
 */
int callsites_file_parse(const void *data, size_t size, const char *path, struct callsites_file **ret,
			 struct gsym_diag *diag);

/* NULL is fine. */
void callsites_file_free(struct callsites_file *file);

/* ---- All functions known (callsites.c) ---- */

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

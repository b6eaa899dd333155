/*
 * func_record.h - functions while they are being made, and the pool of their strings and files.
 *
 * Every producer fills records: DWARF units in parallel, with strings and files numbered per unit, then
 * symbol tables. Merging renumbers them to the pool's, in unit order, so that the result does not depend on
 * threads.
 */
#ifndef CONVERT_RECORD_FUNC_RECORD_H
#define CONVERT_RECORD_FUNC_RECORD_H

#include "gsym/gsym.h"
#include "gsym/base/arena.h"
#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"

#define NO_STRING UINT32_MAX

enum record_kind {
	RECORD_DWARF,
	RECORD_SYMBOL, /* STT_FUNC and the like */
	RECORD_LABEL,  /* STT_NOTYPE: only where nothing else is */
	RECORD_FOLDED, /* a function the linker folded into another of the same range: only ever merged with
			  it */
	RECORD_LINES,  /* no function: rows for whoever starts here and has none */
};

struct func_record {
	uint64_t start, end;   /* end == start: size unknown */
	struct gsym_row *rows; /* all of these are in an arena */
	struct gsym_inline *inlines;
	struct gsym_range *ranges;
	struct gsym_callsite *callsites;
	uint64_t *patterns;         /* strings of all callsites */
	struct func_record *merged; /* others with the same range; none of them has any */
	uint32_t n_rows, n_inlines, n_ranges, n_callsites, n_patterns, n_merged;
	uint64_t strp;       /* name in the string table, once it is there */
	size_t first_merged; /* in the writer's list, likewise */
	uint32_t name;       /* string */
	uint32_t bare;       /* the name without its scopes where they were added, else NO_STRING */
	uint8_t kind;        /* enum record_kind */
	bool linkage;        /* name is a linkage name */
	bool inferred;       /* RECORD_SYMBOL: where it ends is a guess */
	bool marker;         /* RECORD_LABEL that is dropped unless it has lines */
	bool assembly;       /* RECORD_DWARF: a label of assembly code, which may have others at its side */
	bool told;           /* RECORD_FOLDED: DWARF itself says where its lines are */
	bool speaks;         /* of several folded bodies: the one that answers for all */
};

typedef VEC(struct func_record) record_vec;

/* ---- The pool ---- */

struct pool_string {
	const char *text; /* borrowed from a section, or from an arena; need not be terminated */
	uint64_t hash;
	uint32_t size;
};

struct pool_file {
	uint32_t dir, base; /* strings */
};

/* String 0 is "", file 0 is "no file". Zero-initialised is not valid: pool_init(). */
struct pool {
	VEC(struct pool_string) strings;
	VEC(struct pool_file) files;
	uint32_t *string_slots, *file_slots; /* open addressing; index + 1, 0 = free */
	size_t string_mask, file_mask;
};

int pool_init(struct pool *pool);
void pool_deinit(struct pool *pool);

/* A string with its hash, not in any pool yet. */
struct pool_string pool_string_of(const char *text, size_t size);

/* Numbers of a string and of a file; equal ones get the same number. 0 or -ENOMEM. */
int pool_add_string(struct pool *pool, const struct pool_string *string, uint32_t *ret);
int pool_add_file(struct pool *pool, struct pool_file file, uint32_t *ret);

#endif

/*
 * func_record.h - a function under construction.
 *
 * Every producer fills records: DWARF units in parallel, with strings and files numbered per unit, then
 * symbol tables. Merging renumbers them to the pool's in unit order, so that the result does not depend on
 * the number of threads.
 */
#ifndef CONVERT_RECORD_FUNC_RECORD_H
#define CONVERT_RECORD_FUNC_RECORD_H

#include "convert/record/pool.h"
#include "gsym/base/arena.h"
#include "gsym/base/bytes.h"
#include "gsym/gsym.h"

enum record_kind {
	RECORD_DWARF,
	RECORD_SYMBOL, /* a function symbol: STT_FUNC and the like */
	RECORD_LABEL,  /* STT_NOTYPE: used only where nothing else covers the address */
	RECORD_FOLDED, /* a function the linker folded into another of the same range (ICF): kept only by
			  merging it into that one */
	RECORD_LINES,  /* no function: rows, one at least, for a function that starts here and has none */
};

struct func_record {
	uint64_t start, end;   /* end == start: size unknown */
	struct gsym_row *rows; /* this and the other arrays are in an arena */
	struct gsym_inline *inlines;
	struct gsym_range *ranges;
	struct gsym_callsite *callsites;
	uint64_t *patterns;         /* strings of all callsites */
	struct func_record *merged; /* others with the same range; none of them has any */
	uint32_t n_rows, n_inlines, n_ranges, n_callsites, n_patterns, n_merged;
	uint64_t strp;       /* name in the writer's string table, set by emit_records() */
	size_t first_merged; /* in emit_records()'s list of merged functions */
	uint32_t name;       /* string */
	uint32_t bare;       /* the unqualified name if name is qualified, else NO_STRING */
	uint8_t kind;        /* enum record_kind */
	bool linkage;        /* name is a linkage name */
	bool spelled;        /* RECORD_DWARF: name is final, and that of no other symbol */
	bool inferred;       /* RECORD_SYMBOL: its end is inferred */
	bool marker;         /* RECORD_LABEL that is dropped unless a row begins there */
	bool assembly;       /* RECORD_DWARF: a label of assembly code, which may have aliases */
	bool by_sequence; /* RECORD_FOLDED: found by DW_AT_LLVM_stmt_sequence, so no symbol need confirm it */
	bool numbered;    /* emit_records(): strings and files are the writer's */
	bool represents;  /* of several folded functions: the one that lookups in the range answer with */
};

typedef VEC(struct func_record) record_vec;

#endif

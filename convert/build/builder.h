/*
 * builder.h - from one unit's entries and lines to function records.
 *
 * A thread has one builder and uses it for unit after unit. What survives a unit (rows, inline trees, strings
 * of its result) is in the builder's arena and lives until the builder is freed; the rest is scratch.
 */
#ifndef CONVERT_BUILD_BUILDER_H
#define CONVERT_BUILD_BUILDER_H

#include "convert/dwarf/dwarf.h"
#include "convert/record/func_record.h"
#include "convert/dwarf/split.h"
#include "convert/build/symtab.h"

/* What one unit gave. Strings and files are numbered within it; file 0 is "no file". */
struct unit_result {
	struct func_record *records;
	struct pool_string *strings;
	struct unit_file {
		struct pool_string dir, base;
	} * files;
	uint32_t n_records, n_strings, n_files;
	const char *missing; /* the split file that would have told more, or NULL */
	int err;             /* 0, -EBADMSG (the unit was skipped) or -ENOMEM */
};

/* A subprogram with code, or the part of one that is still of interest. */
struct subprogram {
	uint64_t die_off;
	uint64_t name_key;              /* entry whose name it is */
	uint64_t sequence;              /* DW_AT_LLVM_stmt_sequence, NO_SEQUENCE when not told */
	uint32_t first_range, n_ranges; /* all live ones, as listed */
	uint32_t first_inlined, end_inlined;
	uint32_t first_call, end_call;
};

/*
 * A subprogram whose code the linker dropped, or folded into an equal function: then its line sequence was
 * not dropped, but lies where that function is.
 */
struct folded {
	uint64_t die_off;
	uint64_t name_key;
	uint64_t size;
	uint64_t sequence; /* of the line table, NO_SEQUENCE when not told */
};

#define NO_SEQUENCE UINT64_MAX

/* An inlined subroutine with its ranges, in preorder. */
struct inlined_call {
	uint64_t die_off;
	uint64_t name_key;
	uint64_t call_file;
	uint64_t call_line;
	uint32_t first_range, n_ranges; /* normalized */
	uint32_t subprogram;
	uint32_t depth; /* 1 = directly in the subprogram */
	bool has_call_file;
};

/* A call instruction of a subprogram. */
struct call_entry {
	uint64_t return_pc;
	uint64_t name_key; /* of the callee */
	uint32_t subprogram;
	bool has_callee;
};

/* Names by entry offset; forgotten from unit to unit by raising the generation. */
struct name_slot {
	uint64_t key;
	uint32_t generation;
	uint32_t string, bare;
	bool linkage;
};

/* Settings shared by all builders. */
struct build_context {
	const struct dwarf *dwarf;
	struct split_files *split; /* NULL: split units are not looked for */
	const range_vec *text;     /* where code is; empty when the object file has no sections to tell */
	const symbol_vec *symbols;
	bool match_llvm;
	bool callsites; /* collect them */
	bool merged;    /* look for functions folded into others */
	bool closes;    /* the file is closed before results are used: their strings must not point into it */
	/* Whether the function at @addr is of use; NULL: all are. */
	bool (*wanted)(const void *user, uint64_t addr);
	const void *wanted_user;
};

struct unit_builder {
	const struct build_context *context;
	struct oddities odd;
	struct arena arena;
	struct names *names;
	struct unit unit;
	struct unit skeleton;     /* of a split unit */
	struct split_file *split; /* opened last: the next unit may be in it, too; or NULL */
	bool is_split;            /* unit is of that file */
	bool has_ada;             /* so far, some unit was written in it */
	struct line_table lines;
	VEC(struct subprogram) subprograms;
	VEC(struct inlined_call) inlined_calls;
	VEC(struct call_entry) calls;
	VEC(struct folded) folded;
	range_vec ranges; /* of subprograms and inlined_calls */
	record_vec records;
	VEC(struct pool_string) strings;
	VEC(struct unit_file) files;
	VEC(uint32_t) file_map; /* line-table index -> number in files, 0 = not asked for yet */
	struct name_slot *slots;
	size_t slot_mask;
	uint32_t n_names, generation;
	VEC(struct gsym_row) rows; /* scratch of one function */
	bool declared;             /* rows is no row of the table, but the function's declaration */
	uint64_t row_budget;       /* rows still to be taken: overlapping functions must not multiply them */
	uint64_t inlined_budget;   /* the same for inlined_calls looked at */
	VEC(struct gsym_inline) inlines;
	VEC(struct gsym_range) inline_ranges;
	VEC(struct gsym_callsite) callsites;
	VEC(uint64_t) patterns;
	range_vec kept;              /* ranges of the inlined_calls kept so far */
	range_vec subprogram_ranges; /* all of the subprogram's, normalized */
	range_vec covered;           /* code that has rows from this unit's functions */
};

int builder_init(struct unit_builder *builder, const struct build_context *context);
void builder_deinit(struct unit_builder *builder);

/* Builds the records of unit @index. Oddities are counted in the builder. */
void builder_unit(struct unit_builder *builder, size_t index, struct unit_result *ret);

/* Forgets what was read from @dwarf, which is about to be closed. */
void builder_forget(struct unit_builder *builder, const struct dwarf *dwarf);

/* ---- Steps of it ---- */

/* Finds subprograms and inlined_calls (dwarf_walk.c). A damaged entry ends the unit, what came before stays.
 * 0 or -ENOMEM.
 */
int builder_walk(struct unit_builder *builder);

/* The number of a line-table file in the result: 1 and up, 0 for none. False when there is no such file. */
int builder_file(struct unit_builder *builder, uint64_t index, uint32_t *ret);

/* The name of the entry at @key. ret->string is NO_STRING when it has none. */
int builder_name(struct unit_builder *builder, uint64_t key, struct name_slot *ret);

/* Rows of [lo, hi) into builder->rows (build_lines.c). @subprogram may be NULL. Without any, the
 * declaration's at its start. */
int builder_rows(struct unit_builder *builder, uint64_t lo, uint64_t hi, const struct subprogram *subprogram);

/* Rows of one sequence that hold in [lo, hi), alone. */
int builder_sequence_rows(struct unit_builder *builder, const struct line_seq *seq, uint64_t lo, uint64_t hi);

/* The sequence whose program begins at @off of .debug_line, or NULL. */
const struct line_seq *builder_find_sequence(const struct unit_builder *builder, uint64_t off);

/* Lines from the declaration of the function at @die_off to the first row of @seq; UINT64_MAX: not behind it.
 */
uint64_t builder_declaration_distance(struct unit_builder *builder, const struct line_seq *seq,
				      uint64_t die_off);

/* Records of folded functions whose place could be found (build_folded.c). */
int builder_folded(struct unit_builder *builder);

/* Copies the scratch of one function into @record and appends it to builder->records. */
int builder_keep_record(struct unit_builder *builder, struct func_record *record);

/* The call sites of a subprogram in [lo, hi) into builder->callsites and patterns (build_calls.c). */
int builder_callsites(struct unit_builder *builder, uint32_t subprogram, uint64_t lo, uint64_t hi);

/* The inline tree of a subprogram in [lo, hi) into builder->inlines and inline_ranges (build_inline.c). */
int builder_inlines(struct unit_builder *builder, uint32_t subprogram, uint64_t lo, uint64_t hi);

#endif

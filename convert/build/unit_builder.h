/*
 * unit_builder.h - the builder's state and steps; private to convert/build.
 *
 * builder_unit() walks the entries of a unit once (dwarf_walk.c) and lists subprograms, inlined subroutines
 * and call sites in flat arrays that refer to each other by index. Then each range of each subprogram becomes
 * a record: as much code as its symbol has (build_extent.c), rows from the line table (build_lines.c), its
 * part of the inline tree and its call sites (build_inline.c). Subprograms without address are matched with
 * leftover line sequences (build_lines.c).
 */
#ifndef CONVERT_BUILD_UNIT_BUILDER_H
#define CONVERT_BUILD_UNIT_BUILDER_H

#include "convert/build/build_types.h"
#include "convert/record/pool.h"

/* A subprogram with code (DW_TAG_subprogram). */
struct subprogram {
	uint64_t die_off;
	uint64_t name_key;              /* entry that has its name */
	uint64_t sequence;              /* DW_AT_LLVM_stmt_sequence, or NO_SEQUENCE */
	uint32_t first_range, n_ranges; /* all live ones, in the order of the list */
	uint32_t first_inlined, end_inlined;
	uint32_t first_call, end_call;
};

/*
 * A subprogram without address: the linker dropped its code, or folded it into an identical function. In the
 * latter case its line sequence was kept and has the addresses of that function.
 */
struct folded_subprogram {
	uint64_t die_off;
	uint64_t name_key;
	uint64_t size;
	uint64_t sequence; /* DW_AT_LLVM_stmt_sequence, or NO_SEQUENCE */
};

#define NO_SEQUENCE UINT64_MAX

/* An inlined subroutine (DW_TAG_inlined_subroutine) with its ranges; kept in preorder. */
struct inlined_call {
	uint64_t die_off;
	uint64_t name_key;
	uint64_t call_file;
	uint64_t call_line;
	uint32_t first_range, n_ranges; /* normalized */
	uint32_t subprogram;
	uint32_t depth; /* 1 = directly in the subprogram */
	bool has_call_file;
	bool checked; /* its ranges were compared with the subprogram's */
};

/* A call instruction of a subprogram (DW_TAG_call_site). */
struct call_entry {
	uint64_t return_pc;
	uint64_t name_key; /* of the callee */
	uint32_t subprogram;
	bool has_callee;
};

/* Cache of names by entry offset. Raising the generation empties it for the next unit. */
struct name_slot {
	uint64_t key;
	uint32_t generation;
	uint32_t string, bare;
	bool linkage;
};

#define FILE_REFUSED UINT32_MAX /* the path of a file is more than the unit can pay for */

struct unit_builder {
	const struct build_context *context;
	struct warnings warnings;
	struct arena arena;    /* results */
	struct text_set texts; /* texts in it, of all units so far */
	struct text_buf made;  /* the name or path made last */
	struct names *names;
	struct unit unit;
	struct unit skeleton;     /* of a split unit */
	struct split_file *split; /* the last one opened, which may have the next unit, too; or NULL */
	bool is_split;            /* unit is of that file */
	bool has_ada;             /* some unit so far was written in Ada */
	uint64_t work, input;     /* of all units so far: see builder.h */
	struct line_table lines;
	VEC(struct subprogram) subprograms;
	VEC(struct inlined_call) inlined_calls;
	VEC(struct call_entry) calls;
	VEC(struct folded_subprogram) folded;
	range_vec ranges; /* of subprograms and inlined_calls */
	record_vec records;
	VEC(struct pool_string) strings;
	VEC(struct unit_file) files;
	VEC(uint32_t) file_map; /* line table index -> number in files, 0 = not used yet, FILE_REFUSED */
	struct name_slot *slots;
	size_t slot_mask;
	uint32_t n_names, generation;
	VEC(struct gsym_row) rows; /* scratch of one function */
	bool declared;             /* rows has the function's declaration instead of rows of the table */
	VEC(struct gsym_inline) inlines;
	VEC(struct gsym_range) inline_ranges;
	VEC(struct gsym_callsite) callsites;
	VEC(uint64_t) patterns;
	range_vec kept;              /* ranges of the inlined_calls kept so far */
	range_vec subprogram_ranges; /* all of the subprogram's, normalized */
	range_vec covered;           /* code that has rows from this unit's functions */
	range_vec extents;           /* that code, not joined where functions touch; ascending */
	range_vec bodies;            /* of all subprograms, ascending; listed when needed */
	range_vec unit_ranges;       /* of the unit's own entry, normalized; read when needed */
	bool has_unit_ranges;        /* they were read */
};

/* Forgets what was read from @dwarf, which is about to be closed. */
void builder_forget(struct unit_builder *builder, const struct dwarf *dwarf);

/* Lists subprograms, inlined calls and call sites (dwarf_walk.c). A damaged entry ends the unit; entries
 * before it are kept. 0 or -ENOMEM. */
int builder_walk(struct unit_builder *builder);

/* Empties the scratch for unit @index. */
void builder_begin(struct unit_builder *builder, size_t index);

/*
 * Loads the unit of @header, or the split unit that it stands for, and lists its code. *ret_missing is set to
 * the split file if that was not found. 0, -EBADMSG if it is damaged, or -ENOMEM.
 */
int builder_load(struct unit_builder *builder, const struct unit_header *header, const char **ret_missing);

/* Reads the lines of the unit that is loaded. 0 or -ENOMEM. */
int builder_load_lines(struct unit_builder *builder);

/* Begins the numbers of the files of builder->lines, after it was read. 0 or -ENOMEM. */
int builder_reset_files(struct unit_builder *builder);

/* The number of a line-table file in the result: 1 and up, 0 for none. False when there is no such file. */
int builder_file(struct unit_builder *builder, uint64_t index, uint32_t *ret);

/* The name of the entry at @key. ret->string is NO_STRING when it has none. */
int builder_name(struct unit_builder *builder, uint64_t key, struct name_slot *ret);

/*
 * The bytes of the function that has @range and @name (build_extent.c): those of the symbol around it, if
 * that has the name and holds no other function, else its own. 0 or -ENOMEM.
 */
int builder_extent(struct unit_builder *builder, struct range range, const struct name_slot *name,
		   struct range *ret);

/*
 * Rows of a function into builder->rows (build_lines.c).
 *
 * @extent:     of the function
 * @entry:      where its entry, or symbol, says that it begins
 * @subprogram: if it has no rows, its declaration becomes one at its start; or NULL
 *
 * 0 or -ENOMEM.
 */
int builder_rows(struct unit_builder *builder, struct range extent, uint64_t entry,
		 const struct subprogram *subprogram);

/* Adds records of folded functions whose line sequence was found (build_lines.c). 0 or -ENOMEM. */
int builder_folded(struct unit_builder *builder);

/* Copies the scratch of one function into @record and appends it to builder->records. */
int builder_keep_record(struct unit_builder *builder, struct func_record *record);

/* Copies records, strings and files into @ret, where they last as long as the builder. 0 or -ENOMEM. */
int builder_keep_result(struct unit_builder *builder, struct unit_result *ret);

/* The call sites of a subprogram in [lo, hi) into builder->callsites and patterns (build_inline.c). */
int builder_callsites(struct unit_builder *builder, uint32_t subprogram, uint64_t lo, uint64_t hi);

/* The inline tree of a subprogram in [lo, hi) into builder->inlines and inline_ranges (build_inline.c). */
int builder_inlines(struct unit_builder *builder, uint32_t subprogram, uint64_t lo, uint64_t hi);

#endif

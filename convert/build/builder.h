/*
 * builder.h - from one unit's entries and lines to function records.
 *
 * A thread has one builder and uses it for unit after unit. What outlives a unit (rows, inline trees, strings
 * of its result) is in the builder's arena and valid until the builder is freed; the rest is scratch.
 */
#ifndef CONVERT_BUILD_BUILDER_H
#define CONVERT_BUILD_BUILDER_H

#include "convert/build/build_types.h"

struct unit_builder;

/* NULL without memory. @context is borrowed. */
struct unit_builder *builder_new(const struct build_context *context);
void builder_free(struct unit_builder *builder);

/* Builds the records of unit @index. Warnings are counted in the builder. */
void builder_unit(struct unit_builder *builder, size_t index, struct unit_result *ret);

/* The same for the unit of @header, which need not be listed in its file. */
void builder_unit_of(struct unit_builder *builder, const struct unit_header *header, size_t index,
		     struct unit_result *ret);

/* ---- What GSYM does not hold of a unit: columns, discriminators, declarations (unit_details.c) ---- */

/* Code [lo, hi). */
struct code_piece {
	uint64_t lo, hi;
	uint64_t reach; /* the highest hi of this piece and all before it */
	uint32_t of;    /* what has the code */
};

/* Ascending by lo, and of equal ones by @of, after code_pieces_sort(). */
typedef VEC(struct code_piece) code_piece_vec;

void code_pieces_sort(code_piece_vec *pieces);

/*
 * The last of the first @n pieces that has @addr, as its index, or @n if none has. Of pieces inside of others
 * that is the innermost one.
 */
size_t code_pieces_find(const code_piece_vec *pieces, uint64_t addr, size_t n);

/* A function, or an inlined call. */
struct detail_entry {
	uint32_t parent; /* what it is inlined into, or NO_PARENT */
	uint32_t call_line;
	struct line_column call;  /* what it is called at */
	const char *dir, *base;   /* the file of its declaration; NULL: none */
	uint64_t file, call_file; /* of the declaration and the call, in the line table */
	uint32_t decl_line;       /* 0: none */
	uint64_t low_pc;          /* DW_AT_low_pc, if it has one */
	bool has_low_pc;
};

#define NO_PARENT UINT32_MAX

/* GSYM does not hold this of a file in the line table. */
struct detail_file {
	uint32_t comp_size; /* line_table_comp_size() */
	const char *source; /* as in struct line_file */
};

struct unit_details {
	struct line_table lines; /* with columns */
	VEC(struct detail_entry) entries;
	code_piece_vec code;           /* of entries */
	VEC(struct detail_file) files; /* by their indexes in the line table */
};

/*
 * Lists the details of unit @index; context->columns must be set. Paths are in the builder's arena. 0,
 * -EBADMSG if the unit is damaged, or -ENOMEM.
 */
int builder_details(struct unit_builder *builder, size_t index, struct unit_details *ret);
/* A variable at an address of its own, in the unit @unit. */
struct unit_variable {
	uint64_t addr;
	uint64_t die_off;
	uint32_t unit;
};

typedef VEC(struct unit_variable) unit_variable_vec;

/* Appends the variables of unit @index. As builder_details(). */
int builder_variables(struct unit_builder *builder, uint32_t index, unit_variable_vec *ret);

/* Finds where a variable is declared. As builder_details(); ret->decl_line is 0 if that is not known. */
int builder_variable_declaration(struct unit_builder *builder, const struct unit_variable *variable,
				 struct detail_entry *ret);
void unit_details_deinit(struct unit_details *details);

const struct warnings *builder_warnings(const struct unit_builder *builder);

/* Whether some unit so far was written in Ada. */
bool builder_has_ada(const struct unit_builder *builder);

/* Steps of work so far (budget.h), and bytes of input in split units. */
uint64_t builder_work(const struct unit_builder *builder);
uint64_t builder_split_input(const struct unit_builder *builder);

/* ---- The debug map of a Mach-O binary (debug_map.c) ---- */

/*
 * Its debug data stays in the object files: the map has their paths and the final address of each function
 * (N_OSO and N_FUN of <mach-o/stab.h>), as dsymutil(1) uses it.
 */

/* A function of the binary. */
struct mapped_function {
	const char *name; /* as the object's symbol table has it, without the underscore */
	uint64_t addr, size;
};

/* An object file of the binary. */
struct mapped_object {
	const char *path;            /* "dir/x.o", or "dir/lib.a(x.o)" */
	uint64_t mtime;              /* seconds since the epoch; 0: unknown */
	size_t first, end;           /* its functions */
	struct unit_result *results; /* of its units */
	size_t n_results;
	uint64_t input;      /* bytes of its debug data */
	int err;             /* of its conversion: 0 or -ENOMEM */
	const char *trouble; /* its path if it cannot be used, or NULL */
};

struct debug_map {
	VEC(struct mapped_function) functions;
	VEC(struct mapped_object) objects;
};

/* Reads the map of @object; it is empty if @object has none. 0 or -ENOMEM. */
int debug_map_read(const struct object_file *object, struct debug_map *ret);
void debug_map_free(struct debug_map *map);

/*
 * Opens one object file, builds records of its functions at their addresses in the binary, and closes it: a
 * program may have more object files than a process may have mappings.
 *
 * @map:     of @binary
 * @mapped:  the object file; its results are set, or its trouble if it is missing or was modified
 * @binary:  for its architecture and opener
 * @like:    context to copy settings from
 * @builder: of the calling thread
 *
 * 0 or -ENOMEM.
 */
int debug_map_build(const struct debug_map *map, struct mapped_object *mapped,
		    const struct object_file *binary, const struct build_context *like,
		    struct unit_builder *builder);

#endif

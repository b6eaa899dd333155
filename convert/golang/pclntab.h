/*
 * pclntab.h - Go's function table, "pclntab": functions, files, lines and inlined calls of a Go program.
 *
 * Go's runtime prints its tracebacks with it, so it is part of every program, stripped or not. There is no
 * specification: cmd/link/internal/ld/pcln.go writes it, runtime/symtab.go and debug/gosym read it. Its magic
 * number tells which of four layouts it has (Go 1.2, 1.16, 1.18, 1.20).
 *
 * All of it is the file's bytes, and nothing is trusted: offsets are checked where they are followed.
 */
#ifndef CONVERT_GOLANG_PCLNTAB_H
#define CONVERT_GOLANG_PCLNTAB_H

#include "convert/object/object_file.h"
#include "convert/record/budget.h"
#include "gsym/base/cursor.h"
#include "gsym/base/vec.h"

enum pclntab_version {
	PCLNTAB_GO12,  /* Go 1.2 to 1.15 */
	PCLNTAB_GO116, /* 1.16 and 1.17: names, files and values in tables of their own */
	PCLNTAB_GO118, /* 1.18 and 1.19: 32-bit offsets instead of addresses */
	PCLNTAB_GO120, /* 1.20 and newer: smaller nodes of inline trees */
};

/* Where an entry has its inline tree, and what nodes consist of. */
struct tree_layout {
	uint8_t version;     /* enum pclntab_version */
	uint8_t pcdata;      /* number of the values that tell the node */
	uint8_t funcdata;    /* number of the tree */
	uint8_t node_size;   /* bytes */
	uint8_t parent_size; /* bytes at the node's start; 0 = it has no parent, file and line */
	uint8_t name;        /* offset in the node */
	uint8_t parent_pc;   /* likewise; 0 = it has none */
	bool wide_count;     /* the entry's number of other data takes 4 bytes instead of the last of these */
};

enum { GO_TEXT_MAX = 256 /* each has at least a megabyte */ };

/* A part of the code, where it does not reach with one branch from end to end. */
struct go_text {
	uint64_t off, end; /* as entries count */
	uint64_t addr;
};

struct pclntab {
	struct object_file *object; /* borrowed */
	struct span bytes;          /* from the header to the end of the section */
	uint64_t addr;              /* of the header */
	enum pclntab_version version;
	uint8_t quantum, pointer_size; /* bytes: of the smallest instruction, and of an address */
	uint64_t n_functions;
	struct span names, file_offsets, files, values, functions; /* parts of bytes, each up to their end */
	uint64_t text;                                             /* what entries of Go 1.18 count from */
	struct go_text texts[GO_TEXT_MAX];                         /* ascending, if there are several */
	size_t n_texts;
	/* Bytes with all inline trees, and what offsets of Go 1.18 count from */
	const struct tree_layout *layout; /* NULL = not known */
	struct span trees;
	uint64_t trees_addr, trees_base;
};

/* A function as its table entry describes it. */
struct go_function {
	uint64_t start, limit; /* limit: where the next one starts */
	const char *name;      /* in the table; it may lack its end, which is looked for when it is needed */
	uint32_t file_values;  /* offset in values */
	uint32_t line_values;  /* likewise */
	uint32_t call_values;  /* likewise; 0 = it has no inlined calls */
	uint32_t unit;         /* the first file of its unit in file_offsets */
	uint64_t tree;         /* its address; 0 = none */
};

/* One step of a value that depends on the program counter: it holds up to @end, an offset in the function. */
struct pc_step {
	uint32_t end;
	int32_t value;
};

typedef VEC(struct pc_step) pc_step_vec;

/* Loaded bytes that may hold Go's constants and variables. */
struct data_area {
	struct span bytes;
	uint64_t addr;
};

/* Goes through the areas of a file: its sections, or its segments if it has none. */
struct area_walk {
	bool code; /* constants may be in sections of code */
	const struct object_file *object;
	size_t index;  /* of the next one */
	uint64_t left; /* bytes: areas may overlap, but no more is looked at than the file has */
};

struct area_walk area_walk_of(struct object_file *object);

/* The next area; empty if that is only code or has no bytes in the file. False past the last one. */
bool next_area(struct area_walk *walk, struct data_area *ret);

/* ---- Relocations of a position independent ELF program by its load address (pclntab_find.c) ---- */

/*
 * The system's linker writes the addresses that they make to .rela.dyn, and to the bytes they are for a zero,
 * or, for AArch64, something else.
 */

struct relative {
	uint64_t addr, value; /* the word at addr is value */
};

/* The relocations of @object; none if it has no such section, as 32-bit machines that Go knows. */
struct cursor relatives_of(struct object_file *object);

/* The next one. False at the end. */
bool next_relative(struct cursor *c, struct relative *ret);

/* ---- The table ---- */

/*
 * Finds the table in @object, by its section's name or its magic number. Bytes that must be changed are
 * copied to @arena. -ENOENT: it has none; -EBADMSG: what its section holds is none; -ENOMEM.
 */
int pclntab_find(struct object_file *object, struct arena *arena, struct pclntab *ret);

/* Reads the header of @table, whose object, bytes and addr are set. -EBADMSG: it is none. */
int pclntab_read_header(struct pclntab *table);

/*
 * Finds the program's "moduledata" (moduledata.c), which tells where code and inline trees are: sets
 * table->text and trees. Without it, code begins where the header or the code section does, and inlined calls
 * are not known. -EBADMSG: it contradicts the table.
 */
int moduledata_read(struct pclntab *table);

/* The address of offset @off, or that of the end of the code; 0 if there is none. */
uint64_t pclntab_address(const struct pclntab *table, uint64_t off);

/* Reads entry @index. False: it is damaged, or names nothing. */
bool pclntab_function(const struct pclntab *table, uint64_t index, struct go_function *ret);

/* The name at @off of the table of names, which may lack its end; NULL if there is none. */
const char *pclntab_name(const struct pclntab *table, uint32_t off);

/* Offsets of paths in the table of files. */
size_t pclntab_file_count(const struct pclntab *table);

/* The path at the offset @index of these, which may lack its end; NULL if there is none. */
const char *pclntab_file(const struct pclntab *table, uint64_t index);

/*
 * Decodes values that depend on the program counter.
 *
 * @table:   borrowed
 * @off:     of the values
 * @budget:  each of them is a step of @account
 * @ret:     its content is replaced; ends ascend
 * @err:     -ENOMEM is written without memory
 *
 * If values are damaged, or beyond @budget, those before are kept and false is returned.
 */
bool pc_values_read(const struct pclntab *table, uint32_t off, struct budget *budget, enum account account,
		    pc_step_vec *ret, int *err);

/* The value at offset @off of the function, or -1. */
int32_t pc_value_at(const pc_step_vec *steps, uint32_t off);

/* A node of an inline tree. */
struct go_inline_node {
	const char *name;
	uint32_t name_off;
	bool has_parent;
	int32_t parent; /* the caller's node, -1 = the function itself */
	bool has_parent_pc;
	uint32_t parent_pc; /* an instruction of the caller, at the line of the call */
	bool has_place; /* before Go 1.20, the line of the call itself: file and line as values have them */
	int32_t file, line;
};

/*
 * Finds the layout of trees that entries of Go before 1.18 have the addresses of, and the bytes with all of
 * them.
 */
void inline_trees_find(struct pclntab *table);

/* Returns whether functions name inline trees, but none that is possible was found. */
bool inline_trees_are_lost(struct pclntab *table);

/* The same for Go 1.18 and newer, where trees count from @base. False: they do not. */
bool inline_trees_at(struct pclntab *table, uint64_t base);

/* The nodes that the tree of @f can have at most, by the bytes there are. */
uint64_t inline_node_count(const struct pclntab *table, const struct go_function *f);

/* Reads node @index of the tree of @f. False: there is no such node. */
bool inline_node_read(const struct pclntab *table, const struct go_function *f, uint32_t index,
		      struct go_inline_node *ret);

#endif

/*
 * verify_parts.h - the parts of a comparison, which read the DWARF through libdwarf; private to this folder.
 */
#ifndef CONVERT_VERIFY_VERIFY_PARTS_H
#define CONVERT_VERIFY_VERIFY_PARTS_H

#include "convert/object/object_file.h"
#include "convert/verify/verify_libdwarf.h"
#include "convert/verify/verify_report.h"
#include "gsym/base/vec.h"
#include "gsym/gsym.h"

/* ---- Single attributes of an entry (verify_attr.c) ---- */

struct verify_range {
	uint64_t low, high; /* high is past the last byte */
};

/* The names an entry has, and where it is declared, found through abstract origins and specifications. */
struct verify_name {
	const char *linkage; /* NULL = none; borrowed from the open object */
	const char *plain;   /* NULL = none */
	uint64_t file, line; /* of the declaration; line 0: none */
};

struct verify_range_list {
	struct verify_range *v;
	size_t n, cap;
};

/* Appends the non-empty ranges of @die: low_pc and high_pc, or DW_AT_ranges. 0 or -ENOMEM. */
int verify_attr_ranges(struct dw *dw, Dwarf_Die die, struct verify_range_list *ranges);

/* Linkage and plain name of @die, of what it is an instance of, or of what it completes. */
struct verify_name verify_attr_name(struct dw *dw, Dwarf_Die die);

/* An unsigned attribute of @die, 0 when it has none. */
uint64_t verify_attr_number(struct dw *dw, Dwarf_Die die, Dwarf_Half attr);

/* ---- Functions: names, ranges, and what was inlined (verify_die.c) ---- */

/* The function itself, or a call inlined into it. */
struct verify_node {
	struct verify_name name;
	uint64_t call_file, call_line; /* 0 = not known */
	size_t first_range, n_ranges;
	uint32_t depth; /* 0 = the function itself */
};

/* A concrete function: nodes in preorder, node 0 the function. */
struct verify_function {
	VEC(struct verify_node) nodes;
	VEC(struct verify_range) ranges;
};

/* The ranges of node @index. */
static inline const struct verify_range *verify_ranges(const struct verify_function *function, size_t index)
{
	return function->ranges.v + function->nodes.v[index].first_range;
}

typedef int verify_visit(void *user, const struct verify_function *function);

/*
 * Calls @visit for every function with code below @cu_die, innermost nested ones first. 0, -ENOMEM, or what
 * @visit returned first that was not 0.
 */
int verify_walk(struct dw *dw, Dwarf_Die cu_die, verify_visit *visit, void *user);

/* ---- The line table of a unit, ready to be searched (verify_line.c) ---- */

struct verify_row {
	uint64_t addr;
	uint64_t line;
	uint32_t file;  /* index into the line header's files, as the DWARF version counts them */
	uint32_t file2; /* the same, or another one it may be: see DW_FILE_ZERO_IS_SURE */
};

/* Rows [first, first + count) hold from low to high. */
struct verify_sequence {
	uint64_t low, high;
	size_t first, count;
};

struct verify_lines {
	VEC(struct verify_row) rows;
	VEC(struct verify_sequence) sequences; /* ascending by low */
	VEC(char *) files;                     /* joined paths; NULL where there is none */
	int64_t first_file;                    /* what the first entry of files is called: 0 or 1 */
};

/* Reads the table @cu_die refers to. A unit without one gives an empty table. 0 or -ENOMEM. */
int verify_lines_read(struct verify_lines *lines, struct dw *dw, Dwarf_Die cu_die);

void verify_lines_deinit(struct verify_lines *lines);

/* The joined path of file @index, NULL when there is no such file. */
const char *verify_lines_file(const struct verify_lines *lines, uint64_t index);

/*
 * The row that holds at @addr in the @nth sequence that covers it, counted from 0; NULL when there is none.
 * Folded functions are covered by several. The last of rows that share an address counts.
 */
const struct verify_row *verify_lines_find(const struct verify_lines *lines, uint64_t addr, size_t nth);

/* ---- The object file (verify_object.c) ---- */

/*
 * libdwarf could open the file itself, but releases of 2021 support neither zstd nor some section headers of
 * current linkers. It gets the sections as the converter's object file layer finds and decompresses them, and
 * interprets them on its own.
 */

struct verify_section {
	const char *name; /* ".debug_...", compressed or not */
	struct span data;
};

struct verify_object {
	struct object_file *file;
	Dwarf_Debug dbg;
	struct dw_access access;
	VEC(struct verify_section) sections; /* the first is empty, as in ELF */
	VEC(char *) names;                   /* of sections that had others in the file */
	VEC(struct symbol) symbols;          /* by address */
};

/*
 * Opens an object file, of one with several images that whose id is that of @info. -ENODATA when there is no
 * DWARF, -ENOEXEC when it cannot be read. @ret is to be closed after a success only.
 */
int verify_object_open(const char *path, const struct gsym_info *info, struct verify_object *ret,
		       struct gsym_diag *diag);
void verify_object_close(struct verify_object *object);

/* Whether @addr is code; anything is in a file without sections. */
bool verify_object_is_code(const struct verify_object *object, uint64_t addr);

/* Whether a symbol called @name has the value @addr. */
bool verify_object_has_symbol(const struct verify_object *object, uint64_t addr, const char *name);

/* The address of the nearest function symbol before @low, if one there holds [low, high); else @low. */
uint64_t verify_object_holder(const struct verify_object *object, uint64_t low, uint64_t high);

/* ---- One address: its frames against the answer of a lookup (verify_compare.c) ---- */

enum { VERIFY_PATH_MAX = 256 }; /* inlined calls within each other; deeper ones are not followed */

/* The DWARF's description of an address. */
struct verify_expected {
	const struct verify_function *function;
	const struct verify_lines *lines;
	const struct verify_object *object;
	uint64_t addr;
	uint64_t start;               /* of the range of the function that @addr is in */
	size_t path[VERIFY_PATH_MAX]; /* nodes that cover @addr, from the function inwards */
	size_t n_path;
	bool has_line; /* a row with a file covers the address */
};

/* Fills in path and has_line from the other fields. */
void verify_expect(struct verify_expected *expected);

/* Compares it with the answer of a lookup that succeeded. */
enum verify_class verify_compare(const struct verify_expected *expected, const struct gsym_answer *answer);

/* Describes both in @text, truncated to @size. @answer: NULL when the lookup failed. */
void verify_describe(const struct verify_expected *expected, const struct gsym_answer *answer, char *text,
		     size_t size);

/* ---- The functions of a unit against the records (verify_function.c) ---- */

/* The result of comparing one record. */
struct verify_outcome {
	bool seen;
	uint32_t counts[VERIFY_CLASSES];
	verify_example *examples; /* the first of each class; NULL = none was described */
};

/* The state of one comparison. */
struct verifier {
	struct dw dw;
	const struct gsym_reader *reader;
	uint32_t max_functions; /* see struct verify_options */
	struct verify_report *report;
	struct verify_object object;
	struct gsym_decoder *decoder;
	struct gsym_answer answer;
	struct verify_outcome *outcomes; /* by record */
	size_t described;                /* outcomes that have examples */
	Dwarf_Die unit;                  /* the current unit */
	struct verify_lines lines;       /* of that unit, once lines_read */
	bool lines_read;
	VEC(uint64_t) probes; /* addresses of the current function */
};

/*
 * A verify_visit for a struct verifier: compares the function with the records at the starts of its ranges.
 */
int verify_visit_function(void *verifier, const struct verify_function *function);

#endif

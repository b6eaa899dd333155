/*
 * breakpad.h - text symbols of Breakpad and Crashpad (.sym files).
 *
 * The format is described in Breakpad's docs/symbol_files.md: a MODULE line, then FILE, FUNC, PUBLIC and
 * other records, a line each; the line records of a function follow its FUNC. Addresses count from the start
 * of the module.
 *
 * Such files have gigabytes. They are mapped and read in three sequential passes that release pages once
 * read: the first finds functions, files and names, the second stores the names, and the third reads the
 * records of a batch of functions and encodes them. So memory is 40 bytes and the encoded GSYM record for
 * each function.
 */
#ifndef CONVERT_BREAKPAD_BREAKPAD_H
#define CONVERT_BREAKPAD_BREAKPAD_H

#include "work/types/convert_types.h"
#include "convert/object/object_file.h"
#include "convert/record/warning.h"

/* ---- The first pass (breakpad_scan.c) ---- */

/* A FUNC or PUBLIC record. */
struct breakpad_function {
	uint64_t addr;
	uint64_t name_off; /* of its name in the file; the rest of that line */
	uint64_t strp;     /* of its name, once that is stored */
	uint32_t size;     /* bytes of code, 0 = unknown */
	uint32_t name_size;
	uint32_t body_size; /* bytes from its name to the end of its records */
	bool is_public;
	bool kept;
};

/* A FILE or INLINE_ORIGIN record. */
struct breakpad_name {
	uint64_t number;
	uint64_t off;
	uint32_t size;
	uint32_t file; /* number of the FILE that an INLINE_ORIGIN of before 2021 is in, or NO_FILE_NUMBER */
};

#define NO_FILE_NUMBER UINT32_MAX

typedef VEC(struct breakpad_name) breakpad_name_vec;

/* What the records of a file name, in the order of the file. Zero-initialised is empty. */
struct breakpad_tables {
	VEC(struct breakpad_function) functions;
	breakpad_name_vec files, origins;
};

void breakpad_tables_free(struct breakpad_tables *tables);

/*
 * Finds the functions, files and names of a file.
 *
 * @object:  the file
 * @base:    added to all addresses
 * @threads: to scan with
 * @ret:     in file order
 * @warnings: damaged records are counted here
 *
 * 0 or -ENOMEM.
 */
int breakpad_scan(const struct object_file *object, uint64_t base, unsigned threads,
		  struct breakpad_tables *ret, struct warnings *warnings);

/* ---- The records of one function (breakpad_function.c) ---- */

/*
 * Maps a file's numbers. They are usually dense, so most are indexes into an array; a hostile file could
 * choose numbers that collide in a hash table.
 */
struct breakpad_numbers {
	uint64_t *dense; /* meaning + 1, 0 = none */
	size_t n_dense;
	struct breakpad_meaning {
		uint64_t number, meaning;
	} * others; /* ascending */
	size_t n_others;
};

/* An INLINE_ORIGIN record. */
struct breakpad_origin {
	uint64_t name; /* string in GSYM */
	uint32_t file; /* as in struct breakpad_name */
};

/* What all functions share. */
struct breakpad_context {
	const struct object_file *object;
	uint64_t base;
	struct breakpad_numbers files;   /* FILE: index in GSYM's file table */
	struct breakpad_numbers origins; /* INLINE_ORIGIN: index in origin */
	struct breakpad_origin *origin;
	uint64_t nameless; /* NAMELESS in the string table */
};

/* Looks up @number; false when it is not defined. */
bool breakpad_number(const struct breakpad_numbers *numbers, uint64_t number, uint64_t *ret);

/* Scratch of one thread. */
struct breakpad_reader;
struct breakpad_reader *breakpad_reader_new(const struct breakpad_context *context);
void breakpad_reader_free(struct breakpad_reader *reader);

/*
 * Reads the rows and inlined calls of a function.
 *
 * @reader:   the thread's
 * @function: an unknown size becomes the end of the last line
 * @order:    its number, by which the first warning of each kind is chosen
 * @arena:    for the arrays of @ret
 *
 * 0 or -ENOMEM.
 */
int breakpad_read_function(struct breakpad_reader *reader, const struct breakpad_function *function,
			   uint64_t order, struct arena *arena, struct gsym_func *ret);

const struct warnings *breakpad_reader_warnings(const struct breakpad_reader *reader);

/* ---- The inline tree of one function (breakpad_inline.c) ---- */

enum { BREAKPAD_ROWS_MAX = 4 << 20 /* records of one function */ };

/* Code of an inlined call, counted from the function's start. */
struct breakpad_range {
	uint32_t lo, hi; /* [lo, hi) */
	uint32_t node;
	uint32_t next; /* of the same node, in breakpad_tree.kept; before that is known, the parent */
};

/* An INLINE record. Those of one function, as they come, then copies of those that lie in several calls. */
struct breakpad_node {
	uint64_t name; /* string in GSYM */
	uint64_t off;  /* of the record in the file */
	uint32_t call_file, call_line;
	uint32_t depth;     /* 0 = inlined into the function itself */
	uint32_t own_file;  /* of the inlined function, 0 = not known */
	bool has_call_file; /* else it is found, see breakpad_inline.c */
	/* filled in by breakpad_tree_make() */
	uint32_t parent, child, sibling; /* nodes; NO_NODE */
	uint32_t latest;                 /* of a record: the node made of it last */
	uint32_t first, last;            /* of kept */
};

/* Zero-initialised is empty. */
struct breakpad_tree {
	VEC(struct breakpad_node) nodes;
	VEC(struct breakpad_range) ranges; /* of the records, within the function */
	VEC(struct breakpad_range) kept;
	VEC(struct gsym_inline) inlines; /* the result, */
	VEC(struct gsym_range) out;      /* and its ranges */
	VEC(uint32_t) order;
};

void breakpad_tree_free(struct breakpad_tree *tree);

#define NO_NODE UINT32_MAX

/* The lines of a function. */
struct breakpad_rows {
	const struct gsym_row *v; /* of two successive ones one has a file */
	size_t n;
	uint32_t size; /* of the function */
};

/* From tree->nodes and ranges to tree->inlines and out. 0 or -ENOMEM. */
int breakpad_tree_make(struct breakpad_tree *tree, const struct breakpad_rows *rows,
		       struct warnings *warnings);

/* ---- All of it (breakpad_write.c) ---- */

struct breakpad_job {
	const struct object_file *object;
	uint64_t base; /* added to all addresses */
	unsigned threads;
	struct warnings *warnings;
	int (*progress)(void *user, uint64_t done, uint64_t total); /* non-zero stops */
	void *user;
	uint64_t n_functions, n_public; /* FUNC and PUBLIC records: filled in */
	uint64_t n_written;
};

/*
 * Adds all functions of the file to @writer. 0, -ENODATA when there are none, -EOVERFLOW when names exceed
 * the limit of the GSYM version, -ECANCELED, -ENOMEM, or the writer's errno.
 */
int breakpad_write(struct breakpad_job *job, struct gsym_writer *writer, struct gsym_diag *diag);

#endif

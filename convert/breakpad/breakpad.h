/*
 * breakpad.h - text symbols of Breakpad and Crashpad (.sym files).
 *
 * The format is described in Breakpad's docs/symbol_files.md: a MODULE line, then FILE, FUNC, PUBLIC and
 * other records, a line each; the line records of a function follow its FUNC. Addresses count from the start
 * of the module.
 *
 * Such files have gigabytes. They are mapped and read three times in order, and pages are given back behind
 * each pass: the first finds functions, files and names, the second stores the names, and the third reads the
 * records of a batch of functions at a time and encodes them at once. So what is kept of a function is 40
 * bytes and its record in GSYM.
 */
#ifndef CONVERT_BREAKPAD_BREAKPAD_H
#define CONVERT_BREAKPAD_BREAKPAD_H

#include "convert/record/convert_types.h"
#include "convert/object/object_file.h"
#include "convert/record/oddity.h"

/* ---- The first pass (breakpad_scan.c) ---- */

/* A FUNC or PUBLIC record. */
struct breakpad_function {
	uint64_t addr;
	uint64_t name_off; /* of its name in the file; the rest of that line */
	uint64_t strp;     /* of its name, once that is stored */
	uint32_t size;     /* bytes of code, 0 = not told */
	uint32_t name_size;
	uint32_t body_size; /* its records are in the bytes from its name to here */
	bool is_public;
	bool kept;
};

/* A FILE or INLINE_ORIGIN record. */
struct breakpad_name {
	uint64_t number;
	uint64_t off;
	uint32_t size;
};

typedef VEC(struct breakpad_name) breakpad_name_vec;

/* What the records of a file name, in the order of the file. Zero-initialised is empty. */
struct breakpad_tables {
	VEC(struct breakpad_function) functions;
	breakpad_name_vec files, origins;
};

void breakpad_tables_free(struct breakpad_tables *tables);

/* Addresses become those of an object file at @base. 0, -ENOMEM or -ECANCELED. */
int breakpad_scan(const struct object_file *object, uint64_t base, unsigned threads,
		  struct breakpad_tables *ret, struct oddities *odd);

/* ---- The records of one function (breakpad_function.c) ---- */

/*
 * What a file's numbers mean. Nearly always they are dense, so most are indexes of an array; a hash table
 * could be made slow by who chooses them.
 */
struct breakpad_numbers {
	uint64_t *dense; /* meaning + 1, 0 = none */
	size_t n_dense;
	struct breakpad_meaning {
		uint64_t number, meaning;
	} * others; /* ascending */
	size_t n_others;
};

/* What all functions share. */
struct breakpad_context {
	const struct object_file *object;
	uint64_t base;
	struct breakpad_numbers files;   /* FILE: index in GSYM's file table */
	struct breakpad_numbers origins; /* INLINE_ORIGIN: string in GSYM */
};

/* Whether @number is known, and what it means. */
bool breakpad_number(const struct breakpad_numbers *numbers, uint64_t number, uint64_t *ret);

/* Scratch of one thread. */
struct breakpad_reader;
struct breakpad_reader *breakpad_reader_new(const struct breakpad_context *context);
void breakpad_reader_free(struct breakpad_reader *reader);

/*
 * Reads lines and inlined calls of @function into @arena. @order: which function it is, for the first of each
 * kind of oddity. A size that is not told becomes the end of the last line. 0 or -ENOMEM.
 */
int breakpad_read_function(struct breakpad_reader *reader, const struct breakpad_function *function,
			   uint64_t order, struct arena *arena, struct gsym_func *ret);

const struct oddities *breakpad_reader_oddities(const struct breakpad_reader *reader);

/* ---- The inline tree of one function (breakpad_inline.c) ---- */

enum {
	BREAKPAD_DEPTH_MAX = 256,    /* inlined calls in each other: as many as GSYM's readers follow */
	BREAKPAD_ROWS_MAX = 4 << 20, /* records of one function */
};

/* Code of an inlined call, counted from the function's start. */
struct breakpad_range {
	uint32_t lo, hi; /* [lo, hi) */
	uint32_t node;
	uint32_t next; /* of the same node, in breakpad_tree.kept */
};

/* An INLINE record. Those of one function, as they come. */
struct breakpad_node {
	uint64_t name; /* string in GSYM */
	uint64_t off;  /* of the record in the file */
	uint32_t call_file, call_line;
	uint32_t depth; /* 0 = inlined into the function itself */
	/* filled in by breakpad_tree_make() */
	uint32_t parent, child, sibling; /* nodes; NO_NODE */
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

/* From tree->nodes and ranges to tree->inlines and out. 0 or -ENOMEM. */
int breakpad_tree_make(struct breakpad_tree *tree, struct oddities *odd);

/* ---- All of it (breakpad_write.c) ---- */

struct breakpad_job {
	const struct object_file *object;
	uint64_t base; /* added to all addresses */
	unsigned threads;
	struct oddities *odd;
	int (*progress)(void *user, uint64_t done, uint64_t total); /* non-zero stops */
	void *user;
	uint64_t n_functions, n_public; /* FUNC and PUBLIC records: filled in */
	uint64_t n_written;
};

/* Adds all functions of the file to @writer. 0, -ENODATA when there are none, or what went wrong. */
int breakpad_write(struct breakpad_job *job, struct gsym_writer *writer, struct gsym_diag *diag);

#endif

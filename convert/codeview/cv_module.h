/*
 * cv_module.h - one module of a PDB file to records. A thread has one reader and uses it for module after
 * module; private to this folder.
 */
#ifndef CONVERT_CODEVIEW_CV_MODULE_H
#define CONVERT_CODEVIEW_CV_MODULE_H

#include "convert/build/build_types.h"
#include "convert/codeview/cv_sites.h"

/* What all readers share. */
struct cv_source {
	const struct object_file *pdb;
	uint64_t base;
	const range_vec *text;  /* code; empty: not known */
	const range_vec *known; /* code that DWARF describes */
	const symbol_vec *symbols;
	struct cv_items items;
	struct pdb_bytes names; /* of the stream "/names" */
	struct span strings;    /* of files, in it */
};

/* A record that is called as the function at @target: a thunk, or a separated part. */
struct cv_branch {
	uint32_t record; /* of the module */
	uint64_t target;
};

/* A string of the module that is the name of an item which another module exports. */
struct cv_pending {
	uint32_t string;
	uint32_t module, local; /* as in struct cv_import */
};

/* What is known of a module, besides its records. */
struct cv_module_result {
	struct unit_result unit;
	struct cv_branch *branches;
	struct cv_pending *pending;
	struct cv_export *exports;
	uint32_t n_branches, n_pending, n_exports;
	uint64_t input; /* bytes that were read */
};

/* The function, or part of one, whose symbols are read. */
struct cv_function {
	const char *name; /* NULL: that of @target */
	uint32_t name_size;
	uint64_t place;
	uint32_t size;
	uint64_t target; /* place */
	bool has_lines;
};

enum { CV_SCOPES_MAX = 1024 /* scopes in each other */ };

struct cv_module_reader {
	struct cv_source *source;
	struct arena arena; /* what outlives a module */
	struct oddities odd;
	uint64_t work; /* of modules that are done */

	/* Of the module that is read */
	struct budget budget;
	struct name_budget item_names;
	bool borrowed; /* names may point into the stream */
	struct cv_lines lines;
	VEC(struct func_record) records;
	VEC(struct pool_string) strings;
	VEC(struct cv_branch) branches;
	VEC(struct cv_pending) pending;

	/* Of the function */
	bool open;
	struct cv_function function;
	struct cv_sites sites;
	uint32_t scopes[CV_SCOPES_MAX]; /* site of each scope, NO_SITE = the function itself */
	uint32_t depth;                 /* scopes, also those that are too many */
	pdb_pieces pieces;
};

/* Reads a module. Oddities are counted at @index. The result is in the reader's arena. */
void cv_module_read(struct cv_module_reader *reader, size_t index, struct cv_module_result *ret);
void cv_module_reader_deinit(struct cv_module_reader *reader);

#endif

/*
 * cv_parts.h - the parts of the reader of CodeView; private to this folder.
 */
#ifndef CONVERT_CODEVIEW_CV_PARTS_H
#define CONVERT_CODEVIEW_CV_PARTS_H

#include "convert/build/build_types.h"
#include "convert/object/pdb/pdb.h"
#include "convert/record/budget.h"
#include "convert/record/func_record.h"
#include "convert/record/warning.h"
#include "convert/record/pool.h"
#include "gsym/base/cursor.h"
#include "gsym/base/probe.h"
#include "gsym/codec/format.h"

/* ---- Names of inlined functions (cv_items.c) ---- */

/*
 * An item is a function with the scope it is in, or a member function with its class, which is a type of the
 * TPI stream. Where the records of both streams begin is found once; names are made when a module asks first.
 */

/* A qualified name, made of a scope, "::" and a name. */
struct cv_item_name {
	struct pool_string string;
	uint32_t scope; /* bytes of the scope's name; 0: none */
};

/* The records of a TPI or IPI stream. */
struct cv_record_table {
	struct pdb_bytes stream;
	uint32_t first, n; /* numbers of the records */
	uint32_t *offs;    /* where each begins in the stream */
};

struct cv_items {
	struct cv_record_table items, types;
	_Atomic(const struct cv_item_name *) *names; /* of each item; NULL: not made yet */
};

/* Reads both streams, by two threads. What is damaged is left out, and counted. 0 or -ENOMEM. */
int cv_items_open(const struct object_file *pdb, unsigned threads, struct warnings *warnings,
		  struct cv_items *ret);
void cv_items_close(struct cv_items *items);

/*
 * The name of @item. Any thread; what it costs is the same whether the name was made before.
 *
 * @arena:  for a name that was not made before; it outlives @items
 * @budget: of the module that asks
 * @ret:    of the result, as long as the arenas of all threads
 *
 * 0; -ENOENT: there is no such item, or it is damaged or exceeds the budget; -ENOMEM.
 */
int cv_item_name(struct cv_items *items, uint32_t item, struct arena *arena, struct name_budget *budget,
		 const struct cv_item_name **ret);

/* ---- Line information of a module (cv_lines.c) ---- */

/* A reader is used for module after module; what it holds is that of the last one. */

/* A line, from @off on. */
struct cv_line {
	uint32_t off;  /* from the start of its contribution */
	uint32_t file; /* of the module; 0 = not known */
	uint32_t line; /* 0: not known */
};

/* Lines of a piece of a section: of a function, or of several. */
struct cv_contribution {
	uint64_t place;    /* cv_place() of its start */
	uint64_t reach;    /* the highest end of this and those before it */
	uint32_t size;     /* bytes of code */
	uint32_t first, n; /* lines, ascending by off */
	uint32_t taken;    /* of the first at its place: functions that begin there and have got lines */
	bool used;         /* some function has got lines of it */
};

/* Where a function that is inlined begins. */
struct cv_inlinee {
	uint32_t item;
	uint32_t file; /* of the module; 0 = not known */
	uint32_t line; /* 0: not known */
	uint32_t name; /* string + 1; 0: not asked yet */
};

/* A function that is inlined from another module: its item has another number there. */
struct cv_import {
	uint32_t item;   /* here */
	uint32_t module; /* name in "/names" */
	uint32_t local;  /* there */
};

/* The number of an item that other modules use, and its number in the IPI stream. */
struct cv_export {
	uint32_t local, item;
};

struct cv_lines {
	struct span names;     /* strings of "/names" */
	struct span checksums; /* of the module */
	uint32_t *file_at;     /* of each 4 bytes of @checksums: file + 1, 0 = not asked yet */
	size_t file_at_cap;
	struct name_budget paths; /* of the module */
	VEC(struct unit_file) files;
	VEC(struct cv_line) lines;
	VEC(struct cv_contribution) contributions; /* ascending by place */
	VEC(struct cv_inlinee) inlinees;
	struct index_table inlinee_table;
	VEC(struct cv_import) imports; /* ascending by item */
	VEC(struct cv_export) exports;
};

/* Places of all sections in one order. */
static inline uint64_t cv_place(uint16_t section, uint32_t off)
{
	return (uint64_t)section << 32 | off;
}

/*
 * Reads the line information in @c13 of a module.
 *
 * @lines:  of the last module, or zero; the caller sets lines->names and lines->paths
 * @budget: of the module
 * @warnings: counts what is damaged
 *
 * 0 or -ENOMEM.
 */
int cv_lines_read(struct cv_lines *lines, struct span c13, struct budget *budget, struct warnings *warnings);
void cv_lines_deinit(struct cv_lines *lines);

/* The module's number of the file at @off of the checksums, 0 = not known. 0 or -ENOMEM. */
int cv_file(struct cv_lines *lines, uint32_t off, uint32_t *ret);

/* The inlinee of @item, which is added when line information has none. NULL without memory. */
struct cv_inlinee *cv_inlinee(struct cv_lines *lines, uint32_t item);

#define NO_CALL UINT32_MAX

/* Code of one line. */
struct cv_stretch {
	uint32_t lo, hi; /* from the start of the function */
	uint32_t file;
	uint32_t line;
	uint32_t call; /* the innermost inlined call, NO_CALL = none */
};

typedef VEC(struct cv_stretch) cv_stretches;

/* Appends [s.lo, s.hi), or extends the last one, if it is not empty. 0 or -ENOMEM. */
int cv_append_stretch(cv_stretches *to, struct cv_stretch s);

/*
 * Replaces @ret by the lines of the function at @place with @size bytes, without gaps. Functions that the
 * linker folded share a place, and each has its own lines there, in the order of the symbols: this is for the
 * next of them. 0 or -ENOMEM.
 */
int cv_lines_of(struct cv_lines *lines, uint64_t place, uint32_t size, struct budget *budget,
		cv_stretches *ret);

/* ---- Inlined calls of a function (cv_sites.c) ---- */

/*
 * Of each site only the code and the lines inside of it are known. What calls it, and where, follows from the
 * lines of the code around it: those that are there without the site. So one site is several calls if several
 * lines of its caller are there.
 */

#define NO_SITE UINT32_MAX

/* A site: preorder, as symbols nest. */
struct cv_site {
	uint32_t parent;     /* site, NO_SITE = the function itself */
	uint32_t depth;      /* 1 = inlined into the function itself */
	uint32_t name;       /* string of the module */
	uint32_t first_call; /* of several with the same site, NO_CALL = none yet */
};

/* Code of one line of a site. */
struct cv_site_part {
	uint32_t lo, hi; /* from the start of the function */
	uint32_t site, file, line;
};

/* A call: a site, as one line of its caller has it. */
struct cv_call {
	uint32_t site, next; /* next: call of the same site */
	uint32_t parent;     /* call, NO_CALL = the function itself */
	uint32_t file, line; /* of the caller */

	/* Of the record that is being written, if it is the one that @written counts */
	uint32_t written;
	uint32_t child, last_child, sibling;
	uint32_t first_range, last_range, n_ranges;
};

/* A range of a call in the record. */
struct cv_call_range {
	uint32_t lo, hi;
	uint32_t next; /* of the same call, NO_CALL = none */
};

/* Of one function after the other. */
struct cv_sites {
	VEC(struct cv_site) sites;
	VEC(struct cv_site_part) parts;
	VEC(struct cv_call) calls;
	cv_stretches flat;        /* the function by its innermost calls */
	cv_stretches spare;       /* another list while that is made; that of a record */
	uint32_t written;         /* records */
	uint32_t root, last_root; /* first and last call of the function itself, NO_CALL */
	VEC(struct cv_call_range) ranges;
	VEC(struct keyed) order;
};

void cv_sites_deinit(struct cv_sites *sites);

/* Forgets the last function. */
void cv_sites_clear(struct cv_sites *sites);

/*
 * Adds the code of site @site by its annotations.
 *
 * @annotations: of the symbol
 * @inlinee:     where the inlined function begins
 * @size:        bytes of the function, which bound the code
 * @budget:      of the module
 *
 * 0; -EBADMSG: they are damaged, and what is before that was added; -ENOTSUP: part of the code is in another
 * piece of the function, and was left out; -ENOMEM.
 */
int cv_annotations_read(struct cv_sites *sites, struct cv_lines *lines, uint32_t site,
			struct span annotations, struct cv_inlinee inlinee, uint32_t size,
			struct budget *budget);

/* Replaces lines of the function in sites->flat by those of the sites. 0 or -ENOMEM. */
int cv_sites_overlay(struct cv_sites *sites, struct budget *budget);

/*
 * Gives @out, whose code is pieces[0, n) of the function, one after the other, its rows, inlined calls and
 * their ranges, in @arena. Without the budget for it @out gets none. 0 or -ENOMEM.
 */
int cv_sites_write(struct cv_sites *sites, const struct pdb_piece *pieces, size_t n, struct arena *arena,
		   struct budget *budget, struct func_record *out);

/* ---- A module (cv_module.c) ---- */

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

/* A record that is called as the function at @target, if there is one: a thunk, or a part elsewhere. */
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

enum { CV_SCOPES_MAX = 2 * INLINE_DEPTH_MAX /* scopes in each other: calls and blocks */ };

struct cv_module_reader {
	struct cv_source *source;
	struct arena arena; /* what outlives a module */
	struct warnings warnings;
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

/* Reads a module. Warnings are counted at @index. The result is in the reader's arena. */
void cv_module_read(struct cv_module_reader *reader, size_t index, struct cv_module_result *ret);
void cv_module_reader_deinit(struct cv_module_reader *reader);

/* ---- Names of functions that a module inlines from another one (cv_imports.c) ---- */

/*
 * Microsoft's linker has them with link-time code generation. The item has a number of the module that
 * exports it, which leads to its number in the IPI stream; so all modules must be read first.
 */

/*
 * Replaces the strings that modules[0, n) have pending. Exports are sorted. What has no name is counted.
 *
 * @arena: for new names; it outlives the results
 *
 * 0 or -ENOMEM.
 */
int cv_imports_name(struct cv_source *source, struct cv_module_result *modules, size_t n, struct arena *arena,
		    struct warnings *warnings);

#endif

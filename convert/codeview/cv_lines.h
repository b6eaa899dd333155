/*
 * cv_lines.h - line information of one module ("C13"): files, lines of code, where inlined functions begin,
 * and numbers of items that other modules use.
 *
 * A reader is used for module after module; what it holds is that of the last one.
 */
#ifndef CONVERT_CODEVIEW_CV_LINES_H
#define CONVERT_CODEVIEW_CV_LINES_H

#include "convert/build/build_types.h"
#include "convert/codeview/cv_items.h"
#include "gsym/base/cursor.h"
#include "gsym/base/probe.h"

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
 * @odd:    counts what is damaged
 *
 * 0 or -ENOMEM.
 */
int cv_lines_read(struct cv_lines *lines, struct span c13, struct budget *budget, struct oddities *odd);
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

#endif

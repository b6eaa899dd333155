/*
 * cv_sites.h - the inlined calls of one function: their sites, as symbols list them, and the tree of calls
 * that is made of them.
 *
 * Of each site only the code and the lines inside of it are known. What calls it, and where, follows from the
 * lines of the code around it: those that are there without the site. So one site is several calls if several
 * lines of its caller are there.
 */
#ifndef CONVERT_CODEVIEW_CV_SITES_H
#define CONVERT_CODEVIEW_CV_SITES_H

#include "convert/codeview/cv_lines.h"
#include "convert/record/func_record.h"

enum { CV_DEPTH_MAX = 256 /* inlined calls in each other: as many as GSYM's readers follow */ };

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

#endif

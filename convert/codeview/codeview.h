/*
 * codeview.h - functions of a PDB file: from the symbols and line tables of its modules to records.
 *
 * Modules are read in parallel and give the same results for any number of threads. codeview_read() makes
 * results as a builder of DWARF does, for the caller to merge in their order; codeview_settle() then does
 * what needs all of them. Sources: Microsoft's cvinfo.h, LLVM's "CodeView Symbol Records" and "The PDB File
 * Format".
 */
#ifndef CONVERT_CODEVIEW_CODEVIEW_H
#define CONVERT_CODEVIEW_CODEVIEW_H

#include "convert/build/build_types.h"
#include "convert/record/warning.h"

struct codeview_job {
	const struct object_file *pdb; /* loaded */
	uint64_t base;                 /* is added to relative virtual addresses */
	const range_vec *text;         /* code; empty: not known */
	const record_vec *known;       /* records of DWARF, which win */
	const symbol_vec *symbols;     /* they name functions, and may have nothing but lines here */
	unsigned threads;
	/* Called from time to time on the calling thread; non-zero stops with -ECANCELED. */
	int (*progress)(void *user, uint64_t done, uint64_t total);
	void *user;
};

struct codeview;

/* Reads all modules. 0, -ENOMEM or -ECANCELED. The results are borrowed from *ret. */
int codeview_read(const struct codeview_job *job, struct codeview **ret);
void codeview_free(struct codeview *cv);

/* A result for each module, in the order of modules. */
const struct unit_result *codeview_results(const struct codeview *cv, size_t *ret_n);

/*
 * Names functions by the symbols at their starts, and thunks and separated parts by the functions they belong
 * to, and chooses which of several folded functions represents them: that which the symbol names, or the
 * first.
 *
 * @cv:      whose results were merged
 * @pool:    names of @records
 * @records: all records
 * @first:   the first of them that was merged from @cv
 *
 * 0 or -ENOMEM.
 */
int codeview_settle(const struct codeview *cv, struct pool *pool, record_vec *records, size_t first);

const struct warnings *codeview_warnings(const struct codeview *cv);

/* Steps of work (budget.h). */
uint64_t codeview_work(const struct codeview *cv);

#endif

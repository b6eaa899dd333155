/*
 * conversion.h - the state of one conversion and its stages, which the files of this folder share.
 */
#ifndef CONVERT_CONVERSION_H
#define CONVERT_CONVERSION_H

#include "convert/build/builder.h"
#include "convert/codeview/codeview.h"
#include "convert/finish/callsites.h"
#include "work/types/convert_types.h"
#include "work/types/machine_fault.h"

#include <stdatomic.h>

struct conversion {
	const struct convert_options *options;
	unsigned threads;

	/* Files */
	struct machine_fault fault;   /* of opening them */
	struct convert_opener opener; /* that of the options, or open(2) */
	struct object_file *object;
	struct object_file *debug;      /* its separate debug file, or NULL */
	struct gsym_diag debug_trouble; /* why a debug file that was found is not used, or empty */
	struct object_file *shared;     /* the alternate file of object or debug, or NULL */
	int debug_fetched,
		shared_fetched;   /* the result of fetching them: 0 or a negative errno; -ENOSYS: not tried */
	struct object_file *mini; /* from .gnu_debugdata, or NULL */
	struct object_file *symtab; /* named by the caller, or NULL */
	struct dwarf dwarf;
	struct dwarf alternate;
	struct split_files *split;
	struct debug_map map;          /* object files instead of DWARF */
	struct callsites_file *listed; /* or NULL */

	/* Units, in parallel */
	struct build_context context;
	struct unit_builder **builders; /* one for each thread */
	unsigned n_builders;
	struct unit_result *results; /* one for each unit */
	atomic_size_t units_done;
	_Atomic uint64_t bytes_done; /* of .debug_info */
	atomic_bool cancelled;
	atomic_size_t *at_unit; /* for each thread: the unit it reads */
	uint64_t released;      /* bytes of .debug_info returned to the system; of thread 0 alone */

	struct codeview *codeview; /* what records of a PDB file are in, or NULL */

	/* The result */
	symbol_vec symbols;
	record_vec records;
	struct pool pool;
	struct arena arena; /* what belongs to no unit */
	struct warnings warnings;
};

/* Bytes of all files read so far, which limit the output. */
uint64_t conversion_input(const struct conversion *c);

/* Reports progress to the caller, who may cancel the conversion. On the calling thread only. */
void conversion_report(struct conversion *c, const struct convert_progress *progress);

/* How the GSYM of the image is written. */
struct gsym_writer_options conversion_writer_options(const struct conversion *c);

/* ---- Files: opened, searched for, fetched (files.c) ---- */

/*
 * Finds and opens the files that belong to c->object. -EINVAL when one that the caller named belongs to
 * another object file, or the errnos of object_open() for it; -ENOMEM.
 */
int conversion_open_files(struct conversion *c, struct gsym_diag *diag);

/* Fills c->symbols from all of them. 0 or -ENOMEM. */
int conversion_load_symbols(struct conversion *c);

/*
 * Fills @ret with those symbols of all files that touch one of the normalized ranges @near; ends that are
 * inferred may be wrong, and section markers are not recognised. 0 or -ENOMEM.
 */
int conversion_load_near(struct conversion *c, const range_vec *near, symbol_vec *ret);

/* Loads the sections of the DWARF, and its units only if details are asked for. 0 or -ENOMEM. */
int conversion_load_dwarf(struct conversion *c);

/* Opens what the DWARF refers to, or the debug map of a Mach-O binary without any. 0 or -ENOMEM. */
int conversion_open_dwarf(struct conversion *c);

/*
 * Returns true if the file names a debug file that was not found, as none does a dSYM; @ret is its name, cut
 * to @size.
 */
bool conversion_lacks_debug_file(const struct conversion *c, char *ret, size_t size);

/* Lists the files that were not found in @summary. 0 or -ENOMEM. */
int conversion_list_missing(struct conversion *c, struct convert_summary *summary);

void conversion_close_files(struct conversion *c);

/* ---- Units of debug data to function records (units.c) ---- */

/*
 * Fills c->symbols and c->dwarf.units, by two threads if that pays. If the DWARF is still being inflated, as
 * much of it as the time allows is inflated instead. 0 or -ENOMEM.
 */
int conversion_prepare(struct conversion *c);

/* Makes records of all units, by c->threads threads. 0, -ENOMEM or -ECANCELED. */
int conversion_read_units(struct conversion *c);

/*
 * Appends the records of all units to c->records, in unit order, with the pool's numbers. 0 or the first
 * error of a unit.
 */
int conversion_merge_units(struct conversion *c, struct convert_summary *summary);

/* The same of the given results alone, in their order. */
int conversion_merge_results(struct conversion *c, const struct unit_result *results, size_t n,
			     struct convert_summary *summary);

void conversion_close_units(struct conversion *c);

/* ---- While .debug_info is inflated (unit_stream.c) ---- */

/*
 * Reads all units of c->dwarf.stream with the builders of @c, and ends the stream: c->dwarf has its units
 * then, and c->results their records. 0, -EBADMSG if .debug_info is damaged: then there are none; -ENOMEM or
 * -ECANCELED.
 */
int unit_stream_read(struct conversion *c);

/* ---- The first answers (fragment.c) ---- */

/*
 * The functions around a few addresses are converted before all others: a whole conversion takes the time
 * that a whole file takes, but the first request is for one address. So the units that have the code there
 * are converted alone, and what is then certain goes into a GSYM file of its own: a function that this file
 * has is byte for byte the one that the whole conversion will write, and no other function of the image
 * answers for its addresses. What is not certain is left out, so that an address without an answer there just
 * waits for the whole.
 */

/*
 * Writes the fragment for options->asked, if something is asked and certain, and reports it: *ret_done. Files
 * and symbols are loaded. Leaves all of @c as it is. 0; -ECANCELED.
 */
int fragment_make(struct conversion *c, bool *ret_done);

/*
 * The same before symbols are loaded and units are found, so that it costs only what it needs of both; the
 * sections of the DWARF are loaded. Less is certain then: *ret_done tells whether all that is asked was. A
 * .debug_info that is read while it is inflated has only this fragment, which may answer a part.
 */
int fragment_make_early(struct conversion *c, bool *ret_done);

/* Reports that there is no fragment for options->asked, if something is asked. 0; -ECANCELED. */
int fragment_report_none(struct conversion *c);

/*
 * Makes fragments for all addresses that options->asked gives one after the other, instead of the whole; the
 * sections of the DWARF are loaded. Never 0: -ECANCELED at the end; -ENODATA if no fragment can be made of
 * this file.
 */
int fragment_serve(struct conversion *c);

/* ---- What GSYM does not hold (details.c) ---- */

/*
 * Answers options->details from the DWARF instead of converting it. Files are open. Never 0: -ECANCELED at
 * the end; -ENODATA if there is no DWARF; -ENOMEM.
 */
int details_serve(struct conversion *c);

#endif

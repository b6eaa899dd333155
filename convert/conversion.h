/*
 * conversion.h - one conversion under way: what convert.c, files.c and units.c share.
 */
#ifndef CONVERT_CONVERSION_H
#define CONVERT_CONVERSION_H

#include "convert/build/builder.h"
#include "convert/finish/callsites.h"
#include "convert/convert.h"
#include "convert/build/debug_map.h"

#include <stdatomic.h>

struct conversion {
	const struct convert_options *options;
	unsigned threads;
	struct object_file *object;
	struct object_file *debug;  /* its separate debug file, or NULL */
	struct object_file *shared; /* the alternate file of object file or debug, or NULL */
	int debug_fetched,
		shared_fetched; /* what came of asking for them: 0, or a negative errno; -ENOSYS: not asked */
	struct object_file *mini;   /* from .gnu_debugdata, or NULL */
	struct object_file *symtab; /* named by the caller, or NULL */
	struct dwarf dwarf;
	struct dwarf alternate;
	struct split_files *split;
	struct debug_map map;          /* objects instead of DWARF */
	struct callsites_file *listed; /* or NULL */
	symbol_vec symbols;
	struct build_context context;
	struct unit_builder *builders; /* one for each thread */
	unsigned n_builders;
	struct unit_result *results; /* one for each unit */
	record_vec records;
	struct pool pool;
	struct arena arena; /* what belongs to no unit */
	struct oddities odd;
	atomic_size_t units_done;
	_Atomic uint64_t bytes_done; /* of .debug_info */
	atomic_bool cancelled;
	uint64_t released;      /* of .debug_info, see release_pages() */
	atomic_size_t *at_unit; /* for each thread: the unit it reads, SIZE_MAX when it has not begun */
};

/* Tells the caller; what it answers may stop the conversion. On the calling thread only. */
void conversion_report(struct conversion *c, const struct convert_progress *progress);

/* ---- files.c ---- */

/* Finds and opens the files that belong to c->object. */
int conversion_open_files(struct conversion *c, struct gsym_diag *diag);

/* Fills c->symbols from all of them. 0 or -ENOMEM. */
int conversion_load_symbols(struct conversion *c);

/* Opens the debug data, here and elsewhere. 0 or -ENOMEM. */
int conversion_open_dwarf(struct conversion *c);

/* Names what was not found. 0 or -ENOMEM. */
int conversion_list_missing(struct conversion *c, struct convert_summary *summary);

void conversion_close_files(struct conversion *c);

/* ---- units.c ---- */

/* Makes records of all units, by c->threads threads. 0, -ENOMEM or -ECANCELED. */
int conversion_read_units(struct conversion *c);

/* Puts the records of all units together, in the order of the units. 0 or what went wrong first. */
int conversion_merge_units(struct conversion *c, struct convert_summary *summary);

void conversion_close_units(struct conversion *c);

#endif

/*
 * conversion.h - the state of one conversion, which the files of this folder share.
 */
#ifndef CONVERT_CONVERSION_H
#define CONVERT_CONVERSION_H

#include "convert/build/builder.h"
#include "convert/build/debug_map.h"
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

#endif

/*
 * verify.c - comparing unit by unit, so that memory does not grow with the debug data; each record of the
 * GSYM keeps an outcome, and the report is their sum.
 */
#include "convert/verify/verify.h"

#include "gsym/base/diag.h"
#include "convert/verify/verify_parts.h"

#include <stdio.h>
#include <string.h>

static int visit_unit(struct verifier *v)
{
	Dwarf_Error error = NULL;
	if (!dw_ok(&v->dw, dwarf_siblingof_b(v->dw.dbg, NULL, 1, &v->unit, &error), &error))
		return 0;
	v->report->units++;
	v->lines_read = false;
	int err = verify_walk(&v->dw, v->unit, verify_visit_function, v);
	verify_lines_deinit(&v->lines);
	dwarf_dealloc_die(v->unit);
	return err;
}

static int visit_units(struct verifier *v)
{
	Dwarf_Unsigned length, type_off, next;
	Dwarf_Half version, addr_size, len_size, ext_size, unit_type = 0;
	Dwarf_Off abbrev;
	Dwarf_Sig8 signature;
	Dwarf_Error error = NULL;
	int err = 0;
	while (!err &&
	       dw_ok(&v->dw,
		     dwarf_next_cu_header_d(v->dw.dbg, 1, &length, &version, &abbrev, &addr_size, &len_size,
					    &ext_size, &signature, &type_off, &next, &unit_type, &error),
		     &error))
		err = visit_unit(v);
	return err;
}

int verify_against(const char *object_path, const struct gsym_reader *reader,
		   const struct verify_options *options, struct verify_report *ret, struct gsym_diag *diag)
{
	struct verifier v = {.reader = reader, .max_functions = options->max_functions, .report = ret};
	memset(ret, 0, sizeof(*ret));
	int err = verify_object_open(object_path, gsym_reader_info(reader), &v.object, diag);
	if (err)
		return err;
	v.dw.dbg = v.object.dbg;
	v.dw.mode_bits = v.object.file->mode_bits;
	v.decoder = gsym_decoder_new();
	v.outcomes = calloc(gsym_reader_info(reader)->num_addresses, sizeof(*v.outcomes));
	err = v.decoder && v.outcomes ? visit_units(&v) : -ENOMEM;
	if (!err && v.dw.no_memory)
		err = diag_set(diag, -ENOMEM, "%s: libdwarf: out of memory", object_path);
	if (!err && ret->units == 0)
		err = diag_set(diag, -ENOEXEC, "%s: libdwarf cannot read any unit: %s", object_path,
			       v.dw.reason);
	if (!err) {
		for (uint32_t i = 0; i < gsym_reader_info(v.reader)->num_addresses; i++) {
			const struct verify_outcome *outcome = &v.outcomes[i];
			v.report->functions += outcome->seen;
			for (int class = 0; class < VERIFY_CLASSES; class ++) {
				v.report->addresses += outcome->counts[class];
				v.report->classes[class].count += outcome->counts[class];
				if (outcome->counts[class] && outcome->examples)
					verify_add_example(v.report, (enum verify_class) class,
							   outcome->examples[class]);
			}
		}
		v.report->skipped = v.dw.skipped;
		snprintf(v.report->reason, sizeof(v.report->reason), "%s", v.dw.reason);
	}
	for (uint32_t i = 0; v.outcomes && i < gsym_reader_info(v.reader)->num_addresses; i++)
		free(v.outcomes[i].examples);
	free(v.outcomes);
	vec_free(&v.probes);
	gsym_answer_deinit(&v.answer);
	gsym_decoder_free(v.decoder);
	verify_object_close(&v.object);
	return err;
}

/* verify_function.h - the functions of a unit against the records of a GSYM file. */
#ifndef CONVERT_VERIFY_VERIFY_FUNCTION_H
#define CONVERT_VERIFY_VERIFY_FUNCTION_H

#include "convert/verify/verify_compare.h"

/* The result of comparing one record. */
struct verify_outcome {
	bool seen;
	uint32_t counts[VERIFY_CLASSES];
	verify_example *examples; /* the first of each class; NULL = none was described */
};

/* The state of one comparison. */
struct verifier {
	struct dw dw;
	const struct gsym_reader *reader;
	uint32_t max_functions; /* see struct verify_options */
	struct verify_report *report;
	struct verify_object object;
	struct gsym_decoder *decoder;
	struct gsym_answer answer;
	struct verify_outcome *outcomes; /* by record */
	size_t described;                /* outcomes that have examples */
	Dwarf_Die unit;                  /* the current unit */
	struct verify_lines lines;       /* of that unit, once lines_read */
	bool lines_read;
	VEC(uint64_t) probes; /* addresses of the current function */
};

/*
 * A verify_visit for a struct verifier: compares the function with the records at the starts of its ranges.
 */
int verify_visit_function(void *verifier, const struct verify_function *function);

#endif

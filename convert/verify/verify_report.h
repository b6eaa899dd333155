/*
 * verify_report.h - the result of a comparison: counts and examples of each class.
 */
#ifndef CONVERT_VERIFY_VERIFY_REPORT_H
#define CONVERT_VERIFY_VERIFY_REPORT_H

#include <stdint.h>

/* The result for one address. The classes before VERIFY_DIFFERENT agree, each for its reason. */
enum verify_class {
	VERIFY_SAME,
	VERIFY_QUALIFIED,   /* DWARF has a bare name and GSYM the same one within its namespaces */
	VERIFY_SYMBOL_NAME, /* GSYM has the symbol's name: a clone suffix, or the mangled name DWARF lacks */
	VERIFY_DECLARED,    /* the function has no rows, and GSYM the line of its declaration */
	VERIFY_OTHER_OWNER, /* several functions claim the address, and GSYM answers with another one */

	VERIFY_DIFFERENT,                  /* the first class that is a difference */
	VERIFY_MISSING = VERIFY_DIFFERENT, /* a function of the DWARF has no record */
	VERIFY_FRAMES,                     /* more frames, or fewer */
	VERIFY_NAME,                       /* of a frame */
	VERIFY_POSITION,                   /* file or line of the innermost frame */
	VERIFY_CALL,                       /* file or line of a call */
	VERIFY_LINE_LOST,                  /* the DWARF has a line for the address, GSYM has none */
	VERIFY_LINE_ADDED,                 /* the other way round */
	VERIFY_DAMAGED,                    /* the lookup failed */
	VERIFY_CLASSES,
};

enum { VERIFY_EXAMPLES = 4 };

typedef char verify_example[512];

struct verify_report {
	uint64_t units;     /* of debug data read */
	uint64_t functions; /* records of the GSYM that the DWARF describes and that were compared */
	uint64_t addresses; /* compared */
	uint64_t skipped;   /* units or entries libdwarf could not read */
	char reason[128];   /* libdwarf's first error */
	struct {
		uint64_t count;
		uint64_t n_examples;
		verify_example examples[VERIFY_EXAMPLES]; /* the first ones: address, DWARF, GSYM */
	} classes[VERIFY_CLASSES];
};

/* The name of @class in a report. */
const char *verify_class_name(enum verify_class class);

/* Addresses and functions in classes that are differences. */
uint64_t verify_differences(const struct verify_report *report);

/* Keeps @text as an example of @class, unless there are enough of them. */
void verify_add_example(struct verify_report *report, enum verify_class class, const char *text);

#endif

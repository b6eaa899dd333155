/*
 * verify.h - a second opinion on a GSYM file.
 *
 * The frames at the starts of functions, at line rows and at the edges of inlined calls are derived once more
 * from the DWARF of the object file, by libdwarf, and compared with what a lookup in the GSYM answers.
 * Nothing of the converter's own DWARF reading takes part.
 */
#ifndef CONVERT_VERIFY_VERIFY_H
#define CONVERT_VERIFY_VERIFY_H

#include "gsym/gsym.h"

/* How an address can come out. The first ones agree, each for its reason; the others are differences. */
enum verify_class {
	VERIFY_SAME,
	VERIFY_QUALIFIED,   /* DWARF has a bare name and GSYM the same one within its namespaces */
	VERIFY_SYMBOL_NAME, /* GSYM has the symbol's name: a clone suffix, or the mangled name DWARF lacks */
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

struct verify_options {
	uint32_t max_functions; /* compare about so many, spread evenly over the file; 0 = all */
};

struct verify_report {
	uint64_t units;     /* of debug data read */
	uint64_t functions; /* records of the GSYM that the DWARF describes and that were compared */
	uint64_t addresses; /* compared */
	uint64_t skipped;   /* units or entries libdwarf could not read */
	char reason[128];   /* the first time */
	struct {
		uint64_t count;
		uint64_t n_examples;
		char examples[VERIFY_EXAMPLES][512]; /* the first ones: address, theirs, ours */
	} classes[VERIFY_CLASSES];
};

/* What @class is called in a report. */
const char *verify_class_name(enum verify_class class);

/* Addresses and functions in classes that are differences. */
uint64_t verify_differences(const struct verify_report *report);

/*
 * Compares @reader with the object file @object_path. 0 when the comparison was made, whatever it found;
 * -ENODATA when the object has no DWARF, -ENOEXEC when libdwarf cannot read any of it.
 */
int verify_against(const char *object_path, const struct gsym_reader *reader,
		   const struct verify_options *options, struct verify_report *ret, struct gsym_diag *diag);

#endif

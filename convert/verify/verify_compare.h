/* verify_compare.h - one address: the frames from the DWARF against the answer of a lookup. */
#ifndef CONVERT_VERIFY_VERIFY_COMPARE_H
#define CONVERT_VERIFY_VERIFY_COMPARE_H

#include "convert/verify/verify_die.h"
#include "convert/verify/verify_line.h"
#include "convert/verify/verify_object.h"
#include "convert/verify/verify_report.h"
#include "gsym/gsym.h"

enum { VERIFY_PATH_MAX = 256 }; /* inlined calls within each other; deeper ones are not followed */

/* The DWARF's description of an address. */
struct verify_expected {
	const struct verify_function *function;
	const struct verify_lines *lines;
	const struct verify_object *object;
	uint64_t addr;
	uint64_t start;               /* of the range of the function that @addr is in */
	size_t path[VERIFY_PATH_MAX]; /* nodes that cover @addr, from the function inwards */
	size_t n_path;
	bool has_line; /* a row with a file covers the address */
};

/* Fills in path and has_line from the other fields. */
void verify_expect(struct verify_expected *expected);

/* Compares it with the answer of a lookup that succeeded. */
enum verify_class verify_compare(const struct verify_expected *expected, const struct gsym_answer *answer);

/* Describes both in @text, truncated to @size. @answer: NULL when the lookup failed. */
void verify_describe(const struct verify_expected *expected, const struct gsym_answer *answer, char *text,
		     size_t size);

#endif

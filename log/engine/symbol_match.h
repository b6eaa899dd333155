/*
 * symbol_match.h - the function that a log calls "name+0x12", or a kernel "name+0x12/0x40".
 *
 * The offset must be inside the function, and the size, if there is one, must be its size in the image: the
 * log of another build names other code. The kernel takes the distance to the next of its symbols for a size,
 * so that
 *
 * - padding counts;
 * - so does dead code that has no symbol, but a record: the weak definition of a function that is overridden
 *   by another;
 * - a function of assembly may end, for the kernel, at a label within it, which GSYM does not have;
 * - the last function of a section of a module reaches to the end of the section's last page.
 */
#ifndef LOG_ENGINE_SYMBOL_MATCH_H
#define LOG_ENGINE_SYMBOL_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/line/filter_types.h"

struct gsym_reader;
struct log_claim;

/* A frame of a kernel's log. */
struct kernel_symbol {
	const char *name; /* not terminated */
	size_t name_size;
	uint64_t size;  /* in the log; 0: not stated */
	uint64_t off;   /* of the code: of a call, not of the instruction after it */
	bool of_module; /* not of the kernel itself */
};

struct symbol_match {
	uint32_t index;   /* of its record. Also set with -ESTALE, of one function, as is @size */
	uint64_t address; /* the symbol's offset added */
	uint32_t which;   /* body, for gsym_lookup_merged() */
	uint64_t size;    /* in the image, bytes; 0: not known */
};

/* Whether the image may be of the build that wrote the log. */
enum claim_verdict {
	CLAIM_UNKNOWN, /* the line does not tell */
	CLAIM_FITS,    /* a function starts where the log says */
	CLAIM_DIFFERS, /* it is another build */
};

/*
 * Compares what a log says of a link-time address with the image. They differ if no function starts where it
 * says, and what is at the address has another name, or the very name without a suffix: names alone differ
 * where several symbols share an address, and where the writer had only some of the symbols. A word that is
 * no function's name tells nothing. 0 or -ENOMEM.
 */
int symbol_claim_check(const struct gsym_reader *reader, const struct log_claim *claim, uint64_t address,
		       enum claim_verdict *ret);

/*
 * Finds the function. 0; -ENOENT: none, or the offset is outside; -ENOTUNIQ: several match equally well;
 * -ESTALE: no function of that name has that size; -ENOMEM.
 */
int symbol_match(const struct gsym_reader *reader, const struct kernel_symbol *symbol,
		 struct symbol_match *ret);

/*
 * Finds the function that starts at @start, if its linkage name has the last component of the symbol's name
 * in it, or that has it: "__GI___qsort_r" is a symbol of "qsort_r". 0; -ENOENT: there is none; -ENOMEM.
 */
int symbol_match_start(const struct gsym_reader *reader, const struct kernel_symbol *symbol, uint64_t start,
		       struct symbol_match *ret);

/*
 * Finds the only function of a demangled name, "ns::work(int)+0x12", as perf, LLDB and WinDbg write it, that
 * the offset is inside. Names are compared as answers show them, else without result and parameters, as
 * WinDbg has them. 0; -ENOENT: none; -ENOTUNIQ: several; -ENOMEM.
 */
int shown_match(const struct filter_image *image, const struct kernel_symbol *symbol,
		struct symbol_match *ret);

#endif

/*
 * symbol_operand.h - operands that name a function instead of an address.
 */
#ifndef CLI_LOOKUP_SYMBOL_OPERAND_H
#define CLI_LOOKUP_SYMBOL_OPERAND_H

#include "gsym/render/namesakes.h"

/* What an operand means. */
struct place_operand {
	const char *symbol; /* borrowed from the operand; NULL: an address */
	size_t symbol_size;
	uint64_t value; /* the address, or the offset from the function's start */
};

/*
 * Parses an address: with "0x", or as address_may_be_bare() says; or the name of a function, which an offset
 * may follow ("main+0x10"). 0; -EINVAL for a number that may be meant as decimal; -ERANGE for what is no
 * address of 64 bits.
 */
int place_operand_parse(const char *text, struct place_operand *ret);

/* A table of demangled names, made by the first search that needs it. Zero-initialise. */
struct symbol_search {
	const struct gsym_reader *reader; /* borrowed, of the caller */
	struct shown_search shown;        /* its mode is the caller's */
	struct shown_builder builder;
	bool built;
};

/* As namesakes_visit(), but makes the table of demangled names when it is needed. */
int symbol_search_visit(struct symbol_search *search, const struct place_operand *operand, namesake_fn *visit,
			void *user);
void symbol_search_deinit(struct symbol_search *search);

#endif

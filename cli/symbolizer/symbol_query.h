/* symbol_query.h - what a line of input asks for, in the grammar of each dialect. */
#ifndef CLI_SYMBOLIZER_SYMBOL_QUERY_H
#define CLI_SYMBOLIZER_SYMBOL_QUERY_H

#include "cli/symbolizer/symbolizer_options.h"

enum query_kind {
	QUERY_CODE,    /* the function, file and line of an address */
	QUERY_DATA,    /* the variable at an address */
	QUERY_FRAME,   /* the local variables there */
	QUERY_SYMBOL,  /* the function called @symbol, and what is @offset after its start */
	QUERY_INVALID, /* nothing */
};

/* Part of a line; not terminated. */
struct text_part {
	const char *text;
	size_t size;
};

/* All borrowed from the line. */
struct symbol_query {
	enum query_kind kind;
	struct text_part module; /* of the options, if these name one */
	bool by_id;              /* the module is a build ID */
	uint64_t addr;           /* as it was given */
	struct text_part symbol; /* without its offset */
	uint64_t offset;
	bool may_be_address; /* if there is no such symbol, @addr is meant */
	const char *why;     /* what is wrong with the line; NULL: not worth a message */
};

/* Parses a line without its end. */
void symbol_query_parse(const struct symbolizer_options *options, const char *line, size_t size,
			struct symbol_query *ret);

#endif

/* batch_query.h - one address of a batch. */
#ifndef GSYM_RENDER_BATCH_BATCH_QUERY_H
#define GSYM_RENDER_BATCH_BATCH_QUERY_H

#include <stdint.h>

enum batch_kind {
	BATCH_ADDRESS,
	BATCH_UNKNOWN,   /* an address that stands for no place in this file */
	BATCH_MALFORMED, /* a line that is no address */
};

struct batch_query {
	uint64_t given;   /* as given in the input */
	uint64_t addr;    /* the same as the file was linked; of a return address: one byte before */
	const char *text; /* of BATCH_MALFORMED: the line, borrowed */
	uint32_t size;
	uint8_t kind; /* enum batch_kind */
};

#endif

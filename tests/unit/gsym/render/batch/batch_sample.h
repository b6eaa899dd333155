/*
 * batch_sample.h - GSYM files of every kind of function, and queries and options for them by chance, the
 * same in each run.
 */
#ifndef TESTS_UNIT_BATCH_SAMPLE_H
#define TESTS_UNIT_BATCH_SAMPLE_H

#include "tests/unit/gsym/sample.h"

#include "gsym/render/batch/batch.h"

enum {
	BATCH_BASE = 0x1000,       /* address of the files */
	BATCH_SAMPLE_KINDS = 4,    /* of sample_kinds[] */
	BATCH_SAMPLE_OPTIONS = 20, /* until they repeat */
};

/* A number less than @below. */
uint32_t chance(uint32_t below);

/*
 * Adds a function of @n rows at @off bytes from the base, some at one place, some without line or file, and
 * inlined calls that nest and overlap.
 */
void add_busy(struct sample *s, uint64_t off, const char *name, size_t n);

/* A file of the kind @kind, to be freed. */
void *batch_sample(int kind, size_t *ret_size);

/*
 * @n queries for addresses of the @size bytes at @first, now and then again, or next to the last, with what
 * is no address between them.
 */
void fill(struct batch_query *queries, size_t n, uint64_t first, uint64_t size);

/* Options of the number @which. */
struct batch_options options_of(unsigned which);

#endif

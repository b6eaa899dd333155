/*
 * sample.h - small GSYM files for tests, in every version and byte order.
 */
#ifndef TESTS_UNIT_SAMPLE_H
#define TESTS_UNIT_SAMPLE_H

#include "tests/lib/unit.h"

#include "gsym/gsym.h"

/* A version and byte order to write; sample_kinds has all four. */
struct sample_kind {
	uint16_t version;
	bool big;
};

extern const struct sample_kind sample_kinds[4];

/* A file being written, without words for failures: they fail the test. */
struct sample {
	struct gsym_writer *writer;
	uint64_t base;
};

void sample_init(struct sample *s, struct sample_kind kind, uint64_t base);

uint64_t sample_string(struct sample *s, const char *text);
uint32_t sample_file(struct sample *s, const char *dir, const char *base);

/* A function at @off from the base with nothing but a name and, when @line is not 0, one row in a.c. */
void sample_func(struct sample *s, uint64_t off, uint32_t size, const char *name, uint32_t line);

/* Ends the writing; @ret_data is to be freed. */
void sample_finish(struct sample *s, void **ret_data, size_t *ret_size);

/* Finishes and opens; @ret_data is to be freed after the reader was closed. */
struct gsym_reader *sample_open(struct sample *s, void **ret_data);

/* The worked example of gsym(5): work() with two nested levels of inlined functions, at 0x1140. */
void sample_work(struct sample *s, struct gsym_func *ret);

/* Fails unless both are the same to the last array element; strings are compared as offsets. */
void assert_func_equal(const struct gsym_func *a, const struct gsym_func *b);

/* Fails unless @diag names what stands in @words, which are separated by '|'. */
void assert_words(const struct gsym_diag *diag, const char *words);

#endif

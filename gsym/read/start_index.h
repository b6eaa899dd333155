/*
 * start_index.h - an index over start addresses, for many lookups in one file. Internal.
 *
 * The address space is divided into about as many equal buckets as there are functions, and for each
 * bucket the number of functions before it is stored: a search is left with one bucket, most of which hold
 * one or two functions.
 */
#ifndef GSYM_READ_START_INDEX_H
#define GSYM_READ_START_INDEX_H

#include "gsym/read/reader.h"

/* Zero-initialised is none. */
struct start_index {
	uint32_t *before; /* n_buckets + 1 */
	size_t n_buckets;
	unsigned shift;
};

void start_index_deinit(struct start_index *starts);

/*
 * Builds the index in one pass over the table. 0 or -ENOMEM. A table that does not ascend is damaged and
 * gets none: @starts stays empty, as it does without memory.
 */
int start_index_build(struct start_index *starts, const struct gsym_reader *reader);

/* How many functions start at or before @off, which counts from the base address. @starts may be empty. */
size_t start_index_count(const struct start_index *starts, const struct gsym_reader *reader, uint64_t off);

/*
 * Prefetch what start_index_count() will read. For a batch of addresses, call the first for all of them
 * and then the second, which reads what the first has fetched.
 */
static inline void start_index_prefetch(const struct start_index *starts, uint64_t off)
{
	if (starts->before && off >> starts->shift < starts->n_buckets)
		__builtin_prefetch(&starts->before[off >> starts->shift]);
}

static inline void start_index_prefetch_functions(const struct start_index *starts,
						  const struct gsym_reader *reader, uint64_t off)
{
	if (starts->before && off >> starts->shift < starts->n_buckets)
		__builtin_prefetch(reader->addr_offs +
				   (size_t)starts->before[off >> starts->shift] * reader->info.addr_off_size);
}

/* Whether the table of start addresses ascends: in damaged files it may not. */
bool reader_starts_ascend(const struct gsym_reader *reader);

/* start_index_count() without an index. */
size_t reader_count_starts(const struct gsym_reader *reader, uint64_t off);

/*
 * gsym_reader_find() for an address with @n > 0 functions that start at or before it, without a message:
 * 0, -ENOENT, -ENOMEM.
 */
int reader_find_in_prefix(const struct gsym_reader *reader, uint64_t off, size_t n, uint32_t *ret_index);

#endif

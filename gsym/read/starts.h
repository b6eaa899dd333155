/*
 * starts.h - which functions start before an address, for those who ask often. Internal.
 *
 * The address space is cut into as many equal buckets as there are functions, roughly, and for each the
 * number of functions before it is kept: what is left to search is a bucket, and most hold one or two.
 */
#ifndef GSYM_READ_STARTS_H
#define GSYM_READ_STARTS_H

#include "gsym/read/reader.h"

/* Zero-initialised is none. */
struct starts {
	uint32_t *before; /* n_buckets + 1 */
	size_t n_buckets;
	unsigned shift;
};

void starts_deinit(struct starts *starts);

/*
 * Makes the index, in one pass over the table. 0 or -ENOMEM. A table that does not ascend, which is damaged,
 * gets none: @starts stays empty, as it is when there is no memory.
 */
int starts_make(struct starts *starts, const struct gsym_reader *reader);

/* How many functions start at or before @off, which counts from the base address. @starts may be empty. */
size_t starts_count(const struct starts *starts, const struct gsym_reader *reader, uint64_t off);

/* Bring from memory what starts_count() will look at: for many addresses first the one, then, for all of
 * them, the other. */
static inline void starts_expect(const struct starts *starts, uint64_t off)
{
	if (starts->before && off >> starts->shift < starts->n_buckets)
		__builtin_prefetch(&starts->before[off >> starts->shift]);
}

static inline void starts_expect_functions(const struct starts *starts, const struct gsym_reader *reader,
					   uint64_t off)
{
	if (starts->before && off >> starts->shift < starts->n_buckets)
		__builtin_prefetch(reader->addr_offs +
				   (size_t)starts->before[off >> starts->shift] * reader->info.addr_off_size);
}

/* starts_count() without an index. */
size_t reader_count_starts(const struct gsym_reader *reader, uint64_t off);

/* gsym_reader_find() for an address with @n > 0 functions that start at or before it, without words: 0,
 * -ENOENT, -ENOMEM. */
int reader_find_behind(const struct gsym_reader *reader, uint64_t off, size_t n, uint32_t *ret_index);

#endif

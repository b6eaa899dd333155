/*
 * Finding the function that contains an address.
 *
 * The table of start addresses is searched in place, by a branchless binary search specialised for each
 * width, so that its inner loop is a load and a compare. The function found is the last to start at or
 * before the address; functions with one start address are adjacent, the smallest first.
 */
#include "gsym/read/start_index.h"

#include "gsym/base/invariant.h"
#include "gsym/base/diag.h"
#include "gsym/read/enclosing.h"

#include <errno.h>
#include <inttypes.h>

enum {
	/* Only in damaged files do more functions than this start at one address: the last are tried. */
	SAME_START_MAX = 1024,
};

static const size_t NONE = SIZE_MAX;

#define LOAD8(at, big) (*(at))

/* The number of entries that are at most @off. Branchless binary search: each step is unpredictable. */
#define DEFINE_COUNT(bits, load)                                                                      \
	static size_t count##bits(const uint8_t *table, size_t n, uint64_t off, bool big)             \
	{                                                                                             \
		const uint8_t *at = table;                                                            \
		(void)big;                                                                            \
		while (n > 1) {                                                                       \
			size_t half = n / 2;                                                          \
			at += load(at + (half - 1) * (bits / 8), big) <= off ? half * (bits / 8) : 0; \
			n -= half;                                                                    \
		}                                                                                     \
		if (n && load(at, big) <= off)                                                        \
			at += bits / 8;                                                               \
		return (size_t)(at - table) / (bits / 8);                                             \
	}

DEFINE_COUNT(8, LOAD8)
DEFINE_COUNT(16, load16)
DEFINE_COUNT(32, load32)
DEFINE_COUNT(64, load64)

size_t reader_count_starts(const struct gsym_reader *r, uint64_t off)
{
	size_t n = r->info.num_addresses;
	bool big = r->info.big_endian;
	switch (r->info.addr_off_size) {
	case 1: return count8(r->addr_offs, n, off, big);
	case 2: return count16(r->addr_offs, n, off, big);
	case 4: return count32(r->addr_offs, n, off, big);
	default: return count64(r->addr_offs, n, off, big);
	}
}

/*
 * Of the functions that start where function @last does, the first sized one that contains @off, or NONE.
 * @ret_unsized is the first of unknown size, or NONE; a record that cannot be read counts as such, so that
 * the damage is reported when it is decoded.
 */
static size_t find_among_equals(const struct gsym_reader *r, size_t last, uint64_t off, size_t *ret_unsized)
{
	uint64_t start = reader_addr_off(r, last);
	size_t first = last;
	while (first && last - first < SAME_START_MAX && reader_addr_off(r, first - 1) == start)
		first--;
	*ret_unsized = NONE;
	for (size_t i = first; i <= last; i++) {
		uint32_t size = reader_func_size(r, i);
		if (off - start < size)
			return i;
		if (!size && *ret_unsized == NONE)
			*ret_unsized = i;
	}
	return NONE;
}

/* An enclosing function, otherwise the function of unknown size that @unsized may be. */
static int find_fallback(const struct gsym_reader *r, uint64_t off, size_t unsized, uint32_t *ret)
{
	int err = enclosing_find(r, off, ret);
	if (err != -ENOENT || unsized == NONE)
		return err;
	*ret = (uint32_t)unsized;
	return 0;
}

int reader_find_in_prefix(const struct gsym_reader *reader, uint64_t off, size_t n, uint32_t *ret_index)
{
	invariant(n > 0 && n <= reader->info.num_addresses);
	size_t unsized, hit = find_among_equals(reader, n - 1, off, &unsized);
	if (hit == NONE)
		return find_fallback(reader, off, unsized, ret_index);
	*ret_index = (uint32_t)hit;
	return 0;
}

int gsym_reader_find(const struct gsym_reader *reader, uint64_t addr, uint32_t *ret_index,
		     struct gsym_diag *diag)
{
	uint64_t off = addr - reader->info.base_address;
	size_t n = addr < reader->info.base_address ? 0 : reader_count_starts(reader, off);
	int err = n ? reader_find_in_prefix(reader, off, n, ret_index) : -ENOENT;
	if (err == -ENOENT)
		return diag_set(diag, err, "%s: 0x%" PRIx64 " is in no function", reader->name, addr);
	return err ? diag_set(diag, err, "%s: no memory to index nested functions", reader->name) : 0;
}

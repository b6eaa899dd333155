/*
 * The index divides the address space into ranges, each with the innermost function enclosing it, in one
 * sweep over the functions in ascending order.
 *
 * A stack holds the enclosing functions that have begun and not ended, the innermost on top. Invariant:
 * ends strictly descend towards the top, since a function that ends before the one above it can never be
 * visible again. So each function is pushed and popped once, and there are at most two ranges for each.
 */
#include "gsym/read/enclosing.h"

#include "gsym/base/invariant.h"
#include "gsym/base/search.h"
#include "gsym/base/vec.h"
#include "gsym/read/built_index.h"

#include <errno.h>

enum {
	/* A damaged file may nest everything in everything: functions beyond this number are not indexed. */
	ENCLOSING_MAX = 1 << 20,
	NO_FUNCTION = UINT32_MAX,
};

/* From @off up to the next segment, function @index answers. */
struct enclosing_range {
	uint64_t off;
	uint32_t index;
};

struct open_function {
	uint64_t end;
	uint32_t index;
};

struct enclosing_index {
	struct built_index built;
	VEC(struct enclosing_range) ranges;
	VEC(struct open_function) stack; /* while it is built */
};

struct enclosing_builder {
	const struct gsym_reader *reader;
	struct enclosing_index *index;
	size_t pushed;
};

static void clear(struct built_index *built)
{
	struct enclosing_index *index = (struct enclosing_index *)built;
	vec_free(&index->ranges);
	vec_free(&index->stack);
}

/* From @off on the top of the stack answers. */
static int emit_range(struct enclosing_builder *b, uint64_t off)
{
	struct enclosing_range s = {off, b->index->stack.n ? b->index->stack.v[b->index->stack.n - 1].index
							   : NO_FUNCTION};
	size_t n = b->index->ranges.n;
	invariant(!n || b->index->ranges.v[n - 1].off <= off); /* enclosing_find() searches them */
	if (!n || b->index->ranges.v[n - 1].off != off)
		return vec_push(&b->index->ranges, s);
	b->index->ranges.v[n - 1] = s;
	return 0;
}

/* Pops the functions that end at or before @off. */
static int close_until(struct enclosing_builder *b, uint64_t off)
{
	while (b->index->stack.n && b->index->stack.v[b->index->stack.n - 1].end <= off) {
		uint64_t end = b->index->stack.v[--b->index->stack.n].end;
		if (emit_range(b, end))
			return -ENOMEM;
	}
	return 0;
}

static int push(struct enclosing_builder *b, uint64_t off, uint64_t end, uint32_t index)
{
	struct open_function function = {end, index};
	while (b->index->stack.n && b->index->stack.v[b->index->stack.n - 1].end <= end)
		b->index->stack.n--;
	invariant(!b->index->stack.n || b->index->stack.v[b->index->stack.n - 1].end > end);
	b->pushed++;
	return vec_push(&b->index->stack, function) ? -ENOMEM : emit_range(b, off);
}

/*
 * Functions [from, to) start at @off, the next one at @next. Larger ones come last and are pushed first, so
 * that the smallest is on top. In a damaged table some start elsewhere.
 */
static int add_group(struct enclosing_builder *b, uint32_t from, uint32_t to, uint64_t off, uint64_t next)
{
	if (close_until(b, off))
		return -ENOMEM;
	for (uint32_t i = to; i > from && b->pushed < ENCLOSING_MAX; i--) {
		uint64_t size = reader_func_size(b->reader, i - 1);
		uint64_t end = size > UINT64_MAX - off ? UINT64_MAX : off + size;
		if (end > next && reader_addr_off(b->reader, i - 1) == off && push(b, off, end, i - 1))
			return -ENOMEM;
	}
	return 0;
}

/* All functions but those of the last start, which nothing follows. */
static int add_all(struct enclosing_builder *b)
{
	uint32_t n = b->reader->info.num_addresses, from = 0, to;
	uint64_t off = n ? reader_addr_off(b->reader, 0) : 0;
	for (; from < n; from = to) {
		uint64_t next = off;
		for (to = from + 1; to < n; to++) {
			next = reader_addr_off(b->reader, to);
			if (next > off)
				break;
		}
		if (to < n && add_group(b, from, to, off, next))
			return -ENOMEM;
		off = next;
	}
	return close_until(b, UINT64_MAX);
}

static int build(struct built_index *built, const struct gsym_reader *reader)
{
	struct enclosing_builder b = {.reader = reader, .index = (struct enclosing_index *)built};
	int err = add_all(&b);
	vec_free(&b.index->stack);
	return err;
}

int enclosing_find(const struct gsym_reader *reader, uint64_t off, uint32_t *ret)
{
	const struct enclosing_index *index = (const struct enclosing_index *)built_index_get(
		reader, &reader->enclosing, sizeof(*index), build, clear);
	if (!index)
		return -ENOMEM;
	size_t low = PARTITION_POINT(0, index->ranges.n, mid, index->ranges.v[mid].off <= off);
	if (!low || index->ranges.v[low - 1].index == NO_FUNCTION)
		return -ENOENT;
	*ret = index->ranges.v[low - 1].index;
	return 0;
}

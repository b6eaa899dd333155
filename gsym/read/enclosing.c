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

#include <errno.h>

enum {
	/*
	 * A damaged file may nest everything in everything: functions beyond this number are not indexed.
	 */
	ENCLOSING_MAX = 1 << 20,
	NO_FUNCTION = UINT32_MAX,
};

/* From @off up to the next segment, function @index answers. */
struct enclosing_range {
	uint64_t off;
	uint32_t index;
};

struct enclosing_index {
	VEC(struct enclosing_range) ranges;
};

struct open_function {
	uint64_t end;
	uint32_t index;
};

struct enclosing_builder {
	const struct gsym_reader *reader;
	struct enclosing_index *index;
	VEC(struct open_function) stack;
	size_t pushed;
};

void enclosing_index_free(struct enclosing_index *index)
{
	if (!index)
		return;
	vec_free(&index->ranges);
	free(index);
}

/* From @off on the top of the stack answers. */
static int emit_range(struct enclosing_builder *b, uint64_t off)
{
	struct enclosing_range s = {off, b->stack.n ? b->stack.v[b->stack.n - 1].index : NO_FUNCTION};
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
	while (b->stack.n && b->stack.v[b->stack.n - 1].end <= off) {
		uint64_t end = b->stack.v[--b->stack.n].end;
		if (emit_range(b, end))
			return -ENOMEM;
	}
	return 0;
}

static int push(struct enclosing_builder *b, uint64_t off, uint64_t end, uint32_t index)
{
	struct open_function function = {end, index};
	while (b->stack.n && b->stack.v[b->stack.n - 1].end <= end)
		b->stack.n--;
	invariant(!b->stack.n || b->stack.v[b->stack.n - 1].end > end);
	b->pushed++;
	return vec_push(&b->stack, function) ? -ENOMEM : emit_range(b, off);
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

static struct enclosing_index *enclosing_index_new(const struct gsym_reader *reader)
{
	struct enclosing_builder b = {.reader = reader, .index = calloc(1, sizeof(struct enclosing_index))};
	if (b.index && add_all(&b)) {
		enclosing_index_free(b.index);
		b.index = NULL;
	}
	vec_free(&b.stack);
	return b.index;
}

/*
 * Built by the first caller. Several threads may build it at the same time: one publishes, the others free
 * theirs.
 */
static const struct enclosing_index *get_index(const struct gsym_reader *reader)
{
	_Atomic(struct enclosing_index *) *slot =
		(_Atomic(struct enclosing_index *) *)&reader
			->enclosing; /* a cache: the only member, with names, that changes */
	struct enclosing_index *there = atomic_load_explicit(slot, memory_order_acquire);
	if (there)
		return there;
	struct enclosing_index *made = enclosing_index_new(reader);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(slot, &there, made))
		return made;
	enclosing_index_free(made);
	return there;
}

int enclosing_find(const struct gsym_reader *reader, uint64_t off, uint32_t *ret)
{
	const struct enclosing_index *index = get_index(reader);
	if (!index)
		return -ENOMEM;
	size_t low = PARTITION_POINT(0, index->ranges.n, mid, index->ranges.v[mid].off <= off);
	if (!low || index->ranges.v[low - 1].index == NO_FUNCTION)
		return -ENOENT;
	*ret = index->ranges.v[low - 1].index;
	return 0;
}

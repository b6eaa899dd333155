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

struct open_function {
	uint64_t end;
	uint32_t index;
};

/*
 * One that is being built is in the list of its reader, too: who reads a mapping that is truncated is stopped
 * by a jump out of here, and what it has allocated is freed with the reader.
 */
struct enclosing_index {
	struct enclosing_index *next;
	atomic_bool is_ready;
	atomic_bool is_free; /* there was no memory to complete it: the next one who needs it takes it */
	VEC(struct enclosing_range) ranges;
	VEC(struct open_function) stack; /* while it is built */
};

struct enclosing_builder {
	const struct gsym_reader *reader;
	struct enclosing_index *index;
	size_t pushed;
};

void enclosing_index_free(struct enclosing_index *index)
{
	while (index) {
		struct enclosing_index *next = index->next;
		vec_free(&index->ranges);
		vec_free(&index->stack);
		free(index);
		index = next;
	}
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

typedef _Atomic(struct enclosing_index *) index_list;

static const struct enclosing_index *find_ready(const index_list *list)
{
	const struct enclosing_index *i = atomic_load_explicit(list, memory_order_acquire);
	while (i && !atomic_load_explicit(&i->is_ready, memory_order_acquire))
		i = i->next;
	return i;
}

/* One to build, which is in the list. NULL without memory. */
static struct enclosing_index *take_draft(index_list *list)
{
	struct enclosing_index *i = atomic_load_explicit(list, memory_order_acquire);
	while (i && !atomic_exchange(&i->is_free, false))
		i = i->next;
	if (i || !(i = calloc(1, sizeof(*i))))
		return i;
	i->next = atomic_load(list);
	while (!atomic_compare_exchange_weak(list, &i->next, i))
		;
	return i;
}

/*
 * Built by the first caller. Several threads may build it at the same time: one is kept, the others are
 * emptied.
 */
static const struct enclosing_index *get_index(const struct gsym_reader *reader)
{
	index_list *list =
		(index_list *)&reader->enclosing; /* a cache: the only member, with names, that changes */
	const struct enclosing_index *ready = find_ready(list);
	struct enclosing_index *draft = ready ? NULL : take_draft(list);
	if (!draft)
		return ready;
	struct enclosing_builder b = {.reader = reader, .index = draft};
	int err = add_all(&b);
	vec_free(&draft->stack);
	ready = find_ready(list);
	if (err || ready) {
		vec_free(&draft->ranges);
		atomic_store(&draft->is_free, true);
		return ready;
	}
	atomic_store_explicit(&draft->is_ready, true, memory_order_release);
	return draft;
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

/*
 * The index is the address space cut into segments, each with the host that answers there: the one that
 * starts last of those that go on. One pass over the functions in ascending order makes it. A stack holds the
 * hosts that have begun and not ended, the innermost on top; those below the top end later than it, as a host
 * that ends under the top can never be seen again. So each host is pushed and popped once, and the segments
 * are at most two for each.
 */
#include "gsym/read/hosts.h"

#include "gsym/base/vec.h"

#include <errno.h>

enum {
	/* A damaged file may nest everything in everything: what is past this many hosts is not indexed. */
	HOSTS_MAX = 1 << 20,
	NO_HOST = UINT32_MAX,
};

/* From @off up to the next segment, function @index answers. */
struct segment {
	uint64_t off;
	uint32_t index;
};

struct hosts {
	VEC(struct segment) segments;
};

struct open_host {
	uint64_t end;
	uint32_t index;
};

struct builder {
	const struct gsym_reader *reader;
	struct hosts *hosts;
	VEC(struct open_host) stack;
	size_t pushed;
};

void hosts_free(struct hosts *hosts)
{
	if (!hosts)
		return;
	vec_free(&hosts->segments);
	free(hosts);
}

/* From @off on the top of the stack answers. */
static int emit(struct builder *b, uint64_t off)
{
	struct segment s = {off, b->stack.n ? b->stack.v[b->stack.n - 1].index : NO_HOST};
	size_t n = b->hosts->segments.n;
	if (!n || b->hosts->segments.v[n - 1].off != off)
		return vec_push(&b->hosts->segments, s);
	b->hosts->segments.v[n - 1] = s;
	return 0;
}

/* Ends the hosts that do not reach past @off. */
static int close_until(struct builder *b, uint64_t off)
{
	while (b->stack.n && b->stack.v[b->stack.n - 1].end <= off) {
		uint64_t end = b->stack.v[--b->stack.n].end;
		if (emit(b, end))
			return -ENOMEM;
	}
	return 0;
}

static int push(struct builder *b, uint64_t off, uint64_t end, uint32_t index)
{
	struct open_host host = {end, index};
	while (b->stack.n && b->stack.v[b->stack.n - 1].end <= end)
		b->stack.n--;
	b->pushed++;
	return vec_push(&b->stack, host) ? -ENOMEM : emit(b, off);
}

/*
 * Functions [from, to) start at @off, the next one at @next. Larger ones come last and are pushed first, so
 * that the smallest is on top. In a damaged table some start elsewhere.
 */
static int add_group(struct builder *b, uint32_t from, uint32_t to, uint64_t off, uint64_t next)
{
	if (close_until(b, off))
		return -ENOMEM;
	for (uint32_t i = to; i > from && b->pushed < HOSTS_MAX; i--) {
		uint64_t size = reader_func_size(b->reader, i - 1);
		uint64_t end = size > UINT64_MAX - off ? UINT64_MAX : off + size;
		if (end > next && reader_addr_off(b->reader, i - 1) == off && push(b, off, end, i - 1))
			return -ENOMEM;
	}
	return 0;
}

/* All functions but those of the last start, which nothing follows. */
static int add_all(struct builder *b)
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

static struct hosts *hosts_new(const struct gsym_reader *reader)
{
	struct builder b = {.reader = reader, .hosts = calloc(1, sizeof(struct hosts))};
	if (b.hosts && add_all(&b)) {
		hosts_free(b.hosts);
		b.hosts = NULL;
	}
	vec_free(&b.stack);
	return b.hosts;
}

/* The index, made and published by whoever is first; a thread that made it in vain drops its own. */
static const struct hosts *get(const struct gsym_reader *reader)
{
	_Atomic(struct hosts *) *slot =
		(_Atomic(struct hosts *) *)&reader->hosts; /* the one thing that changes */
	struct hosts *there = atomic_load_explicit(slot, memory_order_acquire);
	if (there)
		return there;
	struct hosts *made = hosts_new(reader);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(slot, &there, made))
		return made;
	hosts_free(made);
	return there;
}

int hosts_find(const struct gsym_reader *reader, uint64_t off, uint32_t *ret)
{
	const struct hosts *hosts = get(reader);
	if (!hosts)
		return -ENOMEM;
	size_t low = 0, high = hosts->segments.n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (hosts->segments.v[mid].off <= off)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || hosts->segments.v[low - 1].index == NO_HOST)
		return -ENOENT;
	*ret = hosts->segments.v[low - 1].index;
	return 0;
}

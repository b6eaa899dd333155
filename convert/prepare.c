/*
 * prepare.c - symbols, and at the same time unit headers.
 *
 * Neither needs the other, both are read by one thread, and together they take a fifth of the time of a
 * kernel on two. What each of them counts is kept apart until both are there.
 */
#include "convert/prepare.h"

#include "convert/dwarf/dwarf_stream.h"
#include "convert/files.h"
#include "gsym/base/parallel.h"

enum {
	SMALL = 1 << 20,  /* bytes of .debug_info below which the start of a thread takes longer */
	AHEAD = 16 << 20, /* bytes of .debug_info inflated meanwhile, at most */
};

struct preparation {
	struct conversion *conversion;
	atomic_bool has_symbols;
	struct warnings warnings; /* of the units */
	int symbols_err, units_err;
};

static void load_symbols(struct preparation *p)
{
	p->symbols_err = conversion_load_symbols(p->conversion);
	atomic_store_explicit(&p->has_symbols, true, memory_order_relaxed);
}

/* Damage is met again, and counted, when the units are read. */
static void inflate_ahead(struct preparation *p)
{
	struct dwarf_stream *stream = p->conversion->dwarf.stream;
	uint64_t ready = dwarf_stream_ready(stream), size = p->conversion->dwarf.info.size;
	uint64_t end = size < AHEAD ? size : AHEAD;
	int err = 0;
	while (!err && ready < end && !atomic_load_explicit(&p->has_symbols, memory_order_relaxed))
		err = dwarf_stream_inflate(stream, &ready);
}

static void prepare(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct preparation *p = user;
	if (index == 0)
		load_symbols(p);
	else if (p->conversion->dwarf.stream)
		inflate_ahead(p);
	else
		p->units_err = dwarf_find_units(&p->conversion->dwarf, &p->warnings);
}

int conversion_prepare(struct conversion *c)
{
	struct preparation p = {.conversion = c};
	unsigned threads = c->dwarf.info.size < SMALL ? 1 : c->threads;
	parallel_for(threads, c->options->no_dwarf ? 1 : 2, prepare, &p);
	warnings_merge(&c->warnings, &p.warnings);
	return p.symbols_err ? p.symbols_err : p.units_err;
}

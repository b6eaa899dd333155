/*
 * units.c - symbols and unit headers, then units to records.
 *
 * Threads take units in ascending order and convert each with their own builder. The results are then merged
 * in unit order by one thread, which renumbers strings and files to the pool's, so that the output does not
 * depend on the number of threads.
 */
#include "convert/conversion.h"

#include "convert/dwarf/dwarf_stream.h"
#include "gsym/base/huge_pages.h"
#include "gsym/base/invariant.h"
#include "gsym/base/parallel.h"

/* ---- Symbols, and at the same time unit headers ---- */

/*
 * Neither needs the other, both are read by one thread, and together they take a fifth of the time of a
 * kernel on two. What each of them counts is kept apart until both are there.
 */

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

static void prepare(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct preparation *p = user;
	if (index == 0) {
		p->symbols_err = conversion_load_symbols(p->conversion);
		atomic_store_explicit(&p->has_symbols, true, memory_order_relaxed);
	} else if (p->conversion->dwarf.stream) {
		/* Damage is met again, and counted, when the units are read. */
		struct dwarf_stream *stream = p->conversion->dwarf.stream;
		uint64_t ready = dwarf_stream_ready(stream), size = p->conversion->dwarf.info.size;
		uint64_t end = size < AHEAD ? size : AHEAD;
		int err = 0;
		while (!err && ready < end && !atomic_load_explicit(&p->has_symbols, memory_order_relaxed))
			err = dwarf_stream_inflate(stream, &ready);
	} else {
		p->units_err = dwarf_find_units(&p->conversion->dwarf, &p->warnings);
	}
}

int conversion_prepare(struct conversion *c)
{
	struct preparation p = {.conversion = c};
	unsigned threads = c->dwarf.info.size < SMALL ? 1 : c->threads;
	parallel_for(threads, c->options->no_dwarf ? 1 : 2, prepare, &p);
	warnings_merge(&c->warnings, &p.warnings);
	return p.symbols_err ? p.symbols_err : p.units_err;
}

/* ---- Units ---- */

enum {
	STREAM_THREAD = 256 << 10, /* bytes of .debug_info for which a thread is worth its start */
	TABLES_STEP = 64 << 20,    /* bytes of .debug_info read between two calls of dwarf_release_tables() */
};

/* Releases .debug_info up to @end, if that is worth a system call, and all else now and then. */
static void release_upto(struct conversion *c, uint64_t end)
{
	if (end < c->released + RELEASE_STEP)
		return;
	object_release(c->dwarf.object, c->dwarf.info, c->released, end);
	if (end / TABLES_STEP != c->released / TABLES_STEP)
		dwarf_release_tables(&c->dwarf);
	c->released = end;
}

/* Releases all debug data: what is needed of names comes back when they are written. */
static void release_input(const struct conversion *c)
{
	if (!c->dwarf.info.size)
		return;
	object_release(c->dwarf.object, c->dwarf.info, 0, c->dwarf.info.size);
	dwarf_release_tables(&c->dwarf);
}

/* Releases pages of .debug_info before the first unit that a thread still reads. */
static void release_pages(struct conversion *c)
{
	size_t unit = SIZE_MAX;
	for (unsigned t = 0; t < c->n_builders; t++) {
		size_t at = atomic_load_explicit(&c->at_unit[t], memory_order_relaxed);
		unit = at < unit ? at : unit;
	}
	release_upto(c, unit < c->dwarf.n_units ? c->dwarf.units[unit].off : 0);
}

static void convert_unit(void *user, size_t index, unsigned thread)
{
	struct conversion *c = user;
	if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) {
		c->results[index].err = -ECANCELED;
		return;
	}
	atomic_store_explicit(&c->at_unit[thread], index, memory_order_relaxed);
	builder_unit(c->builders[thread], index, &c->results[index]);
	const struct unit_header *unit = &c->dwarf.units[index];
	atomic_fetch_add_explicit(&c->units_done, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->bytes_done, unit->end - unit->off, memory_order_relaxed);
	if (thread == 0) {
		release_pages(c);
		const struct convert_progress progress = {
			.phase = CONVERT_READING,
			.done = atomic_load_explicit(&c->units_done, memory_order_relaxed),
			.total = c->dwarf.n_units,
			.bytes_done = atomic_load_explicit(&c->bytes_done, memory_order_relaxed),
			.bytes_total = c->dwarf.info.size,
		};
		conversion_report(c, &progress);
	}
}

/* The same for one object file of a debug map and its units. */
static void convert_mapped_object(void *user, size_t index, unsigned thread)
{
	struct conversion *c = user;
	struct mapped_object *object = &c->map.objects.v[index];
	if (atomic_load_explicit(&c->cancelled, memory_order_relaxed))
		return;
	object->err = debug_map_build(&c->map, object, c->object, &c->context, c->builders[thread]);
	size_t done = atomic_fetch_add_explicit(&c->units_done, 1, memory_order_relaxed) + 1;
	if (thread == 0)
		conversion_report(c, &(struct convert_progress){CONVERT_READING, .done = done,
								.total = c->map.objects.n});
}

/* Makes a builder for each thread. */
static int make_builders(struct conversion *c, unsigned threads)
{
	c->builders = calloc(threads, sizeof(*c->builders));
	for (; c->builders && c->n_builders < threads; c->n_builders++) {
		c->builders[c->n_builders] = builder_new(&c->context);
		if (!c->builders[c->n_builders])
			return -ENOMEM;
	}
	return c->builders ? 0 : -ENOMEM;
}

static void free_builders(struct conversion *c)
{
	for (unsigned t = 0; t < c->n_builders; t++)
		builder_free(c->builders[t]);
	free(c->builders);
	c->builders = NULL;
	c->n_builders = 0;
}

/* Reads units while .debug_info is inflated. If it turns out to be damaged, nothing of it is used. */
static int read_stream(struct conversion *c)
{
	uint64_t steps = c->dwarf.info.size / STREAM_THREAD + 1;
	int err = make_builders(c, steps < c->threads ? (unsigned)steps : c->threads);
	if (!err)
		err = unit_stream_read(c);
	if (err != -EBADMSG)
		return err;
	free_builders(c);
	return 0;
}

int conversion_read_units(struct conversion *c)
{
	unsigned threads = c->threads;
	size_t n = c->dwarf.n_units ? c->dwarf.n_units : c->map.objects.n;
	if (c->dwarf.stream)
		return read_stream(c);
	if (!n)
		return 0;
	if (threads > n)
		threads = (unsigned)n;
	c->results = calloc(n, sizeof(*c->results));
	c->at_unit = calloc(threads, sizeof(*c->at_unit));
	if (!c->results || !c->at_unit || make_builders(c, threads))
		return -ENOMEM;
	parallel_for(threads, n, c->dwarf.n_units ? convert_unit : convert_mapped_object, c);
	return atomic_load(&c->cancelled) ? -ECANCELED : 0;
}

/* ---- Merging ---- */

enum { FETCHED = 16 }; /* strings ahead that are prefetched */

struct numbers {
	const struct unit_result *unit;
	uint32_t *strings, *files; /* the unit's number -> the pool's */
};

static uint32_t string_number(const struct numbers *n, uint64_t string)
{
	invariant(string == NO_STRING || string < n->unit->n_strings);
	return string == NO_STRING ? NO_STRING : n->strings[string];
}

/* The same for the name of a function: one that exceeds the pool's limit is none. */
static uint32_t name_number(const struct numbers *n, uint64_t string)
{
	uint32_t number = string_number(n, string);
	return number ? number : NO_STRING;
}

/* File 0 is "no file" in both. */
static uint32_t file_number(const struct numbers *n, uint32_t file)
{
	invariant(file <= n->unit->n_files);
	return n->files[file];
}

static int add_to_pool(struct pool *pool, const struct unit_result *u, const struct numbers *n)
{
	n->files[0] = 0;
	for (uint32_t i = 0; i < u->n_strings; i++) {
		if (u->n_strings - i > FETCHED)
			pool_fetch_slot(pool, u->strings[i + FETCHED].hash);
		if (u->n_strings - i > FETCHED / 2)
			pool_fetch_string(pool, u->strings[i + FETCHED / 2].hash);
		if (pool_add_string(pool, &u->strings[i], &n->strings[i]))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < u->n_files; i++) {
		struct pool_file f;
		if (pool_add_string(pool, &u->files[i].dir, &f.dir) ||
		    pool_add_string(pool, &u->files[i].base, &f.base) ||
		    pool_add_file(pool, f, &n->files[i + 1]))
			return -ENOMEM;
	}
	return 0;
}

static int merge_unit(struct conversion *c, const struct unit_result *u)
{
	struct numbers n = {
		.unit = u,
		.strings = calloc((size_t)u->n_strings + 1, sizeof(uint32_t)),
		.files = calloc((size_t)u->n_files + 1, sizeof(uint32_t)),
	};
	int err = n.strings && n.files ? add_to_pool(&c->pool, u, &n) : -ENOMEM;
	if (!err)
		err = vec_reserve(&c->records, u->n_records);
	for (uint32_t i = 0; i < u->n_records && !err; i++) {
		struct func_record *r = &u->records[i];
		r->name = name_number(&n, r->name);
		r->bare = name_number(&n, r->bare);
		for (uint32_t k = 0; k < r->n_rows; k++)
			r->rows[k].file = file_number(&n, r->rows[k].file);
		for (uint32_t k = 0; k < r->n_inlines; k++) {
			r->inlines[k].name = string_number(&n, r->inlines[k].name);
			r->inlines[k].call_file = file_number(&n, r->inlines[k].call_file);
		}
		for (uint32_t k = 0; k < r->n_patterns; k++)
			r->patterns[k] = string_number(&n, r->patterns[k]);
		c->records.v[c->records.n++] = *r;
	}
	free(n.strings);
	free(n.files);
	return err;
}

int conversion_merge_results(struct conversion *c, const struct unit_result *results, size_t n,
			     struct convert_summary *summary)
{
	for (size_t i = 0; results && i < n; i++) {
		int err = results[i].err;
		if (results == c->results)
			release_upto(c, c->dwarf.units[i].off);
		if (err == -EBADMSG)
			continue; /* skipped, and counted where it went wrong */
		/* Of the strings that are left half is kept: one unit never takes those of all others. */
		uint64_t kept = c->pool.text_left / 2;
		c->pool.text_left -= kept;
		if (!err)
			err = merge_unit(c, &results[i]);
		c->pool.text_left += kept;
		if (err)
			return err;
		summary->units++;
	}
	return 0;
}

static size_t count_records(const struct unit_result *results, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; results && i < n; i++)
		sum += results[i].err ? 0 : results[i].n_records;
	return sum;
}

/* Makes room for the records of all units and symbols, so that the array is not moved as it grows. */
static int reserve_records(struct conversion *c)
{
	size_t n = c->symbols.n + count_records(c->results, c->dwarf.n_units);
	for (size_t i = 0; i < c->map.objects.n; i++)
		n += count_records(c->map.objects.v[i].results, c->map.objects.v[i].n_results);
	if (vec_reserve(&c->records, n))
		return -ENOMEM;
	huge_pages_advise(c->records.v, c->records.cap * sizeof(*c->records.v));
	return 0;
}

int conversion_merge_units(struct conversion *c, struct convert_summary *summary)
{
	c->pool.text_left = (conversion_input(c) + BUDGET_ALWAYS) * BUDGET_NAMES;
	c->released = 0; /* short names are in .debug_info itself, so merging faults pages in again */
	release_input(c);
	int err = reserve_records(c);
	if (!err)
		err = conversion_merge_results(c, c->results, c->dwarf.n_units, summary);
	for (size_t i = 0; i < c->map.objects.n && !err; i++) {
		const struct mapped_object *object = &c->map.objects.v[i];
		err = object->err ? object->err
				  : conversion_merge_results(c, object->results, object->n_results, summary);
	}
	if (err)
		return err;
	release_input(c);
	for (unsigned t = 0; t < c->n_builders; t++) {
		warnings_merge(&c->warnings, builder_warnings(c->builders[t]));
		summary->has_ada |= builder_has_ada(c->builders[t]);
		summary->work += builder_work(c->builders[t]);
	}
	for (size_t i = 0; i < c->records.n; i++)
		summary->functions_dwarf += c->records.v[i].kind == RECORD_DWARF;
	return 0;
}

void conversion_close_units(struct conversion *c)
{
	free_builders(c);
	free(c->results);
	free(c->at_unit);
}

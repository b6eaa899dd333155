/*
 * convert.c - the conversion as a whole: open, symbols, units in parallel, merge in unit order, finalize, write.
 */
#include "builder.h"
#include "callsites.h"
#include "convert.h"
#include "debug_files.h"
#include "finalize.h"
#include "layout.h"
#include "../gsym/base/parallel.h"
#include "../gsym/base/diag.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the result goes: a descriptor, or memory. */
struct output {
	int fd; /* -1: memory */
	void *data;
	size_t size;
};

struct conversion {
	const struct convert_options *options;
	unsigned threads;
	struct image *image;
	struct image *debug;     /* its separate debug file, or NULL */
	struct image *shared;    /* the alternate file of image or debug, or NULL */
	struct image *mini;      /* from .gnu_debugdata, or NULL */
	struct image *symtab;    /* named by the caller, or NULL */
	struct dwarf dwarf;
	struct dwarf alternate;
	struct split_files *split;
	struct callsites_file *listed; /* or NULL */
	symbol_vec symbols;
	struct build_context context;
	struct builder *builders; /* one for each thread */
	unsigned n_builders;
	struct unit_result *results; /* one for each unit */
	record_vec records;
	struct pool pool;
	struct arena arena; /* what belongs to no unit */
	struct oddities odd;
	atomic_size_t units_done;
	atomic_bool cancelled;
	uint64_t released; /* of .debug_info, see release_pages() */
	atomic_size_t *at_unit; /* for each thread: the unit it reads, SIZE_MAX when it has not begun */
};

/* ---- Units ---- */

enum { RELEASE_STEP = 16 << 20 };

/*
 * Pages of the mapped .debug_info that no thread will read in order any more are given back, so that memory in
 * use does not grow with the file. A reference back into them only faults them in again.
 */
static void release_pages(struct conversion *c)
{
	const struct span info = c->dwarf.info;
	size_t unit = SIZE_MAX;
	const struct image *image = c->dwarf.image;
	if (info.data < image->map || info.data >= image->map + image->map_size)
		return; /* decompressed: not backed by the file */
	for (unsigned t = 0; t < c->n_builders; t++) {
		size_t at = atomic_load_explicit(&c->at_unit[t], memory_order_relaxed);
		unit = at < unit ? at : unit;
	}
	uint64_t end = unit < c->dwarf.n_units ? c->dwarf.units[unit].off : 0;
	if (end < c->released + RELEASE_STEP)
		return;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)info.data + c->released + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)info.data + end) & ~(page - 1);
	if (from < to)
		(void)madvise((void *)from, to - from, MADV_DONTNEED);
	c->released = end;
}

static void report_progress(struct conversion *c, enum convert_phase phase, uint64_t done, uint64_t total)
{
	const struct convert_options *o = c->options;
	if (o->progress && o->progress(o->progress_user, phase, done, total))
		atomic_store(&c->cancelled, true);
}

static void convert_unit(void *user, size_t index, unsigned thread)
{
	struct conversion *c = user;
	if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) {
		c->results[index].err = -ECANCELED;
		return;
	}
	atomic_store_explicit(&c->at_unit[thread], index, memory_order_relaxed);
	builder_unit(&c->builders[thread], index, &c->results[index]);
	size_t done = atomic_fetch_add_explicit(&c->units_done, 1, memory_order_relaxed) + 1;
	if (thread == 0) {
		release_pages(c);
		report_progress(c, CONVERT_READING, done, c->dwarf.n_units);
	}
}

static int convert_units(struct conversion *c)
{
	unsigned threads = c->threads;
	if (!c->dwarf.n_units)
		return 0;
	if (threads > c->dwarf.n_units)
		threads = (unsigned)c->dwarf.n_units;
	c->results = calloc(c->dwarf.n_units, sizeof(*c->results));
	c->builders = calloc(threads, sizeof(*c->builders));
	c->at_unit = calloc(threads, sizeof(*c->at_unit));
	if (!c->results || !c->builders || !c->at_unit)
		return -ENOMEM;
	for (; c->n_builders < threads; c->n_builders++) {
		int err = builder_init(&c->builders[c->n_builders], &c->context);
		if (err) {
			builder_deinit(&c->builders[c->n_builders]);
			return err;
		}
		atomic_init(&c->at_unit[c->n_builders], 0);
	}
	parallel_for(threads, c->dwarf.n_units, convert_unit, c);
	return atomic_load(&c->cancelled) ? -ECANCELED : 0;
}

/* ---- Merging ---- */

struct numbers {
	uint32_t *strings, *files; /* the unit's number -> the pool's */
};

static uint32_t string_number(const struct numbers *n, uint64_t string)
{
	return string == NO_STRING ? NO_STRING : n->strings[string];
}

static void renumber(struct record *r, const struct numbers *n)
{
	r->name = string_number(n, r->name);
	r->bare = string_number(n, r->bare);
	for (uint32_t i = 0; i < r->n_rows; i++)
		r->rows[i].file = n->files[r->rows[i].file];
	for (uint32_t i = 0; i < r->n_inlines; i++) {
		r->inlines[i].name = string_number(n, r->inlines[i].name);
		r->inlines[i].call_file = n->files[r->inlines[i].call_file];
	}
	for (uint32_t i = 0; i < r->n_patterns; i++)
		r->patterns[i] = string_number(n, r->patterns[i]);
}

static int add_to_pool(struct pool *pool, const struct unit_result *u, const struct numbers *n)
{
	n->files[0] = 0;
	for (uint32_t i = 0; i < u->n_strings; i++)
		if (pool_add_string(pool, &u->strings[i], &n->strings[i]))
			return -ENOMEM;
	for (uint32_t i = 0; i < u->n_files; i++) {
		struct pool_file f;
		if (pool_add_string(pool, &u->files[i].dir, &f.dir) || pool_add_string(pool, &u->files[i].base, &f.base) ||
		    pool_add_file(pool, f, &n->files[i + 1]))
			return -ENOMEM;
	}
	return 0;
}

static int merge_unit(struct conversion *c, const struct unit_result *u)
{
	struct numbers n = {
		.strings = calloc((size_t)u->n_strings + 1, sizeof(uint32_t)),
		.files = calloc((size_t)u->n_files + 1, sizeof(uint32_t)),
	};
	int err = n.strings && n.files ? add_to_pool(&c->pool, u, &n) : -ENOMEM;
	if (!err)
		err = vec_reserve(&c->records, u->n_records);
	for (uint32_t i = 0; i < u->n_records && !err; i++) {
		renumber(&u->records[i], &n);
		c->records.v[c->records.n++] = u->records[i];
	}
	free(n.strings);
	free(n.files);
	return err;
}

static int merge_units(struct conversion *c, struct convert_summary *summary)
{
	for (size_t i = 0; c->results && i < c->dwarf.n_units; i++) {
		int err = c->results[i].err;
		if (err == -EBADMSG)
			continue; /* skipped, and counted where it went wrong */
		if (!err)
			err = merge_unit(c, &c->results[i]);
		if (err)
			return err;
		summary->units++;
	}
	for (unsigned t = 0; t < c->n_builders; t++)
		oddities_merge(&c->odd, &c->builders[t].odd);
	for (size_t i = 0; i < c->records.n; i++)
		summary->functions_dwarf += c->records.v[i].kind == RECORD_DWARF;
	return 0;
}

/* ---- What is not here ---- */

enum { MISSING_MAX = 64 }; /* names told; there may be thousands of the same kind */

static int add_missing(struct convert_summary *summary, unsigned *n, const char *name)
{
	char *longer = NULL;
	if (*n >= MISSING_MAX)
		return 0;
	if (++*n == MISSING_MAX)
		name = "...";
	if (asprintf(&longer, "%s%s\n", summary->missing ? summary->missing : "", name) < 0)
		return -ENOMEM;
	free(summary->missing);
	summary->missing = longer;
	return 0;
}

static int list_missing(struct conversion *c, struct convert_summary *summary)
{
	unsigned n = 0;
	char debug[256];
	bool wanted = !c->debug && !c->options->no_dwarf && !image_section(c->image, ".debug_info");
	const char *alternate = c->dwarf.image && !c->shared ? alternate_name(c->dwarf.image) : NULL;
	int err = wanted && debug_file_name(c->image, debug, sizeof(debug)) ? add_missing(summary, &n, debug) : 0;
	if (!err && alternate)
		err = add_missing(summary, &n, alternate);
	for (size_t i = 0; c->results && i < c->dwarf.n_units && !err; i++)
		if (c->results[i].missing)
			err = add_missing(summary, &n, c->results[i].missing);
	return err;
}

/* ---- The whole ---- */

static int finish_writer(struct gsym_writer *writer, struct output *out, struct gsym_diag *diag)
{
	if (out->fd < 0)
		return gsym_writer_finish_memory(writer, &out->data, &out->size, diag);
	int err = gsym_writer_finish(writer, out->fd, diag);
	off_t size = lseek(out->fd, 0, SEEK_END);
	out->size = size > 0 ? (size_t)size : 0;
	return err;
}

static int write_gsym(struct conversion *c, struct output *out, struct convert_summary *summary, struct gsym_diag *diag)
{
	struct gsym_writer_options options = {
		.struct_size = sizeof(options),
		.version = c->options->version,
		.big_endian = c->image->big_endian,
		.has_base_address = c->image->has_base && c->records.v[0].start >= c->image->base_address,
		.base_address = c->image->base_address,
		.uuid = c->image->id,
		.uuid_size = c->image->id_size,
	};
	struct gsym_writer *writer;
	int err = gsym_writer_new(&options, &writer, diag);
	if (err)
		return err;
	report_progress(c, CONVERT_WRITING, 0, c->records.n);
	err = emit_records(&c->records, &c->pool, c->threads, writer, diag);
	if (!err)
		err = finish_writer(writer, out, diag);
	gsym_writer_free(writer);
	report_progress(c, CONVERT_WRITING, c->records.n, c->records.n);
	summary->functions = c->records.n;
	summary->output_size = out->size;
	return err;
}

static int check_image(const struct conversion *c, struct gsym_diag *diag)
{
	const struct image *image = c->image;
	if (c->options->arch && strcmp(c->options->arch, image->arch))
		return diag_set(diag, -ENOEXEC, "%s: architecture is %s, not %s", image->path, image->arch,
				c->options->arch);
	if (c->options->version < 2 && image->id_size > 20)
		return diag_set(diag, -EOVERFLOW, "%s: a build id of %zu bytes does not fit GSYM version 1: use version 2",
				image->path, image->id_size);
	return 0;
}

/* ---- Inputs ---- */

/* Opens a file the caller named. It must be there, and belong to the image as far as build ids tell. */
static int open_named(const struct conversion *c, const char *path, struct image **ret, struct gsym_diag *diag)
{
	int err = path ? image_open(path, c->options->opener, ret, diag) : 0;
	const struct image *a = c->image, *b = *ret;
	if (err || !b || !a->id_size || !b->id_size)
		return err;
	if (a->id_size == b->id_size && !memcmp(a->id, b->id, a->id_size))
		return 0;
	return diag_set(diag, -EINVAL, "%s: its build id is not that of %s", path, a->path);
}

/* The file whose DWARF is read. */
static struct image *dwarf_image(const struct conversion *c)
{
	return c->debug ? c->debug : c->image;
}

static int open_inputs(struct conversion *c, struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	int err = open_named(c, o->debug_file, &c->debug, diag);
	if (!err)
		err = open_named(c, o->symtab_file, &c->symtab, diag);
	if (!err && !c->debug && !o->no_dwarf && !image_section(c->image, ".debug_info"))
		err = find_debug_file(c->image, o->debug_dirs, &c->debug);
	if (!err)
		err = find_alternate(dwarf_image(c), o->debug_dirs, &c->shared);
	if (!err && !o->match_llvm)
		err = open_debugdata(c->image, &c->mini);
	return err;
}

static int load_symbols(struct conversion *c)
{
	struct image *sources[4];
	size_t n = 0;
	if (c->symtab)
		sources[n++] = c->symtab;
	else
		sources[n++] = c->image;
	if (c->debug && !c->symtab)
		sources[n++] = c->debug;
	if (c->mini && !c->symtab)
		sources[n++] = c->mini;
	int err = image_load_symbols(c->image, sources, n);
	if (c->image->symbols_damaged)
		oddity_count(&c->odd, ODD_SYMBOL_TABLE, ".symtab", 0);
	return err ? err : symtab_prepare(c->image, c->options->match_llvm, &c->symbols);
}

static int open_dwarf(struct conversion *c)
{
	struct image *image = dwarf_image(c);
	int err = dwarf_open(&c->dwarf, image, false, c->threads, &c->odd);
	if (!err && c->shared)
		err = dwarf_open(&c->alternate, c->shared, false, c->threads, &c->odd);
	if (!err && c->shared)
		c->dwarf.alternate = &c->alternate;
	return err ? err : split_open(c->image, image, c->options->debug_dirs, &c->split);
}

/* ---- The stages ---- */

/* From all records to those that are written. */
static int finalize(struct conversion *c, struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	CLEANUP(freep) struct listed_place *places = NULL;
	int err = c->listed ? callsites_locate(c->listed, &c->records, &c->pool, &places) : 0;
	if (!err)
		err = finalize_records(&c->records, &c->pool, o, &c->arena, &c->odd);
	if (!err && !c->records.n)
		return diag_set(diag, -ENODATA, "no function found: neither DWARF nor symbols name any code");
	if (err)
		return diag_set(diag, err, "%s", strerror(-err));
	return c->listed ? callsites_apply(c->listed, places, &c->records, &c->pool, o->match_llvm, &c->arena, diag) : 0;
}

static int convert(struct conversion *c, struct output *out, struct convert_summary *summary, struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	c->threads = o->threads ? o->threads : parallel_cpus();
	int err = o->callsites_file ? callsites_file_read(o->callsites_file, &c->listed, diag) : 0;
	if (!err)
		err = open_inputs(c, diag);
	if (err)
		return err;
	err = load_symbols(c);
	if (!err && !o->no_dwarf)
		err = open_dwarf(c);
	c->context = (struct build_context){
		.dwarf = &c->dwarf,
		.split = c->split,
		.text = &c->image->text,
		.symbols = &c->symbols,
		.match_llvm = o->match_llvm,
		.callsites = o->callsites,
		.merged = o->merged,
	};
	if (!err)
		err = convert_units(c);
	if (!err)
		err = merge_units(c, summary);
	if (!err)
		err = symtab_add_records(&c->symbols, &c->pool, &c->records);
	summary->functions_symbols = c->symbols.n;
	if (err)
		return diag_set(diag, err, "%s: %s", c->image->path,
				err == -ECANCELED ? "conversion stopped" : strerror(-err));
	err = finalize(c, diag);
	if (!err)
		err = write_gsym(c, out, summary, diag);
	return err ? diag_prefix(diag, err, "%s", c->image->path) : 0;
}

static void conversion_deinit(struct conversion *c)
{
	for (unsigned t = 0; t < c->n_builders; t++)
		builder_deinit(&c->builders[t]);
	free(c->builders);
	free(c->results);
	free(c->at_unit);
	vec_free(&c->records);
	vec_free(&c->symbols);
	pool_deinit(&c->pool);
	arena_free(&c->arena);
	callsites_file_free(c->listed);
	split_close(c->split);
	dwarf_close(&c->dwarf);
	dwarf_close(&c->alternate);
	image_close(c->symtab);
	image_close(c->mini);
	image_close(c->shared);
	image_close(c->debug);
	image_close(c->image);
}

/* Converts the image of @c, which is closed in any case. */
static int convert_image(struct conversion *c, struct output *out, struct convert_summary *ret, struct gsym_diag *diag)
{
	struct convert_summary summary = {0};
	int err = check_image(c, diag);
	if (!err && pool_init(&c->pool))
		err = diag_set(diag, -ENOMEM, "%s: out of memory", c->image->path);
	memcpy(summary.arch, c->image->arch, sizeof(summary.arch));
	if (!err)
		err = convert(c, out, &summary, diag);
	if (!err)
		err = oddities_report(&c->odd, &summary);
	if (!err)
		err = list_missing(c, &summary);
	if (!err)
		err = layout_report(c->image, &summary);
	conversion_deinit(c);
	if (err)
		convert_summary_deinit(&summary);
	else
		*ret = summary;
	return err;
}

int convert_file(const char *path, const struct convert_options *options, int out_fd, struct convert_summary *ret,
		 struct gsym_diag *diag)
{
	struct conversion c = {.options = options};
	int err = image_open(path, options->opener, &c.image, diag);
	return err ? err : convert_image(&c, &(struct output){.fd = out_fd}, ret, diag);
}

int convert_memory(const void *data, size_t size, const char *name, const struct convert_options *options,
		   void **ret_gsym, size_t *ret_size, struct convert_summary *ret, struct gsym_diag *diag)
{
	struct conversion c = {.options = options};
	struct output out = {.fd = -1};
	int err = image_open_memory(data, size, name, &c.image, diag);
	if (!err) {
		c.image->opener = options->opener;
		err = convert_image(&c, &out, ret, diag);
	}
	if (err) {
		free(out.data);
		return err;
	}
	*ret_gsym = out.data;
	*ret_size = out.size;
	return 0;
}

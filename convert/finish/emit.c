/*
 * emit.c - final records to the writer.
 *
 * Only strings and files that some record uses are stored. Which these are is found out by several threads;
 * then one numbers them, strings in the order of the pool and files by how often records switch to them, as
 * numbers below 128 take a byte less. Neither depends on threads. All strings of a pool differ, so they are
 * copied to the string table without looking any up. Encoding the functions is then independent for each, and
 * done by several threads.
 */
#include "convert/finish/finalize.h"

#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"
#include "gsym/base/parallel.h"
#include "gsym/write/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	RECORDS_CHUNK = 512,
	STRINGS_CHUNK = 4096,
};

struct emitter {
	record_vec *records;
	const struct pool *pool;
	struct gsym_writer *writer;
	unsigned threads;
	atomic_bool *used;        /* strings of the pool */
	uint32_t *switches;       /* for each thread and file: how often its number is written */
	uint64_t *strings;        /* pool number -> string table offset, of used ones */
	uint32_t *files;          /* pool number -> file table index, of used ones */
	char *text;               /* of the first string in the table */
	uint64_t first;           /* its offset */
	atomic_bool has_nameless; /* inlined calls without a name */
	uint64_t nameless;        /* what they are called, in the string table */
	struct gsym_func *merged; /* the merged functions of all records */
	pthread_mutex_t lock;     /* guards *warnings */
	struct warnings *warnings;
};

static size_t chunks(size_t n, size_t chunk)
{
	return n / chunk + (n % chunk != 0);
}

static size_t chunk_end(size_t index, size_t n, size_t chunk)
{
	size_t first = index * chunk;
	return n - first < chunk ? n : first + chunk;
}

/* ---- What was not asked for ---- */

static void omit(struct func_record *r, const struct convert_options *options)
{
	if (options->omit_lines)
		r->n_rows = 0;
	if (options->omit_inlines)
		r->n_inlines = 0;
	for (uint32_t i = 0; i < r->n_merged; i++)
		omit(&r->merged[i], options);
}

void omit_records(record_vec *records, const struct convert_options *options)
{
	if (!options->omit_lines && !options->omit_inlines)
		return;
	for (size_t i = 0; i < records->n; i++)
		omit(&records->v[i], options);
}

/* ---- What is used ---- */

static void use_string(struct emitter *e, uint64_t string)
{
	if (string == NO_STRING)
		return;
	invariant(string < e->pool->strings.n);
	if (!atomic_load_explicit(&e->used[string], memory_order_relaxed))
		atomic_store_explicit(&e->used[string], true, memory_order_relaxed);
}

static void use_file(struct emitter *e, unsigned thread, uint32_t file)
{
	invariant(file < e->pool->files.n);
	e->switches[thread * e->pool->files.n + file]++;
}

static void use_record(struct emitter *e, unsigned thread, const struct func_record *r)
{
	use_string(e, r->name);
	for (uint32_t i = 0; i < r->n_patterns; i++)
		use_string(e, r->patterns[i]);
	for (uint32_t i = 0; i < r->n_merged; i++)
		use_record(e, thread, &r->merged[i]);
	for (uint32_t i = 0; i < r->n_rows; i++)
		if (!i || r->rows[i].file != r->rows[i - 1].file)
			use_file(e, thread, r->rows[i].file);
	for (uint32_t i = 0; i < r->n_inlines; i++) {
		use_string(e, r->inlines[i].name);
		if (r->inlines[i].name == NO_STRING)
			atomic_store_explicit(&e->has_nameless, true, memory_order_relaxed);
		use_file(e, thread, r->inlines[i].call_file);
	}
}

static void use_chunk(void *user, size_t index, unsigned thread)
{
	struct emitter *e = user;
	for (size_t i = index * RECORDS_CHUNK, end = chunk_end(index, e->records->n, RECORDS_CHUNK); i < end;
	     i++)
		use_record(e, thread, &e->records->v[i]);
}

/* ---- Numbering ---- */

struct file_use {
	uint64_t n;
	uint32_t file; /* of the pool */
};

static int compare_uses(const void *a, const void *b)
{
	const struct file_use *x = a, *y = b;
	return COMPARE(y->n, x->n) ?: COMPARE(x->file, y->file);
}

/* Gives the used strings their offsets, and space in the writer's table. */
static int place_strings(struct emitter *e, struct gsym_diag *diag)
{
	const struct pool *pool = e->pool;
	uint64_t size = 0;
	for (size_t i = 1; i < pool->strings.n; i++)
		if (atomic_load_explicit(&e->used[i], memory_order_relaxed)) {
			e->strings[i] = e->first + size;
			size += (uint64_t)pool->strings.v[i].size + 1;
		}
	int err = writer_check_size(e->writer, size, diag);
	if (err)
		return err;
	err = strtab_extend(&e->writer->strings, size, &e->text);
	if (err == -EOVERFLOW)
		return diag_set(diag, err,
				"string table over 4 GiB exceeds the limit of GSYM version 1: use version 2");
	return err ? diag_set(diag, err, "cannot store names: %s", strerror(-err)) : 0;
}

static void copy_strings(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct emitter *e = user;
	for (size_t i = index * STRINGS_CHUNK, end = chunk_end(index, e->pool->strings.n, STRINGS_CHUNK);
	     i < end; i++) {
		const struct pool_string *s = &e->pool->strings.v[i];
		if (!e->strings[i])
			continue;
		invariant(!memchr(s->text, 0, s->size));
		char *end_of_text = mempcpy(e->text + (e->strings[i] - e->first), s->text, s->size);
		*end_of_text = 0;
	}
}

static int number_files(struct emitter *e, const struct file_use *uses, size_t n, struct gsym_diag *diag)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		const struct pool_file *f = &e->pool->files.v[uses[i].file];
		err = gsym_writer_file(e->writer, e->strings[f->dir], e->strings[f->base],
				       &e->files[uses[i].file]);
	}
	return err ? diag_set(diag, err, "cannot store file names: %s", strerror(-err)) : 0;
}

static int number_all(struct emitter *e, struct gsym_diag *diag)
{
	CLEANUP(freep) struct file_use *uses = malloc(e->pool->files.n * sizeof(*uses));
	if (!uses)
		return diag_set(diag, -ENOMEM, "out of memory");
	parallel_for(e->threads, chunks(e->records->n, RECORDS_CHUNK), use_chunk, e);
	size_t n_files = e->pool->files.n, n = 0;
	for (size_t i = 1; i < n_files; i++) {
		struct file_use use = {0, (uint32_t)i};
		for (unsigned t = 0; t < e->threads; t++)
			use.n += e->switches[t * n_files + i];
		if (use.n)
			uses[n++] = use;
	}
	qsort(uses, n, sizeof(*uses), compare_uses);

	for (size_t i = 0; i < n; i++) {
		use_string(e, e->pool->files.v[uses[i].file].dir);
		use_string(e, e->pool->files.v[uses[i].file].base);
	}
	int err = place_strings(e, diag);
	if (err)
		return err;
	parallel_for(e->threads, chunks(e->pool->strings.n, STRINGS_CHUNK), copy_strings, e);
	err = e->has_nameless ? gsym_writer_string(e->writer, NAMELESS, sizeof(NAMELESS) - 1, &e->nameless)
			      : 0;
	return err ? diag_set(diag, err, "cannot store names: %s", strerror(-err))
		   : number_files(e, uses, n, diag);
}

/* ---- Encoding ---- */

static uint64_t string_offset(const struct emitter *e, uint64_t string)
{
	return string == NO_STRING ? 0 : e->strings[string];
}

/* Replaces the record's pool numbers by the writer's. */
static void number_record(const struct emitter *e, struct func_record *r)
{
	r->strp = string_offset(e, r->name);
	for (uint32_t i = 0; i < r->n_patterns; i++)
		r->patterns[i] = string_offset(e, r->patterns[i]);
	for (uint32_t i = 0; i < r->n_rows; i++)
		r->rows[i].file = e->files[r->rows[i].file];
	for (uint32_t i = 0; i < r->n_inlines; i++) {
		uint64_t name = r->inlines[i].name;
		r->inlines[i].name = name == NO_STRING ? e->nameless : e->strings[name];
		r->inlines[i].call_file = e->files[r->inlines[i].call_file];
	}
	r->numbered = true;
}

static struct gsym_func function_of(const struct func_record *r)
{
	return (struct gsym_func){
		.start = r->start,
		.size = (uint32_t)(r->end - r->start),
		.name = r->strp,
		.rows = r->rows,
		.n_rows = r->n_rows,
		.inlines = r->inlines,
		.n_inlines = r->n_inlines,
		.ranges = r->ranges,
		.n_ranges = r->n_ranges,
		.callsites = r->callsites,
		.n_callsites = r->n_callsites,
		.patterns = r->patterns,
		.n_patterns = r->n_patterns,
	};
}

static int get_function(void *user, size_t index, struct gsym_func *ret)
{
	const struct emitter *e = user;
	struct func_record *r = &e->records->v[index];
	struct gsym_func *merged = e->merged + r->first_merged;
	if (!r->numbered) {
		for (uint32_t i = 0; i < r->n_merged; i++) {
			number_record(e, &r->merged[i]);
			merged[i] = function_of(&r->merged[i]);
		}
		number_record(e, r);
	}
	*ret = function_of(r);
	ret->merged = merged;
	ret->n_merged = r->n_merged;
	return 0;
}

/*
 * Leaves out a part of a record that the encoder refuses, whatever producer made it: a function that breaks a
 * rule of the format costs nothing else.
 */
static void leave_out(void *user, size_t index, enum info_type part)
{
	struct emitter *e = user;
	struct func_record *r = &e->records->v[index];
	static const enum warning kinds[INFO_TYPE_KNOWN] = {
		[InfoType_LineTable] = WARN_PART_LINES,
		[InfoType_InlineInfo] = WARN_PART_INLINES,
		[InfoType_MergedFunctionsInfo] = WARN_PART_MERGED,
		[InfoType_CallSiteInfo] = WARN_PART_CALLSITES,
	};
	struct warnings one = {.order = index};
	if (part == InfoType_LineTable)
		r->n_rows = 0;
	else if (part == InfoType_InlineInfo)
		r->n_inlines = r->n_ranges = 0;
	else if (part == InfoType_MergedFunctionsInfo)
		r->n_merged = 0;
	else
		r->n_callsites = r->n_patterns = 0;
	warning_count(&one, kinds[part], NULL, r->start);
	pthread_mutex_lock(&e->lock);
	warnings_merge(e->warnings, &one);
	pthread_mutex_unlock(&e->lock);
}

/* Makes the array of merged functions, which get_function() fills. 0 or -ENOMEM. */
static int make_merged(struct emitter *e)
{
	size_t n = 0;
	for (size_t i = 0; i < e->records->n; i++) {
		e->records->v[i].first_merged = n;
		n += e->records->v[i].n_merged;
	}
	e->merged = calloc(n + 1, sizeof(*e->merged));
	return e->merged ? 0 : -ENOMEM;
}

static void emitter_deinit(struct emitter *e)
{
	free(e->used);
	free(e->switches);
	free(e->strings);
	free(e->files);
	free(e->merged);
}

static int add_functions(struct emitter *e, struct gsym_diag *diag)
{
	struct layout layout;
	if (e->writer->version == 1 && e->writer->strings.n > e->writer->v1_most)
		return -EOVERFLOW; /* records could not refer to them */
	int err = writer_add_fitting(e->writer, e->records->n, e->threads, get_function, leave_out, e, diag);
	return err || !e->writer->chooses ? err : writer_layout(e->writer, &layout, diag);
}

/* Whether version 1 can hold the functions is known when they are encoded: if not, they are encoded again. */
static int add_all(struct emitter *e, struct gsym_diag *diag)
{
	int err = add_functions(e, diag);
	return err == -EOVERFLOW && !writer_widen(e->writer) ? add_functions(e, diag) : err;
}

int emit_records(record_vec *records, const struct pool *pool, unsigned threads, struct gsym_writer *writer,
		 struct warnings *warnings, struct gsym_diag *diag)
{
	CLEANUP(emitter_deinit)
	struct emitter e = {.records = records,
			    .pool = pool,
			    .writer = writer,
			    .threads = threads,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .warnings = warnings};
	e.first = writer->strings.n;
	e.used = calloc(pool->strings.n, sizeof(*e.used));
	e.switches = calloc(pool->files.n, threads * sizeof(*e.switches));
	e.strings = calloc(pool->strings.n, sizeof(*e.strings));
	e.files = calloc(pool->files.n, sizeof(*e.files));
	if (!e.used || !e.switches || !e.strings || !e.files || make_merged(&e))
		return diag_set(diag, -ENOMEM, "out of memory");
	int err = number_all(&e, diag);
	return err ? err : add_all(&e, diag);
}

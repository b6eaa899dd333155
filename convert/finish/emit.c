/*
 * emit.c - final records to the writer.
 *
 * Strings and files are stored at first use, in record order, by one thread, so that their numbers do not
 * depend on threads; unused ones are never stored. Encoding the functions is then independent for each and
 * done by several threads.
 */
#include "convert/finish/finalize.h"

#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"
#include "gsym/write/writer.h"

#include <string.h>

struct emitter {
	const struct pool *pool;
	struct gsym_writer *writer;
	uint64_t *strings; /* pool number -> string table offset, UINT64_MAX = not stored yet */
	uint32_t *files;   /* pool number -> file table index, 0 = not stored yet */
};

static int emit_string(struct emitter *e, uint32_t string, uint64_t *ret)
{
	if (string == NO_STRING)
		string = 0;
	invariant(string < e->pool->strings.n);
	uint64_t *known = &e->strings[string];
	if (*known == UINT64_MAX) {
		const struct pool_string *s = &e->pool->strings.v[string];
		int err = gsym_writer_string(e->writer, s->text, s->size, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int emit_file(struct emitter *e, uint32_t file, uint32_t *ret)
{
	invariant(file < e->pool->files.n);
	uint32_t *known = &e->files[file];
	if (!*known && file) {
		uint64_t dir, base;
		int err = emit_string(e, e->pool->files.v[file].dir, &dir);
		if (!err)
			err = emit_string(e, e->pool->files.v[file].base, &base);
		if (!err)
			err = gsym_writer_file(e->writer, dir, base, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

struct emit_source {
	const record_vec *records;
	const struct gsym_func *merged;
};

/* Replaces the record's pool numbers by the writer's. */
static int renumber(struct emitter *e, struct func_record *r)
{
	int err = emit_string(e, r->name, &r->strp);
	for (uint32_t i = 0; i < r->n_patterns && !err; i++)
		err = emit_string(e, (uint32_t)r->patterns[i], &r->patterns[i]);
	for (uint32_t i = 0; i < r->n_merged && !err; i++)
		err = renumber(e, &r->merged[i]);
	for (uint32_t i = 0; i < r->n_rows && !err; i++)
		err = emit_file(e, r->rows[i].file, &r->rows[i].file);
	for (uint32_t i = 0; i < r->n_inlines && !err; i++) {
		err = emit_string(e, (uint32_t)r->inlines[i].name, &r->inlines[i].name);
		if (!err)
			err = emit_file(e, r->inlines[i].call_file, &r->inlines[i].call_file);
	}
	return err;
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
	const struct emit_source *source = user;
	const struct func_record *r = &source->records->v[index];
	*ret = function_of(r);
	ret->merged = source->merged + r->first_merged;
	ret->n_merged = r->n_merged;
	return 0;
}

/* The merged functions of all records in one array; NULL only without memory. */
static struct gsym_func *make_merged(record_vec *records)
{
	size_t n = 0;
	for (size_t i = 0; i < records->n; i++)
		n += records->v[i].n_merged;
	struct gsym_func *merged = calloc(n + 1, sizeof(*merged));
	n = 0;
	for (size_t i = 0; i < records->n && merged; i++) {
		records->v[i].first_merged = n;
		for (uint32_t k = 0; k < records->v[i].n_merged; k++)
			merged[n++] = function_of(&records->v[i].merged[k]);
	}
	return merged;
}

int emit_records(record_vec *records, const struct pool *pool, unsigned threads, struct gsym_writer *writer,
		 struct gsym_diag *diag)
{
	struct emitter e = {.pool = pool, .writer = writer};
	e.strings = malloc(pool->strings.n * sizeof(*e.strings));
	e.files = calloc(pool->files.n, sizeof(*e.files));
	int err = e.strings && e.files ? 0 : diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < pool->strings.n && !err; i++)
		e.strings[i] = UINT64_MAX;
	for (size_t i = 0; i < records->n && !err; i++) {
		err = renumber(&e, &records->v[i]);
		if (err == -EOVERFLOW)
			diag_set(
				diag, err,
				"string table over 4 GiB exceeds the limit of GSYM version 1: use version 2");
		else if (err == -EFBIG)
			writer_check_size(writer, 0, diag);
		else if (err)
			diag_set(diag, err, "cannot store names: %s", strerror(-err));
	}
	free(e.strings);
	free(e.files);
	if (err)
		return err;
	struct gsym_func *merged = make_merged(records);
	if (!merged)
		return diag_set(diag, -ENOMEM, "out of memory");
	struct emit_source source = {records, merged};
	err = gsym_writer_add_many(writer, records->n, threads, get_function, &source, diag);
	free(merged);
	return err;
}

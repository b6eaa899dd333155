/*
 * go_functions.c - Go's function table to records.
 *
 * Three tables of values describe a function: file, line, and node of the inline tree. Rows are where file or
 * line change; with inlined calls they are those of the innermost function, as in DWARF. The function ends
 * with its line values: what follows up to the next one is padding.
 */
#include "convert/golang/golang.h"

#include "convert/golang/go_reader.h"
#include "gsym/base/sort.h"
#include "gsym/base/search.h"

/* ---- Rows ---- */

/* Steps of two tables together, in ascending order. */
struct row_walk {
	const pc_step_vec *files, *lines;
	size_t file, line; /* the present ones */
	uint32_t from, to; /* where both hold */
};

static bool next_row(struct row_walk *w)
{
	if (w->file == w->files->n || w->line == w->lines->n)
		return false;
	uint32_t file_end = w->files->v[w->file].end, line_end = w->lines->v[w->line].end;
	w->from = w->to;
	w->to = file_end < line_end ? file_end : line_end;
	return true;
}

static int make_rows(struct go_reader *r, const struct go_function *f)
{
	struct row_walk w = {.files = &r->file_steps, .lines = &r->line_steps};
	r->rows.n = 0;
	while (next_row(&w)) {
		struct gsym_row row = {.off = w.from, .line = go_line(r->line_steps.v[w.line].value)};
		int err = go_file_number(r, f, r->file_steps.v[w.file].value, &row.file);
		if (err)
			return err;
		const struct gsym_row *last = r->rows.n ? &r->rows.v[r->rows.n - 1] : NULL;
		if (w.to > w.from && (!last || last->file != row.file || last->line != row.line) &&
		    vec_push(&r->rows, row))
			return -ENOMEM;
		w.file += w.files->v[w.file].end == w.to;
		w.line += w.lines->v[w.line].end == w.to;
	}
	return 0;
}

/* ---- Functions ---- */

/* The end of @f: that of its lines, which exclude padding. */
static uint64_t end_of(const struct go_reader *r, const struct go_function *f)
{
	uint64_t size = r->line_steps.n ? r->line_steps.v[r->line_steps.n - 1].end : 0;
	return size && size < f->limit - f->start ? f->start + size : f->limit;
}

#define COPY(arena, vec) copy_array(arena, (vec)->v, (vec)->n, sizeof(*(vec)->v))

static void *copy_array(struct arena *arena, const void *v, size_t n, size_t size)
{
	void *copy = arena_array(arena, n, size);
	return copy && n ? memcpy(copy, v, n * size) : copy;
}

/* Gives @out the rows and inlined calls that were read. */
static int fill_record(struct go_reader *r, struct func_record *out)
{
	if (!budget_memory(&r->budget, ACCOUNT_ROWS, r->rows.n * sizeof(*r->rows.v)))
		r->rows.n = 0;
	if (!budget_memory(&r->budget, ACCOUNT_CALLS,
			   r->inlines.n * sizeof(*r->inlines.v) + r->ranges.n * sizeof(*r->ranges.v)))
		r->inlines.n = r->ranges.n = 0;
	while (r->rows.n && r->rows.v[r->rows.n - 1].off >= out->end - out->start)
		r->rows.n--;
	out->rows = COPY(r->arena, &r->rows);
	out->inlines = COPY(r->arena, &r->inlines);
	out->ranges = COPY(r->arena, &r->ranges);
	if (!out->rows || !out->inlines || !out->ranges)
		return -ENOMEM;
	out->n_rows = (uint32_t)r->rows.n;
	out->n_inlines = (uint32_t)r->inlines.n;
	out->n_ranges = (uint32_t)r->ranges.n;
	return 0;
}

/* Reads the values of @f for @out, whose end it sets if that is not known. */
static int read_function(struct go_reader *r, const struct go_function *f, struct func_record *out)
{
	int err = 0;
	bool whole =
		pc_values_read(&r->table, f->file_values, &r->budget, ACCOUNT_ROWS, &r->file_steps, &err);
	whole &= pc_values_read(&r->table, f->line_values, &r->budget, ACCOUNT_ROWS, &r->line_steps, &err);
	whole &= pc_values_read(&r->table, f->call_values, &r->budget, ACCOUNT_CALLS, &r->call_steps, &err);
	if (!whole && !err)
		warning_count(r->warnings, WARN_GO_VALUES, NULL, f->start);
	if (!err)
		err = make_rows(r, f);
	if (!out->end)
		out->end = end_of(r, f);
	return err ? err : go_inlines_make(r, f, out->end);
}

/* ---- Next to DWARF ---- */

/* What DWARF has. */
struct known {
	range_vec covered;         /* code of functions with lines */
	VEC(struct keyed) lacking; /* records without lines at their start, or inlined calls, by start */
};

static void known_deinit(struct known *k)
{
	vec_free(&k->covered);
	vec_free(&k->lacking);
}

/*
 * The functions of wrappers, which the compiler made, begin without lines in DWARF. That of Go before 1.16
 * lacks inlined calls: all up to Go 1.9, and later those in which others are inlined.
 */
static int find_known(const record_vec *records, bool calls, struct known *ret)
{
	for (size_t i = 0; i < records->n; i++) {
		const struct func_record *f = &records->v[i];
		bool lines = f->n_rows && !f->rows->off;
		int err = 0;
		if (f->kind != RECORD_DWARF || f->name == NO_STRING)
			continue;
		if (lines)
			err = vec_push(&ret->covered, (struct range){f->start, f->end});
		if (!err && (!lines || (!calls && !f->n_inlines)) && i <= UINT32_MAX)
			err = vec_push(&ret->lacking, (struct keyed){f->start, (uint32_t)i});
		if (err)
			return err;
	}
	ranges_normalize(&ret->covered);
	return radix_sort(ret->lacking.v, ret->lacking.n);
}

/* The record of DWARF that begins where @f does, and lacks something there; or NULL. */
static struct func_record *find_lacking(const struct known *known, const struct go_function *f,
					record_vec *records)
{
	size_t i = PARTITION_POINT(0, known->lacking.n, mid, known->lacking.v[mid].key < f->start);
	if (i == known->lacking.n || known->lacking.v[i].key != f->start)
		return NULL;
	return &records->v[known->lacking.v[i].index];
}

static int take_function(struct go_reader *r, const struct go_function *f, const struct known *known,
			 record_vec *records)
{
	struct func_record *lacking = find_lacking(known, f, records);
	bool covered = ranges_find(&known->covered, f->start);
	if (covered && !lacking)
		return 0;
	struct func_record new = {
		.start = f->start, .kind = RECORD_DWARF, .bare = NO_STRING, .linkage = true};
	struct func_record *out = lacking ? lacking : &new;
	int err = read_function(r, f, out);
	if (err || (covered && !r->inlines.n))
		return err;
	if (lacking)
		return fill_record(r, lacking);
	err = go_name_number(r, f->name, &new.name);
	if (err || !new.name)
		return err;
	err = fill_record(r, &new);
	return err ? err : vec_push(records, new);
}

static int read_functions(struct go_reader *r, const struct known *known, record_vec *records)
{
	const range_vec *text = &r->table.object->text;
	int err = 0;
	for (uint64_t i = 0; i < r->table.n_functions && !err; i++) {
		struct go_function f;
		if (!budget_work(&r->budget, ACCOUNT_RECORDS, RANGE_STEPS))
			break;
		if (!pclntab_function(&r->table, i, &f) || (text->n && !ranges_find(text, f.start)))
			warning_count(r->warnings, WARN_GO_FUNCTION, ".gopclntab", i);
		else
			err = take_function(r, &f, known, records);
	}
	return err;
}

static void reader_deinit(struct go_reader *r)
{
	vec_free(&r->file_steps);
	vec_free(&r->line_steps);
	vec_free(&r->call_steps);
	vec_free(&r->rows);
	vec_free(&r->calls);
	vec_free(&r->parts);
	vec_free(&r->path);
	vec_free(&r->inlines);
	vec_free(&r->ranges);
	free(r->files);
}

int golang_add_records(struct golang_job *job, record_vec *records)
{
	CLEANUP(reader_deinit)
	struct go_reader r = {.pool = job->pool, .arena = job->arena, .warnings = job->warnings};
	int err = pclntab_find(job->object, job->arena, &r.table);
	if (err == -EBADMSG)
		warning_count(job->warnings, WARN_SECTION_DAMAGED, ".gopclntab", 0);
	if (err)
		return err == -ENOENT || err == -EBADMSG ? 0 : err;
	if (moduledata_read(&r.table)) {
		warning_count(job->warnings, WARN_GO_TABLE, ".gopclntab", 0);
		return 0;
	}
	if (inline_trees_are_lost(&r.table))
		warning_count(job->warnings, WARN_GO_TREES, ".gopclntab", 0);
	size_t before = records->n;
	CLEANUP(known_deinit) struct known known = {0};
	uint64_t size = r.table.bytes.size + BUDGET_ALWAYS;
	r.budget = budget_of(size + r.table.trees.size);
	r.names = r.paths = name_budget_of(size);
	r.n_files = pclntab_file_count(&r.table);
	r.files = calloc(r.n_files + 1, sizeof(*r.files));
	err = r.files ? find_known(records, r.table.version > PCLNTAB_GO12, &known) : -ENOMEM;
	if (!err)
		err = read_functions(&r, &known, records);
	if (r.budget.exceeded || r.names.exceeded || r.paths.exceeded)
		warning_count(r.warnings, WARN_GO_LIMIT, ".gopclntab", 0);
	job->work = r.budget.done;
	job->added = records->n - before;
	return err;
}

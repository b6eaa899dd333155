/*
 * breakpad_write.c - from a Breakpad symbol file to GSYM: selects functions, stores names, then converts
 * lines and calls in batches.
 *
 * Functions are sorted by address (radix sort); of each address the sized ones are kept, one for each size,
 * or one without size. A batch of kept functions is read by several threads into per-thread arenas, encoded,
 * and freed, so that memory does not depend on the size of the file.
 */
#include "convert/breakpad/breakpad.h"
#include "convert/record/pool.h"

#include "gsym/base/sort.h"
#include "gsym/base/diag.h"
#include "gsym/base/parallel.h"
#include "gsym/write/writer.h"

enum {
	/* Limits of a batch of functions: small enough for memory, large enough for several threads. */
	BATCH_BYTES = 8 << 20,
	BATCH_FUNCTIONS = 32 * 1024,
	FAULT_AROUND = 64 * 1024, /* bytes made resident by a page fault elsewhere in the file */
	FUNCTIONS_AT_ONCE = 64,   /* for one thread */
	DENSE_PER_NAME = 8,       /* the array's size is limited to this many times the number of names */
	DENSE_ALWAYS = 4096,
};

struct writing {
	struct breakpad_job *job;
	struct gsym_writer *writer;
	struct breakpad_tables tables;
	struct breakpad_context context;
	struct keyed *order; /* functions that stay, by address */
	size_t n_order;
	uint64_t released;                /* names read up to here were given back */
	struct breakpad_reader **readers; /* one for each thread */
	struct arena *arenas;
	/* the current batch */
	size_t first, n;
	struct gsym_func *functions;
	int *errs; /* one for each thread */
};

static struct span all_bytes(const struct object_file *object)
{
	return (struct span){object->map, object->map_size};
}

/* ---- Which functions stay ---- */

static int compare_sized(const void *a, const void *b, void *user)
{
	const struct breakpad_function *v = user;
	const struct keyed *x = a, *y = b;
	const struct breakpad_function *fx = &v[x->index], *fy = &v[y->index];
	int c = COMPARE(fx->size, fy->size) ?: COMPARE(fy->body_size, fx->body_size);
	return c ?: COMPARE(x->index, y->index);
}

/* Moves the sized functions of order[first, end), which begin at one address, to the front: how many. */
static size_t sized_first(struct writing *w, size_t first, size_t end)
{
	size_t n = 0;
	for (size_t i = first; i < end; i++) {
		struct keyed k = w->order[i];
		if (!w->tables.functions.v[k.index].size)
			continue;
		w->order[i] = w->order[first + n];
		w->order[first + n++] = k;
	}
	if (n > 1)
		qsort_r(w->order + first, n, sizeof(*w->order), compare_sized, w->tables.functions.v);
	return n;
}

static void keep_record(struct writing *w, struct keyed k)
{
	w->tables.functions.v[k.index].kept = true;
	w->order[w->n_order++] = k;
}

/* Keeps one function for each range: the one with most records, the first of equals. */
static void keep_sized(struct writing *w, size_t first, size_t n, uint64_t *reach)
{
	const struct breakpad_function *v = w->tables.functions.v, *last = NULL;
	for (size_t i = first; i < first + n; i++) {
		const struct keyed k = w->order[i];
		const struct breakpad_function *f = &v[k.index];
		if (last && last->size == f->size) {
			if (f->body_size)
				warning_count(w->job->warnings, WARN_SAME_RANGE, NULL, f->addr);
			continue;
		}
		if (f->addr < *reach)
			warning_count(w->job->warnings, WARN_OVERLAP, NULL, f->addr);
		keep_record(w, k);
		last = f;
	}
	if (last && last->addr + last->size > *reach)
		*reach = last->addr + last->size;
}

/* Keeps one function: a FUNC rather than a PUBLIC, else the first. It ends at the next function. */
static void keep_unsized(struct writing *w, size_t first, size_t end, size_t n)
{
	struct breakpad_function *v = w->tables.functions.v;
	struct keyed best = w->order[first];
	for (size_t i = first + 1; i < end; i++) {
		const struct breakpad_function *f = &v[w->order[i].index], *b = &v[best.index];
		if (f->is_public != b->is_public ? b->is_public : w->order[i].index < best.index)
			best = w->order[i];
	}
	if (end < n && w->order[end].key - best.key <= UINT32_MAX)
		v[best.index].size = (uint32_t)(w->order[end].key - best.key);
	keep_record(w, best);
}

static int choose(struct writing *w, struct gsym_diag *diag)
{
	size_t n = w->tables.functions.n;
	uint64_t reach = 0;
	w->order = malloc((n + 1) * sizeof(*w->order));
	if (!w->order || n > UINT32_MAX)
		return diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		w->order[i] = (struct keyed){w->tables.functions.v[i].addr, (uint32_t)i};
	if (radix_sort(w->order, n))
		return diag_set(diag, -ENOMEM, "out of memory");
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && w->order[end].key == w->order[first].key;)
			end++;
		size_t sized = sized_first(w, first, end);
		if (sized)
			keep_sized(w, first, sized, &reach);
		else if (w->order[first].key >= reach)
			keep_unsized(w, first, end, n);
	}
	return w->n_order ? 0
			  : diag_set(diag, -ENODATA,
				     NO_FUNCTION_FOUND ": no FUNC or PUBLIC record names any code");
}

/* ---- Names ---- */

static int store(struct writing *w, uint64_t off, size_t size, uint64_t *ret)
{
	const struct object_file *object = w->job->object;
	int err = gsym_writer_string(w->writer, (const char *)object->map + off, size, ret);
	if (off > w->released + RELEASE_STEP) {
		object_release(object, all_bytes(object), w->released, off);
		w->released = off;
	}
	return err;
}

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/*
 * How many bytes of a path are its directory, without the separator after it; 0 = the path is stored whole.
 * Readers join directory and name by the separator that the directory has, or a slash, so a path is split
 * only where this gives it back as it was written.
 */
static size_t directory_size(const char *path, size_t size)
{
	size_t cut = size;
	while (cut > 0 && !is_separator(path[cut - 1]))
		cut--;
	if (cut < 2 || cut == size || is_separator(path[cut - 2]))
		return 0;
	bool slash = memchr(path, '/', cut - 1), backslash = memchr(path, '\\', cut - 1);
	return path[cut - 1] == (backslash && !slash ? '\\' : '/') ? cut - 1 : 0;
}

/* The numbers of an array's names from @meanings, of which those of a number taken before do not count. */
static int make_numbers(struct writing *w, const breakpad_name_vec *names, const uint64_t *meanings,
			struct breakpad_numbers *ret)
{
	CLEANUP(freep) struct keyed *order = malloc((names->n + 1) * sizeof(*order));
	uint64_t most = names->n * DENSE_PER_NAME + DENSE_ALWAYS;
	if (!order || names->n > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++)
		order[i] = (struct keyed){names->v[i].number, (uint32_t)i};
	if (radix_sort(order, names->n))
		return -ENOMEM;
	for (size_t i = names->n; i-- > 0 && !ret->n_dense;)
		ret->n_dense = order[i].key < most ? (size_t)order[i].key + 1 : 0;
	ret->dense = calloc(ret->n_dense + 1, sizeof(*ret->dense));
	ret->others = calloc(names->n + 1, sizeof(*ret->others));
	if (!ret->dense || !ret->others)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++) {
		uint64_t number = order[i].key, meaning = meanings[order[i].index];
		if (i && order[i - 1].key == number)
			warning_count(w->job->warnings, WARN_BREAKPAD_NUMBER, "file",
				      names->v[order[i].index].off);
		else if (number < ret->n_dense)
			ret->dense[number] = meaning + 1;
		else
			ret->others[ret->n_others++] = (struct breakpad_meaning){number, meaning};
	}
	return 0;
}

static int store_files(struct writing *w, const breakpad_name_vec *names)
{
	CLEANUP(freep) uint64_t *meanings = calloc(names->n + 1, sizeof(*meanings));
	if (!meanings)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++) {
		const struct breakpad_name *name = &names->v[i];
		const char *path = (const char *)w->job->object->map + name->off;
		uint64_t dir_strp, base_strp;
		uint32_t index = 0;
		size_t dir = directory_size(path, name->size), base = dir ? dir + 1 : 0;
		int err = gsym_writer_string(w->writer, path, dir, &dir_strp);
		if (!err)
			err = gsym_writer_string(w->writer, path + base, name->size - base, &base_strp);
		if (!err)
			err = gsym_writer_file(w->writer, dir_strp, base_strp, &index);
		meanings[i] = index;
		if (err)
			return err;
	}
	return make_numbers(w, names, meanings, &w->context.files);
}

static int store_origins(struct writing *w, const breakpad_name_vec *names)
{
	CLEANUP(freep) uint64_t *meanings = calloc(names->n + 1, sizeof(*meanings));
	w->context.origin = calloc(names->n + 1, sizeof(*w->context.origin));
	if (!meanings || !w->context.origin)
		return -ENOMEM;
	w->released = 0;
	for (size_t i = 0; i < names->n; i++) {
		int err = 0;
		w->context.origin[i].name = w->context.nameless;
		if (names->v[i].size)
			err = store(w, names->v[i].off, names->v[i].size, &w->context.origin[i].name);
		if (err)
			return err;
		w->context.origin[i].file = names->v[i].file;
		meanings[i] = i;
	}
	return make_numbers(w, names, meanings, &w->context.origins);
}

static int store_all(struct writing *w, struct gsym_diag *diag)
{
	struct breakpad_tables *t = &w->tables;
	int err = store_files(w, &t->files);
	if (!err)
		err = gsym_writer_string(w->writer, NAMELESS, sizeof(NAMELESS) - 1, &w->context.nameless);
	if (!err)
		err = store_origins(w, &t->origins);
	vec_free(&t->files);
	vec_free(&t->origins);
	w->released = 0;
	for (size_t i = 0; i < t->functions.n && !err; i++)
		if (t->functions.v[i].kept)
			err = store(w, t->functions.v[i].name_off, t->functions.v[i].name_size,
				    &t->functions.v[i].strp);
	object_release(w->job->object, all_bytes(w->job->object), 0, w->job->object->map_size);
	if (err == -EOVERFLOW)
		return diag_set(diag, err,
				"string table over 4 GiB exceeds the limit of GSYM version 1: use version 2");
	return err ? diag_set(diag, err, "cannot store names: %s", strerror(-err)) : 0;
}

/* ---- Lines and calls, batch by batch ---- */

static const struct breakpad_function *function_at(const struct writing *w, size_t index)
{
	return &w->tables.functions.v[w->order[index].index];
}

static void read_some(void *user, size_t index, unsigned thread)
{
	struct writing *w = user;
	size_t end = (index + 1) * FUNCTIONS_AT_ONCE < w->n ? (index + 1) * FUNCTIONS_AT_ONCE : w->n;
	for (size_t i = index * FUNCTIONS_AT_ONCE; i < end && !w->errs[thread]; i++)
		w->errs[thread] = breakpad_read_function(w->readers[thread], function_at(w, w->first + i),
							 w->first + i, &w->arenas[thread], &w->functions[i]);
}

static int get_function(void *user, size_t index, struct gsym_func *ret)
{
	*ret = ((struct writing *)user)->functions[index];
	return 0;
}

static int write_batch(struct writing *w, struct gsym_diag *diag)
{
	int err = 0;
	uint64_t bytes = 0, last = 0;
	size_t n = 0;
	for (; w->first + n < w->n_order && n < BATCH_FUNCTIONS && bytes < BATCH_BYTES; n++) {
		const struct breakpad_function *f = function_at(w, w->first + n);
		bool near = f->name_off >= last && f->name_off - last < FAULT_AROUND;
		bytes += f->body_size + (near ? 0 : FAULT_AROUND);
		last = f->name_off + f->body_size;
	}
	w->n = n;
	parallel_for(w->job->threads, (w->n + FUNCTIONS_AT_ONCE - 1) / FUNCTIONS_AT_ONCE, read_some, w);
	for (unsigned t = 0; t < w->job->threads && !err; t++)
		err = w->errs[t];
	if (err)
		diag_set(diag, err, "cannot read functions: %s", strerror(-err));
	else
		err = gsym_writer_add_many(w->writer, w->n, w->job->threads, get_function, w, diag);
	for (unsigned t = 0; t < w->job->threads; t++)
		arena_free(&w->arenas[t]);
	object_release(w->job->object, all_bytes(w->job->object), 0, w->job->object->map_size);
	w->first += w->n;
	return err;
}

static int write_functions(struct writing *w, struct gsym_diag *diag)
{
	struct breakpad_job *job = w->job;
	int err = 0;
	while (w->first < w->n_order && !err) {
		err = write_batch(w, diag);
		if (!err && job->progress && job->progress(job->user, w->first, w->n_order))
			err = diag_set(diag, -ECANCELED, "conversion stopped");
	}
	for (unsigned t = 0; t < job->threads; t++)
		warnings_merge(job->warnings, breakpad_reader_warnings(w->readers[t]));
	return err;
}

/* ---- All of it ---- */

static int make_readers(struct writing *w)
{
	unsigned threads = w->job->threads;
	size_t most = w->tables.functions.n < BATCH_FUNCTIONS ? w->tables.functions.n : BATCH_FUNCTIONS;
	w->readers = calloc(threads, sizeof(*w->readers));
	w->arenas = calloc(threads, sizeof(*w->arenas));
	w->errs = calloc(threads, sizeof(*w->errs));
	w->functions = calloc(most + 1, sizeof(*w->functions));
	if (!w->readers || !w->arenas || !w->errs || !w->functions)
		return -ENOMEM;
	for (unsigned t = 0; t < threads; t++)
		if (!(w->readers[t] = breakpad_reader_new(&w->context)))
			return -ENOMEM;
	return 0;
}

static void numbers_free(struct breakpad_numbers *n)
{
	free(n->dense);
	free(n->others);
}

static int write_all(struct writing *w, struct gsym_diag *diag)
{
	struct breakpad_job *job = w->job;
	if (breakpad_scan(job->object, job->base, job->threads, &w->tables, job->warnings) || make_readers(w))
		return diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < w->tables.functions.n; i++) {
		job->n_public += w->tables.functions.v[i].is_public;
		job->n_functions += !w->tables.functions.v[i].is_public;
	}
	int err = choose(w, diag);
	if (!err)
		err = store_all(w, diag);
	if (!err)
		err = write_functions(w, diag);
	job->n_written = w->n_order;
	return err;
}

int breakpad_write(struct breakpad_job *job, struct gsym_writer *writer, struct gsym_diag *diag)
{
	struct writing w = {
		.job = job, .writer = writer, .context = {.object = job->object, .base = job->base}};
	int err = write_all(&w, diag);
	for (unsigned t = 0; w.readers && t < w.job->threads; t++)
		breakpad_reader_free(w.readers[t]);
	free(w.readers);
	free(w.arenas);
	free(w.errs);
	free(w.functions);
	free(w.order);
	numbers_free(&w.context.files);
	numbers_free(&w.context.origins);
	free(w.context.origin);
	breakpad_tables_free(&w.tables);
	return err;
}

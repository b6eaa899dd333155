/*
 * codeview.c - all modules of a PDB file, in parallel, and what needs all of them.
 */
#include "convert/codeview/codeview.h"

#include "convert/codeview/cv_parts.h"
#include "convert/record/name_match.h"
#include "gsym/base/sort.h"
#include "gsym/base/parallel.h"
#include "gsym/base/search.h"

#include <stdatomic.h>
#include <string.h>

struct codeview {
	struct codeview_job job;
	struct cv_source source;
	range_vec known;
	size_t n_modules, n_readers;
	struct cv_module_result *modules;
	struct unit_result *results; /* those of @modules, for the caller */
	struct cv_module_reader *readers;
	bool *repeated; /* modules whose stream belongs to one before */
	struct warnings warnings;
	atomic_size_t done;
	atomic_bool cancelled;
};

/* ---- Preparation ---- */

/* Code that DWARF has lines for. */
static int find_known(const record_vec *records, range_vec *ret)
{
	for (size_t i = 0; i < records->n; i++) {
		const struct func_record *f = &records->v[i];
		if (f->kind == RECORD_DWARF && f->name != NO_STRING && f->n_rows &&
		    vec_push(ret, (struct range){f->start, f->end}))
			return -ENOMEM;
	}
	ranges_normalize(ret);
	return 0;
}

/* The strings of files: "/names" has a header, and they are in one block. */
static int read_strings(struct cv_source *s, struct warnings *warnings)
{
	enum { SIGNATURE = 0xeffeeffe };
	int err = pdb_stream(s->pdb, pdb_of(s->pdb)->names_stream, &s->names);
	if (err)
		return err == -ENOMEM ? err : 0;
	struct cursor c = cursor_new(s->names.bytes.data, s->names.bytes.size, false);
	uint32_t signature = cursor_u32(&c);
	cursor_skip(&c, 4); /* version of the hash table that follows */
	uint32_t size = cursor_u32(&c);
	const uint8_t *strings = cursor_take(&c, size);
	if (strings && signature == SIGNATURE)
		s->strings = (struct span){strings, size};
	else
		warning_count(warnings, WARN_CV_LINES, "/names", cursor_off(&c));
	return 0;
}

/* Each stream is read once, however many modules claim it. */
static int find_repeated(struct codeview *cv)
{
	CLEANUP(freep) bool *taken = calloc(UINT16_MAX + 1, sizeof(*taken));
	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < cv->n_modules; i++) {
		const struct pdb_module *m = &pdb_of(cv->source.pdb)->modules.v[i];
		cv->repeated[i] = taken[m->stream];
		taken[m->stream] = m->stream != STREAM_NONE;
		if (cv->repeated[i])
			warning_count(&cv->warnings, WARN_CV_SYMBOL, "modules", i);
	}
	return 0;
}

/* ---- Modules ---- */

static void read_module(void *user, size_t index, unsigned thread)
{
	struct codeview *cv = user;
	struct cv_module_result *ret = &cv->modules[index];
	if (atomic_load_explicit(&cv->cancelled, memory_order_relaxed))
		ret->unit.err = -ECANCELED;
	else if (cv->repeated[index])
		ret->unit.err = -EBADMSG;
	else
		cv_module_read(&cv->readers[thread], index, ret);
	size_t done = atomic_fetch_add_explicit(&cv->done, 1, memory_order_relaxed) + 1;
	if (thread == 0 && cv->job.progress && cv->job.progress(cv->job.user, done, cv->n_modules))
		atomic_store(&cv->cancelled, true);
}

/* ---- All ---- */

static int read_all(struct codeview *cv, unsigned threads)
{
	struct cv_source *s = &cv->source;
	int err = find_known(cv->job.known, &cv->known);
	if (pdb_of(s->pdb)->modules_cut)
		warning_count(&cv->warnings, WARN_CV_MODULES, "modules", cv->n_modules);
	if (!err)
		err = find_repeated(cv);
	if (!err)
		err = read_strings(s, &cv->warnings);
	if (!err)
		err = cv_items_open(s->pdb, cv->job.threads, &cv->warnings, &s->items);
	for (size_t i = 0; i < cv->n_readers; i++)
		cv->readers[i].source = s;
	if (err)
		return err;
	parallel_for(threads, cv->n_modules, read_module, cv);
	if (atomic_load(&cv->cancelled))
		return -ECANCELED;
	err = cv_imports_name(&cv->source, cv->modules, cv->n_modules, &cv->readers[0].arena, &cv->warnings);
	for (size_t i = 0; i < cv->n_modules; i++)
		cv->results[i] = cv->modules[i].unit;
	for (size_t i = 0; i < cv->n_readers; i++)
		warnings_merge(&cv->warnings, &cv->readers[i].warnings);
	cv_items_close(&cv->source.items);
	return err;
}

int codeview_read(const struct codeview_job *job, struct codeview **ret)
{
	struct codeview *cv = calloc(1, sizeof(*cv));
	size_t n = pdb_of(job->pdb)->modules.n;
	unsigned threads = job->threads < n ? job->threads : n ? (unsigned)n : 1;
	if (!cv)
		return -ENOMEM;
	cv->job = *job;
	cv->source = (struct cv_source){.pdb = job->pdb,
					.base = job->base,
					.text = job->text,
					.known = &cv->known,
					.symbols = job->symbols};
	cv->n_modules = n;
	cv->n_readers = threads;
	cv->modules = calloc(n + 1, sizeof(*cv->modules));
	cv->results = calloc(n + 1, sizeof(*cv->results));
	cv->repeated = calloc(n + 1, sizeof(*cv->repeated));
	cv->readers = calloc(threads, sizeof(*cv->readers));
	int err = cv->modules && cv->results && cv->repeated && cv->readers ? read_all(cv, threads) : -ENOMEM;
	if (err) {
		codeview_free(cv);
		return err;
	}
	*ret = cv;
	return 0;
}

void codeview_free(struct codeview *cv)
{
	if (!cv)
		return;
	for (size_t i = 0; cv->readers && i < cv->n_readers; i++)
		cv_module_reader_deinit(&cv->readers[i]);
	cv_items_close(&cv->source.items);
	pdb_bytes_free(&cv->source.names);
	vec_free(&cv->known);
	free(cv->modules);
	free(cv->results);
	free(cv->repeated);
	free(cv->readers);
	free(cv);
}

const struct unit_result *codeview_results(const struct codeview *cv, size_t *ret_n)
{
	*ret_n = cv->n_modules;
	return cv->results;
}

const struct warnings *codeview_warnings(const struct codeview *cv)
{
	return &cv->warnings;
}

uint64_t codeview_work(const struct codeview *cv)
{
	uint64_t sum = cv->source.strings.size / NAME_STEP;
	for (size_t i = 0; i < cv->n_readers; i++)
		sum += cv->readers[i].work;
	return sum;
}

/* ---- Records of all modules ---- */

/* Functions from @first on by their starts, those of equal start in the order of modules. */
static int sort_functions(const record_vec *records, size_t first, struct keyed *v, size_t *ret_n)
{
	size_t n = 0;
	for (size_t i = first; i < records->n; i++)
		if (records->v[i].kind == RECORD_DWARF)
			v[n++] = (struct keyed){records->v[i].start, (uint32_t)i};
	*ret_n = n;
	return radix_sort(v, n);
}

/* Takes the last public symbol at @start, as llvm-symbolizer does; false if there is none. */
static bool public_at(const symbol_vec *symbols, uint64_t start, struct pool_string *ret)
{
	size_t end = PARTITION_POINT(0, symbols->n, mid, symbols->v[mid].addr <= start);
	if (!end || symbols->v[end - 1].addr != start || symbols->v[end - 1].label)
		return false;
	*ret = pool_string_of(symbols->v[end - 1].name, strlen(symbols->v[end - 1].name));
	return true;
}

/* The name of a function without the scopes that it is in and arguments of a template. */
static struct pool_string identifier_of(struct pool_string name)
{
	size_t depth = 0, first = 0, end;
	for (size_t i = 0; i + 1 < name.size; i++) {
		depth += name.text[i] == '<';
		depth -= name.text[i] == '>' && depth;
		if (!depth && name.text[i] == ':' && name.text[i + 1] == ':')
			first = i + 2;
	}
	for (end = first + (first < name.size); end < name.size && name.text[end] != '<';)
		end++;
	return (struct pool_string){.text = name.text + first, .size = (uint32_t)(end - first)};
}

/*
 * Chooses which of @n functions at one address represents them, puts it first, and gives it the public's
 * name, which has the parameters that records lack. Prefers the first function whose name fits the public, so
 * that lines and name agree. The others keep their own names, unless they are copies of it.
 */
static int represent(const struct codeview *cv, struct pool *pool, record_vec *records, struct keyed *v,
		     size_t n)
{
	struct pool_string text = {0};
	uint32_t name = 0;
	bool has_public = public_at(cv->source.symbols, v[0].key, &text);
	for (size_t i = 0; i < n && n > 1 && has_public; i++) {
		uint32_t own = records->v[v[i].index].name;
		struct pool_string identifier =
			own == NO_STRING ? (struct pool_string){0} : identifier_of(pool->strings.v[own]);
		if (!identifier.size || !name_matches(&text, &identifier))
			continue;
		struct keyed chosen = v[i];
		v[i] = v[0];
		v[0] = chosen;
		break;
	}
	if (has_public && pool_add_string(pool, &text, &name))
		return -ENOMEM;
	struct func_record *chosen = &records->v[v[0].index];
	uint32_t own = chosen->name;
	chosen->represents = n > 1;
	if (!name)
		return 0; /* there is none, or it exceeds the pool's limit */
	chosen->name = name;
	for (size_t i = 1; i < n && own != NO_STRING; i++)
		if (records->v[v[i].index].name == own)
			records->v[v[i].index].name = name;
	return 0;
}

static uint32_t name_at(const record_vec *records, const struct keyed *named, size_t n, uint64_t addr)
{
	size_t i = PARTITION_POINT(0, n, mid, named[mid].key < addr);
	return i < n && named[i].key == addr ? records->v[named[i].index].name : NO_STRING;
}

int codeview_settle(const struct codeview *cv, struct pool *pool, record_vec *records, size_t first)
{
	size_t n;
	CLEANUP(freep) struct keyed *v = malloc((records->n - first + 1) * sizeof(*v));
	int err = v && records->n <= UINT32_MAX ? sort_functions(records, first, v, &n) : -ENOMEM;
	if (err)
		return err;
	/* The linker folds functions into one range. */
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && v[end].key == v[i].key;)
			end++;
		err = represent(cv, pool, records, v + i, end - i);
	}
	if (err)
		return err;
	/* Keep the first function at each start that has a name. */
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (records->v[v[i].index].name != NO_STRING && !(kept && v[kept - 1].key == v[i].key))
			v[kept++] = v[i];
	n = kept;
	/* Branches that take the name of another function number records within their module. */
	size_t base = first;
	for (size_t i = 0; i < cv->n_modules; i++) {
		const struct cv_module_result *m = &cv->modules[i];
		for (uint32_t k = 0; k < m->n_branches; k++) {
			uint32_t name = name_at(records, v, n, m->branches[k].target);
			if (name != NO_STRING)
				records->v[base + m->branches[k].record].name = name;
		}
		base += m->unit.err ? 0 : m->unit.n_records;
	}
	return 0;
}

/*
 * cv_lines.c - reading line information.
 *
 * It is a sequence of subsections. All refer to files by their offsets in one of them, the checksums, which
 * may come last. Of lines there is a subsection for each contribution of the module to a section, with a
 * block for each run of lines of one file.
 */
#include "convert/codeview/cv_parts.h"

#include "convert/codeview/cv_format.h"
#include "gsym/base/sort.h"
#include "gsym/base/search.h"

#include <string.h>

enum { FIRST_SLOTS = 64, LINE_SIZE = 8, COLUMN_SIZE = 4, HAVE_COLUMNS = 1 };

static const char SECTION[] = "lines of a module";

/* ---- Files ---- */

/*
 * Splits a path, unless its parts would not be joined to the same bytes again: rustc writes
 * "/rustc/HASH\/src\mod.rs".
 */
static void split(const char *path, size_t size, struct span *ret_dir, struct span *ret_base)
{
	path_split(path, path + size, ret_dir, ret_base);
	bool whole = ret_dir->size && ret_dir->data[ret_dir->size - 1] != '\\' &&
		     ret_dir->size + 1 + ret_base->size == size;
	if (whole)
		return;
	*ret_dir = (struct span){(const uint8_t *)path, 0};
	*ret_base = (struct span){(const uint8_t *)path, size};
}

static int add_file(struct cv_lines *l, uint32_t name, uint32_t *ret)
{
	struct span dir, base;
	*ret = 0;
	if (name >= l->names.size)
		return 0;
	const char *path = (const char *)l->names.data + name;
	int64_t size = name_budget_take(&l->paths, path, l->names.size - name);
	if (size <= 0)
		return 0;
	split(path, (size_t)size, &dir, &base);
	if (vec_push(&l->files, (struct unit_file){pool_string_of((const char *)dir.data, dir.size),
						   pool_string_of((const char *)base.data, base.size)}))
		return -ENOMEM;
	*ret = (uint32_t)l->files.n;
	return 0;
}

int cv_file(struct cv_lines *l, uint32_t off, uint32_t *ret)
{
	struct cursor c = cursor_new(l->checksums.data, l->checksums.size, false);
	cursor_seek(&c, off);
	uint32_t name = cursor_u32(&c);
	*ret = 0;
	if (!cursor_ok(&c) || off % 4)
		return 0;
	if (!l->file_at[off / 4]) {
		uint32_t file;
		int err = add_file(l, name, &file);
		if (err)
			return err;
		l->file_at[off / 4] = file + 1;
	}
	*ret = l->file_at[off / 4] - 1;
	return 0;
}

static int set_checksums(struct cv_lines *l, struct span checksums)
{
	size_t n = checksums.size / 4 + 1;
	if (n > l->file_at_cap) {
		free(l->file_at);
		l->file_at = malloc(n * sizeof(*l->file_at));
		l->file_at_cap = l->file_at ? n : 0;
		if (!l->file_at)
			return -ENOMEM;
	}
	memset(l->file_at, 0, n * sizeof(*l->file_at));
	l->checksums = checksums;
	return 0;
}

/* ---- Lines ---- */

/* Whether @line is none: code that the compiler added, mostly in the middle of a statement. */
static bool is_hidden(uint32_t line)
{
	return line == CV_LINE_ALWAYS_STEP || line == CV_LINE_NEVER_STEP;
}

/*
 * Appends the lines of one block, which belong to one file. Hidden code belongs to the line before it: it has
 * calls, and a stack has their return addresses. 0, -EBADMSG or -ENOMEM.
 */
static int read_block(struct cv_lines *l, struct cursor *c, bool columns)
{
	uint32_t file, checksum = cursor_u32(c), n = cursor_u32(c), size = cursor_u32(c);
	enum { HEADER = 12 };
	struct cursor block = cursor_window(c, size < HEADER ? UINT64_MAX : size - HEADER);
	if (!cursor_can_hold(&block, n, LINE_SIZE + (columns ? COLUMN_SIZE : 0)) || !cursor_ok(&block))
		return -EBADMSG;
	int err = cv_file(l, checksum, &file);
	if (!err)
		err = vec_reserve(&l->lines, n);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t off = cursor_u32(&block), line = cursor_u32(&block) & CV_LINE_NUMBER;
		if (!is_hidden(line))
			l->lines.v[l->lines.n++] = (struct cv_line){off, file, line};
	}
	return err;
}

/* Blocks ascend in what compilers write. Of lines at one place the last holds, so the order is kept. */
static int sort_lines(struct cv_line *v, size_t n)
{
	bool sorted = true;
	for (size_t i = 1; i < n; i++)
		sorted &= v[i - 1].off <= v[i].off;
	if (sorted)
		return 0;
	CLEANUP(freep) struct keyed *keys = malloc(n * sizeof(*keys));
	CLEANUP(freep) struct cv_line *copy = malloc(n * sizeof(*copy));
	if (!keys || !copy)
		return -ENOMEM;
	memcpy(copy, v, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct keyed){v[i].off, (uint32_t)i};
	int err = radix_sort(keys, n);
	for (size_t i = 0; i < n && !err; i++)
		v[i] = copy[keys[i].index];
	return err;
}

/* Reads a subsection of lines. What is before damage in it is used. 0, -EBADMSG or -ENOMEM. */
static int read_lines(struct cv_lines *l, struct cursor c)
{
	uint32_t off = cursor_u32(&c);
	uint16_t section = cursor_u16(&c), flags = cursor_u16(&c);
	struct cv_contribution part = {.place = cv_place(section, off), .first = (uint32_t)l->lines.n};
	part.size = cursor_u32(&c);
	int err = cursor_ok(&c) ? 0 : -EBADMSG;
	while (!err && cursor_left(&c))
		err = read_block(l, &c, flags & HAVE_COLUMNS);
	part.n = (uint32_t)(l->lines.n - part.first);
	if (err == -ENOMEM || !part.n)
		return err;
	if (sort_lines(l->lines.v + part.first, part.n) || vec_push(&l->contributions, part))
		return -ENOMEM;
	return err;
}

static int compare_place(const void *a, const void *b)
{
	const struct cv_contribution *x = a, *y = b;
	return COMPARE(x->place, y->place) ?: COMPARE(x->first, y->first);
}

/* ---- Inlined functions ---- */

static uint64_t item_hash(uint32_t item)
{
	uint64_t x = item * 0x9e3779b97f4a7c15u;
	return x >> 32;
}

static int widen_inlinees(struct cv_lines *l)
{
	if (index_table_widen(&l->inlinee_table))
		return -ENOMEM;
	for (size_t i = 0; i < l->inlinees.n; i++)
		index_table_add(&l->inlinee_table, item_hash(l->inlinees.v[i].item), i);
	return 0;
}

struct cv_inlinee *cv_inlinee(struct cv_lines *l, uint32_t item)
{
	if (index_table_is_full(&l->inlinee_table, l->inlinees.n) && widen_inlinees(l))
		return NULL;
	const struct index_table *t = &l->inlinee_table;
	uint32_t known = t->slots[PROBE(i, item_hash(item), t->mask,
					!t->slots[i] || l->inlinees.v[t->slots[i] - 1].item == item)];
	if (known)
		return &l->inlinees.v[known - 1];
	if (vec_push(&l->inlinees, (struct cv_inlinee){.item = item}))
		return NULL;
	index_table_add(&l->inlinee_table, item_hash(item), l->inlinees.n - 1);
	return &l->inlinees.v[l->inlinees.n - 1];
}

/* Of several entries for one item the first counts. */
static int add_inlinee(struct cv_lines *l, uint32_t item, uint32_t checksum, uint32_t line)
{
	size_t before = l->inlinees.n;
	struct cv_inlinee *inlinee = cv_inlinee(l, item);
	if (!inlinee || l->inlinees.n == before)
		return inlinee ? 0 : -ENOMEM;
	inlinee->line = line;
	return cv_file(l, checksum, &inlinee->file);
}

static int read_inlinees(struct cv_lines *l, struct cursor c)
{
	uint32_t signature = cursor_u32(&c);
	if (signature > CV_INLINEE_SOURCE_LINE_SIGNATURE_EX)
		return -EBADMSG;
	while (cursor_left(&c)) {
		uint32_t item = cursor_u32(&c), checksum = cursor_u32(&c), line = cursor_u32(&c);
		/* Lists of the further files that the code of an inlined function is from. */
		if (signature == CV_INLINEE_SOURCE_LINE_SIGNATURE_EX)
			cursor_skip(&c, (uint64_t)cursor_u32(&c) * 4);
		if (!cursor_ok(&c))
			return -EBADMSG;
		if (add_inlinee(l, item, checksum, line))
			return -ENOMEM;
	}
	return 0;
}

/* ---- Items of other modules ---- */

/* Such a number: the place of the module among those it is imported from, and of the item there. */
enum { IMPORTED = 0x80000000, IMPORT_SCOPE_SHIFT = 20, IMPORT_SCOPES_MAX = 0x800 };

static int read_imports(struct cv_lines *l, struct cursor c)
{
	for (uint32_t scope = 0; cursor_left(&c) && scope < IMPORT_SCOPES_MAX; scope++) {
		uint32_t module = cursor_u32(&c), n = cursor_u32(&c);
		if (!cursor_can_hold(&c, n, 4) || n > 1 << IMPORT_SCOPE_SHIFT)
			return -EBADMSG;
		if (vec_reserve(&l->imports, n))
			return -ENOMEM;
		for (uint32_t i = 0; i < n; i++)
			l->imports.v[l->imports.n++] = (struct cv_import){
				IMPORTED | scope << IMPORT_SCOPE_SHIFT | i, module, cursor_u32(&c)};
	}
	return cursor_left(&c) ? -EBADMSG : 0;
}

static int read_exports(struct cv_lines *l, struct cursor c)
{
	while (cursor_left(&c)) {
		uint32_t local = cursor_u32(&c), item = cursor_u32(&c);
		if (!cursor_ok(&c))
			return -EBADMSG;
		if (vec_push(&l->exports, (struct cv_export){local, item}))
			return -ENOMEM;
	}
	return 0;
}

/* ---- Subsections ---- */

typedef int read_subsection(struct cv_lines *lines, struct cursor c);

static read_subsection *reader_of(uint32_t kind)
{
	switch (kind) {
	case DEBUG_S_LINES: return read_lines;
	case DEBUG_S_INLINEELINES: return read_inlinees;
	case DEBUG_S_CROSSSCOPEIMPORTS: return read_imports;
	case DEBUG_S_CROSSSCOPEEXPORTS: return read_exports;
	}
	return NULL;
}

/* The next subsection, which begins and ends at multiples of 4. False at the end, and on damage. */
static bool next_subsection(struct cursor *c, uint32_t *ret_kind, struct cursor *ret)
{
	if (!cursor_left(c))
		return false;
	*ret_kind = cursor_u32(c);
	uint32_t size = cursor_u32(c);
	*ret = cursor_window(c, size);
	ret->start = ret->pos;
	if (size % 4 && cursor_left(c))
		cursor_skip(c, 4 - size % 4);
	return cursor_ok(c);
}

static int find_checksums(struct cv_lines *l, struct cursor c)
{
	uint32_t kind;
	struct cursor part;
	while (next_subsection(&c, &kind, &part))
		if (kind == DEBUG_S_FILECHKSMS)
			return set_checksums(l, (struct span){part.pos, cursor_left(&part)});
	return set_checksums(l, (struct span){0});
}

int cv_lines_read(struct cv_lines *l, struct span c13, struct budget *budget, struct warnings *warnings)
{
	struct cursor c = cursor_new(c13.data, c13.size, false), part;
	uint32_t kind;
	l->files.n = l->lines.n = l->contributions.n = l->inlinees.n = l->imports.n = l->exports.n = 0;
	index_table_deinit(&l->inlinee_table);
	int err = index_table_init(&l->inlinee_table, FIRST_SLOTS);
	if (!err)
		err = find_checksums(l, c);
	if (err || !budget_work(budget, ACCOUNT_ROWS, c13.size / LINE_SIZE))
		return err;
	while (next_subsection(&c, &kind, &part)) {
		read_subsection *read = reader_of(kind);
		err = read ? read(l, part) : 0;
		if (err == -ENOMEM)
			return err;
		if (err)
			warning_count(warnings, WARN_CV_LINES, SECTION, cursor_off(&c));
	}
	if (!cursor_ok(&c))
		warning_count(warnings, WARN_CV_LINES, SECTION, cursor_off(&c));
	struct cv_contribution *v = l->contributions.v;
	bool sorted = true;
	uint64_t reach = 0;
	for (size_t i = 1; i < l->contributions.n; i++)
		sorted &= v[i - 1].place <= v[i].place;
	if (!sorted)
		qsort(v, l->contributions.n, sizeof(*v), compare_place);
	for (size_t i = 0; i < l->contributions.n; i++) {
		reach = v[i].place + v[i].size > reach ? v[i].place + v[i].size : reach;
		v[i].reach = reach;
	}
	return 0;
}

void cv_lines_deinit(struct cv_lines *l)
{
	free(l->file_at);
	vec_free(&l->files);
	vec_free(&l->lines);
	vec_free(&l->contributions);
	vec_free(&l->inlinees);
	vec_free(&l->imports);
	vec_free(&l->exports);
	index_table_deinit(&l->inlinee_table);
}

/* ---- Lines of a function ---- */

int cv_append_stretch(cv_stretches *to, struct cv_stretch s)
{
	struct cv_stretch *last = to->n ? &to->v[to->n - 1] : NULL;
	if (s.lo >= s.hi)
		return 0;
	if (last && last->hi == s.lo && last->file == s.file && last->line == s.line &&
	    last->call == s.call) {
		last->hi = s.hi;
		return 0;
	}
	return vec_push(to, s);
}

/* Lines that are taken for one function. */
struct line_walk {
	const struct cv_lines *lines;
	uint64_t place;
	uint32_t size, at; /* bytes of the function; up to where there are lines */
	struct budget *budget;
	cv_stretches *to;
};

static int fill_gap(struct line_walk *w, uint32_t end)
{
	int err = cv_append_stretch(w->to, (struct cv_stretch){w->at, end, 0, 0, NO_CALL});
	w->at = end > w->at ? end : w->at;
	return err;
}

/* Where @off of a contribution at @place is in the function: within its bounds. */
static uint32_t clip(const struct line_walk *w, uint64_t place, uint32_t off)
{
	uint64_t at = place + off;
	return at <= w->place ? 0 : at - w->place < w->size ? (uint32_t)(at - w->place) : w->size;
}

/* Takes the lines of @part that are in the function, and past those of other contributions. */
static int take_lines(struct line_walk *w, struct cv_contribution *part)
{
	const struct cv_line *v = w->lines->lines.v + part->first;
	part->used = true;
	uint32_t end = clip(w, part->place, part->size);
	uint64_t from = w->place + w->at;
	size_t i = PARTITION_POINT(0, part->n, mid, part->place + v[mid].off <= from);
	int err = 0;
	for (i -= i != 0; i < part->n && !err; i++) {
		uint32_t lo = clip(w, part->place, v[i].off),
			 hi = i + 1 < part->n ? clip(w, part->place, v[i + 1].off) : end;
		if (lo >= w->size || !budget_work(w->budget, ACCOUNT_ROWS, 1))
			break;
		lo = lo > w->at ? lo : w->at;
		hi = hi < end ? hi : end;
		if (lo >= hi)
			continue;
		err = fill_gap(w, lo);
		if (!err)
			err = cv_append_stretch(w->to,
						(struct cv_stretch){lo, hi, v[i].file, v[i].line, NO_CALL});
		w->at = hi;
	}
	return err;
}

/*
 * The contribution with the lines at the start of the function; NULL: there are none. Several at its place
 * are of folded functions, or of functions that the linker left out: one that is as large as it is preferred.
 */
static struct cv_contribution *first_contribution(struct cv_lines *l, const struct line_walk *w, size_t upto)
{
	struct cv_contribution *v = l->contributions.v;
	size_t same = PARTITION_POINT(0, upto, mid, v[mid].place < w->place);
	if (same < upto) {
		size_t nth = v[same].taken++;
		struct cv_contribution *first = &v[upto - same > nth ? same + nth : upto - 1];
		for (size_t i = same; i < upto && first->size != w->size; i++) {
			if (!budget_work(w->budget, ACCOUNT_ROWS, 1))
				break;
			if (v[i].size == w->size && !v[i].used)
				first = &v[i];
		}
		return first;
	}
	for (size_t i = upto; i-- > 0 && v[i].reach > w->place && budget_work(w->budget, ACCOUNT_ROWS, 1);)
		if (v[i].place + v[i].size > w->place)
			return &v[i];
	return NULL;
}

int cv_lines_of(struct cv_lines *l, uint64_t place, uint32_t size, struct budget *budget, cv_stretches *ret)
{
	struct cv_contribution *v = l->contributions.v;
	size_t n = l->contributions.n, upto = PARTITION_POINT(0, n, mid, v[mid].place <= place);
	struct line_walk w = {.lines = l, .place = place, .size = size, .budget = budget, .to = ret};
	ret->n = 0;
	struct cv_contribution *first = first_contribution(l, &w, upto);
	int err = first ? take_lines(&w, first) : 0;
	for (size_t i = upto; i < n && v[i].place < place + size && !err; i++) {
		if (!budget_work(budget, ACCOUNT_ROWS, 1))
			break;
		if (v[i].place >= place + w.at)
			err = take_lines(&w, &v[i]);
	}
	return err ? err : fill_gap(&w, size);
}

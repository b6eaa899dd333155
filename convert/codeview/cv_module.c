/*
 * cv_module.c - the symbols of a module.
 *
 * They are one list. A function is a symbol that opens a scope; blocks and inlined calls open scopes in it,
 * and end symbols close them. The offsets of parents and ends in the symbols are not needed, so they may be
 * wrong. When its scope is closed, the function is made into records: one, unless code was moved after
 * linking (OMAP) and it is in pieces.
 */
#include "convert/codeview/cv_parts.h"

#include "convert/codeview/cv_format.h"
#include "gsym/base/search.h"

enum { MODULE_ALWAYS = 2048 /* bytes of input that are added to those of the smallest module */ };

static const char SYMBOLS[] = "symbols of a module";

#define NO_NAME_YET 0
#define DROPPED     (NO_SITE - 1) /* a site that is left out, with all in it */

/* ---- Strings ---- */

/* Adds a string of @size bytes, which are copied unless they are part of the file. */
static int add_string(struct cv_module_reader *r, const char *text, uint32_t size, uint32_t *ret)
{
	if (!r->borrowed && !(text = arena_strdup(&r->arena, text, size)))
		return -ENOMEM;
	*ret = (uint32_t)r->strings.n;
	return vec_push(&r->strings, pool_string_of(text, size));
}

/* A name of another module's item, which is known when all modules are read. */
static int add_pending(struct cv_module_reader *r, uint32_t item, bool *ret)
{
	const struct cv_import *v = r->lines.imports.v;
	size_t i = PARTITION_POINT(0, r->lines.imports.n, mid, v[mid].item < item);
	*ret = i < r->lines.imports.n && v[i].item == item;
	if (!*ret)
		return 0;
	struct cv_pending pending = {(uint32_t)r->strings.n, v[i].module, v[i].local};
	return vec_push(&r->pending, pending);
}

/* The string with the name of @inlinee; the empty one if it is not known. */
static int inlinee_name(struct cv_module_reader *r, struct cv_inlinee *inlinee, uint32_t *ret)
{
	const struct cv_item_name *name;
	struct pool_string string = pool_string_of("", 0);
	if (inlinee->name == NO_NAME_YET) {
		bool pending = false;
		int err = add_pending(r, inlinee->item, &pending);
		if (!err && !pending)
			err = cv_item_name(&r->source->items, inlinee->item, &r->arena, &r->item_names,
					   &name);
		if (!err && !pending)
			string = name->string;
		if (err == -ENOENT)
			warning_count(&r->warnings, WARN_CV_ITEM, SYMBOLS, inlinee->item);
		else if (err)
			return err;
		if (vec_push(&r->strings, string))
			return -ENOMEM;
		inlinee->name = (uint32_t)r->strings.n;
	}
	*ret = inlinee->name - 1;
	return 0;
}

/* ---- Functions ---- */

/* The address of @place, 0 if it has none. 0 or -ENOMEM. */
static int address_of(struct cv_module_reader *r, uint64_t place, uint64_t *ret)
{
	int err = pdb_place(r->source->pdb, (uint16_t)(place >> 32), (uint32_t)place, 0, &r->pieces);
	*ret = !err && r->pieces.n ? r->source->base + r->pieces.v[0].rva : 0;
	return err;
}

/* Names @out by the function whose code it is, and lists it if it will be called as the one at @target. */
static int name_record(struct cv_module_reader *r, struct func_record *out, uint64_t target)
{
	const struct cv_function *f = &r->function;
	int err = f->name && out->name == NO_STRING ? add_string(r, f->name, f->name_size, &out->name) : 0;
	if (err || out->start == target)
		return err;
	return vec_push(&r->branches, (struct cv_branch){(uint32_t)r->records.n, target});
}

/* Adds the record of pieces[0, n), which are one after the other. */
static int add_record(struct cv_module_reader *r, const struct pdb_piece *pieces, size_t n, uint32_t string,
		      uint64_t target)
{
	const struct pdb_piece *last = &pieces[n - 1];
	struct func_record out = {.start = r->source->base + pieces->rva,
				  .end = r->source->base + last->rva + last->size,
				  .kind = RECORD_DWARF,
				  .name = string,
				  .bare = NO_STRING,
				  .linkage = true,
				  .spelled = true};
	if (!budget_memory(&r->budget, ACCOUNT_RECORDS, sizeof(out)))
		return 0;
	int err = name_record(r, &out, target);
	if (!err && r->function.has_lines)
		err = cv_sites_write(&r->sites, pieces, n, &r->arena, &r->budget, &out);
	return err ? err : vec_push(&r->records, out);
}

/*
 * Adds a record for all pieces that are one after the other. Code that a tool added may be before @entry,
 * where the label of the function is: that begins another one. All have one name.
 */
static int add_records(struct cv_module_reader *r, uint64_t entry, uint64_t target)
{
	const struct pdb_piece *v = r->pieces.v;
	uint32_t string = NO_STRING;
	int err = 0;
	for (size_t first = 0, end; first < r->pieces.n && !err; first = end) {
		size_t before = r->records.n;
		for (end = first + 1; end < r->pieces.n && v[end].rva == v[end - 1].rva + v[end - 1].size &&
				      r->source->base + v[end].rva != entry;)
			end++;
		err = add_record(r, &v[first], end - first, string, target);
		if (!err && r->records.n > before)
			string = r->records.v[before].name;
	}
	return err;
}

/* Sets r->pieces to the code of @f that is to be described; there may be none. 0 or -ENOMEM. */
static int find_code(struct cv_module_reader *r, const struct cv_function *f)
{
	int err = pdb_place(r->source->pdb, (uint16_t)(f->place >> 32), (uint32_t)f->place, f->size,
			    &r->pieces);
	if (err)
		return err;
	if (!f->size || !r->pieces.n)
		warning_count(&r->warnings, WARN_CV_FUNCTION, NULL, (uint32_t)f->place);
	if (!f->size || !budget_work(&r->budget, ACCOUNT_RECORDS, r->pieces.n * RANGE_STEPS))
		r->pieces.n = 0;
	/* Pieces that are no code, or described already, are left out. */
	const struct cv_source *s = r->source;
	size_t n = 0, outside = 0;
	for (size_t i = 0; i < r->pieces.n; i++) {
		uint64_t start = s->base + r->pieces.v[i].rva;
		bool code = !s->text->n || ranges_find(s->text, start);
		outside += !code;
		if (code && !ranges_find(s->known, start))
			r->pieces.v[n++] = r->pieces.v[i];
	}
	if (outside && outside == r->pieces.n)
		warning_count(&r->warnings, WARN_NOT_IN_TEXT, NULL, s->base + r->pieces.v[0].rva);
	r->pieces.n = n;
	return 0;
}

/*
 * Whether @n rows can be paid for. If not, the function gets none, but a smaller one may: so that many such
 * functions cost no more than what is written, steps made for nothing count several times.
 */
static bool can_pay_rows(struct budget *budget, size_t n)
{
	enum { LOST_STEPS = 8 };
	bool enough = n * sizeof(struct gsym_row) <= budget->left[ACCOUNT_ROWS].memory;
	if (!enough)
		budget_forfeit(budget, ACCOUNT_ROWS, n * LOST_STEPS);
	return enough;
}

/* A function whose lines are too many has no others than those of the inlined calls in it. */
static int read_lines(struct cv_module_reader *r, const struct cv_function *f)
{
	cv_stretches *flat = &r->sites.flat;
	int err = cv_lines_of(&r->lines, f->place, f->size, &r->budget, flat);
	if (!err && !can_pay_rows(&r->budget, flat->n)) {
		flat->n = 0;
		err = cv_append_stretch(flat, (struct cv_stretch){.hi = f->size, .call = NO_CALL});
	}
	return err || !flat->n ? err : cv_sites_overlay(&r->sites, &r->budget);
}

/* Makes records of the function whose scope is closed. */
static int finish_function(struct cv_module_reader *r)
{
	const struct cv_function *f = &r->function;
	uint64_t entry, target;
	if (!r->open)
		return 0;
	r->open = false;
	if (!budget_work(&r->budget, ACCOUNT_RECORDS, RANGE_STEPS))
		return 0;
	int err = address_of(r, f->place, &entry);
	target = entry;
	if (!err && !f->name)
		err = address_of(r, f->target, &target);
	if (!err)
		err = find_code(r, f);
	if (!err && r->pieces.n && f->has_lines)
		err = read_lines(r, f);
	return err ? err : add_records(r, entry, target);
}

/* ---- Scopes ---- */

static void push_scope(struct cv_module_reader *r, uint32_t site)
{
	if (r->depth < CV_SCOPES_MAX)
		r->scopes[r->depth] = site;
	r->depth++;
}

/* The site of the innermost scope. */
static uint32_t scope_site(const struct cv_module_reader *r)
{
	if (!r->open || !r->depth || r->depth > CV_SCOPES_MAX)
		return DROPPED;
	return r->scopes[r->depth - 1];
}

static int pop_scope(struct cv_module_reader *r)
{
	r->depth -= r->depth != 0;
	return r->depth ? 0 : finish_function(r);
}

static int begin_function(struct cv_module_reader *r, const struct cv_function *f)
{
	int err = finish_function(r);
	cv_sites_clear(&r->sites);
	r->function = *f;
	r->open = true;
	r->depth = 0;
	push_scope(r, NO_SITE);
	return err;
}

/* ---- Symbols ---- */

/* The terminated name at the cursor becomes that of @f; none fails it. */
static void read_name(struct cursor *c, struct cv_function *f)
{
	f->name = cursor_str(c);
	f->name_size = f->name ? (uint32_t)strlen(f->name) : 0;
	if (!f->name_size)
		cursor_fail(c);
}

static int read_procedure(struct cv_module_reader *r, struct cursor *c)
{
	struct cv_function f = {.has_lines = true};
	cursor_skip(c, 12); /* parent, end, next */
	f.size = cursor_u32(c);
	cursor_skip(c, 12); /* where the frame is set up and undone, type */
	uint32_t off = cursor_u32(c);
	f.place = cv_place(cursor_u16(c), off);
	cursor_skip(c, 1); /* flags */
	read_name(c, &f);
	return cursor_ok(c) ? begin_function(r, &f) : -EBADMSG;
}

static int read_thunk(struct cv_module_reader *r, struct cursor *c)
{
	struct cv_function f = {.has_lines = true};
	cursor_skip(c, 12); /* parent, end, next */
	uint32_t off = cursor_u32(c);
	f.place = cv_place(cursor_u16(c), off);
	f.size = cursor_u16(c);
	cursor_skip(c, 1); /* kind */
	read_name(c, &f);
	return cursor_ok(c) ? begin_function(r, &f) : -EBADMSG;
}

/* A jump that the linker made: it is called as the function it leads to. */
static int read_trampoline(struct cv_module_reader *r, struct cursor *c)
{
	struct cv_function f = {0};
	cursor_skip(c, 2); /* kind */
	f.size = cursor_u16(c);
	uint32_t off = cursor_u32(c), target = cursor_u32(c);
	f.place = cv_place(cursor_u16(c), off);
	f.target = cv_place(cursor_u16(c), target);
	if (!cursor_ok(c))
		return -EBADMSG;
	int err = begin_function(r, &f);
	return err ? err : pop_scope(r);
}

/* Code of a function that is apart from the rest of it. */
static int read_separated(struct cv_module_reader *r, struct cursor *c)
{
	struct cv_function f = {.has_lines = true};
	cursor_skip(c, 8); /* parent, end */
	f.size = cursor_u32(c);
	cursor_skip(c, 4); /* flags */
	uint32_t off = cursor_u32(c), parent = cursor_u32(c);
	f.place = cv_place(cursor_u16(c), off);
	f.target = cv_place(cursor_u16(c), parent);
	return cursor_ok(c) ? begin_function(r, &f) : -EBADMSG;
}

/* Adds a site in @parent and opens its scope. */
static int add_site(struct cv_module_reader *r, uint32_t parent, uint32_t item, struct span annotations)
{
	struct cv_inlinee *inlinee = cv_inlinee(&r->lines, item);
	struct cv_site site = {.parent = parent, .first_call = NO_CALL};
	uint32_t index = (uint32_t)r->sites.sites.n;
	site.depth = parent == NO_SITE ? 1 : r->sites.sites.v[parent].depth + 1;
	int err = inlinee ? inlinee_name(r, inlinee, &site.name) : -ENOMEM;
	if (!err)
		err = vec_push(&r->sites.sites, site);
	if (err)
		return err;
	push_scope(r, index);
	err = cv_annotations_read(&r->sites, &r->lines, index, annotations, *inlinee, r->function.size,
				  &r->budget);
	if (err == -ENOTSUP)
		warning_count(&r->warnings, WARN_CV_CHUNK, NULL, (uint32_t)r->function.place);
	return err == -ENOTSUP ? 0 : err;
}

static int read_site(struct cv_module_reader *r, struct cursor *c, bool counted)
{
	uint32_t parent = scope_site(r);
	cursor_skip(c, 8); /* parent, end */
	uint32_t item = cursor_u32(c);
	cursor_skip(c, counted ? 4 : 0); /* how often profiles met it */
	bool deep = r->open && r->depth > CV_SCOPES_MAX;
	if (parent != DROPPED && parent != NO_SITE)
		deep = r->sites.sites.v[parent].depth == INLINE_DEPTH_MAX;
	if (cursor_ok(c) && parent != DROPPED && !deep)
		return add_site(r, parent, item, (struct span){c->pos, cursor_left(c)});
	push_scope(r, DROPPED);
	if (deep)
		warning_count(&r->warnings, WARN_INLINE_DEPTH, SYMBOLS, cursor_off(c));
	return cursor_ok(c) ? 0 : -EBADMSG;
}

/* Code of .NET, which is not native. */
static int skip_managed(struct cv_module_reader *r)
{
	int err = finish_function(r);
	r->depth = 0;
	push_scope(r, DROPPED);
	return err;
}

static int read_symbol(struct cv_module_reader *r, uint16_t kind, struct cursor *c)
{
	switch (kind) {
	case S_LPROC32:
	case S_GPROC32:
	case S_LPROC32_ID:
	case S_GPROC32_ID:
	case S_LPROC32_DPC:
	case S_LPROC32_DPC_ID: return read_procedure(r, c);
	case S_THUNK32: return read_thunk(r, c);
	case S_TRAMPOLINE: return read_trampoline(r, c);
	case S_SEPCODE: return read_separated(r, c);
	case S_INLINESITE: return read_site(r, c, false);
	case S_INLINESITE2: return read_site(r, c, true);
	case S_GMANPROC:
	case S_LMANPROC: return skip_managed(r);
	case S_BLOCK32:
	case S_WITH32: push_scope(r, scope_site(r)); return 0;
	case S_END:
	case S_PROC_ID_END:
	case S_INLINESITE_END: return pop_scope(r);
	}
	return 0;
}

static int read_symbols(struct cv_module_reader *r, struct span symbols)
{
	struct cursor c = cursor_new(symbols.data, symbols.size, false);
	int err = 0;
	if (cursor_u32(&c) != CV_SIGNATURE_C13) {
		warning_count(&r->warnings, WARN_CV_VERSION, SYMBOLS, 0);
		return 0;
	}
	while (cursor_left(&c) && err != -ENOMEM) {
		uint64_t off = cursor_off(&c);
		struct cursor record = cursor_window(&c, cursor_u16(&c));
		uint16_t kind = cursor_u16(&record);
		err = cursor_ok(&record) ? read_symbol(r, kind, &record) : -EBADMSG;
		if (err == -EBADMSG)
			warning_count(&r->warnings, WARN_CV_SYMBOL, SYMBOLS, off);
	}
	return err == -ENOMEM ? err : finish_function(r);
}

/* ---- Code without functions ---- */

/* Offers the lines of a contribution, whose code is at @piece, to the symbols that begin in it. */
static int offer_piece(struct cv_module_reader *r, uint64_t place, const struct pdb_piece *piece)
{
	const symbol_vec *symbols = r->source->symbols;
	uint64_t start = r->source->base + piece->rva, end = start + piece->size;
	int err = 0;
	for (size_t i = symtab_lower_bound(symbols, start); i < symbols->n && !err; i++) {
		const struct code_symbol *s = &symbols->v[i];
		if (s->addr >= end || !budget_work(&r->budget, ACCOUNT_RECORDS, RANGE_STEPS) ||
		    !budget_memory(&r->budget, ACCOUNT_RECORDS, sizeof(struct func_record)))
			break;
		if (s->end <= s->addr || s->end - s->addr > UINT32_MAX)
			continue;
		struct func_record record = {.start = s->addr,
					     .end = s->end,
					     .kind = RECORD_LINES,
					     .name = NO_STRING,
					     .bare = NO_STRING};
		const struct pdb_piece whole = {.size = (uint32_t)(s->end - s->addr)};
		err = cv_lines_of(&r->lines, place + piece->off + (s->addr - start), whole.size, &r->budget,
				  &r->sites.flat);
		if (!err)
			err = cv_sites_write(&r->sites, &whole, 1, &r->arena, &r->budget, &record);
		err = err || !record.n_rows ? err : vec_push(&r->records, record);
	}
	return err;
}

/* Assemblers write lines and no functions: the symbols there are the functions. */
static int offer_unused_lines(struct cv_module_reader *r)
{
	int err = 0;
	cv_sites_clear(&r->sites);
	for (size_t i = 0; i < r->lines.contributions.n && !err; i++) {
		struct cv_contribution part = r->lines.contributions.v[i];
		if (part.used)
			continue;
		err = pdb_place(r->source->pdb, (uint16_t)(part.place >> 32), (uint32_t)part.place, part.size,
				&r->pieces);
		if (!budget_work(&r->budget, ACCOUNT_ROWS, r->pieces.n + 1))
			break;
		for (size_t k = 0; k < r->pieces.n && !err; k++)
			err = offer_piece(r, part.place, &r->pieces.v[k]);
	}
	return err;
}

/* ---- Modules ---- */

static void *copy(struct arena *arena, const void *v, size_t n, size_t size)
{
	void *at = arena_array(arena, n, size);
	return at && n ? memcpy(at, v, n * size) : at;
}

static int keep_result(struct cv_module_reader *r, struct cv_module_result *ret)
{
	struct unit_result *u = &ret->unit;
	struct arena *a = &r->arena;
	u->records = copy(a, r->records.v, r->records.n, sizeof(*u->records));
	u->strings = copy(a, r->strings.v, r->strings.n, sizeof(*u->strings));
	u->files = copy(a, r->lines.files.v, r->lines.files.n, sizeof(*u->files));
	ret->branches = copy(a, r->branches.v, r->branches.n, sizeof(*ret->branches));
	ret->pending = copy(a, r->pending.v, r->pending.n, sizeof(*ret->pending));
	ret->exports = copy(a, r->lines.exports.v, r->lines.exports.n, sizeof(*ret->exports));
	u->n_records = (uint32_t)r->records.n;
	u->n_strings = (uint32_t)r->strings.n;
	u->n_files = (uint32_t)r->lines.files.n;
	ret->n_branches = (uint32_t)r->branches.n;
	ret->n_pending = (uint32_t)r->pending.n;
	ret->n_exports = (uint32_t)r->lines.exports.n;
	bool kept = u->records && u->strings && u->files && ret->branches && ret->pending && ret->exports;
	return kept ? 0 : -ENOMEM;
}

/* The next @size bytes of a module, of which its stream may have fewer. */
static struct span take_part(struct cv_module_reader *r, struct cursor *c, uint32_t size, enum warning kind)
{
	if (size > cursor_left(c)) {
		warning_count(&r->warnings, kind, SYMBOLS, cursor_off(c) + cursor_left(c));
		size = (uint32_t)cursor_left(c);
	}
	return (struct span){cursor_take(c, size), size};
}

/* Reads a module from its stream, which has its symbols, lines in C11, and others. */
static int read_stream(struct cv_module_reader *r, const struct pdb_module *m, struct span bytes,
		       uint64_t input)
{
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	struct span symbols = take_part(r, &c, m->symbol_bytes, WARN_CV_SYMBOL);
	(void)take_part(r, &c, m->c11_bytes, WARN_CV_LINES);
	struct span c13 = take_part(r, &c, m->c13_bytes, WARN_CV_LINES);
	if (m->c11_bytes)
		warning_count(&r->warnings, WARN_CV_C11, NULL, 0);
	r->budget = budget_of(input);
	r->lines.names = r->source->strings;
	int err = cv_lines_read(&r->lines, c13, &r->budget, &r->warnings);
	if (!err)
		err = read_symbols(r, symbols);
	return err ? err : offer_unused_lines(r);
}

void cv_module_read(struct cv_module_reader *r, size_t index, struct cv_module_result *ret)
{
	const struct pdb_module *m = &pdb_of(r->source->pdb)->modules.v[index];
	CLEANUP(pdb_bytes_free) struct pdb_bytes bytes = {0};
	*ret = (struct cv_module_result){0};
	r->warnings.order = index;
	r->records.n = r->strings.n = r->branches.n = r->pending.n = 0;
	r->open = false;
	r->depth = 0;
	int err = pdb_stream(r->source->pdb, m->stream, &bytes);
	if (err == -EBADMSG)
		warning_count(&r->warnings, WARN_CV_SYMBOL, SYMBOLS, 0);
	r->borrowed = !bytes.copy;
	ret->input = (uint64_t)m->symbol_bytes + m->c13_bytes + MODULE_ALWAYS;
	r->item_names = r->lines.paths = name_budget_of(ret->input);
	if (!err)
		err = read_stream(r, m, bytes.bytes, ret->input);
	if (!err)
		err = keep_result(r, ret);
	if (!err && (r->budget.exceeded || r->item_names.exceeded || r->lines.paths.exceeded))
		warning_count(&r->warnings, WARN_CV_BUDGET, NULL, index);
	r->work += r->budget.done +
		   (2 * ret->input * BUDGET_NAMES - r->item_names.left - r->lines.paths.left) / NAME_STEP;
	r->budget = (struct budget){0};
	ret->unit.err = err == -ENOENT ? -EBADMSG : err;
}

void cv_module_reader_deinit(struct cv_module_reader *r)
{
	arena_free(&r->arena);
	cv_lines_deinit(&r->lines);
	cv_sites_deinit(&r->sites);
	vec_free(&r->records);
	vec_free(&r->strings);
	vec_free(&r->branches);
	vec_free(&r->pending);
	vec_free(&r->pieces);
}

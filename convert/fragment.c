/*
 * fragment.c - which units, which symbols, and what of the result is certain.
 *
 * Units are chosen by the code that they list (dwarf_code.c), and pass through the same stages as in the
 * whole conversion, in the same order, with all symbols that touch their functions. Every stage decides by
 * records that share a start or overlap, so a function is certain if no record of a unit that was not chosen
 * may touch it:
 *
 *  - it comes from DWARF and has rows: a symbol alone might get rows, or a better record, from any unit;
 *  - no unit that was not chosen has code in its range;
 *  - it overlaps no other function, so that it alone answers for its addresses;
 *  - one symbol at most begins where it does, if the linker may have folded functions: lld leaves of a
 *    folded one only a sequence of rows, in any unit, and a symbol here.
 *
 * To find all units and to sort all symbols takes most of the time. A fragment can do without if
 * .debug_aranges tells the units, no name is in another one, and a sized function symbol begins where the
 * function does: that bounds all symbols before it, so only those that touch the units' code are needed.
 */

#include "convert/dwarf/dwarf.h"
#include "convert/dwarf/dwarf_stream.h"
#include "convert/conversion.h"
#include "convert/finish/finalize.h"
#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/write/writer.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { CHOSEN_MAX = 64 }; /* units */

enum { INPUT_PART = 4 }; /* of the units' bytes, at most so much is converted twice: more is no shortcut */

struct fragment {
	struct conversion *whole;     /* borrowed */
	bool early;                   /* see fragment_make_early() */
	struct convert_summary image; /* its base and segments */
	VEC(uint64_t) asked;          /* addresses as the image was linked */
	unit_code_vec code;
	VEC(uint64_t) chosen;    /* offsets of units, ascending */
	range_vec near;          /* their code */
	struct dwarf dwarf;      /* that of the whole; early with the chosen units alone */
	symbol_vec near_symbols; /* early: of that code */
	struct build_context context;
	bool may_fold;
	VEC(struct unit_result) results;
	struct unit_builder *builder;
	struct conversion part; /* its files are those of the whole */
};

/* ---- Whether there may be one ---- */

static bool contains(struct span s, const char *text)
{
	return s.size && memmem(s.data, s.size, text, strlen(text));
}

/* Whether @object tells the name of its linker, and that is one that never folds. */
static bool is_unfolded(struct object_file *object)
{
	const struct object_section *comment = object ? object_section(object, ".comment") : NULL;
	return comment && !object_section(object, ".note.gnu.gold-version") &&
	       !contains(comment->raw, "LLD") && !contains(comment->raw, "mold");
}

/* Whether the linker may have folded identical functions. */
static bool may_fold(const struct conversion *c)
{
	return c->options->merged && !is_unfolded(c->object) && !is_unfolded(c->debug);
}

/*
 * Relocatable files are small and their addresses are of our making; split units and object files of a debug
 * map are opened on demand, which must happen once.
 */
static bool is_suitable(const struct conversion *c)
{
	const struct convert_options *o = c->options;
	return o->asked && o->asked->n && c->object->format->has_fragments && !c->object->relocatable &&
	       c->dwarf.info.size && !c->listed && !o->callsites && !o->match_llvm;
}

/* Producers name their language; nothing else tells it of units that were not found yet. */
static bool may_have_ada(const struct dwarf *dwarf)
{
	return contains(dwarf->str, "GNU Ada") || contains(dwarf->str, "GNAT/");
}

/*
 * Compilers of LLVM leave out .debug_aranges unless they are asked for it. Their units may have the code of
 * units of another compiler, too: of inline functions in headers, which the linker keeps once. Producers are
 * "clang version 14.0.6", "clang LLVM (rustc version 1.63.0)".
 */
static bool may_have_unlisted(const struct dwarf *dwarf)
{
	return contains(dwarf->str, "clang ");
}

/* Symbols of function descriptors are elsewhere than their code, and an alternate file is not open yet. */
static bool is_suitable_early(const struct conversion *c)
{
	return is_suitable(c) && c->object->machine != EM_PPC64 && !c->shared && !may_have_ada(&c->dwarf) &&
	       !may_have_unlisted(&c->dwarf);
}

/* ---- Units ---- */

/* The address at an offset in the file. */
static bool find_offset(const struct fragment *f, uint64_t off, uint64_t *ret)
{
	for (size_t i = 0; i < f->image.n_segments; i++) {
		const struct convert_segment *s = &f->image.segments[i];
		if (off < s->off || off - s->off >= s->size)
			continue;
		*ret = s->addr + (off - s->off);
		return true;
	}
	return false;
}

/* What is nowhere in the image is left out. */
static int list_asked(struct fragment *f)
{
	const struct convert_asked *asked = f->whole->options->asked;
	int err = 0;
	for (size_t i = 0; i < asked->n && !err; i++) {
		uint64_t addr = asked->v[i].value;
		if (asked->v[i].origin == ADDRESS_FROM_BASE)
			addr += f->image.image_base;
		if (asked->v[i].origin != ADDRESS_IN_FILE || find_offset(f, addr, &addr))
			err = vec_push(&f->asked, addr);
	}
	return err;
}

static bool is_asked(const struct fragment *f, const struct unit_code *code)
{
	for (size_t i = 0; i < f->asked.n; i++)
		if (f->asked.v[i] >= code->lo && f->asked.v[i] < code->hi)
			return true;
	return false;
}

static bool is_chosen(const struct fragment *f, uint64_t unit)
{
	size_t at = PARTITION_POINT(0, f->chosen.n, mid, f->chosen.v[mid] < unit);
	return at < f->chosen.n && f->chosen.v[at] == unit;
}

static int choose(struct fragment *f, uint64_t unit)
{
	size_t at = PARTITION_POINT(0, f->chosen.n, mid, f->chosen.v[mid] < unit);
	if (is_chosen(f, unit) || f->chosen.n == CHOSEN_MAX)
		return 0;
	if (vec_reserve(&f->chosen, 1))
		return -ENOMEM;
	memmove(&f->chosen.v[at + 1], &f->chosen.v[at], (f->chosen.n - at) * sizeof(*f->chosen.v));
	f->chosen.v[at] = unit;
	f->chosen.n++;
	return 0;
}

/* Early: makes the chosen units those of f->dwarf. A stream is inflated up to the last of them. */
static int take_units(struct fragment *f)
{
	struct dwarf_stream *stream = f->whole->dwarf.stream;
	int err = 0;
	for (size_t i = 0; i < f->chosen.n && stream && !err; i++)
		err = dwarf_stream_reach(stream, f->chosen.v[i]);
	return err ? err : dwarf_take_units(&f->dwarf, f->chosen.v, f->chosen.n);
}

static int choose_units(struct fragment *f)
{
	int err = 0;
	for (size_t i = 0; i < f->code.n && !err; i++)
		if (is_asked(f, &f->code.v[i]))
			err = choose(f, f->code.v[i].unit);
	for (size_t i = 0; i < f->code.n && !err; i++)
		if (is_chosen(f, f->code.v[i].unit))
			err = vec_push(&f->near, (struct range){f->code.v[i].lo, f->code.v[i].hi});
	ranges_normalize(&f->near);
	if (!err && f->early)
		err = take_units(f);
	return err;
}

static bool is_skeleton(const struct fragment *f, const struct unit_header *u)
{
	struct unit unit = {0};
	struct warnings warnings = {0};
	bool skeleton = unit_load(&unit, &f->dwarf, u, &warnings) || unit.dwo_name;
	unit_deinit(&unit);
	return skeleton;
}

static int convert_units(struct fragment *f)
{
	f->builder = builder_new(&f->context);
	if (!f->builder)
		return -ENOMEM;
	for (size_t i = 0; i < f->chosen.n; i++) {
		struct unit_result result;
		builder_unit(f->builder,
			     (size_t)(dwarf_find_unit(&f->dwarf, f->chosen.v[i]) - f->dwarf.units), &result);
		if (vec_push(&f->results, result))
			return -ENOMEM;
	}
	return 0;
}

/* Whether all units may make an early result another one: a name is elsewhere, or a budget ran out. */
static bool is_cut(const struct fragment *f)
{
	const struct warnings *warnings = builder_warnings(f->builder);
	return f->early && (warnings->kind[WARN_REFERENCE].count || warnings->kind[WARN_UNIT_BUDGET].count);
}

/* ---- Symbols ---- */

static int list_ranges(const record_vec *records, range_vec *ret)
{
	for (size_t i = 0; i < records->n; i++)
		if (vec_push(ret, (struct range){records->v[i].start, records->v[i].end}))
			return -ENOMEM;
	ranges_normalize(ret);
	return 0;
}

/* Symbols that touch one of @ranges, ascending as both. */
static int take_symbols(const symbol_vec *all, const range_vec *ranges, symbol_vec *ret)
{
	size_t done = 0;
	int err = 0;
	for (size_t i = 0; i < ranges->n && !err; i++) {
		size_t s = symtab_lower_bound(all, ranges->v[i].lo);
		while (s > done && all->v[s - 1].reach > ranges->v[i].lo)
			s--;
		for (s = s > done ? s : done; s < all->n && all->v[s].addr < ranges->v[i].hi && !err; s++)
			if (all->v[s].addr >= ranges->v[i].lo || all->v[s].end > ranges->v[i].lo)
				err = vec_push(ret, all->v[s]);
		done = s > done ? s : done;
	}
	return err;
}

static int add_symbols(struct fragment *f)
{
	struct conversion *part = &f->part;
	range_vec ranges = {0};
	int err = list_ranges(&part->records, &ranges);
	if (!err)
		err = take_symbols(f->context.symbols, &ranges, &part->symbols);
	if (!err)
		err = symtab_add_records(&part->symbols, &part->pool, &part->records);
	vec_free(&ranges);
	return err;
}

/* ---- What is certain ---- */

/* Whether several symbols begin at @addr. */
static bool has_aliases(const symbol_vec *symbols, uint64_t addr)
{
	size_t i = symtab_lower_bound(symbols, addr);
	return i + 1 < symbols->n && symbols->v[i + 1].addr == addr;
}

/* Keeps records of DWARF that overlap none. */
static void keep_plain(record_vec *records)
{
	const struct func_record *v = records->v;
	uint64_t reach = 0;
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++) {
		const struct func_record r = v[i];
		bool alone = reach <= r.start && (i + 1 == records->n || v[i + 1].start >= r.end);
		reach = r.end > reach ? r.end : reach;
		if (alone && r.kind == RECORD_DWARF && r.n_rows && r.end > r.start)
			records->v[kept++] = r;
	}
	records->n = kept;
}

/* Whether early symbols tell of @r what all would: all that touch it are there, and bound those before. */
static bool is_bounded(const struct fragment *f, const struct func_record *r)
{
	const struct range *around = ranges_find(&f->near, r->start);
	const symbol_vec *symbols = f->context.symbols;
	size_t first = symtab_lower_bound(symbols, r->start), i = first;
	for (; i < symbols->n && symbols->v[i].addr == r->start; i++)
		if (symbols->v[i].label || symbols->v[i].inferred)
			return false;
	return around && r->end <= around->hi && i > first;
}

static bool is_certain(const struct fragment *f, const struct func_record *r)
{
	if (f->may_fold && has_aliases(f->context.symbols, r->start))
		return false;
	return !f->early || is_bounded(f, r);
}

static int keep_certain(struct fragment *f)
{
	record_vec *records = &f->part.records;
	keep_plain(records);
	CLEANUP(freep) bool *uncertain = calloc(records->n + 1, sizeof(*uncertain));
	if (!uncertain)
		return -ENOMEM;
	/* Records that touch code of units that were not chosen; records ascend and do not overlap. */
	const struct func_record *v = records->v;
	for (size_t i = 0; i < f->code.n; i++) {
		const struct unit_code *code = &f->code.v[i];
		if (is_chosen(f, code->unit))
			continue;
		for (size_t r = PARTITION_POINT(0, records->n, mid, v[mid].end <= code->lo);
		     r < records->n && v[r].start < code->hi; r++)
			uncertain[r] = true;
	}
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++)
		if (!uncertain[i] && is_certain(f, &records->v[i]))
			records->v[kept++] = records->v[i];
	records->n = kept;
	return 0;
}

static bool answers_all(const struct fragment *f)
{
	const record_vec *records = &f->part.records;
	for (size_t i = 0; i < f->asked.n; i++) {
		uint64_t addr = f->asked.v[i];
		size_t at = PARTITION_POINT(0, records->n, mid, records->v[mid].end <= addr);
		if (at == records->n || records->v[at].start > addr)
			return false;
	}
	return true;
}

/* ---- Writing ---- */

static int write_part(struct fragment *f, struct convert_fragment *ret)
{
	struct conversion *part = &f->part;
	struct gsym_writer_options options = conversion_writer_options(part);
	struct gsym_writer *writer;
	struct layout layout;
	options.has_base_address &= part->records.v[0].start >= options.base_address;
	int err = gsym_writer_new(&options, &writer, NULL);
	if (err)
		return err;
	writer_limit(writer, (conversion_input(part) + BUDGET_ALWAYS) * BUDGET_OUTPUT);
	err = emit_records(&part->records, &part->pool, 1, writer, &part->warnings, NULL);
	if (!err)
		err = writer_layout(writer, &layout, NULL);
	if (!err)
		err = gsym_writer_finish(writer, part->options->asked->fd, NULL);
	gsym_writer_free(writer);
	ret->output_size = err ? 0 : layout.file_size;
	return err;
}

static bool has_ada(const struct dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->n_units; i++)
		if (language_is_ada(dwarf->units[i].language))
			return true;
	return false;
}

/* ---- The stages ---- */

static int convert_part(struct fragment *f)
{
	struct conversion *part = &f->part;
	struct convert_summary summary = {0};
	int err = dwarf_list_code(&f->dwarf, &f->code);
	if (!err)
		err = choose_units(f);
	if (!err) {
		/* Units that are too much in all are dropped, and those whose entries are in other files. */
		uint64_t left = f->dwarf.info.size / INPUT_PART;
		size_t kept = 0;
		for (size_t i = 0; i < f->chosen.n; i++) {
			const struct unit_header *u = dwarf_find_unit(&f->dwarf, f->chosen.v[i]);
			if (!u || u->end - u->off > left || is_skeleton(f, u))
				continue;
			left -= u->end - u->off;
			f->chosen.v[kept++] = f->chosen.v[i];
		}
		f->chosen.n = kept;
	}
	if (!err && !f->chosen.n)
		return -ENOENT;
	if (!err && f->early)
		err = conversion_load_near(f->whole, &f->near, &f->near_symbols);
	if (!err)
		err = convert_units(f);
	if (!err)
		err = conversion_merge_results(part, f->results.v, f->results.n, &summary);
	if (!err)
		err = add_symbols(f);
	if (!err && (part->pool.exceeded || is_cut(f)))
		return -EFBIG; /* the limit of the whole is shared by all units */
	if (!err)
		err = finalize_records(&part->records, &part->pool, part->options, &part->arena,
				       &part->warnings);
	return err ? err : keep_certain(f);
}

static int init(struct fragment *f, struct conversion *c, bool early)
{
	*f = (struct fragment){
		.whole = c,
		.early = early,
		.dwarf = c->dwarf,
		.may_fold = may_fold(c),
		.context = {.dwarf = &f->dwarf,
			    .split = c->split,
			    .text = &c->object->text,
			    .symbols = early ? &f->near_symbols : &c->symbols,
			    .merged = c->options->merged},
		.part = {.options = c->options, .object = c->object, .debug = c->debug, .shared = c->shared},
	};
	f->dwarf.stream = NULL; /* what is inflated so far stays as long as the fragment */
	int err = pool_init(&f->part.pool);
	f->part.pool.text_left = (conversion_input(c) + BUDGET_ALWAYS) * BUDGET_NAMES;
	if (!err)
		err = segments_report(c->object, &f->image);
	return err ? err : list_asked(f);
}

static void deinit(struct fragment *f)
{
	builder_free(f->builder);
	vec_free(&f->asked);
	vec_free(&f->code);
	vec_free(&f->chosen);
	vec_free(&f->near);
	vec_free(&f->near_symbols);
	vec_free(&f->results);
	vec_free(&f->part.records);
	vec_free(&f->part.symbols);
	pool_deinit(&f->part.pool);
	arena_free(&f->part.arena);
	if (f->early)
		dwarf_close(&f->dwarf);
	convert_summary_deinit(&f->image);
}

static int make_fragment(struct conversion *c, bool early, bool *ret_done)
{
	struct fragment f;
	int err = init(&f, c, early);
	if (!err)
		err = convert_part(&f);
	struct convert_fragment done = {
		.image_base = f.image.image_base,
		.has_ada = has_ada(&f.dwarf),
		.functions = f.part.records.n,
		.segments = f.image.segments,
		.n_segments = f.image.n_segments,
	};
	bool later = early && !c->dwarf.stream; /* there is another chance */
	*ret_done = !err && !atomic_load(&c->fault.err) && done.functions && (!later || answers_all(&f)) &&
		    !write_part(&f, &done);
	int stop = *ret_done ? c->options->asked->ready(c->options->asked->user, &done) : 0;
	deinit(&f);
	return stop ? -ECANCELED : 0;
}

int fragment_make(struct conversion *c, bool *ret_done)
{
	return is_suitable(c) ? make_fragment(c, false, ret_done) : 0;
}

int fragment_make_early(struct conversion *c, bool *ret_done)
{
	return is_suitable_early(c) ? make_fragment(c, true, ret_done) : 0;
}

int fragment_report_none(struct conversion *c)
{
	const struct convert_asked *asked = c->options->asked;
	const struct convert_fragment none = {0};
	return asked && asked->n && asked->ready(asked->user, &none) ? -ECANCELED : 0;
}

/* ---- Several, and nothing else ---- */

/* Finds all units and sorts all symbols, once. */
static int load_fragment_files(struct conversion *c, bool *loaded)
{
	if (*loaded)
		return 0;
	*loaded = true;
	int err = conversion_prepare(c);
	return err ? err : conversion_open_dwarf(c);
}

int fragment_serve(struct conversion *c)
{
	const struct convert_asked *asked = c->options->asked;
	bool loaded = false;
	int err = is_suitable(c) ? 0 : -ENODATA;
	while (!err) {
		bool done = false;
		err = loaded ? 0 : fragment_make_early(c, &done);
		if (!err && !done && !c->dwarf.stream) {
			err = load_fragment_files(c, &loaded);
			if (!err)
				err = fragment_make(c, &done);
		}
		if (!err && !done)
			err = fragment_report_none(c);
		if (!err && asked->next(asked->user))
			err = -ECANCELED;
	}
	return err;
}

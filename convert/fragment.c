/*
 * fragment.c - which units, which symbols, and what of the result is certain.
 *
 * Units are chosen by the code that they list (dwarf_code.h), and pass through the same stages as in the
 * whole conversion, in the same order, with all symbols that touch their functions. Every stage decides by
 * records that share a start or overlap, so a function is certain if no record of a unit that was not chosen
 * may touch it:
 *
 *  - it comes from DWARF and has rows: a symbol alone might get rows, or a better record, from any unit;
 *  - no unit that was not chosen has code in its range;
 *  - it overlaps no other function, so that it alone answers for its addresses;
 *  - one symbol at most begins where it does, if the linker may have folded functions: lld leaves of a
 *    folded one only a sequence of rows, in any unit, and a symbol here.
 */
#include "convert/fragment.h"

#include "convert/dwarf/dwarf_code.h"
#include "convert/finish/finalize.h"
#include "convert/object/section_layout.h"
#include "convert/units.h"
#include "gsym/base/invariant.h"
#include "gsym/write/writer.h"

#include <string.h>
#include <unistd.h>

enum { INPUT_PART = 4 }; /* of the units' bytes, at most so much is converted twice: more is no shortcut */

struct fragment {
	struct conversion *whole; /* borrowed */
	unit_code_vec code;
	bool *chosen; /* of each unit */
	uint64_t input_left;
	bool may_fold;
	VEC(struct unit_result) results;
	struct unit_builder *builder;
	struct conversion part; /* its files are those of the whole */
};

/* ---- Whether there may be one ---- */

static bool contains(struct span s, const char *text)
{
	return memmem(s.data, s.size, text, strlen(text)) != NULL;
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
	return o->asked && o->asked->n && c->object->kind == IMAGE_ELF && !c->object->relocatable &&
	       c->dwarf.n_units && !c->listed && !o->callsites && !o->match_llvm;
}

/* ---- Units ---- */

static bool is_asked(const struct fragment *f, const struct unit_code *code, uint64_t base)
{
	const struct convert_asked *asked = f->whole->options->asked;
	for (size_t i = 0; i < asked->n; i++) {
		uint64_t addr = asked->v[i].value + (asked->v[i].from_base ? base : 0);
		if (addr >= code->lo && addr < code->hi)
			return true;
	}
	return false;
}

static bool is_skeleton(const struct fragment *f, const struct unit_header *u)
{
	struct unit unit = {0};
	struct oddities odd = {0};
	bool skeleton = unit_load(&unit, &f->whole->dwarf, u, &odd) || unit.dwo_name;
	unit_deinit(&unit);
	return skeleton;
}

static void choose(struct fragment *f, size_t index)
{
	const struct unit_header *u = &f->whole->dwarf.units[index];
	if (f->chosen[index] || u->input > f->input_left || is_skeleton(f, u))
		return;
	f->chosen[index] = true;
	f->input_left -= u->input;
}

static void choose_units(struct fragment *f, uint64_t base)
{
	for (size_t i = 0; i < f->code.n; i++)
		if (is_asked(f, &f->code.v[i], base))
			choose(f, f->code.v[i].unit);
}

static int convert_units(struct fragment *f)
{
	f->builder = builder_new(&f->whole->context);
	if (!f->builder)
		return -ENOMEM;
	for (size_t i = 0; i < f->whole->dwarf.n_units; i++) {
		struct unit_result result;
		if (!f->chosen[i])
			continue;
		builder_unit(f->builder, i, &result);
		if (vec_push(&f->results, result))
			return -ENOMEM;
	}
	return 0;
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
		err = take_symbols(&f->whole->symbols, &ranges, &part->symbols);
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

/* Marks records that touch code of units that were not chosen. Records ascend and do not overlap. */
static void mark_shared(const struct fragment *f, const record_vec *records, bool *uncertain)
{
	const struct func_record *v = records->v;
	for (size_t i = 0; i < f->code.n; i++) {
		const struct unit_code *code = &f->code.v[i];
		if (f->chosen[code->unit])
			continue;
		for (size_t r = PARTITION_POINT(0, records->n, mid, v[mid].end <= code->lo);
		     r < records->n && v[r].start < code->hi; r++)
			uncertain[r] = true;
	}
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

static int keep_certain(struct fragment *f)
{
	record_vec *records = &f->part.records;
	keep_plain(records);
	CLEANUP(freep) bool *uncertain = calloc(records->n + 1, sizeof(*uncertain));
	if (!uncertain)
		return -ENOMEM;
	mark_shared(f, records, uncertain);
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++)
		if (!uncertain[i] && !(f->may_fold && has_aliases(&f->whole->symbols, records->v[i].start)))
			records->v[kept++] = records->v[i];
	records->n = kept;
	return 0;
}

/* ---- Writing ---- */

static int write_part(struct fragment *f, struct convert_fragment *ret)
{
	struct conversion *part = &f->part;
	struct gsym_writer_options options = conversion_writer_options(part);
	struct gsym_writer *writer;
	options.has_base_address &= part->records.v[0].start >= options.base_address;
	int err = gsym_writer_new(&options, &writer, NULL);
	if (err)
		return err;
	writer_limit(writer, (conversion_input(part) + BUDGET_ALWAYS) * BUDGET_OUTPUT);
	err = emit_records(&part->records, &part->pool, 1, writer, NULL);
	if (!err)
		err = gsym_writer_finish(writer, part->options->asked->fd, NULL);
	gsym_writer_free(writer);
	off_t size = err ? -1 : lseek(part->options->asked->fd, 0, SEEK_END);
	ret->output_size = size > 0 ? (uint64_t)size : 0;
	return ret->output_size ? 0 : -EIO;
}

static bool has_ada(const struct dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->n_units; i++)
		if (language_is_ada(dwarf->units[i].language))
			return true;
	return false;
}

/* ---- The stages ---- */

static int convert_part(struct fragment *f, struct convert_summary *summary)
{
	struct conversion *part = &f->part;
	int err = dwarf_list_code(&f->whole->dwarf, &f->code);
	if (err)
		return err;
	choose_units(f, summary->image_base);
	err = convert_units(f);
	if (!err)
		err = conversion_merge_results(part, f->results.v, f->results.n, summary);
	if (!err)
		err = add_symbols(f);
	if (!err && part->pool.exceeded)
		return -EFBIG; /* the limit of the whole is shared by all units */
	if (!err)
		err = finalize_records(&part->records, &part->pool, part->options, &part->arena, &part->odd);
	return err ? err : keep_certain(f);
}

static int init(struct fragment *f, struct conversion *c)
{
	*f = (struct fragment){
		.whole = c,
		.chosen = calloc(c->dwarf.n_units, sizeof(*f->chosen)),
		.input_left = c->dwarf.info.size / INPUT_PART,
		.may_fold = may_fold(c),
		.part = {.options = c->options, .object = c->object, .debug = c->debug, .shared = c->shared},
	};
	int err = f->chosen ? pool_init(&f->part.pool) : -ENOMEM;
	f->part.pool.text_left = (conversion_input(c) + BUDGET_ALWAYS) * BUDGET_NAMES;
	return err;
}

static void deinit(struct fragment *f)
{
	builder_free(f->builder);
	vec_free(&f->code);
	vec_free(&f->results);
	vec_free(&f->part.records);
	vec_free(&f->part.symbols);
	pool_deinit(&f->part.pool);
	arena_free(&f->part.arena);
	free(f->chosen);
}

int fragment_make(struct conversion *c)
{
	struct fragment f;
	struct convert_fragment done = {0};
	struct convert_summary summary = {0};
	if (!is_suitable(c) || segments_report(c->object, &summary))
		return 0;
	int err = init(&f, c);
	if (!err)
		err = convert_part(&f, &summary);
	done.image_base = summary.image_base;
	done.has_ada = has_ada(&c->dwarf);
	done.functions = f.part.records.n;
	if (!err && done.functions)
		err = write_part(&f, &done);
	bool ready = !err && done.functions;
	deinit(&f);
	convert_summary_deinit(&summary);
	return ready && c->options->asked->ready(c->options->asked->user, &done) ? -ECANCELED : 0;
}

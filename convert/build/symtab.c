/*
 * symtab.c - symbols as functions.
 *
 * All functions (STT_FUNC, STT_GNU_IFUNC) are used; labels of assembly code (STT_NOTYPE) where there is no
 * sized function, since kernel entry code has no other symbols. A symbol without size extends to the next
 * symbol or to the end of its section, but never into a sized function, nor beyond its function or into
 * another where unwind data or the like has those. PLT stubs are labels with a size.
 *
 * Symbols are sorted by address (radix sort) and swept once, group by group of equal addresses, with the
 * highest end of sized functions and of sized labels so far: O(n) but for groups and the search of the
 * section.
 */
#include "convert/build/symtab.h"

#include "gsym/base/sort.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

#include <limits.h>
#include <string.h>

size_t symtab_lower_bound(const symbol_vec *symbols, uint64_t addr)
{
	return PARTITION_POINT(0, symbols->n, mid, symbols->v[mid].addr < addr);
}

/* ---- Which names to use ---- */

/* "$a", "$d", "$t", "$x", also with a suffix: they mark code and data (AAELF64, 5.5.5; RISC-V psABI). */
static bool is_mapping_name(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || (name[1] == 'x' && name[2] == 'r'));
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n >= m && !strcmp(name + n - m, end);
}

/* Names of the end of something: the code that follows is not theirs. */
static bool is_end_marker(const char *name)
{
	return !strcmp(name, "_etext") || !strcmp(name, "etext") || !strcmp(name, "__etext") ||
	       !strncmp(name, "__stop_", 7) || ends_with(name, "_end") || ends_with(name, "_stop");
}

/* Names that begin a section or a group of functions, not a function. */
static bool is_start_marker(const char *name)
{
	return !strcmp(name, "_stext") || !strcmp(name, "_text") || !strncmp(name, "__start_", 8) ||
	       ends_with(name, "_start") || ends_with(name, "_begin") || strstr(name, "_text_");
}

static bool is_usable(const struct symbol *s)
{
	/* objcopy --prefix-symbols also prefixes mapping symbols: "__kvm_nvhe_$x". */
	const char *prefixed = s->type == SYMBOL_NOTYPE && !s->size ? strstr(s->name, "_$") : NULL;
	if (is_mapping_name(s->name) || (prefixed && is_mapping_name(prefixed + 1)))
		return false;
	return s->type != SYMBOL_NOTYPE || strncmp(s->name, ".L", 2) != 0;
}

static bool only_ends(const struct symbol *s)
{
	return s->type == SYMBOL_NOTYPE && !s->size && is_end_marker(s->name);
}

enum { NO_LABEL = -1 }; /* the rank of what only bounds other symbols */

/* Preference among labels at one address. PLT stubs come first, because linkers' labels for them differ. */
static int label_rank(const struct symbol *s, bool marker)
{
	if (s->type == SYMBOL_STUB)
		return INT_MAX;
	if (marker)
		return NO_LABEL;
	if (only_ends(s))
		return 0;
	return 1 + (s->size != 0) * 4 + !is_start_marker(s->name) * 2 + s->global;
}

/* ---- The sweep ---- */

/* One pass over the symbols by address. */
struct symbol_sweep {
	const struct object_file *object;
	const struct keyed *order; /* by address, then as in the table */
	size_t n;
	bool *markers;        /* of each symbol: it names no code (markers.c) */
	range_vec sections;   /* of code, ascending */
	uint64_t sized_reach; /* how far sized functions seen so far reach */
	uint64_t label_reach; /* the same for sized labels */
	symbol_vec *out;
};

static const struct symbol *at(const struct symbol_sweep *s, size_t i)
{
	return &s->object->symbols.v[s->order[i].index];
}

static uint64_t symbol_end(const struct symbol *s)
{
	uint64_t end;
	return __builtin_add_overflow(s->addr, s->size, &end) ? UINT64_MAX : end;
}

static int add_symbol(struct symbol_sweep *s, size_t i, uint64_t end)
{
	const struct symbol *symbol = at(s, i);
	return vec_push(s->out, (struct code_symbol){
					.addr = symbol->addr,
					.end = end,
					.name = symbol->name,
					.order = s->order[i].index,
					.inferred = !symbol->size,
					.label = symbol->type != SYMBOL_FUNC,
					.marker = only_ends(symbol),
				});
}

/* The end of the function at @addr as another table has it; in no function, the start of the next one. */
static uint64_t function_bound(const range_vec *functions, uint64_t addr)
{
	size_t next = PARTITION_POINT(0, functions->n, mid, functions->v[mid].lo <= addr);
	if (next && addr < functions->v[next - 1].hi)
		return functions->v[next - 1].hi;
	return next < functions->n ? functions->v[next].lo : UINT64_MAX;
}

/*
 * The end of a symbol of size 0: the next symbol, the end of its function in another table, or that of its
 * section; its own address if none is known.
 */
static uint64_t unsized_end(const struct symbol_sweep *s, uint64_t addr, size_t next)
{
	const struct range *section = ranges_find(&s->sections, addr);
	uint64_t end = section ? section->hi : addr;
	if (next < s->n && (!section || s->order[next].key < end))
		end = s->order[next].key;
	uint64_t bound = function_bound(&s->object->functions, addr);
	return bound < end ? bound : end;
}

/* Functions of [first, end), which share an address. Those without size only outside of sized functions. */
static int sweep_functions(struct symbol_sweep *s, size_t first, size_t end, bool *found)
{
	uint64_t addr = s->order[first].key;
	for (size_t i = first; i < end; i++) {
		const struct symbol *symbol = at(s, i);
		*found |= symbol->type == SYMBOL_FUNC;
		if (symbol->type == SYMBOL_FUNC && symbol_end(symbol) > s->sized_reach && symbol->size)
			s->sized_reach = symbol_end(symbol);
	}
	for (size_t i = first; i < end; i++) {
		const struct symbol *symbol = at(s, i);
		if (symbol->type != SYMBOL_FUNC || (!symbol->size && s->sized_reach > addr))
			continue;
		if (add_symbol(s, i, symbol->size ? symbol_end(symbol) : unsized_end(s, addr, end)))
			return -ENOMEM;
	}
	return 0;
}

/* The best label of [first, end). One without size inside of a sized label ends with that at the latest. */
static int sweep_labels(struct symbol_sweep *s, size_t first, size_t end)
{
	size_t best = first;
	int best_rank = NO_LABEL;
	for (size_t i = first; i < end; i++) {
		int rank = label_rank(at(s, i), s->markers[s->order[i].index]);
		if (rank >= best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	const struct symbol *symbol = at(s, best);
	if (best_rank == NO_LABEL)
		return 0;
	uint64_t stop = symbol->size ? symbol_end(symbol) : unsized_end(s, symbol->addr, end);
	if (!symbol->size && symbol->addr < s->label_reach && stop > s->label_reach)
		stop = s->label_reach;
	if (symbol->size && stop > s->label_reach)
		s->label_reach = stop;
	return add_symbol(s, best, stop);
}

static int compare_symbol(const void *a, const void *b)
{
	const struct code_symbol *x = a, *y = b;
	return COMPARE(x->end, y->end) ?: COMPARE(x->order, y->order);
}

static int sweep(struct symbol_sweep *s)
{
	for (size_t first = 0, end; first < s->n; first = end) {
		size_t before = s->out->n;
		bool function = false;
		for (end = first + 1; end < s->n && s->order[end].key == s->order[first].key;)
			end++;
		int err = sweep_functions(s, first, end, &function);
		if (!err && !function && s->sized_reach <= s->order[first].key)
			err = sweep_labels(s, first, end);
		if (err)
			return err;
		if (s->out->n - before > 1)
			qsort(s->out->v + before, s->out->n - before, sizeof(*s->out->v), compare_symbol);
	}
	return 0;
}

/* As llvm-gsymutil: functions only, with the size in the table. */
static int take_functions(struct symbol_sweep *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (at(s, i)->type == SYMBOL_FUNC && add_symbol(s, i, symbol_end(at(s, i))))
			return -ENOMEM;
	return 0;
}

static int collect_sections(const struct object_file *object, range_vec *ret)
{
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		uint64_t end;
		if (s->code && s->size && !__builtin_add_overflow(s->addr, s->size, &end) &&
		    vec_push(ret, (struct range){s->addr, end}))
			return -ENOMEM;
	}
	/* Code of a PDB file that was moved out of its sections */
	if (!ret->n) {
		if (vec_reserve(ret, object->text.n))
			return -ENOMEM;
		for (size_t i = 0; i < object->text.n; i++)
			ret->v[ret->n++] = object->text.v[i];
	}
	ranges_sort(ret->v, ret->n);
	return 0;
}

int symtab_prepare(const struct object_file *object, bool match_llvm, symbol_vec *ret)
{
	CLEANUP(freep) struct keyed *order = malloc((object->symbols.n + 1) * sizeof(*order));
	CLEANUP(freep) bool *markers = calloc(object->symbols.n + 1, sizeof(*markers));
	struct symbol_sweep s = {.object = object, .order = order, .markers = markers, .out = ret};
	if (!order || !markers || object->symbols.n > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < object->symbols.n; i++)
		if (is_usable(&object->symbols.v[i]))
			order[s.n++] = (struct keyed){object->symbols.v[i].addr, (uint32_t)i};
	int err = radix_sort(order, s.n);
	if (!err)
		err = collect_sections(object, &s.sections);
	if (!err && !match_llvm)
		err = markers_find(object, order, s.n, &s.sections, s.markers);
	if (!err)
		err = match_llvm ? take_functions(&s) : sweep(&s);
	vec_free(&s.sections);
	uint64_t reach = 0;
	for (size_t i = 0; i < ret->n; i++) {
		invariant(!i || ret->v[i - 1].addr <= ret->v[i].addr);
		reach = ret->v[i].end > reach ? ret->v[i].end : reach;
		ret->v[i].reach = reach;
	}
	return err;
}

int symtab_add_records(const symbol_vec *symbols, struct pool *pool, record_vec *records)
{
	if (vec_reserve(records, symbols->n))
		return -ENOMEM;
	for (size_t i = 0; i < symbols->n; i++) {
		const struct code_symbol *s = &symbols->v[i];
		struct func_record r = {.start = s->addr,
					.end = s->end,
					.bare = NO_STRING,
					.kind = s->label ? RECORD_LABEL : RECORD_SYMBOL,
					.linkage = true,
					.marker = s->marker,
					.inferred = s->inferred};
		struct pool_string name = pool_string_of(s->name, strlen(s->name));
		if (r.end - r.start > UINT32_MAX)
			r.end = r.start; /* GSYM sizes have 32 bits: better unknown than wrong */
		if (pool_add_string(pool, &name, &r.name))
			return -ENOMEM;
		if (!r.name)
			r.name = NO_STRING; /* it exceeds the pool's limit */
		records->v[records->n++] = r;
	}
	return 0;
}

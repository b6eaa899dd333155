/*
 * symtab.c - symbols as functions.
 *
 * Functions (STT_FUNC, STT_GNU_IFUNC) are all taken. Labels of assembly code (STT_NOTYPE) are taken where no
 * sized function is: kernel entry code has no others. A symbol without a size reaches to the next symbol or
 * to the end of its section; it never takes bytes from a sized function.
 */
#include "symtab.h"

#include <string.h>

/* Order in which symbols at one address are considered: functions, sized ones, global ones, later ones. */
static int compare_symbol(const void *a, const void *b)
{
	const struct code_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

size_t symtab_lower_bound(const symbol_vec *symbols, uint64_t addr)
{
	size_t lo = 0, hi = symbols->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (symbols->v[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- Which names are not worth having ---- */

/* "$a", "$d", "$t", "$x", also with a suffix: they tell code from data (AAELF64, 5.5.5; RISC-V psABI). */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || (name[1] == 'x' && name[2] == 'r'));
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n >= m && !strcmp(name + n - m, end);
}

/* Names that end something: what follows is not theirs. */
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

static bool worth_having(const struct symbol *s)
{
	if (is_mapping_symbol(s->name))
		return false;
	return s->type == SYMBOL_FUNC || strncmp(s->name, ".L", 2) != 0;
}

/* ---- Labels ---- */

struct label {
	const struct symbol *symbol;
	uint32_t order;
};

static int label_rank(const struct label *l)
{
	const struct symbol *s = l->symbol;
	if (!s->size && is_end_marker(s->name))
		return 0;
	return 1 + (s->size != 0) * 4 + !is_start_marker(s->name) * 2 + s->global;
}

static int compare_label(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	if (x->symbol->addr != y->symbol->addr)
		return x->symbol->addr < y->symbol->addr ? -1 : 1;
	int rank = label_rank(y) - label_rank(x);
	return rank ? rank : x->order < y->order ? 1 : -1;
}

/* Addresses of functions: normalized ranges of the sized ones, and where any of them starts. */
struct functions {
	range_vec sized;
	VEC(uint64_t) starts;
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool is_function_start(const struct functions *f, uint64_t addr)
{
	return f->starts.n && bsearch(&addr, f->starts.v, f->starts.n, sizeof(addr), compare_u64);
}

static void functions_deinit(struct functions *f)
{
	vec_free(&f->sized);
	vec_free(&f->starts);
}

static uint64_t symbol_end(const struct symbol *s)
{
	uint64_t end;
	return __builtin_add_overflow(s->addr, s->size, &end) ? UINT64_MAX : end;
}

static int collect_functions(const struct image *image, struct functions *f, symbol_vec *ret)
{
	for (size_t i = 0; i < image->symbols.n; i++) {
		const struct symbol *s = &image->symbols.v[i];
		if (s->type != SYMBOL_FUNC || !worth_having(s))
			continue;
		struct code_symbol c = {s->addr, symbol_end(s), s->name, (uint32_t)i, false};
		if (vec_push(ret, c) || vec_push(&f->starts, s->addr) ||
		    (s->size && vec_push(&f->sized, (struct range){c.addr, c.end})))
			return -ENOMEM;
	}
	ranges_normalize(&f->sized);
	if (f->starts.n)
		qsort(f->starts.v, f->starts.n, sizeof(*f->starts.v), compare_u64);
	return 0;
}

typedef VEC(struct label) label_vec;

/* Labels where no function is, the best one of each address first. */
static int collect_labels(const struct image *image, const struct functions *f, label_vec *ret)
{
	for (size_t i = 0; i < image->symbols.n; i++) {
		const struct symbol *s = &image->symbols.v[i];
		if (s->type == SYMBOL_NOTYPE && worth_having(s) && !is_function_start(f, s->addr) &&
		    !ranges_find(&f->sized, s->addr) && vec_push(ret, (struct label){s, (uint32_t)i}))
			return -ENOMEM;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_label);
	return 0;
}

/* ---- Ends ---- */

/* Every address at which a symbol without size must stop, ascending: any symbol's start, any section's end. */
typedef VEC(uint64_t) bound_vec;

static int collect_bounds(const struct image *image, const symbol_vec *functions, const label_vec *labels,
			  bound_vec *ret)
{
	for (size_t i = 0; i < functions->n; i++)
		if (vec_push(ret, functions->v[i].addr))
			return -ENOMEM;
	for (size_t i = 0; i < labels->n; i++)
		if (vec_push(ret, labels->v[i].symbol->addr))
			return -ENOMEM;
	for (size_t i = 0; i < image->sections.n; i++) {
		const struct section *s = &image->sections.v[i];
		uint64_t end;
		if (s->code && !__builtin_add_overflow(s->addr, s->size, &end) && vec_push(ret, end))
			return -ENOMEM;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_u64);
	return 0;
}

static uint64_t next_bound(const bound_vec *bounds, uint64_t addr)
{
	size_t lo = 0, hi = bounds->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (bounds->v[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < bounds->n ? bounds->v[lo] : addr;
}

/*
 * A function without size inside a sized one is a second name for part of it: dropped. Elsewhere it gets what
 * is left up to the next bound. Bounds hold no end of a sized function: padding is claimed, code is not.
 */
static void bound_functions(symbol_vec *v, const struct functions *f, const bound_vec *bounds)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->n; i++) {
		struct code_symbol s = v->v[i];
		if (s.end == s.addr) {
			if (ranges_find(&f->sized, s.addr))
				continue;
			s.end = next_bound(bounds, s.addr);
		}
		v->v[kept++] = s;
	}
	v->n = kept;
}

/* The first label of each address. One inside a sized label reaches at most to that one's end. */
static int add_labels(const label_vec *labels, const bound_vec *bounds, symbol_vec *ret)
{
	uint64_t host_end = 0;
	for (size_t i = 0; i < labels->n; i++) {
		const struct label *l = &labels->v[i];
		if ((i && l[-1].symbol->addr == l->symbol->addr) || !label_rank(l))
			continue;
		struct code_symbol c = {l->symbol->addr, symbol_end(l->symbol), l->symbol->name, l->order, true};
		if (c.end == c.addr) {
			c.end = next_bound(bounds, c.addr);
			if (c.addr < host_end && c.end > host_end)
				c.end = host_end;
		} else if (c.end > host_end) {
			host_end = c.end;
		}
		if (vec_push(ret, c))
			return -ENOMEM;
	}
	return 0;
}

static int prepare(const struct image *image, struct functions *f, label_vec *labels, bound_vec *bounds,
		   symbol_vec *ret)
{
	int err = collect_functions(image, f, ret);
	if (!err)
		err = collect_labels(image, f, labels);
	if (!err)
		err = collect_bounds(image, ret, labels, bounds);
	if (err)
		return err;
	bound_functions(ret, f, bounds);
	return add_labels(labels, bounds, ret);
}

int symtab_prepare(const struct image *image, bool match_llvm, symbol_vec *ret)
{
	struct functions f = {0};
	label_vec labels = {0};
	bound_vec bounds = {0};
	int err = match_llvm ? collect_functions(image, &f, ret) : prepare(image, &f, &labels, &bounds, ret);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_symbol);
	functions_deinit(&f);
	vec_free(&labels);
	vec_free(&bounds);
	return err;
}

int symtab_add_records(const symbol_vec *symbols, struct pool *pool, record_vec *records)
{
	if (vec_reserve(records, symbols->n))
		return -ENOMEM;
	for (size_t i = 0; i < symbols->n; i++) {
		const struct code_symbol *s = &symbols->v[i];
		struct record r = {.start = s->addr, .end = s->end, .bare = NO_STRING,
				   .kind = s->label ? RECORD_LABEL : RECORD_SYMBOL, .linkage = true};
		struct pool_string name = pool_string_of(s->name, strlen(s->name));
		if (r.end - r.start > UINT32_MAX)
			r.end = r.start; /* GSYM sizes have 32 bits: better unknown than wrong */
		if (pool_add_string(pool, &name, &r.name))
			return -ENOMEM;
		records->v[records->n++] = r;
	}
	return 0;
}

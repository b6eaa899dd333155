/*
 * markers.c - which labels mark the bounds of code instead of naming it.
 *
 * The symbol table does not tell a label of a linker script from one of assembly: both are STT_NOTYPE and
 * have no size. A marker is found by its counterpart. Its name has a word for start or end
 * ("__kprobes_text_start"), or the letter for it ("_stext", "_etext", also "_text"); without that, both names
 * are equal, and a symbol with a size begins between them, or they are one place. A label of assembly with
 * such a name ("copy_start") has no functions inside. A start by letter must begin a section, too, and
 * "__start_x" and "__stop_x" are always markers: linkers define them for a section "x".
 *
 * Candidates are sorted by their name without the word or letter, so that counterparts are neighbours:
 * O(n log n), since names are short.
 */
#include "convert/build/symtab.h"

#include "gsym/base/search.h"

#include <string.h>

enum {
	MARKER_NAME_MAX = 127, /* longer ones are no markers */
	ALIASES_MAX = 8,       /* markers of one address whose aliases are looked for */
};

#define NO_SYMBOL UINT32_MAX

/* A name that may mark a bound. Without [cut, resume) it is that of the counterpart. */
struct bound {
	const char *name;
	uint64_t addr;
	uint32_t symbol; /* of object->symbols, or NO_SYMBOL */
	uint8_t cut, resume, size;
	bool by_letter;
	bool is_end;
	bool is_linkers; /* "__start_x", "__stop_x" */
};

struct marker_search {
	const struct object_file *object;
	const struct keyed *order;
	size_t n;
	const range_vec *sections;
	VEC(struct bound) bounds;
	uint32_t *functions; /* how many of order[0, i) are functions, or labels with a size */
	bool *ret;
};

/* ---- Names ---- */

static bool is_word(const char *at, size_t size, const char *word)
{
	return strlen(word) == size && !memcmp(at, word, size);
}

/* Whether anything but underscores is left of @b's name: "_start" and "_end" are not a pair. */
static bool has_subject(const struct bound *b)
{
	for (unsigned i = 0; i < b->size; i++)
		if ((i < b->cut || i >= b->resume) && b->name[i] != '_')
			return true;
	return false;
}

/* The last word of @b->name that says start or end. */
static bool find_word(struct bound *b)
{
	bool found = false;
	for (unsigned at = 0, end; at < b->size; at = end + 1) {
		for (end = at; end < b->size && b->name[end] != '_' && b->name[end] != '.';)
			end++;
		const char *word = b->name + at;
		bool start = is_word(word, end - at, "start") || is_word(word, end - at, "begin");
		if (!start && !is_word(word, end - at, "end") && !is_word(word, end - at, "stop"))
			continue;
		found = true;
		b->cut = (uint8_t)at;
		b->resume = (uint8_t)end;
		b->is_end = !start;
		b->is_linkers = at >= 2 && word[-2] == '_' &&
				(is_word(word, end - at, "start") || is_word(word, end - at, "stop"));
	}
	return found && has_subject(b);
}

static bool begins_section(const struct marker_search *s, uint64_t addr)
{
	size_t at = PARTITION_POINT(0, s->sections->n, mid, s->sections->v[mid].lo < addr);
	return at < s->sections->n && s->sections->v[at].lo == addr;
}

static int add_bounds(struct marker_search *s, const char *name, uint64_t addr, uint32_t symbol)
{
	size_t size = strnlen(name, MARKER_NAME_MAX + 1);
	struct bound b = {.name = name, .addr = addr, .symbol = symbol, .size = (uint8_t)size};
	if (size > MARKER_NAME_MAX)
		return 0;
	if (find_word(&b) && vec_push(&s->bounds, b))
		return -ENOMEM;
	/* "_stext" and "_etext": a letter after underscores; "_text" has none. */
	uint8_t at = (uint8_t)strspn(b.name, "_");
	bool starts = b.symbol != NO_SYMBOL && begins_section(s, b.addr);
	int err = 0;
	b.by_letter = true;
	b.cut = at;
	b.resume = (uint8_t)(at + 1);
	if (!at || b.size < at + 2)
		return 0;
	b.is_end = b.name[at] == 'e';
	if (b.is_end || (starts && b.name[at] == 's'))
		err = vec_push(&s->bounds, b);
	b.is_end = false;
	b.resume = at;
	return err || !starts ? err : vec_push(&s->bounds, b);
}

static int compare_names(const struct bound *x, const struct bound *y)
{
	unsigned i = 0, k = 0;
	for (;; i++, k++) {
		i = i == x->cut ? x->resume : i;
		k = k == y->cut ? y->resume : k;
		if (i >= x->size || k >= y->size)
			return (i < x->size) - (k < y->size);
		if (x->name[i] != y->name[k])
			return (uint8_t)x->name[i] < (uint8_t)y->name[k] ? -1 : 1;
	}
}

static int compare_counterparts(const struct bound *x, const struct bound *y)
{
	return x->by_letter != y->by_letter ? (int)x->by_letter - y->by_letter : compare_names(x, y);
}

static int compare_bounds(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;
	int c = compare_counterparts(x, y);
	return c ?: COMPARE(x->symbol, y->symbol);
}

/* ---- Pairs ---- */

static bool is_unsized_label(const struct symbol *s)
{
	return s->type == SYMBOL_NOTYPE && !s->size;
}

/* Whether a function begins in [lo, hi), or nothing is there. */
static bool holds_functions(const struct marker_search *s, uint64_t lo, uint64_t hi)
{
	size_t first = PARTITION_POINT(0, s->n, mid, s->order[mid].key < lo);
	size_t end = PARTITION_POINT(first, s->n, mid, s->order[mid].key < hi);
	return lo == hi || s->functions[end] > s->functions[first];
}

/* Marks bounds [first, end), which are counterparts, if both sides are there. */
static void mark_pair(struct marker_search *s, size_t first, size_t end)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	bool starts = false, ends = false, linkers = true;
	for (size_t i = first; i < end; i++) {
		const struct bound *b = &s->bounds.v[i];
		if (b->is_end)
			hi = b->addr > hi ? b->addr : hi;
		else
			lo = b->addr < lo ? b->addr : lo;
		ends |= b->is_end;
		starts |= !b->is_end;
		linkers &= b->is_linkers;
	}
	if (!starts || !ends || lo > hi || !(linkers || holds_functions(s, lo, hi)))
		return;
	for (size_t i = first; i < end; i++)
		if (s->bounds.v[i].symbol != NO_SYMBOL)
			s->ret[s->bounds.v[i].symbol] = true;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strnlen(name, MARKER_NAME_MAX + 1), m = strlen(end);
	return n <= MARKER_NAME_MAX && n >= m && !memcmp(name + n - m, end, m);
}

static int collect(struct marker_search *s)
{
	const struct object_file *object = s->object;
	int err = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct symbol *symbol = &object->symbols.v[s->order[i].index];
		s->functions[i + 1] = s->functions[i] + (symbol->type == SYMBOL_FUNC || symbol->size);
		if (!err && is_unsized_label(symbol))
			err = add_bounds(s, symbol->name, symbol->addr, s->order[i].index);
	}
	for (size_t i = 0; i < object->outside.n && !err; i++)
		err = add_bounds(s, object->outside.v[i].name, object->outside.v[i].addr, NO_SYMBOL);
	return err;
}

int markers_find(const struct object_file *object, const struct keyed *order, size_t n,
		 const range_vec *sections, bool *ret)
{
	struct marker_search s = {.object = object, .order = order, .n = n, .sections = sections, .ret = ret};
	s.functions = calloc(n + 1, sizeof(*s.functions));
	int err = s.functions ? collect(&s) : -ENOMEM;
	if (!err && s.bounds.n)
		qsort(s.bounds.v, s.bounds.n, sizeof(*s.bounds.v), compare_bounds);
	for (size_t first = 0, end; first < s.bounds.n && !err; first = end) {
		for (end = first + 1;
		     end < s.bounds.n && !compare_counterparts(&s.bounds.v[first], &s.bounds.v[end]);)
			end++;
		mark_pair(&s, first, end);
	}
	for (size_t first = 0, end; first < n && !err; first = end) {
		for (end = first + 1; end < n && order[end].key == order[first].key;)
			end++;
		/* Labels that share an address with a marker and end with its name are markers, too. */
		const struct symbol *symbols = s.object->symbols.v;
		const char *markers[ALIASES_MAX];
		unsigned n_markers = 0;
		for (size_t i = first; i < end && n_markers < ALIASES_MAX; i++)
			if (s.ret[s.order[i].index])
				markers[n_markers++] = symbols[s.order[i].index].name;
		for (size_t i = first; i < end && n_markers; i++) {
			uint32_t symbol = s.order[i].index;
			for (unsigned k = 0; k < n_markers && is_unsized_label(&symbols[symbol]); k++)
				s.ret[symbol] |= ends_with(symbols[symbol].name, markers[k]);
		}
	}
	free(s.functions);
	vec_free(&s.bounds);
	return err;
}

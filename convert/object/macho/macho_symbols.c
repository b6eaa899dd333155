/*
 * macho_symbols.c - symbols of code: LC_SYMTAB, the exports trie, stubs, and function starts.
 *
 * Mach-O symbols have no sizes: a function ends where the next one begins. LC_FUNCTION_STARTS lists every
 * function, also those whose names were stripped, so that the function before a nameless one ends there.
 */
#include "convert/object/macho/macho.h"

#include <stdio.h>
#include <string.h>

enum {
	N_STAB = 0xe0,
	N_TYPE = 0x0e,
	N_SECT = 0x0e,
	N_EXT = 0x01,
	INDIRECT_SYMBOL_LOCAL = (int)0x80000000,
	INDIRECT_SYMBOL_ABS = 0x40000000,
	EXPORTS_GROWTH = 32, /* limit of the expanded names relative to the size of the trie, where names
				share prefixes */
};

static size_t nlist_size(const struct object_file *object)
{
	return object->addr_size == 8 ? NLIST_64_SIZE : NLIST_32_SIZE;
}

bool macho_read_symbol(const struct object_file *object, uint64_t i, struct macho_symbol *ret)
{
	const struct macho *m = macho_of(object);
	size_t size = nlist_size(object);
	struct span table = object_span(object, m->symbols.off, m->symbols.size * size);
	if (i >= m->symbols.size || !table.data)
		return false;
	struct cursor c = cursor_new(table.data + i * size, size, object->big_endian);
	ret->name = cursor_u32(&c);
	ret->type = cursor_u8(&c);
	ret->section = cursor_u8(&c);
	cursor_skip(&c, 2); /* n_desc */
	ret->value = object->addr_size == 8 ? cursor_u64(&c) : cursor_u32(&c);
	return true;
}

const char *macho_symbol_text(const struct object_file *object, const struct macho_symbol *symbol)
{
	struct macho *m = macho_of(object);
	struct span strings = object_span(object, m->strings.off, m->strings.size);
	if (symbol->name >= strings.size)
		return "";
	const uint8_t *text = strings.data + symbol->name;
	return name_budget_take(&m->names, text, strings.size - symbol->name) < 0 ? "" : (const char *)text;
}

const char *macho_symbol_name(const struct object_file *object, const struct macho_symbol *symbol)
{
	const char *name = macho_symbol_text(object, symbol);
	return *name == '_' ? name + 1 : name;
}

bool macho_is_defined(const struct macho_symbol *symbol)
{
	return !(symbol->type & N_STAB) && (symbol->type & N_TYPE) == N_SECT;
}

static bool is_code(const struct object_file *object, uint64_t addr)
{
	const struct macho *m = macho_of(object);
	return (!m->has_text_addr || addr >= m->text_addr) && ranges_find(&object->text, addr);
}

static int add_symbol(struct object_file *object, uint64_t addr, uint64_t size, const char *name,
		      enum symbol_type type, bool global)
{
	if (!is_code(object, addr))
		return 0;
	return vec_push(
		&object->symbols,
		(struct symbol){.addr = addr, .size = size, .name = name, .type = type, .global = global});
}

/* ---- Tables of symbols ---- */

/*
 * Earlier tables take precedence: a dSYM's table may have local symbols that were stripped from its binary.
 */
static int load_table(struct object_file *object, const struct object_file *source)
{
	struct known_addresses known = {0};
	struct macho_symbol s;
	int err = known_addresses_make(object, &known);
	for (uint64_t i = 0; !err && macho_read_symbol(source, i, &s); i++) {
		if (!macho_is_defined(&s) || known_address(&known, s.value))
			continue;
		const char *name = macho_symbol_name(source, &s);
		if (*name)
			err = add_symbol(object, s.value, 0, name, SYMBOL_FUNC, s.type & N_EXT);
	}
	object->symbols_damaged |= macho_of(source)->symbols.size && !macho_read_symbol(source, 0, &s);
	free(known.v);
	return err;
}

/* ---- The exports trie ---- */

/*
 * The only names that a stripped library keeps. A node is the size of its terminal information (flags and
 * address, both ULEB128), the number of edges, and for each a string and the offset of another node. Source:
 * Apple's <mach-o/loader.h>, at dyld_info_command.
 */

enum {
	EXPORT_NAME_MAX = 4096,
	TRIE_DEPTH_MAX = 512,
	TRIE_READS = 4, /* an intact trie is read once */
	KIND_MASK = 3,
	KIND_REGULAR = 0,
	REEXPORT = 8,
	STUB_AND_RESOLVER = 16,
};

struct trie_walk {
	struct span trie;
	int (*each)(void *user, const char *name, uint64_t addr);
	void *user;
	uint64_t budget; /* bytes left to read: nodes of a damaged trie may form cycles or be shared */
	bool is_cut;     /* something was left out */
	char name[EXPORT_NAME_MAX];
};

static int walk_node(struct trie_walk *w, uint64_t off, size_t length, unsigned depth);

static bool spend(struct trie_walk *w, uint64_t bytes)
{
	bool enough = w->budget >= bytes;
	w->is_cut |= !enough;
	w->budget -= enough ? bytes : w->budget;
	return enough;
}

static int take_terminal(struct trie_walk *w, struct cursor c, size_t length)
{
	uint64_t flags = cursor_uleb(&c);
	if (flags & REEXPORT || (flags & KIND_MASK) != KIND_REGULAR)
		return 0;
	uint64_t addr = cursor_uleb(&c);
	w->name[length] = 0;
	return cursor_ok(&c) ? w->each(w->user, w->name, addr) : 0;
}

static int walk_edges(struct trie_walk *w, struct cursor *c, size_t length, unsigned depth)
{
	uint8_t n = cursor_u8(c);
	for (uint8_t i = 0; i < n; i++) {
		const char *edge = cursor_str(c);
		uint64_t child = cursor_uleb(c);
		size_t size = cursor_ok(c) ? strlen(edge) : 0;
		w->is_cut |= !cursor_ok(c) || size >= EXPORT_NAME_MAX - length;
		if (!spend(w, size + 1) || !cursor_ok(c))
			return 0;
		if (size >= EXPORT_NAME_MAX - length)
			continue;
		memcpy(w->name + length, edge, size);
		int err = walk_node(w, child, length + size, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int walk_node(struct trie_walk *w, uint64_t off, size_t length, unsigned depth)
{
	struct cursor c = cursor_new(w->trie.data, w->trie.size, false);
	cursor_seek(&c, off);
	uint64_t size = cursor_uleb(&c);
	if (!cursor_ok(&c) || size > cursor_left(&c) || depth > TRIE_DEPTH_MAX || !spend(w, 1)) {
		w->is_cut = true;
		return 0;
	}
	int err = size ? take_terminal(w, c, length) : 0;
	cursor_skip(&c, size);
	return err ? err : walk_edges(w, &c, length, depth);
}

int macho_walk_exports(struct span trie, int (*each)(void *user, const char *name, uint64_t addr), void *user,
		       bool *ret_cut)
{
	struct trie_walk w = {
		.trie = trie, .each = each, .user = user, .budget = (uint64_t)trie.size * TRIE_READS};
	int err = walk_node(&w, 0, 0, 0);
	*ret_cut = w.is_cut;
	return err;
}

/* ---- Exported symbols ---- */

struct export_list {
	struct object_file *object;
	struct known_addresses known;
	uint64_t budget; /* bytes left for names */
	bool is_cut;     /* they did not suffice */
};

static int add_export(void *user, const char *name, uint64_t off)
{
	struct export_list *e = user;
	uint64_t addr;
	if (__builtin_add_overflow(macho_of(e->object)->text_addr, off, &addr) || !is_code(e->object, addr) ||
	    known_address(&e->known, addr))
		return 0;
	name += *name == '_';
	size_t size = strlen(name);
	e->is_cut |= size >= e->budget;
	if (size >= e->budget)
		return 0;
	e->budget -= size + 1;
	const char *copy = arena_strdup(&e->object->names, name, size);
	return copy ? add_symbol(e->object, addr, 0, copy, SYMBOL_FUNC, true) : -ENOMEM;
}

static int load_exports(struct object_file *object, const struct object_file *source)
{
	const struct macho *m = macho_of(source);
	struct span trie = object_span(source, m->exports.off, m->exports.size);
	object->exports_cut |= m->exports.size && !trie.size;
	if (!trie.size)
		return 0;
	struct export_list e = {.object = object, .budget = (uint64_t)trie.size * EXPORTS_GROWTH};
	bool is_cut = false;
	int err = known_addresses_make(object, &e.known);
	if (!err)
		err = macho_walk_exports(trie, add_export, &e, &is_cut);
	free(e.known.v);
	object->exports_cut |= is_cut || e.is_cut;
	return err;
}

/* ---- Stubs ---- */

/* @budget: bytes left for names. Many stubs may share one long name. */
static int add_stub(struct object_file *object, const struct object_file *source, uint64_t addr,
		    uint32_t size, uint32_t symbol, uint64_t *budget)
{
	struct macho_symbol s;
	char *text = NULL;
	if (symbol & ((uint32_t)INDIRECT_SYMBOL_LOCAL | INDIRECT_SYMBOL_ABS) ||
	    !macho_read_symbol(source, symbol, &s))
		return 0;
	const char *symbol_name = macho_symbol_name(source, &s);
	size_t length = strlen(symbol_name);
	if (!length || length > *budget)
		return 0;
	*budget -= length;
	int n = asprintf(&text, "symbol stub for: %s", symbol_name);
	CLEANUP(freep) char *owned = n < 0 ? NULL : text;
	const char *name = owned ? arena_strdup(&object->names, owned, (size_t)n) : NULL;
	return name ? add_symbol(object, addr, size, name, SYMBOL_FUNC, false) : -ENOMEM;
}

/* Appends the stubs that @source has. */
static int load_stubs(struct object_file *object, const struct object_file *source)
{
	const struct macho *m = macho_of(source);
	struct span table = object_span(source, m->indirect.off, m->indirect.size * 4);
	uint64_t names = source->map_size,
		 entries = table.size / 4; /* no more stubs than the table has entries */
	int err = 0;
	for (size_t i = 0; i < m->stubs.n; i++) {
		const struct macho_stubs *s = &m->stubs.v[i];
		uint64_t n = s->stub_size ? s->size / s->stub_size : 0;
		for (uint64_t k = 0; k < n && s->first + k < table.size / 4 && entries && !err;
		     k++, entries--)
			err = add_stub(object, source, s->addr + k * s->stub_size, s->stub_size,
				       load32(table.data + (s->first + k) * 4, object->big_endian), &names);
	}
	return err;
}

int macho_load_plt(struct object_file *object, const struct object_file *symtab)
{
	size_t before = object->symbols.n;
	int err = load_stubs(object, object);
	bool none = object->symbols.n == before;
	return !err && none && symtab && symtab->format == &macho_format ? load_stubs(object, symtab) : err;
}

/* ---- Function starts ---- */

/* ULEB128 differences between addresses, starting at __TEXT, terminated by 0. */
static int load_starts(struct object_file *object, const struct object_file *source)
{
	const struct macho *m = macho_of(source);
	struct span bytes = object_span(source, m->starts.off, m->starts.size);
	struct cursor c = cursor_new(bytes.data, bytes.size, object->big_endian);
	uint64_t addr = m->text_addr, delta;
	bool thumb = strncmp(object->arch, "armv", 4) == 0; /* bit 0 marks Thumb functions */
	int err = 0;
	while (!err && cursor_left(&c)) {
		uint64_t at = cursor_off(&c);
		delta = cursor_uleb(&c);
		if (cursor_ok(&c) && !delta)
			break;
		addr += delta;
		uint64_t start = thumb ? addr & ~(uint64_t)1 : addr;
		if (!cursor_ok(&c) || !is_code(object, start))
			damage_count(&object->damaged_bounds, "LC_FUNCTION_STARTS", at);
		else
			err = vec_push(&object->functions, (struct range){start, UINT64_MAX});
	}
	object_settle_functions(object, "LC_FUNCTION_STARTS");
	return err;
}

int macho_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	bool itself = false;
	int err = 0;
	for (size_t i = 0; i < n_sources && !err; i++)
		if (sources[i]->format == &macho_format)
			err = load_table(object, sources[i]);
	for (size_t i = 0; i < n_sources && !err; i++) {
		if (sources[i]->format != &macho_format)
			continue;
		itself |= sources[i] == object;
		err = load_exports(object, sources[i]);
		if (!err)
			err = load_starts(object, sources[i]);
	}
	return err || itself ? err : load_starts(object, object);
}

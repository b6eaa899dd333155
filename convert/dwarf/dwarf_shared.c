/*
 * dwarf_shared.c - what units share: abbreviations and line tables.
 *
 * A thread keeps the table of the unit before, so that units which share one read it once. Units that name
 * several tables in turn, or abbreviations that begin one entry apart, would have each read again for every
 * unit. So the scan for unit headers finds in advance, in the order of units, how many bytes each of them
 * makes its reader read, and takes these from a budget for the whole file. Every unit may read some bytes for
 * each of its own besides: those after the budget is used up are read if their tables are of an honest size.
 */
#include "convert/dwarf/dwarf_shared.h"

#include <libdwarf/dwarf.h>

enum {
	READS = 4,            /* bytes read, in sizes of what they are taken from; see shared_scan_begin() */
	READS_OWN = 16,       /* bytes that a unit may read for each of its own */
	LINES_PART = 4,       /* of all sections, the part that is shared by bytes of line tables */
	UNIT_ATTRS_MAX = 256, /* attributes of a unit entry; compilers stay below 30 */
};

static uint64_t allowed(uint64_t left, const struct unit_header *u)
{
	uint64_t own = (u->end - u->off) * READS_OWN;
	return left > own ? left : own;
}

static void take_scan_bytes(struct shared_scan *s, uint64_t *left, uint64_t bytes)
{
	*left -= bytes < *left ? bytes : *left;
	s->dwarf->scanned += bytes;
}

/*
 * Compilers' output reads each table once. The many small units that dwz makes use few tables of
 * abbreviations in turn: up to 28 times .debug_abbrev, but no more than 0.3 times .debug_info.
 */
void shared_scan_begin(struct shared_scan *s, struct dwarf *dwarf)
{
	*s = (struct shared_scan){
		.dwarf = dwarf,
		.abbrev_left = (dwarf->abbrev.size + dwarf->info.size) * READS + BUDGET_ALWAYS,
		.line_left = dwarf->line.size * READS + BUDGET_ALWAYS,
		.line_off = NO_LINES,
	};
}

/* ---- Abbreviations ---- */

static bool is_unit_tag(uint64_t tag)
{
	return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_skeleton_unit;
}

/* Whether the next attribute and its form are a byte each, as nearly all are, and not the last. */
static bool is_short_pair(const struct cursor *c)
{
	return cursor_left(c) >= 2 && !((c->pos[0] | c->pos[1]) & 0x80) && (c->pos[0] | c->pos[1]) &&
	       c->pos[1] != DW_FORM_implicit_const;
}

/* Reads the table from @c on, and notes the abbreviations of unit entries. */
static void scan_table(struct shared_scan *s, struct cursor *c)
{
	uint64_t code;
	s->n_roots = 0;
	while ((code = cursor_uleb(c)) != 0) {
		uint64_t tag = cursor_uleb(c);
		cursor_skip(c, 1);
		if (is_unit_tag(tag) && s->n_roots < ROOTS_MAX)
			s->roots[s->n_roots++] = (struct root_abbrev){code, cursor_off(c)};
		uint64_t attr, form;
		do {
			while (is_short_pair(c))
				c->pos += 2;
			attr = cursor_uleb(c);
			form = cursor_uleb(c);
			if (form == DW_FORM_implicit_const)
				cursor_skip_leb(c);
		} while (cursor_ok(c) && (attr || form));
	}
}

static bool same_table(const struct shared_scan *s, const struct unit_header *u)
{
	return s->has_table && s->table_off == u->abbrev_off && s->version == u->version &&
	       s->addr_size == u->addr_size && s->off_size == u->off_size;
}

/* Whether the abbreviations of @u may be read; a damaged table may. */
static bool take_table(struct shared_scan *s, const struct unit_header *u)
{
	const struct span abbrev = s->dwarf->abbrev;
	uint64_t most = allowed(s->abbrev_left, u), left = abbrev.size - u->abbrev_off;
	if (same_table(s, u))
		return true;
	s->n_roots = 0;
	s->has_table = u->abbrev_off <= abbrev.size;
	if (!s->has_table)
		return true;
	struct cursor c =
		cursor_new(abbrev.data, u->abbrev_off + (left < most ? left : most), s->dwarf->big_endian);
	cursor_seek(&c, u->abbrev_off);
	scan_table(s, &c);
	bool cut = !cursor_ok(&c) && left > most;
	take_scan_bytes(s, &s->abbrev_left,
			cut             ? most
			: cursor_ok(&c) ? cursor_off(&c) - u->abbrev_off
					: left);
	s->has_table = !cut;
	s->table_off = u->abbrev_off;
	s->version = u->version;
	s->addr_size = u->addr_size;
	s->off_size = u->off_size;
	return !cut;
}

/* ---- Entries of units, and line tables ---- */

/* What is wanted of a unit's entry. */
struct root_values {
	uint64_t stmt_list; /* NO_LINES: none */
	uint16_t language;  /* 0: none */
};

/*
 * Attributes of the entry at @die, which are listed at @specs of .debug_abbrev. False when it has more than
 * compilers write; a damaged entry fails @die.
 */
static bool read_root(const struct shared_scan *s, const struct unit_header *u, struct cursor *die,
		      uint64_t specs, struct root_values *ret)
{
	const struct dwarf *d = s->dwarf;
	struct cursor c = cursor_new(d->abbrev.data, d->abbrev.size, d->big_endian);
	cursor_seek(&c, specs);
	for (unsigned n = 0; n < UNIT_ATTRS_MAX; n++) {
		uint64_t attr = cursor_uleb(&c), form = cursor_uleb(&c);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(&c) : 0;
		struct value v = {0};
		if (!attr && !form)
			return true;
		if (attr == DW_AT_stmt_list || attr == DW_AT_language) {
			form_read(die, form, implicit, d, u, &v);
			bool number = v.class == VALUE_UINT || v.class == VALUE_SINT;
			if (attr == DW_AT_stmt_list)
				ret->stmt_list = number ? v.u : NO_LINES;
			else
				ret->language = number ? (uint16_t)v.u : 0;
		} else {
			form_skip(die, form, u);
		}
		if (!cursor_ok(die) || (ret->language && ret->stmt_list != NO_LINES))
			return true;
	}
	return ret->stmt_list != NO_LINES;
}

/* Of the unit's entry; nothing if that is damaged. False when its line table cannot be found out. */
static bool find_root(const struct shared_scan *s, const struct unit_header *u, struct root_values *ret)
{
	const struct dwarf *d = s->dwarf;
	struct cursor die = cursor_new(d->info.data, u->end, d->big_endian);
	*ret = (struct root_values){.stmt_list = NO_LINES};
	cursor_seek(&die, u->off + u->die_off);
	uint64_t code = cursor_uleb(&die);
	for (unsigned i = 0; i < s->n_roots; i++)
		if (s->roots[i].code == code)
			return read_root(s, u, &die, s->roots[i].specs, ret);
	return s->n_roots < ROOTS_MAX;
}

/* Bytes of the line table at @off. */
static uint64_t line_size(const struct dwarf *d, uint64_t off)
{
	struct cursor c = cursor_new(d->line.data, d->line.size, d->big_endian);
	cursor_seek(&c, off);
	uint64_t length = cursor_u32(&c);
	if (length == 0xffffffff)
		length = cursor_u64(&c);
	return length < cursor_left(&c) ? length : cursor_left(&c);
}

/* The part of @bytes that is as large as @part is of @whole. */
static uint64_t share_of(uint64_t part, uint64_t whole, uint64_t bytes)
{
	const uint64_t fraction = 1 << 20; /* no product exceeds 64 bits up to 16 TiB */
	return part * (bytes * fraction / whole) / fraction;
}

/*
 * Sets u->line_off, and adds the table's bytes and share to u->input if it is not that of the unit before.
 * False when it may not be read.
 */
static bool take_lines(struct shared_scan *s, struct unit_header *u)
{
	uint64_t before = s->line_off, off;
	struct root_values root;
	bool found = find_root(s, u, &root);
	off = root.stmt_list;
	u->language = root.language;
	s->line_off = u->line_off =
		NO_LINES; /* a unit without lines makes its reader forget the table before */
	if (!found || off == NO_LINES || s->dwarf->split)
		return found || s->dwarf->split; /* the lines of a split unit are named by its skeleton */
	uint64_t size = before == off && s->line_addr_size == u->addr_size ? 0 : line_size(s->dwarf, off);
	if (size > allowed(s->line_left, u))
		return false;
	take_scan_bytes(s, &s->line_left, size);
	s->line_off = u->line_off = off;
	s->line_addr_size = u->addr_size;
	u->input +=
		size + share_of(size, s->dwarf->line.size + 1, s->dwarf->bytes / LINES_PART + BUDGET_ALWAYS);
	return true;
}

bool shared_scan_unit(struct shared_scan *s, struct unit_header *u, struct warnings *warnings)
{
	uint64_t size = u->end - u->off;
	u->input = size + share_of(size, s->dwarf->info.size, s->dwarf->bytes + BUDGET_ALWAYS);
	if (!take_table(s, u)) {
		warning_count(warnings, WARN_ABBREV_READS, ".debug_info", u->off);
		return false;
	}
	if (!take_lines(s, u))
		warning_count(warnings, WARN_LINE_READS, ".debug_info", u->off);
	return true;
}

/*
 * dwarf_unit.c - sections, unit headers and unit entries (DWARF 5, 7.5.1 and 3.1).
 */
#include "convert/dwarf/dwarf.h"
#include "convert/dwarf/dwarf_shared.h"

#include "gsym/base/invariant.h"
#include "gsym/base/parallel.h"
#include "gsym/base/search.h"

#include <libdwarf/dwarf.h>
#include <stdio.h>
#include <string.h>

/* ---- Sections ---- */

struct wanted {
	const char *name;
	size_t field; /* of struct dwarf */
	bool strings;
};

/* .debug_info comes first: it is loaded apart from its tables when it is inflated step by step. */
static const struct wanted wanted[] = {
	{".debug_info", offsetof(struct dwarf, info), false},
	{".debug_abbrev", offsetof(struct dwarf, abbrev), false},
	{".debug_line", offsetof(struct dwarf, line), false},
	{".debug_line_str", offsetof(struct dwarf, line_str), true},
	{".debug_str", offsetof(struct dwarf, str), true},
	{".debug_str_offsets", offsetof(struct dwarf, str_offsets), false},
	{".debug_addr", offsetof(struct dwarf, addr), false},
	{".debug_ranges", offsetof(struct dwarf, ranges), false},
	{".debug_rnglists", offsetof(struct dwarf, rnglists), false},
};

struct load_job {
	struct dwarf *dwarf;
	size_t first;
	struct object_section *section[ARRAY_SIZE(wanted)];
	int err[ARRAY_SIZE(wanted)];
};

/* A string section is cut at its last NUL. */
static struct span cut_strings(struct span s)
{
	const uint8_t *last = s.size ? memrchr(s.data, 0, s.size) : NULL;
	s.size = last ? (size_t)(last - s.data) + 1 : 0;
	return s;
}

static void load_section(void *user, size_t i, unsigned thread)
{
	(void)thread;
	struct load_job *job = user;
	struct object_section *s = job->section[i + job->first];
	if (s)
		job->err[i + job->first] = section_load(s);
}

/* Finds wanted[first, end); gives the number of compressed ones. */
static unsigned find_sections(struct load_job *job, size_t end)
{
	unsigned compressed = 0;
	for (size_t i = job->first; i < end; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%s%s", wanted[i].name, job->dwarf->split ? ".dwo" : "");
		job->section[i] = object_section(job->dwarf->object, name);
		compressed += job->section[i] && job->section[i]->compression != COMPRESSION_NONE;
	}
	return compressed;
}

/* libelf is not thread-safe, so relocations are applied after all sections were loaded. */
static int finish_section(struct load_job *job, size_t i, struct warnings *warnings)
{
	struct object_section *s = job->section[i];
	uint64_t skipped = 0;
	int err = job->err[i];
	if (!err && s && job->dwarf->object->relocatable)
		err = section_relocate(job->dwarf->object, s, &skipped);
	if (skipped)
		warning_count(warnings, WARN_RELOCATION, wanted[i].name, 0);
	if (!err && s) {
		*(struct span *)((char *)job->dwarf + wanted[i].field) =
			wanted[i].strings ? cut_strings(s->data) : s->data;
		job->dwarf->bytes += section_input(s);
	}
	return err;
}

/* Loads wanted[first, end). 0 or -ENOMEM. */
static int load_sections(struct dwarf *dwarf, size_t first, size_t end, unsigned threads,
			 struct warnings *warnings)
{
	struct load_job job = {.dwarf = dwarf, .first = first};
	unsigned compressed = find_sections(&job, end); /* others are loaded in no time */
	parallel_for(threads < compressed ? threads
		     : compressed         ? compressed
					  : 1,
		     end - first, load_section, &job);
	for (size_t i = first; i < end; i++) {
		int err = finish_section(&job, i, warnings);
		if (err == -ENOMEM)
			return -ENOMEM;
		if (err && err != -ENOTSUP) /* which is told as its relocations */
			warning_count(warnings, err == -EFBIG ? WARN_SECTION_LIMIT : WARN_SECTION_DAMAGED,
				      wanted[i].name, 0);
	}
	return 0;
}

static void begin_dwarf(struct dwarf *dwarf, struct object_file *object, bool split)
{
	*dwarf = (struct dwarf){.object = object,
				.big_endian = object->big_endian,
				.split = split,
				.mode_bits = object->mode_bits};
}

int dwarf_load_sections(struct dwarf *dwarf, struct object_file *object, bool split, unsigned threads,
			struct warnings *warnings)
{
	begin_dwarf(dwarf, object, split);
	return load_sections(dwarf, 0, ARRAY_SIZE(wanted), threads, warnings);
}

int dwarf_load_tables(struct dwarf *dwarf, struct object_file *object, unsigned threads,
		      struct warnings *warnings)
{
	begin_dwarf(dwarf, object, false);
	return load_sections(dwarf, 1, ARRAY_SIZE(wanted), threads, warnings);
}

int dwarf_load_info(struct dwarf *dwarf, struct warnings *warnings)
{
	return load_sections(dwarf, 0, 1, 1, warnings);
}

void dwarf_release_tables(const struct dwarf *dwarf)
{
	for (size_t i = 1; i < ARRAY_SIZE(wanted); i++) {
		struct span s;
		memcpy(&s, (const char *)dwarf + wanted[i].field, sizeof(s));
		if (s.size)
			object_release(dwarf->object, s, 0, s.size);
	}
}

/* ---- Unit headers ---- */

bool unit_type_has_code(uint8_t type)
{
	return type == DW_UT_compile || type == DW_UT_partial || type == DW_UT_skeleton ||
	       type == DW_UT_split_compile;
}

enum warning unit_header_read(struct cursor *info, struct unit_header *u)
{
	*u = (struct unit_header){.off = cursor_off(info), .off_size = 4, .type = DW_UT_compile};
	uint64_t length = cursor_u32(info);
	if (length == 0xffffffff) {
		u->off_size = 8;
		length = cursor_u64(info);
	} else if (length >= 0xfffffff0) {
		cursor_fail(info);
	}
	if (length > cursor_left(info)) /* truncated file: read the rest */
		length = cursor_left(info);
	struct cursor c = cursor_window(info, length);
	u->end = (uint64_t)(c.end - c.start);
	u->version = cursor_u16(&c);
	if (cursor_ok(&c) && (u->version < 2 || u->version > 5))
		return WARN_UNIT_VERSION;
	if (u->version >= 5) {
		u->type = cursor_u8(&c);
		u->addr_size = cursor_u8(&c);
		u->abbrev_off = cursor_uint(&c, u->off_size);
		/* DWO id or type signature and offset follow the header of some types. */
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			u->dwo_id = cursor_u64(&c);
		else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
			cursor_skip(&c, 8 + u->off_size);
	} else {
		u->abbrev_off = cursor_uint(&c, u->off_size);
		u->addr_size = cursor_u8(&c);
	}
	u->die_off = (uint32_t)(cursor_off(&c) - u->off);
	if (!cursor_ok(&c) || (u->addr_size != 2 && u->addr_size != 4 && u->addr_size != 8))
		return WARN_UNIT_HEADER;
	if (u->type < DW_UT_compile || u->type > DW_UT_split_type)
		return WARN_UNIT_TYPE;
	return WARN_COUNT;
}

int dwarf_find_units(struct dwarf *dwarf, struct warnings *warnings)
{
	VEC(struct unit_header) units = {0};
	struct cursor c = cursor_new(dwarf->info.data, dwarf->info.size, dwarf->big_endian);
	struct shared_scan shared;
	uint64_t released = 0;
	shared_scan_begin(&shared, dwarf);
	while (cursor_left(&c)) {
		struct unit_header u;
		uint64_t off = cursor_off(&c);
		if (off - released >= RELEASE_STEP) {
			object_release(dwarf->object, dwarf->info, released, off);
			released = off;
		}
		enum warning bad = unit_header_read(&c, &u);
		if (bad != WARN_COUNT)
			warning_count(warnings, bad, ".debug_info", off);
		else if (unit_type_has_code(u.type) && shared_scan_unit(&shared, &u, warnings) &&
			 vec_push(&units, u)) {
			vec_free(&units);
			return -ENOMEM;
		}
	}
	for (size_t i = 1; i < units.n; i++)
		invariant(units.v[i - 1].end <= units.v[i].off);
	dwarf->units = units.v;
	dwarf->n_units = units.n;
	return 0;
}

int dwarf_take_units(struct dwarf *dwarf, const uint64_t *offsets, size_t n)
{
	struct warnings warnings = {0}; /* they are counted when all units are found */
	struct shared_scan shared;
	shared_scan_begin(&shared, dwarf);
	dwarf->n_units = 0;
	dwarf->units = calloc(n + 1, sizeof(*dwarf->units));
	if (!dwarf->units)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct unit_header *u = &dwarf->units[i];
		struct cursor c = cursor_new(dwarf->info.data, dwarf->info.size, dwarf->big_endian);
		cursor_seek(&c, offsets[i]);
		if (!cursor_left(&c) || unit_header_read(&c, u) != WARN_COUNT ||
		    !unit_type_has_code(u->type) || !shared_scan_unit(&shared, u, &warnings) ||
		    (i && u[-1].end > u->off))
			return -EBADMSG;
		dwarf->n_units++;
	}
	return 0;
}

/*
 * A .dwo by gcc with type units has several .debug_info.dwo sections: those of the type units' groups come
 * first, then the one with code.
 */
static int find_split_units(struct dwarf *dwarf, struct warnings *warnings)
{
	const char *name = ".debug_info.dwo";
	struct object_section *s = object_section(dwarf->object, name);
	int err = 0;
	while (!err && !dwarf->n_units && s && (s = object_next_section(dwarf->object, name, s))) {
		if (section_load(s))
			continue;
		dwarf->info = s->data;
		err = dwarf_find_units(dwarf, warnings);
	}
	return err;
}

int dwarf_open(struct dwarf *dwarf, struct object_file *object, bool split, unsigned threads,
	       struct warnings *warnings)
{
	int err = dwarf_load_sections(dwarf, object, split, threads, warnings);
	if (!err)
		err = dwarf_find_units(dwarf, warnings);
	return !err && split && !dwarf->n_units ? find_split_units(dwarf, warnings) : err;
}

const struct unit_header *dwarf_find_unit(const struct dwarf *dwarf, uint64_t off)
{
	size_t lo = PARTITION_POINT(0, dwarf->n_units, mid, dwarf->units[mid].off <= off);
	return lo && off < dwarf->units[lo - 1].end ? &dwarf->units[lo - 1] : NULL;
}

/* ---- Entries ---- */

struct cursor unit_cursor(const struct unit *unit, uint64_t off)
{
	struct cursor c = cursor_new(unit->dwarf->info.data, unit->header->end, unit->dwarf->big_endian);
	if (off < unit->header->off + unit->header->die_off)
		cursor_fail(&c);
	else
		cursor_seek(&c, off);
	return c;
}

/* A number of 0 to 8 bytes, after which there are 8 more. */
static uint64_t load_up_to_8(const uint8_t *at, unsigned size, bool big)
{
	static const uint64_t masks[] = {0,          0xff,         0xffff,         0xffffff,
					 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
					 UINT64_MAX};
	uint64_t v = load64(at, big);
	return (big && size ? v >> (64 - 8 * size) : v) & masks[size];
}

/* The attributes of a simple abbreviation, whose places are known: they need not be read one by one. */
static void read_simple(const uint8_t *at, const struct unit *unit, const struct abbrev *abbrev,
			struct die *ret)
{
	const struct span strings = unit->dwarf->str;
	const bool big = unit->dwarf->big_endian;
	const struct attr_op *op = &unit->abbrevs.ops.v[abbrev->first_op];
	uint32_t present = 0;
	for (const struct attr_op *end = op + abbrev->n_ops; op < end; op++) {
		struct value *v = &ret->attr[op->slot];
		v->class = op->class;
		v->u = load_up_to_8(at + op->at, op->size, big) + (uint64_t)op->value;
		if (op->class == VALUE_REFERENCE)
			v->u += unit->header->off;
		else if (op->class == VALUE_STRING)
			v->str = v->u < strings.size ? (const char *)strings.data + v->u : NULL;
		present |= (uint32_t)(v->class != VALUE_NONE) << op->slot;
	}
	ret->present = present;
}

void die_read(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev, struct die *ret)
{
	ret->abbrev = abbrev;
	ret->present = 0;
	if (!abbrev->n_ops)
		return; /* there may be no array */
	if (abbrev->simple && cursor_left(c) >= (uint64_t)abbrev->fixed_size + sizeof(uint64_t)) {
		read_simple(cursor_take(c, (uint64_t)abbrev->fixed_size), unit, abbrev, ret);
		return;
	}
	const struct attr_op *op = &unit->abbrevs.ops.v[abbrev->first_op];
	for (const struct attr_op *end = op + abbrev->n_ops; op < end; op++) {
		if (!op->form) {
			cursor_skip(c, (uint64_t)op->value);
		} else if (op->slot == SLOT_NONE) {
			form_skip(c, op->form, unit->header);
		} else {
			form_read(c, op->form, op->value, unit->dwarf, unit->header, &ret->attr[op->slot]);
			ret->present |= (uint32_t)(ret->attr[op->slot].class != VALUE_NONE) << op->slot;
		}
	}
}

int die_enter(const struct unit *unit, uint64_t off, struct die *ret, uint64_t *ret_end)
{
	struct cursor c = unit_cursor(unit, off);
	const struct abbrev *abbrev = abbrev_find(&unit->abbrevs, cursor_uleb(&c));
	if (abbrev) {
		ret->off = off;
		die_read(&c, unit, abbrev, ret);
	}
	*ret_end = cursor_off(&c);
	if (abbrev && cursor_ok(&c))
		return 0;
	warning_count(unit->warnings, WARN_REFERENCE, ".debug_info", off);
	return -EBADMSG;
}

int die_at(const struct unit *unit, uint64_t off, struct die *ret)
{
	uint64_t end;
	return die_enter(unit, off, ret, &end);
}

const char *unit_indexed_string(const struct unit *unit, uint64_t index)
{
	const struct dwarf *d = unit->dwarf;
	uint64_t at, size = unit->header->off_size;
	if (__builtin_mul_overflow(index, size, &at) ||
	    __builtin_add_overflow(at, unit->str_offsets_base, &at) || d->str_offsets.size < size ||
	    at > d->str_offsets.size - size)
		return NULL;
	const uint8_t *p = d->str_offsets.data + at;
	uint64_t off = size == 8 ? load64(p, d->big_endian) : load32(p, d->big_endian);
	return off < d->str.size ? (const char *)d->str.data + off : NULL;
}

const char *die_string(const struct unit *unit, const struct die *die, enum attr_slot slot)
{
	if (!die_has(die, slot))
		return NULL;
	const struct value *v = &die->attr[slot];
	const char *s = v->class == VALUE_STRING         ? v->str
			: v->class == VALUE_STRING_INDEX ? unit_indexed_string(unit, v->u)
							 : NULL;
	if (!s)
		warning_count(unit->warnings, v->class == VALUE_ALTERNATE ? WARN_ALTERNATE_FILE : WARN_STRING,
			      ".debug_info", die->off);
	return s;
}

bool unit_indexed_address(const struct unit *unit, uint64_t index, uint64_t *ret)
{
	const struct dwarf *d = unit->main;
	uint64_t at, size = unit->header->addr_size;
	if (__builtin_mul_overflow(index, size, &at) || __builtin_add_overflow(at, unit->addr_base, &at) ||
	    d->addr.size < size || at > d->addr.size - size)
		return false;
	struct cursor c = cursor_new(d->addr.data + at, size, d->big_endian);
	*ret = cursor_uint(&c, (unsigned)size);
	return true;
}

bool die_address(const struct unit *unit, const struct die *die, enum attr_slot slot, uint64_t *ret)
{
	if (!die_has(die, slot))
		return false;
	const struct value *v = &die->attr[slot];
	bool found = true;
	*ret = v->u;
	if (v->class == VALUE_ADDRESS_INDEX)
		found = unit_indexed_address(unit, v->u, ret);
	else if (v->class != VALUE_ADDRESS) {
		warning_count(unit->warnings, WARN_FORM, ".debug_info", die->off);
		return false;
	}
	if (!found)
		warning_count(unit->warnings, WARN_ADDRESS_INDEX, ".debug_info", die->off);
	*ret &= ~unit->main->mode_bits;
	return found;
}

uint64_t die_uint(const struct die *die, enum attr_slot slot, uint64_t absent)
{
	if (!die_has(die, slot))
		return absent;
	const struct value *v = &die->attr[slot];
	return v->class == VALUE_UINT || (v->class == VALUE_SINT && (int64_t)v->u >= 0) ? v->u : absent;
}

/* The offset in DW_AT_sibling, or 0. It must be ahead, so that scans terminate. */
static uint64_t sibling_of(const struct cursor *c, const struct unit *unit, const struct abbrev *abbrev)
{
	struct cursor at = *c;
	cursor_skip(&at, (uint64_t)abbrev->sibling_at);
	uint64_t target = cursor_uint(&at, abbrev->sibling_size) + unit->header->off;
	return cursor_ok(&at) && target > cursor_off(&at) - 1 && target <= unit->header->end ? target : 0;
}

bool die_skip_tree(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev)
{
	bool known = abbrev->has_children && abbrev->sibling_at >= 0;
	uint64_t sibling = known ? sibling_of(c, unit, abbrev) : 0;
	if (sibling)
		c->pos = c->start + sibling;
	return sibling != 0;
}

bool die_skip(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev)
{
	bool no_code = abbrev->kind == DIE_OTHER || abbrev->kind == DIE_CALL_SITE ||
		       (abbrev->kind == DIE_TYPE && unit->plain_types);
	if (no_code && die_skip_tree(c, unit, abbrev))
		return false;
	if (abbrev->fixed_size >= 0) {
		cursor_skip(c, (uint64_t)abbrev->fixed_size);
	} else {
		const struct attr_op *op = &unit->abbrevs.ops.v[abbrev->first_op];
		for (const struct attr_op *end = op + abbrev->n_ops; op < end; op++) {
			if (!op->form)
				cursor_skip(c, (uint64_t)op->value);
			else
				form_skip(c, op->form, unit->header);
		}
	}
	return abbrev->has_children && cursor_ok(c);
}

bool die_skip_children(struct cursor *c, const struct unit *unit)
{
	for (uint64_t depth = 1; depth && cursor_ok(c);) {
		uint64_t code = cursor_uleb(c);
		const struct abbrev *abbrev = code ? abbrev_find(&unit->abbrevs, code) : NULL;
		if (!code)
			depth--;
		else if (!abbrev)
			cursor_fail(c);
		else
			depth += die_skip(c, unit, abbrev);
	}
	return cursor_ok(c);
}

/* ---- The unit entry ---- */

static bool is_plain_c(uint16_t language)
{
	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11 || language == 0x2c /* C17, as dwarfstd.org lists it */;
}

bool language_is_ada(uint16_t language)
{
	return language == DW_LANG_Ada83 || language == DW_LANG_Ada95 ||
	       language == 0x2e || /* 2005, as dwarfstd.org lists it */
	       language == 0x2f;   /* 2012 */
}

/* Whether a skeleton stands for a module of clang, which has types and declarations and no code. */
static bool is_clang_module(const struct die *root, const char *dwo_name)
{
	const char *dot = strrchr(dwo_name, '.');
	return dot && !strcmp(dot, ".pcm") && !die_has(root, SLOT_LOW_PC) && !die_has(root, SLOT_RANGES);
}

/* Indexes can only be resolved once the bases are known, so those come first. */
static void unit_take_root(struct unit *unit, const struct die *root)
{
	uint8_t header8 = unit->header->off_size == 8 ? 16 : 8; /* of .debug_str_offsets and .debug_addr */
	bool v5 = unit->header->version >= 5;
	unit->str_offsets_base = die_uint(root, SLOT_STR_OFFSETS_BASE, v5 ? header8 : 0);
	unit->addr_base = die_uint(root, SLOT_ADDR_BASE, v5 ? header8 : 0);
	unit->rnglists_base = die_uint(root, SLOT_RNGLISTS_BASE, unit->header->off_size == 8 ? 20 : 12);
	unit->ranges_base = die_uint(root, SLOT_GNU_RANGES_BASE, 0);
	unit->language = (uint16_t)die_uint(root, SLOT_LANGUAGE, 0);
	unit->plain_types = is_plain_c(unit->language);
	unit->stmt_list = die_uint(root, SLOT_STMT_LIST, NO_LINES);
	unit->has_stmt_list = unit->stmt_list != NO_LINES && unit->stmt_list == unit->header->line_off;
	const char *dir = die_string(unit, root, SLOT_COMP_DIR);
	unit->comp_dir = dir ? dir : "";
	unit->dwo_name = unit->dwarf->split ? NULL : die_string(unit, root, SLOT_DWO_NAME);
	if (unit->dwo_name && is_clang_module(root, unit->dwo_name))
		unit->dwo_name = NULL;
	unit->dwo_id = die_uint(root, SLOT_DWO_ID, unit->header->dwo_id);
	unit->is_partial = root->abbrev->tag == DW_TAG_partial_unit;
	unit->low_pc = 0;
	(void)die_address(unit, root, SLOT_LOW_PC, &unit->low_pc);
}

int unit_load(struct unit *unit, const struct dwarf *dwarf, const struct unit_header *header,
	      struct warnings *warnings)
{
	unit->dwarf = unit->main = dwarf;
	unit->header = header;
	unit->warnings = warnings;
	unit->scopes.n = 0;
	unit->has_scopes = false;
	unit->budget = budget_of(header->input);
	int err = abbrev_table_read(&unit->abbrevs, dwarf, header);
	if (err == -EBADMSG)
		warning_count(warnings, WARN_UNIT_ABBREV, ".debug_abbrev", header->abbrev_off);
	if (err)
		return err;
	if (unit->abbrevs.is_cut)
		warning_count(warnings, WARN_ABBREV_CUT, ".debug_abbrev", header->abbrev_off);
	struct cursor c = unit_cursor(unit, header->off + header->die_off);
	const struct abbrev *abbrev = abbrev_find(&unit->abbrevs, cursor_uleb(&c));
	struct die root = {.off = header->off + header->die_off};
	if (abbrev && abbrev->kind == DIE_UNIT)
		die_read(&c, unit, abbrev, &root);
	if (!abbrev || abbrev->kind != DIE_UNIT || !cursor_ok(&c)) {
		warning_count(warnings, WARN_UNIT_DIE, ".debug_info", root.off);
		return -EBADMSG;
	}
	unit_take_root(unit, &root);
	unit->first_child = abbrev->has_children ? cursor_off(&c) : 0;
	return 0;
}

int unit_load_split(struct unit *unit, const struct unit *skeleton, const struct dwarf *dwarf,
		    const struct unit_header *header, struct warnings *warnings)
{
	int err = unit_load(unit, dwarf, header, warnings);
	unit->budget = budget_of(header->input + skeleton->header->input);
	unit->main = skeleton->dwarf;
	unit->low_pc = skeleton->low_pc;
	unit->addr_base = skeleton->addr_base;
	unit->ranges_base = skeleton->ranges_base;
	unit->has_stmt_list = skeleton->has_stmt_list;
	unit->stmt_list = skeleton->stmt_list;
	unit->comp_dir = skeleton->comp_dir;
	return err;
}

void unit_deinit(struct unit *unit)
{
	abbrev_table_deinit(&unit->abbrevs);
	vec_free(&unit->scopes);
}

#include "convert/dwarf/dwarf.h"

struct code_list {
	const struct dwarf *dwarf;
	bool *listed; /* of each unit: it has a set in .debug_aranges */
	unit_code_vec *ret;
};

static int add_code_range(struct code_list *l, uint64_t unit, uint64_t lo, uint64_t hi)
{
	return lo < hi ? vec_push(l->ret, (struct unit_code){lo, hi, unit}) : 0;
}

/* ---- .debug_aranges ---- */

/* The header of a set (6.1.2), whose length was read: the sizes of its tuples, and its unit. */
struct arange_set {
	uint64_t unit_off;
	uint8_t addr_size;
	bool readable;
};

/* @start: where the set begins, from which its tuples are aligned. */
static struct arange_set read_set_header(struct cursor *c, uint64_t start, unsigned off_size)
{
	struct arange_set set = {0};
	uint16_t version = cursor_u16(c);
	set.unit_off = cursor_uint(c, off_size);
	set.addr_size = cursor_u8(c);
	uint8_t segment_size = cursor_u8(c);
	bool known = set.addr_size == 2 || set.addr_size == 4 || set.addr_size == 8;
	set.readable = cursor_ok(c) && version == 2 && known && !segment_size;
	uint64_t tuple = set.addr_size * 2U, past = set.readable ? (cursor_off(c) - start) % tuple : 0;
	cursor_skip(c, past ? tuple - past : 0);
	return set;
}

static int read_set(struct code_list *l, struct cursor *c, uint64_t start, unsigned off_size)
{
	const struct dwarf *d = l->dwarf;
	struct arange_set set = read_set_header(c, start, off_size);
	const struct unit_header *u = set.readable ? dwarf_find_unit(d, set.unit_off) : NULL;
	if (!set.readable || (d->n_units && (!u || u->off != set.unit_off)))
		return 0;
	if (u)
		l->listed[u - d->units] = true;
	uint64_t mode = l->dwarf->mode_bits;
	int err = 0;
	while (!err && cursor_left(c)) {
		uint64_t lo = cursor_uint(c, set.addr_size), size = cursor_uint(c, set.addr_size), end;
		if (!cursor_ok(c) || (!lo && !size))
			break;
		if (!__builtin_add_overflow(lo & ~mode, size, &end))
			err = add_code_range(l, set.unit_off, lo & ~mode, end);
	}
	return err;
}

static int read_aranges(struct code_list *l)
{
	struct object_section *s = object_section(l->dwarf->object, ".debug_aranges");
	int err = s ? section_load(s) : -ENOENT;
	if (err)
		return err == -ENOMEM ? err : 0;
	struct cursor all = cursor_new(s->data.data, s->data.size, l->dwarf->big_endian);
	while (!err && cursor_left(&all)) {
		uint64_t start = cursor_off(&all), length = cursor_u32(&all);
		unsigned off_size = length == 0xffffffff ? 8 : 4;
		if (off_size == 8)
			length = cursor_u64(&all);
		if (!cursor_ok(&all) || length > cursor_left(&all))
			break;
		struct cursor set = cursor_window(&all, length);
		err = read_set(l, &set, start, off_size);
	}
	return err;
}

/* ---- Entries of units ---- */

static int read_root(struct code_list *l, struct unit *unit, size_t index, range_vec *ranges)
{
	struct warnings warnings = {0}; /* they are counted when the unit is converted */
	struct die root;
	const struct unit_header *u = &l->dwarf->units[index];
	int err = unit_load(unit, l->dwarf, u, &warnings);
	if (!err)
		err = die_at(unit, u->off + u->die_off, &root);
	ranges->n = 0;
	if (!err)
		err = die_ranges(unit, &root, ACCOUNT_RECORDS, ranges);
	for (size_t i = 0; i < ranges->n && !err; i++)
		err = add_code_range(l, u->off, ranges->v[i].lo, ranges->v[i].hi);
	return err == -EBADMSG ? 0 : err;
}

static int read_roots(struct code_list *l)
{
	struct unit unit = {0};
	range_vec ranges = {0};
	int err = 0;
	for (size_t i = 0; i < l->dwarf->n_units && !err; i++)
		if (!l->listed[i])
			err = read_root(l, &unit, i, &ranges);
	unit_deinit(&unit);
	vec_free(&ranges);
	return err;
}

int dwarf_list_code(const struct dwarf *dwarf, unit_code_vec *ret)
{
	CLEANUP(freep) bool *listed = calloc(dwarf->n_units + 1, sizeof(*listed));
	struct code_list l = {dwarf, listed, ret};
	int err = listed ? read_aranges(&l) : -ENOMEM;
	return err ? err : read_roots(&l);
}

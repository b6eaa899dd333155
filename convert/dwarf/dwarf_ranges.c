/*
 * dwarf_ranges.c - code ranges of an entry: DWARF 5, 2.17, 7.25 (.debug_rnglists) and DWARF 4, 2.17.3
 * (.debug_ranges).
 */
#include "convert/dwarf/dwarf.h"

#include <libdwarf/dwarf.h>

/* A list being read: entries may share it, so that each entry of the list is charged to an account. */
struct list_reader {
	struct unit *unit;
	enum account account;
	range_vec *ret;
};

static int push_range(const struct list_reader *l, uint64_t lo, uint64_t hi)
{
	if (!budget_work(&l->unit->budget, l->account, RANGE_STEPS))
		return -EDQUOT;
	return vec_push(l->ret, (struct range){lo, hi});
}

/* Whether the base is that of dropped code: offsets from it would wrap around to live addresses. */
static bool is_dead(const struct unit *unit, uint64_t base)
{
	return base >= tombstone(unit) - 1;
}

/* Pairs of addresses, relative to a base that an entry starting with all ones replaces; (0, 0) ends. */
static int read_debug_ranges(const struct list_reader *l, struct cursor *c)
{
	struct unit *unit = l->unit;
	unsigned size = unit->header->addr_size;
	uint64_t base = unit->low_pc, mask = tombstone(unit);
	for (;;) {
		uint64_t lo = cursor_uint(c, size), hi = cursor_uint(c, size);
		if (!cursor_ok(c))
			return -EBADMSG;
		if (!lo && !hi)
			return 0;
		if (lo == mask)
			base = hi;
		if (!budget_work(&unit->budget, l->account, 1))
			return -EDQUOT;
		if (lo == mask)
			continue;
		int err = is_dead(unit, base) ? 0 : push_range(l, (lo + base) & mask, (hi + base) & mask);
		if (err)
			return err;
	}
}

static int indexed(struct unit *unit, struct cursor *c, uint64_t *ret)
{
	return unit_indexed_address(unit, cursor_uleb(c), ret) ? 0 : -EBADMSG;
}

/* Reads one entry of .debug_rnglists. 1 at the end of the list, 0, or -EBADMSG; *r has lo > hi when the entry
 * adds no range. */
static int read_rnglist_entry(struct unit *unit, struct cursor *c, uint64_t *base, struct range *r)
{
	unsigned size = unit->header->addr_size;
	int err = 0;
	*r = (struct range){1, 0};
	switch (cursor_u8(c)) {
	case DW_RLE_end_of_list: return 1;
	case DW_RLE_base_addressx: return indexed(unit, c, base);
	case DW_RLE_base_address: *base = cursor_uint(c, size); return 0;
	case DW_RLE_startx_endx: err = indexed(unit, c, &r->lo); return err ? err : indexed(unit, c, &r->hi);
	case DW_RLE_startx_length:
		err = indexed(unit, c, &r->lo);
		r->hi = r->lo + cursor_uleb(c);
		return err;
	case DW_RLE_offset_pair:
		r->lo = *base + cursor_uleb(c);
		r->hi = *base + cursor_uleb(c);
		if (is_dead(unit, *base))
			*r = (struct range){1, 0};
		return 0;
	case DW_RLE_start_end:
		r->lo = cursor_uint(c, size);
		r->hi = cursor_uint(c, size);
		return 0;
	case DW_RLE_start_length:
		r->lo = cursor_uint(c, size);
		r->hi = r->lo + cursor_uleb(c);
		return 0;
	}
	return -EBADMSG;
}

static int read_debug_rnglists(const struct list_reader *l, struct cursor *c)
{
	struct unit *unit = l->unit;
	uint64_t base = unit->low_pc;
	for (;;) {
		struct range r;
		int end = read_rnglist_entry(unit, c, &base, &r);
		if (!cursor_ok(c))
			return -EBADMSG;
		if (end)
			return end < 0 ? end : 0;
		if (!budget_work(&unit->budget, l->account, 1))
			return -EDQUOT;
		int err = r.lo <= r.hi ? push_range(l, r.lo, r.hi) : 0;
		if (err)
			return err;
	}
}

/* DW_FORM_rnglistx: an index into the offset table after the section's header; offsets are relative to that
 * table (7.28). */
static bool list_offset(const struct unit *unit, const struct value *v, uint64_t *ret)
{
	if (v->class == VALUE_UINT) {
		*ret = v->u;
		return true;
	}
	uint64_t at, size = unit->header->off_size;
	struct cursor c =
		cursor_new(unit->dwarf->rnglists.data, unit->dwarf->rnglists.size, unit->dwarf->big_endian);
	if (v->class != VALUE_LIST_INDEX || __builtin_mul_overflow(v->u, size, &at) ||
	    __builtin_add_overflow(at, unit->rnglists_base, &at))
		return false;
	cursor_seek(&c, at);
	uint64_t off = cursor_uint(&c, (unsigned)size);
	return cursor_ok(&c) && !__builtin_add_overflow(off, unit->rnglists_base, ret);
}

static int read_list(struct unit *unit, const struct die *die, enum account account, range_vec *ret)
{
	const struct list_reader l = {unit, account, ret};
	size_t first = ret->n;
	/*
	 * Before version 5 the lists of split units are in the main file, relative to DW_AT_GNU_ranges_base.
	 */
	bool v5 = unit->header->version >= 5;
	const struct span s = v5 ? unit->dwarf->rnglists : unit->main->ranges;
	struct cursor c = cursor_new(s.data, s.size, unit->dwarf->big_endian);
	uint64_t off = 0;
	int err = list_offset(unit, &die->attr[SLOT_RANGES], &off) ? 0 : -EBADMSG;
	if (!v5 && unit->main != unit->dwarf)
		off += unit->ranges_base;
	cursor_seek(&c, off);
	if (!err)
		err = v5 ? read_debug_rnglists(&l, &c) : read_debug_ranges(&l, &c);
	/* Range ends have the mode bit, too. */
	for (size_t i = first; i < ret->n && unit->main->mode_bits; i++) {
		ret->v[i].lo &= ~unit->main->mode_bits;
		ret->v[i].hi &= ~unit->main->mode_bits;
	}
	if (err != -EBADMSG)
		return err == -EDQUOT ? 0 : err;
	warning_count(unit->warnings, WARN_RANGES, v5 ? ".debug_rnglists" : ".debug_ranges", off);
	return 0; /* ranges before the damage are kept */
}

int die_ranges(struct unit *unit, const struct die *die, enum account account, range_vec *ret)
{
	uint64_t lo, hi;
	if (!die_has(die, SLOT_HIGH_PC))
		return die_has(die, SLOT_RANGES) ? read_list(unit, die, account, ret) : 0;
	if (!die_address(unit, die, SLOT_LOW_PC, &lo))
		return 0;
	const struct value *high = &die->attr[SLOT_HIGH_PC];
	if (high->class == VALUE_UINT || high->class == VALUE_SINT)
		hi = lo + high->u; /* from version 4 on: a size */
	else if (!die_address(unit, die, SLOT_HIGH_PC, &hi))
		return 0;
	return vec_push(ret, (struct range){lo, hi});
}

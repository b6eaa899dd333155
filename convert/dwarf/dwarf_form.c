/*
 * dwarf_form.c - attribute forms: how many bytes, what they mean (DWARF 5, 7.5.5 and 7.5.6).
 */
#include "convert/dwarf/dwarf.h"

#include <libdwarf/dwarf.h>

/* GNU extensions for dwz and split DWARF 4; not every dwarf.h has all of them. */
enum {
	FORM_GNU_ADDR_INDEX = 0x1f01,
	FORM_GNU_STR_INDEX = 0x1f02,
	FORM_GNU_REF_ALT = 0x1f20,
	FORM_GNU_STRP_ALT = 0x1f21,
};

int form_fixed_size(uint64_t form, const struct unit_header *unit)
{
	switch (form) {
	case DW_FORM_implicit_const:
	case DW_FORM_flag_present: return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4: return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_addr: return unit->addr_size;
	case DW_FORM_ref_addr: return unit->version <= 2 ? unit->addr_size : unit->off_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case FORM_GNU_REF_ALT:
	case FORM_GNU_STRP_ALT: return unit->off_size;
	}
	return -1;
}

enum value_class form_simple_class(uint64_t form)
{
	switch (form) {
	case DW_FORM_addr: return VALUE_ADDRESS;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4: return VALUE_ADDRESS_INDEX;
	case DW_FORM_strp: return VALUE_STRING;
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4: return VALUE_STRING_INDEX;
	case DW_FORM_flag:
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sec_offset:
	case DW_FORM_flag_present: return VALUE_UINT;
	case DW_FORM_implicit_const: return VALUE_SINT;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4: return VALUE_REFERENCE;
	}
	return VALUE_NONE;
}

void form_skip(struct cursor *c, uint64_t form, const struct unit_header *unit)
{
	int fixed = form_fixed_size(form, unit);
	if (fixed >= 0) {
		cursor_skip(c, (uint64_t)fixed);
		return;
	}
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case FORM_GNU_ADDR_INDEX:
	case FORM_GNU_STR_INDEX: cursor_skip_leb(c); return;
	case DW_FORM_string: (void)cursor_str(c); return;
	case DW_FORM_block1: cursor_skip(c, cursor_u8(c)); return;
	case DW_FORM_block2: cursor_skip(c, cursor_u16(c)); return;
	case DW_FORM_block4: cursor_skip(c, cursor_u32(c)); return;
	case DW_FORM_block:
	case DW_FORM_exprloc: cursor_skip(c, cursor_uleb(c)); return;
	case DW_FORM_indirect: {
		uint64_t real = cursor_uleb(c);
		if (real == DW_FORM_indirect || real == DW_FORM_implicit_const)
			cursor_fail(c);
		else
			form_skip(c, real, unit);
		return;
	}
	}
	cursor_fail(c);
}

static void read_uint(struct cursor *c, unsigned size, enum value_class class, struct value *ret)
{
	ret->class = class;
	ret->u = size == 3 ? cursor_u24(c) : cursor_uint(c, size);
}

static void read_uleb(struct cursor *c, enum value_class class, struct value *ret)
{
	ret->class = class;
	ret->u = cursor_uleb(c);
}

/* An offset in .debug_str of the alternate file: a string if that file was found. */
static void read_alternate_string(struct cursor *c, const struct dwarf *dwarf, const struct unit_header *unit,
				  struct value *ret)
{
	uint64_t off = cursor_uint(c, unit->off_size);
	ret->class = VALUE_ALTERNATE;
	if (!dwarf->alternate)
		return;
	ret->class = VALUE_STRING;
	ret->str = off < dwarf->alternate->str.size ? (const char *)dwarf->alternate->str.data + off : NULL;
}

static void read_string(struct cursor *c, struct span section, const struct unit_header *unit,
			struct value *ret)
{
	uint64_t off = cursor_uint(c, unit->off_size);
	ret->class = VALUE_STRING;
	ret->str = off < section.size ? (const char *)section.data + off : NULL;
}

/* References inside a unit count from its header; the value counts from the start of .debug_info. */
static void read_ref(struct cursor *c, unsigned size, const struct unit_header *unit, struct value *ret)
{
	uint64_t off = size ? cursor_uint(c, size) : cursor_uleb(c);
	ret->class = VALUE_REFERENCE;
	if (__builtin_add_overflow(off, unit->off, &ret->u))
		ret->class = VALUE_NONE;
}

static void read_inline_string(struct cursor *c, struct value *ret)
{
	ret->str = cursor_str(c);
	ret->class = ret->str ? VALUE_STRING : VALUE_NONE;
}

static void read_indirect(struct cursor *c, const struct dwarf *dwarf, const struct unit_header *unit,
			  struct value *ret)
{
	uint64_t real = cursor_uleb(c);
	if (real == DW_FORM_indirect || real == DW_FORM_implicit_const)
		cursor_fail(c);
	else
		form_read(c, real, 0, dwarf, unit, ret);
}

void form_read(struct cursor *c, uint64_t form, int64_t implicit, const struct dwarf *dwarf,
	       const struct unit_header *unit, struct value *ret)
{
	*ret = (struct value){.class = VALUE_NONE};
	switch (form) {
	case DW_FORM_addr: read_uint(c, unit->addr_size, VALUE_ADDRESS, ret); return;
	case DW_FORM_addrx:
	case FORM_GNU_ADDR_INDEX: read_uleb(c, VALUE_ADDRESS_INDEX, ret); return;
	case DW_FORM_addrx1: read_uint(c, 1, VALUE_ADDRESS_INDEX, ret); return;
	case DW_FORM_addrx2: read_uint(c, 2, VALUE_ADDRESS_INDEX, ret); return;
	case DW_FORM_addrx3: read_uint(c, 3, VALUE_ADDRESS_INDEX, ret); return;
	case DW_FORM_addrx4: read_uint(c, 4, VALUE_ADDRESS_INDEX, ret); return;
	case DW_FORM_strp: read_string(c, dwarf->str, unit, ret); return;
	case DW_FORM_line_strp: read_string(c, dwarf->line_str, unit, ret); return;
	case DW_FORM_string: read_inline_string(c, ret); return;
	case DW_FORM_strx:
	case FORM_GNU_STR_INDEX: read_uleb(c, VALUE_STRING_INDEX, ret); return;
	case DW_FORM_strx1: read_uint(c, 1, VALUE_STRING_INDEX, ret); return;
	case DW_FORM_strx2: read_uint(c, 2, VALUE_STRING_INDEX, ret); return;
	case DW_FORM_strx3: read_uint(c, 3, VALUE_STRING_INDEX, ret); return;
	case DW_FORM_strx4: read_uint(c, 4, VALUE_STRING_INDEX, ret); return;
	case DW_FORM_flag:
	case DW_FORM_data1: read_uint(c, 1, VALUE_UINT, ret); return;
	case DW_FORM_data2: read_uint(c, 2, VALUE_UINT, ret); return;
	case DW_FORM_data4: read_uint(c, 4, VALUE_UINT, ret); return;
	case DW_FORM_data8: read_uint(c, 8, VALUE_UINT, ret); return;
	case DW_FORM_udata: read_uleb(c, VALUE_UINT, ret); return;
	case DW_FORM_sdata: *ret = (struct value){VALUE_SINT, (uint64_t)cursor_sleb(c), NULL}; return;
	case DW_FORM_implicit_const: *ret = (struct value){VALUE_SINT, (uint64_t)implicit, NULL}; return;
	case DW_FORM_flag_present: *ret = (struct value){VALUE_UINT, 1, NULL}; return;
	case DW_FORM_sec_offset: read_uint(c, unit->off_size, VALUE_UINT, ret); return;
	case DW_FORM_rnglistx: read_uleb(c, VALUE_LIST_INDEX, ret); return;
	case DW_FORM_ref1: read_ref(c, 1, unit, ret); return;
	case DW_FORM_ref2: read_ref(c, 2, unit, ret); return;
	case DW_FORM_ref4: read_ref(c, 4, unit, ret); return;
	case DW_FORM_ref8: read_ref(c, 8, unit, ret); return;
	case DW_FORM_ref_udata: read_ref(c, 0, unit, ret); return;
	case DW_FORM_ref_addr:
		read_uint(c, (unsigned)form_fixed_size(form, unit), VALUE_REFERENCE, ret);
		return;
	case FORM_GNU_STRP_ALT:
	case DW_FORM_strp_sup: read_alternate_string(c, dwarf, unit, ret); return;
	case FORM_GNU_REF_ALT: read_uint(c, unit->off_size, VALUE_ALTERNATE, ret); return;
	case DW_FORM_ref_sup4: read_uint(c, 4, VALUE_ALTERNATE, ret); return;
	case DW_FORM_ref_sup8: read_uint(c, 8, VALUE_ALTERNATE, ret); return;
	case DW_FORM_indirect: read_indirect(c, dwarf, unit, ret); return;
	}
	form_skip(c, form, unit);
}

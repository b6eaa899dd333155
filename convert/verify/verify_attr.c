/*
 * verify_attr.c - attributes through libdwarf; errors are counted by dw_ok() and read as absent attributes.
 */
#include "convert/verify/verify_parts.h"

#include "gsym/base/vec.h"

enum { REFERENCES_MAX = 16 }; /* abstract origins and specifications followed for a name */

uint64_t verify_attr_number(struct dw *dw, Dwarf_Die die, Dwarf_Half number)
{
	Dwarf_Attribute attr;
	Dwarf_Unsigned value = 0;
	Dwarf_Signed signed_value = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_attr(die, number, &attr, &error), &error))
		return 0;
	if (dwarf_formudata(attr, &value, &error) != DW_DLV_OK) {
		/* DW_FORM_sdata and, before DWARF 5, DW_FORM_implicit_const are signed. */
		dwarf_dealloc_error(dw->dbg, error);
		if (dw_ok(dw, dwarf_formsdata(attr, &signed_value, &error), &error) && signed_value > 0)
			value = (Dwarf_Unsigned)signed_value;
	}
	dwarf_dealloc_attribute(attr);
	return value;
}

static const char *attr_string(struct dw *dw, Dwarf_Die die, Dwarf_Half number)
{
	Dwarf_Attribute attr;
	char *text = NULL;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_attr(die, number, &attr, &error), &error))
		return NULL;
	bool ok = dw_ok(dw, dwarf_formstring(attr, &text, &error), &error);
	dwarf_dealloc_attribute(attr);
	return ok && text && text[0] ? text : NULL;
}

/* The entry attribute @number refers to, which the caller releases. */
static bool attr_entry(struct dw *dw, Dwarf_Die die, Dwarf_Half number, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Off off = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_attr(die, number, &attr, &error), &error))
		return false;
	bool ok = dw_ok(dw, dwarf_global_formref(attr, &off, &error), &error);
	dwarf_dealloc_attribute(attr);
	return ok && dw_ok(dw, dwarf_offdie_b(dw->dbg, off, 1, ret, &error), &error);
}

struct verify_name verify_attr_name(struct dw *dw, Dwarf_Die die)
{
	struct verify_name name = {0};
	Dwarf_Die next, owned = NULL;
	for (int i = 0; i < REFERENCES_MAX && !name.linkage; i++) {
		if (!name.linkage)
			name.linkage = attr_string(dw, die, DW_AT_linkage_name);
		if (!name.linkage)
			name.linkage = attr_string(dw, die, DW_AT_MIPS_linkage_name);
		if (!name.plain)
			name.plain = attr_string(dw, die, DW_AT_name);
		if (!name.line) {
			name.line = verify_attr_number(dw, die, DW_AT_decl_line);
			name.file = verify_attr_number(dw, die, DW_AT_decl_file);
		}
		if (name.linkage || !(attr_entry(dw, die, DW_AT_abstract_origin, &next) ||
				      attr_entry(dw, die, DW_AT_specification, &next)))
			break;
		if (owned)
			dwarf_dealloc_die(owned);
		die = owned = next;
	}
	if (owned)
		dwarf_dealloc_die(owned);
	return name;
}

static int append_range(const struct dw *dw, struct verify_range_list *ranges, uint64_t low, uint64_t high)
{
	low &= ~dw->mode_bits;
	high &= ~dw->mode_bits;
	return low < high ? vec_push(ranges, (struct verify_range){low, high}) : 0;
}

/* DW_AT_ranges before DWARF 5 (3.4, 2.17.3): pairs counted from the unit's low_pc or from a selected base. */
static int old_ranges(struct dw *dw, Dwarf_Die die, Dwarf_Unsigned off, uint64_t base,
		      struct verify_range_list *ranges)
{
	Dwarf_Ranges *list = NULL;
	Dwarf_Signed count = 0;
	Dwarf_Unsigned bytes = 0;
	Dwarf_Off real = 0;
	Dwarf_Error error = NULL;
	int err = 0, result = dwarf_get_ranges_b(dw->dbg, off, die, &real, &list, &count, &bytes, &error);
	if (!dw_ok(dw, result, &error))
		return 0;
	for (Dwarf_Signed i = 0; !err && i < count && list[i].dwr_type != DW_RANGES_END; i++) {
		if (list[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = list[i].dwr_addr2;
		else
			err = append_range(dw, ranges, base + list[i].dwr_addr1, base + list[i].dwr_addr2);
	}
	dw_free_ranges(dw->dbg, list, count);
	return err;
}

/* DW_AT_ranges of DWARF 5 (7.25): libdwarf has resolved bases and indexes in the "cooked" values. */
static int new_ranges(struct dw *dw, Dwarf_Attribute attr, Dwarf_Half form, Dwarf_Unsigned value,
		      struct verify_range_list *ranges)
{
	Dwarf_Rnglists_Head head = NULL;
	Dwarf_Unsigned count = 0, off = 0;
	Dwarf_Error error = NULL;
	int err = 0;
	if (!dw_ok(dw, dwarf_rnglists_get_rle_head(attr, form, value, &head, &count, &off, &error), &error))
		return 0;
	for (Dwarf_Unsigned i = 0; !err && i < count; i++) {
		unsigned size = 0, kind = 0;
		Dwarf_Unsigned raw1, raw2, low = 0, high = 0;
		Dwarf_Bool missing = 0;
		int result = dwarf_get_rnglists_entry_fields_a(head, i, &size, &kind, &raw1, &raw2, &missing,
							       &low, &high, &error);
		if (!dw_ok(dw, result, &error) || kind == DW_RLE_end_of_list)
			break;
		if (!missing && kind != DW_RLE_base_addressx && kind != DW_RLE_base_address)
			err = append_range(dw, ranges, low, high);
	}
	dwarf_dealloc_rnglists_head(head);
	return err;
}

/* The low_pc of the unit @die is in, which range lists before DWARF 5 count from. */
static uint64_t unit_low_pc(struct dw *dw, Dwarf_Die die)
{
	Dwarf_Off off = 0;
	Dwarf_Die unit;
	Dwarf_Addr low = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_CU_dieoffset_given_die(die, &off, &error), &error) ||
	    !dw_ok(dw, dwarf_offdie_b(dw->dbg, off, 1, &unit, &error), &error))
		return 0;
	dw_ok(dw, dwarf_lowpc(unit, &low, &error), &error);
	dwarf_dealloc_die(unit);
	return low;
}

static int listed_ranges(struct dw *dw, Dwarf_Die die, Dwarf_Attribute attr, struct verify_range_list *ranges)
{
	Dwarf_Half form = 0, version = 0, off_size = 0;
	Dwarf_Unsigned value = 0;
	Dwarf_Off off = 0;
	Dwarf_Error error = NULL;
	bool ok;
	if (!dw_ok(dw, dwarf_whatform(attr, &form, &error), &error))
		return 0;
	if (form == DW_FORM_data4 || form == DW_FORM_data8 || form == DW_FORM_rnglistx) {
		ok = dw_ok(dw, dwarf_formudata(attr, &value, &error), &error);
	} else {
		ok = dw_ok(dw, dwarf_global_formref(attr, &off, &error), &error);
		value = off;
	}
	if (!ok || dwarf_get_version_of_die(die, &version, &off_size) != DW_DLV_OK)
		return 0;
	if (version >= 5)
		return new_ranges(dw, attr, form, value, ranges);
	return old_ranges(dw, die, value, unit_low_pc(dw, die), ranges);
}

int verify_attr_ranges(struct dw *dw, Dwarf_Die die, struct verify_range_list *ranges)
{
	Dwarf_Attribute attr;
	Dwarf_Addr low = 0, high = 0;
	Dwarf_Half form = 0;
	enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
	Dwarf_Error error = NULL;
	if (dw_ok(dw, dwarf_attr(die, DW_AT_ranges, &attr, &error), &error)) {
		int err = listed_ranges(dw, die, attr, ranges);
		dwarf_dealloc_attribute(attr);
		return err;
	}
	if (!dw_ok(dw, dwarf_lowpc(die, &low, &error), &error) ||
	    !dw_ok(dw, dwarf_highpc_b(die, &high, &form, &class, &error), &error))
		return 0;
	low &= ~dw->mode_bits; /* before the size is added */
	if (class == DW_FORM_CLASS_CONSTANT && __builtin_add_overflow(low, high, &high))
		return 0;
	return append_range(dw, ranges, low, high);
}

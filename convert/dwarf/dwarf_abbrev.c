/*
 * dwarf_abbrev.c - abbreviation tables, compiled (DWARF 5, 7.5.3).
 *
 * The scan over entries uses each abbreviation thousands of times, so it is compiled once: which attributes
 * matter for the tag, their total size if it is fixed, and the offset of DW_AT_sibling. An irrelevant entry
 * is then skipped with one addition, or one load if it has a subtree.
 */
#include "convert/dwarf/dwarf.h"

#include <libdwarf/dwarf.h>

static enum die_kind kind_of_tag(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram: return DIE_SUBPROGRAM;
	case DW_TAG_inlined_subroutine: return DIE_INLINED;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt: return DIE_BLOCK;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit: return DIE_UNIT;
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site: return DIE_CALL_SITE;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type: return DIE_TYPE;
	case DW_TAG_array_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_member:
	case DW_TAG_typedef:
	case DW_TAG_base_type:
	case DW_TAG_pointer_type:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_unspecified_parameters:
	case DW_TAG_subrange_type:
	case DW_TAG_template_type_parameter:
	case DW_TAG_template_value_parameter:
	case DW_TAG_GNU_template_template_param:
	case DW_TAG_GNU_template_parameter_pack:
	case DW_TAG_imported_declaration: return DIE_OTHER;
	}
	return DIE_SCOPE;
}

/* The one slot of an attribute for entries of that kind. */
static enum attr_slot slot_of_unit_attr(uint64_t attr)
{
	switch (attr) {
	case DW_AT_name: return SLOT_NAME;
	case DW_AT_low_pc: return SLOT_LOW_PC;
	case DW_AT_high_pc: return SLOT_HIGH_PC;
	case DW_AT_ranges: return SLOT_RANGES;
	case DW_AT_stmt_list: return SLOT_STMT_LIST;
	case DW_AT_comp_dir: return SLOT_COMP_DIR;
	case DW_AT_language: return SLOT_LANGUAGE;
	case DW_AT_str_offsets_base: return SLOT_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base: return SLOT_ADDR_BASE;
	case DW_AT_rnglists_base: return SLOT_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base: return SLOT_GNU_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: return SLOT_DWO_NAME;
	case DW_AT_GNU_dwo_id: return SLOT_DWO_ID;
	}
	return SLOT_NONE;
}

static enum attr_slot slot_of_code_attr(uint64_t attr)
{
	switch (attr) {
	case DW_AT_name: return SLOT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return SLOT_LINKAGE_NAME;
	case DW_AT_low_pc: return SLOT_LOW_PC;
	case DW_AT_high_pc: return SLOT_HIGH_PC;
	case DW_AT_ranges: return SLOT_RANGES;
	case DW_AT_abstract_origin: return SLOT_ORIGIN;
	case DW_AT_specification: return SLOT_SPECIFICATION;
	case DW_AT_declaration: return SLOT_DECLARATION;
	case DW_AT_decl_file: return SLOT_DECL_FILE;
	case DW_AT_decl_line: return SLOT_DECL_LINE;
	case DW_AT_call_file: return SLOT_CALL_FILE;
	case DW_AT_call_line: return SLOT_CALL_LINE;
	case 0x3e0c: return SLOT_STMT_SEQUENCE; /* DW_AT_LLVM_stmt_sequence */
	}
	return SLOT_NONE;
}

/* The GNU tag of version 4 borrows attributes: low_pc is the return address, abstract_origin the callee. */
static enum attr_slot slot_of_call_attr(uint64_t attr)
{
	switch (attr) {
	case DW_AT_call_return_pc:
	case DW_AT_low_pc: return SLOT_RETURN_PC;
	case DW_AT_call_origin:
	case DW_AT_abstract_origin: return SLOT_CALL_ORIGIN;
	case DW_AT_call_tail_call:
	case DW_AT_GNU_tail_call: return SLOT_TAIL_CALL;
	}
	return SLOT_NONE;
}

/* Attributes of what names of types are made from; members and variables have no part in them. */
static enum attr_slot slot_of_other_attr(uint64_t tag, uint64_t attr)
{
	if (tag == DW_TAG_member || tag == DW_TAG_variable || tag == DW_TAG_imported_declaration)
		return SLOT_NONE;
	switch (attr) {
	case DW_AT_name: return SLOT_NAME;
	case DW_AT_type: return SLOT_TYPE;
	case DW_AT_const_value: return SLOT_CONST_VALUE;
	case DW_AT_GNU_template_name: return SLOT_TEMPLATE_NAME;
	case DW_AT_containing_type: return SLOT_CONTAINING_TYPE;
	case DW_AT_count: return SLOT_COUNT_OF_ARRAY;
	case DW_AT_byte_size: return tag == DW_TAG_base_type ? SLOT_BYTE_SIZE : SLOT_NONE;
	case DW_AT_lower_bound: return SLOT_LOWER_BOUND;
	case DW_AT_upper_bound: return SLOT_UPPER_BOUND;
	case DW_AT_artificial: return SLOT_ARTIFICIAL;
	case DW_AT_calling_convention: return SLOT_CALLING_CONVENTION;
	case DW_AT_reference: return SLOT_REFERENCE;
	case DW_AT_rvalue_reference: return SLOT_RVALUE_REFERENCE;
	}
	return SLOT_NONE;
}

/* These tell where a variable is, and where it is declared. */
static enum attr_slot slot_of_variable_attr(uint64_t attr)
{
	switch (attr) {
	case DW_AT_location: return SLOT_LOCATION;
	case DW_AT_specification: return SLOT_SPECIFICATION;
	case DW_AT_abstract_origin: return SLOT_ORIGIN;
	case DW_AT_decl_file: return SLOT_DECL_FILE;
	case DW_AT_decl_line: return SLOT_DECL_LINE;
	}
	return SLOT_NONE;
}

static enum attr_slot slot_of_attr(const struct abbrev_table *table, enum die_kind kind, uint64_t tag,
				   uint64_t attr)
{
	if (attr == DW_AT_sibling)
		return SLOT_SIBLING;
	if (table->keeps_columns && kind == DIE_INLINED && attr == DW_AT_call_column)
		return SLOT_CALL_COLUMN;
	if (table->keeps_columns && kind == DIE_INLINED && attr == DW_AT_GNU_discriminator)
		return SLOT_DISCRIMINATOR;
	if (table->keeps_columns && (tag == DW_TAG_variable || tag == DW_TAG_member))
		return slot_of_variable_attr(attr);
	switch (kind) {
	case DIE_UNIT: return slot_of_unit_attr(attr);
	case DIE_SUBPROGRAM:
	case DIE_INLINED:
	case DIE_SCOPE:
	case DIE_TYPE: return slot_of_code_attr(attr);
	case DIE_CALL_SITE: return slot_of_call_attr(attr);
	case DIE_OTHER: return slot_of_other_attr(tag, attr);
	case DIE_BLOCK: break;
	}
	return SLOT_NONE;
}

/* Adds one attribute; adjacent attributes of fixed size that are not wanted become one step. */
static int abbrev_add_attr(struct abbrev_table *table, struct abbrev *abbrev, enum attr_slot slot,
			   uint64_t form, int64_t implicit, const struct unit_header *unit)
{
	int size = form_fixed_size(form, unit);
	enum value_class class = slot == SLOT_NONE ? VALUE_NONE : form_simple_class(form);
	uint16_t at = abbrev->fixed_size < 0 ? 0 : (uint16_t)abbrev->fixed_size;
	if (slot == SLOT_SIBLING && abbrev->fixed_size >= 0 && size > 0 && form != DW_FORM_ref_addr) {
		abbrev->sibling_at = abbrev->fixed_size;
		abbrev->sibling_size = (uint8_t)size;
	}
	if (size < 0 || abbrev->fixed_size < 0 || abbrev->fixed_size > INT16_MAX)
		abbrev->fixed_size = -1;
	else
		abbrev->fixed_size += size;
	struct attr_op *last = abbrev->n_ops ? &table->ops.v[table->ops.n - 1] : NULL;
	abbrev->simple &= abbrev->fixed_size >= 0 && (slot == SLOT_NONE || class != VALUE_NONE);
	if (slot == SLOT_NONE && size >= 0) {
		if (last && !last->form) {
			last->value += size;
			return 0;
		}
		form = 0;
		implicit = size;
	}
	if (form == DW_FORM_flag_present)
		implicit = 1;
	abbrev->n_ops++;
	return vec_push(&table->ops, (struct attr_op){.slot = (uint8_t)slot,
						      .class = (uint8_t) class,
						      .size = class == VALUE_NONE ? 0 : (uint8_t)size,
						      .form = (uint16_t)form,
						      .at = at,
						      .value = implicit});
}

static int abbrev_read(struct abbrev_table *table, struct cursor *c, struct abbrev *abbrev,
		       const struct unit_header *unit)
{
	uint64_t tag = cursor_uleb(c);
	abbrev->tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
	abbrev->kind = (uint8_t)kind_of_tag(tag);
	abbrev->has_children = cursor_u8(c) != 0;
	abbrev->first_op = (uint32_t)table->ops.n;
	abbrev->sibling_at = -1;
	abbrev->simple = true;
	uint32_t seen = 0; /* slots: an attribute counts once, else repeated ones of zero size could multiply
			      the work */
	for (;;) {
		uint64_t attr = cursor_uleb(c), form = cursor_uleb(c);
		if (!cursor_ok(c))
			return -EBADMSG;
		if (!attr && !form) {
			bool code = abbrev->kind == DIE_SUBPROGRAM || abbrev->kind == DIE_INLINED;
			bool placed = (seen >> SLOT_HIGH_PC | seen >> SLOT_RANGES) & 1;
			abbrev->bare = code && !placed && abbrev->fixed_size >= 0;
			abbrev->declares = seen >> SLOT_DECLARATION & 1;
			return 0;
		}
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
		if (form > UINT16_MAX || !form)
			return -EBADMSG;
		enum attr_slot slot = slot_of_attr(table, abbrev->kind, tag, attr);
		if (seen >> slot & 1)
			slot = SLOT_NONE;
		seen |= (uint32_t)1 << slot;
		if (abbrev_add_attr(table, abbrev, slot, form, implicit, unit))
			return -ENOMEM;
	}
}

static int compare_code(const void *a, const void *b)
{
	uint64_t x = ((const struct abbrev *)a)->code, y = ((const struct abbrev *)b)->code;
	return COMPARE(x, y);
}

static bool is_template_parameter(uint16_t tag)
{
	return tag == DW_TAG_template_type_parameter || tag == DW_TAG_template_value_parameter ||
	       tag == DW_TAG_GNU_template_template_param || tag == DW_TAG_GNU_template_parameter_pack;
}

/* A damaged abbreviation is the last, since none after it can be found: those before it are kept. */
static int read_table(struct abbrev_table *table, const struct dwarf *dwarf, const struct unit_header *unit)
{
	table->abbrevs.n = table->ops.n = 0;
	table->dense = true;
	table->has_templates = false;
	table->is_cut = false;
	if (unit->abbrev_off > dwarf->abbrev.size)
		return -EBADMSG;
	struct cursor c = cursor_new(dwarf->abbrev.data, dwarf->abbrev.size, dwarf->big_endian);
	cursor_seek(&c, unit->abbrev_off);
	for (;;) {
		struct abbrev abbrev = {.code = cursor_uleb(&c)};
		if (cursor_ok(&c) && !abbrev.code)
			break;
		size_t n_ops = table->ops.n;
		int err = cursor_ok(&c) ? abbrev_read(table, &c, &abbrev, unit) : -EBADMSG;
		if (err == -EBADMSG && table->abbrevs.n) {
			table->ops.n = n_ops;
			table->is_cut = true;
			break;
		}
		if (err)
			return err;
		if (vec_push(&table->abbrevs, abbrev))
			return -ENOMEM;
		table->has_templates |= is_template_parameter(abbrev.tag);
		table->dense &= abbrev.code == table->abbrevs.n;
	}
	if (!table->dense)
		qsort(table->abbrevs.v, table->abbrevs.n, sizeof(*table->abbrevs.v), compare_code);
	return 0;
}

int abbrev_table_read(struct abbrev_table *table, const struct dwarf *dwarf, const struct unit_header *unit)
{
	const struct unit_header *old = &table->read_for;
	if (table->dwarf == dwarf && old->abbrev_off == unit->abbrev_off && old->version == unit->version &&
	    old->addr_size == unit->addr_size && old->off_size == unit->off_size)
		return 0;
	int err = read_table(table, dwarf, unit);
	table->dwarf = err ? NULL : dwarf;
	table->read_for = *unit;
	return err;
}

void abbrev_table_forget(struct abbrev_table *table)
{
	table->dwarf = NULL;
}

void abbrev_table_deinit(struct abbrev_table *table)
{
	vec_free(&table->abbrevs);
	vec_free(&table->ops);
}

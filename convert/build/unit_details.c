/*
 * unit_details.c - columns, discriminators and declarations of the functions and inlined calls of one unit.
 *
 * The entries are those that builder_walk() lists for the records, and the rows are those of the same line
 * table, so that what is found here belongs to the frame that GSYM has.
 */
#include "convert/build/builder.h"
#include "convert/build/unit_builder.h"
#include "gsym/base/invariant.h"
#include "gsym/codec/format.h"

#include <libdwarf/dwarf.h>

/* ---- Pieces of code ---- */

static int compare_piece(const void *a, const void *b)
{
	const struct code_piece *x = a, *y = b;
	return COMPARE(x->lo, y->lo) ?: COMPARE(x->of, y->of);
}

void code_pieces_sort(code_piece_vec *pieces)
{
	uint64_t reach = 0;
	if (pieces->n)
		qsort(pieces->v, pieces->n, sizeof(*pieces->v), compare_piece);
	for (size_t i = 0; i < pieces->n; i++) {
		reach = pieces->v[i].hi > reach ? pieces->v[i].hi : reach;
		pieces->v[i].reach = reach;
	}
}

size_t code_pieces_find(const code_piece_vec *pieces, uint64_t addr, size_t n)
{
	const struct code_piece *v = pieces->v;
	size_t at = PARTITION_POINT(0, n, mid, v[mid].lo <= addr);
	while (at && v[at - 1].reach > addr)
		if (v[--at].hi > addr)
			return at;
	return n;
}

/* ---- A unit ---- */

static int add_pieces(const struct unit_builder *b, uint32_t first, uint32_t n, uint32_t of,
		      struct unit_details *ret)
{
	for (const struct range *r = b->ranges.v + first, *end = r + n; r < end; r++)
		if (r->lo < r->hi && vec_push(&ret->code, (struct code_piece){r->lo, r->hi, 0, of}))
			return -ENOMEM;
	return 0;
}

/* Sets the declaration of the entry at @die_off, if it is known. 0 or -ENOMEM. */
static int find_declaration(struct unit_builder *b, uint64_t die_off, struct detail_entry *ret)
{
	uint64_t file = 0, line = 0;
	uint32_t number = 0;
	int err = names_declaration(b->names, &b->unit, die_off, &file, &line)
			  ? builder_file(b, file, &number)
			  : 0;
	if (!err && number) {
		ret->dir = b->files.v[number - 1].dir.text;
		ret->base = b->files.v[number - 1].base.text;
	}
	ret->file = file;
	ret->decl_line = (uint32_t)line;
	return err == -ENOMEM ? err : 0;
}

/* Adds the entry at @die_off. */
static int add_entry(struct unit_builder *b, uint64_t die_off, uint32_t parent, struct unit_details *ret)
{
	struct die die;
	if (die_at(&b->unit, die_off, &die))
		return 0;
	struct detail_entry entry = {
		.parent = parent,
		.call_line = (uint32_t)die_uint(&die, SLOT_CALL_LINE, 0),
		.call_file = die_uint(&die, SLOT_CALL_FILE, 0),
		.call = {(uint32_t)die_uint(&die, SLOT_CALL_COLUMN, 0),
			 (uint32_t)die_uint(&die, SLOT_DISCRIMINATOR, 0)},
	};
	entry.has_low_pc = die_address(&b->unit, &die, SLOT_LOW_PC, &entry.low_pc);
	int err = find_declaration(b, die_off, &entry);
	return err ? err : vec_push(&ret->entries, entry);
}

/* Adds a subprogram and all calls inlined into it. */
static int add_subprogram(struct unit_builder *b, uint32_t index, struct unit_details *ret)
{
	const struct subprogram *subprogram = &b->subprograms.v[index];
	uint32_t levels[INLINE_DEPTH_MAX + 1] = {(uint32_t)ret->entries.n};
	int err = add_pieces(b, subprogram->first_range, subprogram->n_ranges, levels[0], ret);
	if (!err)
		err = add_entry(b, subprogram->die_off, NO_PARENT, ret);
	for (uint32_t i = subprogram->first_inlined;
	     i < subprogram->end_inlined && !err && budget_work(&b->unit.budget, ACCOUNT_CALLS, 1); i++) {
		const struct inlined_call *call = &b->inlined_calls.v[i];
		if (call->subprogram != index)
			continue;
		invariant(call->depth && call->depth <= INLINE_DEPTH_MAX);
		levels[call->depth] = (uint32_t)ret->entries.n;
		err = add_pieces(b, call->first_range, call->n_ranges, levels[call->depth], ret);
		if (!err)
			err = add_entry(b, call->die_off, levels[call->depth - 1], ret);
	}
	return err;
}

static int list_files(const struct unit_builder *b, struct unit_details *ret)
{
	const struct line_table *lines = &b->lines;
	int err = 0;
	for (uint64_t i = 0; i <= lines->files.n && !err; i++) {
		bool is_file = line_table_has_file(lines, i);
		struct detail_file file = {.comp_size = (uint32_t)line_table_comp_size(lines, &b->unit, i)};
		if (is_file)
			file.source = lines->files.v[lines->version >= 5 ? i : i - 1].source;
		err = vec_push(&ret->files, file);
	}
	return err;
}

/* Moves the lines of the unit to @ret. */
static void take_lines(struct unit_builder *b, struct unit_details *ret)
{
	ret->lines = b->lines;
	b->lines = (struct line_table){.keeps_columns = true};
}

int builder_details(struct unit_builder *b, size_t index, struct unit_details *ret)
{
	const char *missing;
	*ret = (struct unit_details){0};
	builder_begin(b, index);
	b->files.n = 0;
	int err = builder_load(b, &b->context->dwarf->units[index], &missing);
	if (!err)
		err = builder_load_lines(b);
	for (uint32_t i = 0; i < b->subprograms.n && !err; i++)
		err = add_subprogram(b, i, ret);
	code_pieces_sort(&ret->code);
	if (!err)
		err = list_files(b, ret);
	take_lines(b, ret);
	return err;
}

/* ---- Variables ---- */

/* Reads an entry up to its location, of which @ret is the expression. False without one. */
static bool read_location(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev,
			  struct cursor *ret)
{
	bool found = false;
	for (uint32_t i = 0; i < abbrev->n_ops; i++) {
		const struct attr_op *op = &unit->abbrevs.ops.v[abbrev->first_op + i];
		bool is_block = op->form == DW_FORM_exprloc || op->form == DW_FORM_block1;
		if (!op->form) {
			cursor_skip(c, (uint64_t)op->value);
		} else if (op->slot == SLOT_LOCATION && is_block) {
			*ret = cursor_window(c, op->form == DW_FORM_block1 ? cursor_u8(c) : cursor_uleb(c));
			found = cursor_ok(c);
		} else {
			form_skip(c, op->form, unit->header);
		}
	}
	return found;
}

/* The address that an expression consists of, with an offset perhaps (2.5.1). */
static bool read_address(struct cursor *expression, const struct unit *unit, uint64_t *ret)
{
	uint8_t operation = cursor_u8(expression);
	bool found = true;
	if (operation == DW_OP_addr)
		*ret = cursor_uint(expression, unit->header->addr_size);
	else if (operation == DW_OP_addrx || operation == DW_OP_GNU_addr_index)
		found = unit_indexed_address(unit, cursor_uleb(expression), ret);
	else
		return false;
	if (cursor_left(expression)) {
		found &= cursor_u8(expression) == DW_OP_plus_uconst;
		*ret += cursor_uleb(expression);
	}
	return found && cursor_ok(expression) && !cursor_left(expression);
}

static int list_variables(const struct unit *unit, uint32_t index, unit_variable_vec *ret)
{
	struct cursor c = unit_cursor(unit, unit->first_child), expression = {0};
	int err = 0;
	while (!err && unit->first_child && cursor_left(&c)) {
		struct unit_variable variable = {.die_off = cursor_off(&c), .unit = index};
		uint64_t code = cursor_uleb(&c);
		const struct abbrev *abbrev = code ? abbrev_find(&unit->abbrevs, code) : NULL;
		if (code && !abbrev)
			break;
		if (code && abbrev->tag != DW_TAG_variable)
			(void)die_skip(&c, unit, abbrev);
		else if (code && read_location(&c, unit, abbrev, &expression) &&
			 read_address(&expression, unit, &variable.addr))
			err = vec_push(ret, variable);
	}
	return err;
}

int builder_variables(struct unit_builder *b, uint32_t index, unit_variable_vec *ret)
{
	const char *missing;
	builder_begin(b, index);
	int err = builder_load(b, &b->context->dwarf->units[index], &missing);
	return err ? err : list_variables(&b->unit, index, ret);
}

int builder_variable_declaration(struct unit_builder *b, const struct unit_variable *variable,
				 struct detail_entry *ret)
{
	const char *missing;
	*ret = (struct detail_entry){.parent = NO_PARENT};
	builder_begin(b, variable->unit);
	int err = builder_load(b, &b->context->dwarf->units[variable->unit], &missing);
	if (!err)
		err = builder_load_lines(b);
	return err ? err : find_declaration(b, variable->die_off, ret);
}

void unit_details_deinit(struct unit_details *details)
{
	line_table_deinit(&details->lines);
	vec_free(&details->entries);
	vec_free(&details->code);
	vec_free(&details->files);
}

/*
 * dwarf_line.c - line number programs, versions 2 to 5 (6.2 of each DWARF version).
 *
 * The program appends rows to an array that the thread reuses. Sequences of dropped code, without rows, or
 * that end before they begin are discarded. Rows ascend within a sequence (sorted if the program descends),
 * and sequences by start address, for binary search.
 */
#include "convert/dwarf/dwarf.h"

#include "gsym/base/invariant.h"

#include <libdwarf/dwarf.h>
#include <string.h>

struct line_header {
	uint16_t version;
	uint8_t off_size;
	uint8_t addr_size;
	uint8_t min_inst_length;
	uint8_t max_ops;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *opcode_lengths;
	uint8_t special_addr[256]; /* operation and line advances of special opcodes: a table instead of a
				      division each */
	int16_t special_line[256];
};

/* ---- Header ---- */

enum { LNCT_LLVM_SOURCE = 0x2001 /* the text of the file; gcc and older libdwarf have no name for it */ };

/* Entry formats (6.2.4.1): pairs of content type and form. */
struct entry_format {
	struct cursor formats;
	uint8_t n;
	uint64_t count;
	bool keeps_source;
};

static void read_format(struct cursor *c, struct entry_format *f)
{
	f->n = cursor_u8(c);
	f->formats = *c;
	for (unsigned i = 0; i < f->n * 2u; i++)
		(void)cursor_uleb(c);
	f->count = cursor_uleb(c);
}

/* False at the end, and for an entry of no bytes, with which a huge count would loop. */
static bool read_entry(struct cursor *c, const struct entry_format *f, const struct unit *unit,
		       const struct unit_header *forms, struct line_file *ret)
{
	struct cursor formats = f->formats;
	size_t before = cursor_left(c);
	*ret = (struct line_file){0};
	for (unsigned i = 0; i < f->n; i++) {
		uint64_t content = cursor_uleb(&formats), form = cursor_uleb(&formats);
		struct value v = {0};
		bool is_source = f->keeps_source && content == LNCT_LLVM_SOURCE;
		if (content == DW_LNCT_path || content == DW_LNCT_directory_index || is_source)
			form_read(c, form, 0, unit->main, forms, &v);
		else
			form_skip(c, form, forms);
		if (content == DW_LNCT_path && v.class == VALUE_STRING)
			ret->name = v.str;
		else if (content == DW_LNCT_path && v.class == VALUE_STRING_INDEX)
			ret->name = unit_indexed_string(unit, v.u);
		else if (content == DW_LNCT_directory_index && v.class == VALUE_UINT)
			ret->dir = v.u;
		else if (is_source && v.class == VALUE_STRING)
			ret->source = v.str;
	}
	if (!ret->name)
		ret->name = "";
	return cursor_ok(c) && cursor_left(c) < before;
}

static int read_v5_tables(struct cursor *c, struct line_table *table, const struct unit *unit,
			  const struct line_header *h)
{
	struct unit_header forms = {.version = 5, .addr_size = h->addr_size, .off_size = h->off_size};
	struct entry_format f = {.keeps_source = table->keeps_columns};
	struct line_file entry;
	read_format(c, &f);
	for (uint64_t i = 0; i < f.count && read_entry(c, &f, unit, &forms, &entry); i++)
		if (vec_push(&table->dirs, entry.name))
			return -ENOMEM;
	read_format(c, &f);
	for (uint64_t i = 0; i < f.count && read_entry(c, &f, unit, &forms, &entry); i++)
		if (vec_push(&table->files, entry))
			return -ENOMEM;
	return 0;
}

static void read_v2_file(struct cursor *c, const char *name, struct line_file *ret)
{
	ret->name = name;
	ret->dir = cursor_uleb(c);
	(void)cursor_uleb(c); /* time of last change */
	(void)cursor_uleb(c); /* length */
}

static int read_v2_tables(struct cursor *c, struct line_table *table)
{
	const char *name;
	while ((name = cursor_str(c)) && *name)
		if (vec_push(&table->dirs, name))
			return -ENOMEM;
	while ((name = cursor_str(c)) && *name) {
		struct line_file file = {0};
		read_v2_file(c, name, &file);
		if (vec_push(&table->files, file))
			return -ENOMEM;
	}
	return 0;
}

/* Reads the header; @c is left at the first opcode, with the end of the unit's program as its end. */
static int read_header(struct cursor *c, struct line_table *table, struct line_header *h,
		       const struct unit *unit)
{
	uint64_t length = cursor_u32(c);
	h->off_size = 4;
	if (length == 0xffffffff) {
		h->off_size = 8;
		length = cursor_u64(c);
	}
	/* A length past the end of the section is truncated. */
	if (length < cursor_left(c))
		*c = cursor_window(c, length);
	table->version = h->version = cursor_u16(c);
	if (!cursor_ok(c) || h->version < 2 || h->version > 5)
		return cursor_ok(c) ? -ENOTSUP : -EBADMSG;
	h->addr_size = unit->header->addr_size;
	if (h->version >= 5) {
		h->addr_size = cursor_u8(c);
		(void)cursor_u8(c); /* segment selectors: no target has them */
	}
	uint64_t header_length = cursor_uint(c, h->off_size);
	struct cursor tables = cursor_window(c, header_length);
	h->min_inst_length = cursor_u8(&tables);
	h->max_ops = h->version >= 4 ? cursor_u8(&tables) : 1;
	(void)cursor_u8(&tables); /* default_is_stmt */
	h->line_base = (int8_t)cursor_u8(&tables);
	h->line_range = cursor_u8(&tables);
	h->opcode_base = cursor_u8(&tables);
	h->opcode_lengths = cursor_take(&tables, h->opcode_base ? h->opcode_base - 1u : 0);
	if (!cursor_ok(c) || !cursor_ok(&tables) || !h->opcode_base)
		return -EBADMSG;
	return h->version >= 5 ? read_v5_tables(&tables, table, unit, h) : read_v2_tables(&tables, table);
}

/* ---- Program ---- */

/* Inlined into the loop, so that the machine's registers stay in CPU registers: see run_program(). */
#define HOT static inline __attribute__((always_inline))

struct machine {
	const struct line_header *h;
	struct line_table *table;
	uint64_t addr;
	uint64_t op_index;
	uint64_t file;
	uint64_t line;
	struct line_column column;
	uint32_t first; /* row that begins the sequence */
	uint64_t off;   /* its first opcode */
	bool ended;     /* the last opcode ended a sequence */
	bool dead;      /* the sequence describes dropped code */
	bool descends;  /* a row lies before its predecessor */
};

static void machine_reset(struct machine *m)
{
	m->addr = m->op_index = 0;
	m->file = m->line = 1;
	m->column = (struct line_column){0};
	m->first = (uint32_t)m->table->rows.n;
	m->dead = m->descends = false;
}

static uint32_t file_index(const struct machine *m)
{
	return m->file > UINT32_MAX ? UINT32_MAX : (uint32_t)m->file;
}

/* Keeps the column of the last row, if columns are kept. */
HOT int keep_column(struct machine *m)
{
	struct line_table *t = m->table;
	if (!t->keeps_columns)
		return 0;
	t->columns.n = t->rows.n - 1;
	int err = vec_push(&t->columns, m->column);
	m->column.discriminator = 0;
	return err;
}

HOT int machine_row(struct machine *m)
{
	struct line_table *t = m->table;
	if (m->dead)
		return 0;
	if (t->rows.n >= UINT32_MAX)
		return -EBADMSG;
	const struct line_row row = {m->addr, file_index(m), (uint32_t)m->line};
	if (t->rows.n > m->first) {
		struct line_row *last = &t->rows.v[t->rows.n - 1];
		if (last->addr == m->addr && t->rows.n - 1 > m->first && !t->keeps_all) {
			*last = row;
			return keep_column(m);
		}
		m->descends |= last->addr > m->addr;
	}
	return vec_push(&t->rows, row) ? -ENOMEM : keep_column(m);
}

struct numbered_row {
	struct line_row row;
	struct line_column column;
	uint32_t number;
};

static int compare_row(const void *a, const void *b)
{
	const struct numbered_row *x = a, *y = b;
	return COMPARE(x->row.addr, y->row.addr) ?: COMPARE(x->number, y->number);
}

/* Sorts the rows from @first on by address; those of one address keep their order. */
static int sort_rows(struct line_table *t, size_t first)
{
	struct line_row *rows = t->rows.v + first;
	struct line_column *columns = t->keeps_columns ? t->columns.v + first : NULL;
	size_t n = t->rows.n - first;
	struct numbered_row *v = malloc(n * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct numbered_row){rows[i], columns ? columns[i] : (struct line_column){0},
					     (uint32_t)i};
	qsort(v, n, sizeof(*v), compare_row);
	for (size_t i = 0; i < n; i++)
		rows[i] = v[i].row;
	for (size_t i = 0; i < n && columns; i++)
		columns[i] = v[i].column;
	free(v);
	return 0;
}

static int machine_end_sequence(struct machine *m, struct warnings *warnings, uint64_t off)
{
	struct line_table *t = m->table;
	uint32_t end = (uint32_t)t->rows.n;
	int err = 0;
	if (m->descends) {
		warning_count(warnings, WARN_LINE_ORDER, ".debug_line", off);
		err = sort_rows(t, m->first);
	}
	uint64_t lo = end > m->first ? t->rows.v[m->first].addr : 0;
	if (err)
		return err;
	for (uint32_t i = m->first + 1; i < end; i++)
		invariant(t->rows.v[i - 1].addr <= t->rows.v[i].addr);
	if (!m->dead && end > m->first && lo < m->addr)
		err = vec_push(&t->seqs, (struct line_seq){.lo = lo,
							   .hi = m->addr,
							   .first = m->first,
							   .end = end,
							   .off = m->off,
							   .end_file = file_index(m),
							   .end_line = (uint32_t)m->line});
	else
		t->rows.n = m->first;
	machine_reset(m);
	m->ended = true;
	return err;
}

HOT void machine_advance(struct machine *m, uint64_t operations)
{
	const struct line_header *h = m->h;
	if (h->max_ops <= 1) {
		m->addr += operations * h->min_inst_length;
		return;
	}
	uint64_t index = m->op_index + operations; /* VLIW: 6.2.5.1 */
	m->addr += h->min_inst_length * (index / h->max_ops);
	m->op_index = index % h->max_ops;
}

HOT int machine_special(struct machine *m, uint8_t opcode)
{
	machine_advance(m, m->h->special_addr[opcode]);
	m->line += (uint64_t)(int64_t)m->h->special_line[opcode];
	return machine_row(m);
}

/* 6.2.5.1. A line_range of 0 is damage; such opcodes then add line_base and no address. */
static void tabulate_specials(struct line_header *h)
{
	unsigned addr = 0, line = 0;
	for (unsigned opcode = h->opcode_base; opcode < 256; opcode++) {
		h->special_addr[opcode] = (uint8_t)addr;
		h->special_line[opcode] = (int16_t)(h->line_base + (int)line);
		if (h->line_range && ++line == h->line_range) {
			line = 0;
			addr++;
		}
	}
}

static void set_address(struct machine *m, struct cursor *operand)
{
	size_t size = cursor_left(operand);
	m->addr = cursor_uint(operand, (unsigned)size);
	m->op_index = 0;
	m->dead |= size == 8 ? m->addr == UINT64_MAX : m->addr == ((uint64_t)1 << (size * 8 % 64)) - 1;
}

static int define_file(struct machine *m, struct cursor *operand)
{
	struct line_file file;
	const char *name = cursor_str(operand);
	read_v2_file(operand, name ? name : "", &file);
	return cursor_ok(operand) ? vec_push(&m->table->files, file) : 0;
}

static int machine_extended(struct machine *m, struct cursor *c, struct warnings *warnings)
{
	uint64_t off = cursor_off(c);
	struct cursor operand = cursor_window(c, cursor_uleb(c));
	switch (cursor_u8(&operand)) {
	case DW_LNE_end_sequence: return machine_end_sequence(m, warnings, off);
	case DW_LNE_set_address: set_address(m, &operand); break;
	case DW_LNE_define_file: return define_file(m, &operand);
	case DW_LNE_set_discriminator: m->column.discriminator = (uint32_t)cursor_uleb(&operand); break;
	}
	return 0;
}

HOT int machine_standard(struct machine *m, uint8_t opcode, struct cursor *c)
{
	switch (opcode) {
	case DW_LNS_copy: return machine_row(m);
	case DW_LNS_advance_pc: machine_advance(m, cursor_uleb(c)); return 0;
	case DW_LNS_advance_line: m->line += (uint64_t)cursor_sleb(c); return 0;
	case DW_LNS_set_file: m->file = cursor_uleb(c); return 0;
	case DW_LNS_set_column:
		if (m->table->keeps_columns)
			m->column.column = (uint32_t)cursor_uleb(c);
		else
			cursor_skip_leb(c);
		return 0;
	case DW_LNS_const_add_pc: machine_advance(m, m->h->special_addr[255]); return 0;
	case DW_LNS_fixed_advance_pc:
		m->addr += cursor_u16(c);
		m->op_index = 0;
		return 0;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin: return 0;
	case DW_LNS_set_isa: cursor_skip_leb(c); return 0;
	}
	for (unsigned i = m->h->opcode_lengths[opcode - 1]; i > 0; i--)
		cursor_skip_leb(c);
	return 0;
}

static int run_program(struct cursor *c, const struct line_header *h, struct line_table *table,
		       struct warnings *warnings)
{
	struct machine m = {.h = h, .table = table};
	machine_reset(&m);
	m.off = cursor_off(c);
	while (cursor_left(c)) {
		uint8_t opcode = cursor_u8(c);
		int err;
		if (opcode >= h->opcode_base) {
			err = machine_special(&m, opcode);
		} else if (opcode) {
			err = machine_standard(&m, opcode, c);
		} else {
			struct machine copy =
				m; /* its address is taken, so the original can stay in registers */
			err = machine_extended(&copy, c, warnings);
			m = copy;
			if (m.ended) { /* the next opcode begins a sequence */
				m.ended = false;
				m.off = cursor_off(c);
			}
		}
		if (err)
			return err;
	}
	table->rows.n = m.first; /* a sequence without end_sequence is discarded */
	return cursor_ok(c) ? 0 : -EBADMSG;
}

/* ---- Sequences ---- */

static int compare_seq(const void *a, const void *b)
{
	const struct line_seq *x = a, *y = b;
	return COMPARE(x->lo, y->lo) ?: COMPARE(x->first, y->first);
}

static void sort_sequences(struct line_table *table)
{
	bool sorted = true;
	for (size_t i = 1; i < table->seqs.n && sorted; i++)
		sorted = compare_seq(&table->seqs.v[i - 1], &table->seqs.v[i]) < 0;
	if (!sorted)
		qsort(table->seqs.v, table->seqs.n, sizeof(*table->seqs.v), compare_seq);
	uint64_t reach = 0;
	for (size_t i = 0; i < table->seqs.n; i++) {
		invariant(!i || table->seqs.v[i - 1].lo <= table->seqs.v[i].lo);
		if (table->seqs.v[i].hi > reach)
			reach = table->seqs.v[i].hi;
		table->seqs.v[i].reach = reach;
	}
}

/* MIPS: addresses of compressed code have the ISA mode bit set; so may those of Thumb code. */
static void clear_mode_bits(struct line_table *table, uint64_t bits)
{
	for (size_t i = 0; i < table->rows.n; i++)
		table->rows.v[i].addr &= ~bits;
	size_t kept = 0;
	for (size_t i = 0; i < table->seqs.n; i++) {
		struct line_seq seq = table->seqs.v[i];
		seq.lo &= ~bits;
		seq.hi &= ~bits;
		if (seq.lo < seq.hi)
			table->seqs.v[kept++] = seq;
	}
	table->seqs.n = kept;
}

/* Consecutive units may share a table (LTO, partial units), which is then run once. */
static bool is_there(const struct line_table *table, const struct unit *unit)
{
	return table->dwarf == unit->main && table->off == unit->stmt_list &&
	       table->addr_size == unit->header->addr_size;
}

int line_table_read(struct line_table *table, const struct unit *unit)
{
	const struct dwarf *d = unit->main;
	struct line_header h = {0};
	if (unit->has_stmt_list && is_there(table, unit))
		return 0;
	table->version = 0;
	table->dirs.n = table->files.n = table->rows.n = table->seqs.n = 0;
	table->dwarf = NULL;
	if (!unit->has_stmt_list)
		return 0;
	struct cursor c = cursor_new(d->line.data, d->line.size, d->big_endian);
	cursor_seek(&c, unit->stmt_list);
	int err = read_header(&c, table, &h, unit);
	if (err == -EBADMSG || err == -ENOTSUP) {
		warning_count(unit->warnings, err == -ENOTSUP ? WARN_LINE_VERSION : WARN_LINE_HEADER,
			      ".debug_line", unit->stmt_list);
		return 0;
	}
	tabulate_specials(&h);
	if (!err)
		err = run_program(&c, &h, table, unit->warnings);
	if (err == -EBADMSG) {
		warning_count(unit->warnings, WARN_LINE_PROGRAM, ".debug_line", cursor_off(&c));
		err = 0;
	}
	if (d->mode_bits)
		clear_mode_bits(table, d->mode_bits);
	if (table->code) {
		/* Linkers leave sequences of dropped code at 0, from where they may reach code of others. */
		size_t kept = 0;
		for (size_t i = 0; i < table->seqs.n; i++)
			if (ranges_find(table->code, table->seqs.v[i].lo))
				table->seqs.v[kept++] = table->seqs.v[i];
		table->seqs.n = kept;
	}
	sort_sequences(table);
	if (!err) {
		table->dwarf = d;
		table->off = unit->stmt_list;
		table->addr_size = unit->header->addr_size;
	}
	return err;
}

void line_table_deinit(struct line_table *table)
{
	vec_free(&table->dirs);
	vec_free(&table->files);
	vec_free(&table->rows);
	vec_free(&table->columns);
	vec_free(&table->seqs);
}

/*
 * details.c - answers what GSYM does not hold of an address: columns, discriminators, declarations.
 *
 * The units with the address are found as for a fragment. What is read of a unit is kept for the next
 * address, so that many addresses cost no more than the units that they are in; all is dropped when it
 * becomes too much.
 */
#include "convert/conversion.h"

#include <errno.h>
#include <string.h>

enum { DETAIL_BYTES_MAX = 256 << 20 /* of units that are kept */ };

struct details {
	struct conversion *c;
	struct build_context context;
	struct unit_builder *builder;
	code_piece_vec code;         /* of units */
	struct unit_details **units; /* NULL: not read */
	uint64_t bytes;              /* of those that are read */
	VEC(struct frame_detail) frames;
	unit_variable_vec variables; /* of the first @n_listed units */
	uint32_t n_listed;
	uint32_t n_source; /* of the question */
};

/* ---- Units ---- */

static void drop_units(struct details *d)
{
	for (size_t i = 0; i < d->c->dwarf.n_units && d->units; i++) {
		if (d->units[i])
			unit_details_deinit(d->units[i]);
		free(d->units[i]);
		d->units[i] = NULL;
	}
	builder_free(d->builder);
	d->builder = NULL;
	d->bytes = 0;
}

static uint64_t bytes_of(const struct unit_details *u)
{
	return sizeof(*u) + u->lines.rows.cap * (sizeof(*u->lines.rows.v) + sizeof(*u->lines.columns.v)) +
	       u->lines.seqs.cap * sizeof(*u->lines.seqs.v) + u->entries.cap * sizeof(*u->entries.v) +
	       u->code.cap * sizeof(*u->code.v) + u->files.cap * sizeof(*u->files.v);
}

static int need_builder(struct details *d)
{
	if (d->bytes > DETAIL_BYTES_MAX)
		drop_units(d);
	if (!d->builder)
		d->builder = builder_new(&d->context);
	return d->builder ? 0 : -ENOMEM;
}

/* A damaged unit has no details. */
static int read_unit(struct details *d, uint32_t index)
{
	struct unit_details *u = need_builder(d) ? NULL : calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	int err = builder_details(d->builder, index, u);
	d->units[index] = u;
	d->bytes += bytes_of(u);
	return err == -ENOMEM ? err : 0;
}

static int find_units(struct details *d)
{
	struct dwarf *dwarf = &d->c->dwarf;
	unit_code_vec code = {0};
	int err = dwarf_list_code(dwarf, &code);
	for (size_t i = 0; i < code.n && !err; i++) {
		const struct unit_header *u = dwarf_find_unit(dwarf, code.v[i].unit);
		if (u)
			err = vec_push(&d->code, (struct code_piece){code.v[i].lo, code.v[i].hi, 0,
								     (uint32_t)(u - dwarf->units)});
	}
	vec_free(&code);
	code_pieces_sort(&d->code);
	d->units = err ? NULL : calloc(dwarf->n_units, sizeof(*d->units));
	return d->units ? 0 : -ENOMEM;
}

/* ---- Frames ---- */

/* The row of @addr, as its index, or SIZE_MAX. */
static size_t find_row(const struct line_table *lines, uint64_t addr)
{
	size_t s = PARTITION_POINT(0, lines->seqs.n, mid, lines->seqs.v[mid].lo <= addr);
	while (s && lines->seqs.v[s - 1].reach > addr) {
		const struct line_seq *seq = &lines->seqs.v[--s];
		if (seq->hi > addr)
			return PARTITION_POINT(seq->first, seq->end, mid, lines->rows.v[mid].addr <= addr) -
			       1;
	}
	return SIZE_MAX;
}

/* A place in a line table. */
struct row_place {
	uint64_t file;
	uint32_t line;
	struct line_column column;
};

static const char *next_line(const char *text)
{
	text += strcspn(text, "\n");
	return text + (*text != 0);
}

/* Finds the @n lines around @line in @text. */
static void find_source(const char *text, uint32_t line, uint32_t n, struct frame_detail *ret)
{
	uint64_t first = line > n / 2 ? line - n / 2 : 1, last = first + n - 1;
	for (uint64_t at = 1; *text && at < first; at++)
		text = next_line(text);
	ret->source = text;
	for (uint64_t at = first; *text && at <= last; at++)
		text = next_line(text);
	ret->source_size = (size_t)(text - ret->source);
}

/* Adds a frame of the unit, which is NULL for the declaration of a variable. */
static int add_frame(struct details *d, const struct unit_details *u, const struct detail_entry *entry,
		     struct row_place place)
{
	const struct detail_file *file = u && place.file < u->files.n ? &u->files.v[place.file] : NULL;
	struct frame_detail frame = {.line = place.line,
				     .column = place.column.column,
				     .discriminator = place.column.discriminator,
				     .comp_size = file ? file->comp_size : 0,
				     .start_dir = "",
				     .start_base = ""};
	if (entry) {
		frame.start_line = entry->decl_line;
		frame.start = entry->low_pc;
		frame.has_start = entry->has_low_pc;
	}
	if (entry && entry->base) {
		frame.start_dir = entry->dir;
		frame.start_base = entry->base;
		frame.start_comp_size = u && entry->file < u->files.n ? u->files.v[entry->file].comp_size : 0;
	}
	if (file && file->source && d->n_source && !d->frames.n) /* LLVM has that of the innermost alone */
		find_source(file->source, place.line, d->n_source, &frame);
	return vec_push(&d->frames, frame);
}

/* Adds the frames that the unit has at @addr. */
static int add_frames(struct details *d, const struct unit_details *u, uint64_t addr)
{
	size_t row = find_row(&u->lines, addr), piece = code_pieces_find(&u->code, addr, u->code.n);
	struct row_place place = {0};
	if (row < u->lines.rows.n) {
		place.file = u->lines.rows.v[row].file;
		place.line = u->lines.rows.v[row].line;
	}
	if (row < u->lines.columns.n)
		place.column = u->lines.columns.v[row];
	if (piece == u->code.n)
		return place.line ? add_frame(d, u, NULL, place) : 0;
	uint32_t at = u->code.v[piece].of;
	int err = 0;
	while (at != NO_PARENT && !err) {
		const struct detail_entry *entry = &u->entries.v[at];
		err = add_frame(d, u, entry, place);
		place = (struct row_place){entry->call_file, entry->call_line, entry->call};
		at = entry->parent;
	}
	return err;
}

/* The first unit from @unit on that has code at @addr, or UINT32_MAX. */
static uint32_t next_unit(const struct details *d, uint64_t addr, uint32_t unit)
{
	uint32_t next = UINT32_MAX;
	for (size_t n = d->code.n, at; (at = code_pieces_find(&d->code, addr, n)) < n; n = at)
		if (d->code.v[at].of >= unit && d->code.v[at].of < next)
			next = d->code.v[at].of;
	return next;
}

/*
 * Several units may have the code of an inline function, of which the linker kept one: the frames are those
 * of the first unit that has @line there.
 */
static int answer_address(struct details *d, uint64_t addr, uint32_t line)
{
	int err = 0;
	bool found = false;
	d->frames.n = 0;
	for (uint32_t u = 0; !err && !found && (u = next_unit(d, addr, u)) != UINT32_MAX; u++) {
		d->frames.n = 0;
		err = d->units[u] ? 0 : read_unit(d, u);
		if (!err)
			err = add_frames(d, d->units[u], addr);
		found = d->frames.n && d->frames.v[0].line == line;
	}
	return err;
}

/* ---- Variables ---- */

/* The variable at @addr, the last of the first unit that has one. */
static const struct unit_variable *find_variable(const struct details *d, uint64_t addr)
{
	const struct unit_variable *found = NULL;
	for (size_t i = 0; i < d->variables.n; i++) {
		const struct unit_variable *v = &d->variables.v[i];
		if (v->addr == addr && (!found || v->unit == found->unit))
			found = v;
	}
	return found;
}

/* Lists variables of further units until one is at @addr. */
static int list_variables(struct details *d, uint64_t addr)
{
	int err = need_builder(d);
	size_t at = 0;
	for (bool found = false; !found && d->n_listed < d->c->dwarf.n_units && err != -ENOMEM;) {
		at = d->variables.n;
		err = builder_variables(d->builder, d->n_listed++, &d->variables);
		for (; at < d->variables.n; at++)
			found |= d->variables.v[at].addr == addr;
	}
	return err == -ENOMEM ? err : 0;
}

static int answer_variable(struct details *d, uint64_t addr)
{
	const struct unit_variable *variable = find_variable(d, addr);
	struct detail_entry entry;
	d->frames.n = 0;
	int err = variable ? need_builder(d) : list_variables(d, addr);
	if (!variable)
		variable = find_variable(d, addr);
	if (err || !variable)
		return err;
	err = builder_variable_declaration(d->builder, variable, &entry);
	if (!err && entry.decl_line)
		err = add_frame(d, NULL, &entry, (struct row_place){0});
	return err == -ENOMEM ? err : 0;
}

static int serve(struct details *d)
{
	const struct convert_details *asker = d->c->options->details;
	struct detail_question question;
	int err = asker->answer(asker->user, NULL, 0) ? -ECANCELED : 0;
	while (!err) {
		if (asker->next(asker->user, &question))
			return -ECANCELED;
		d->n_source = question.n_source;
		err = question.is_data ? answer_variable(d, question.addr)
				       : answer_address(d, question.addr, question.line);
		if (!err && asker->answer(asker->user, d->frames.v, d->frames.n))
			return -ECANCELED;
	}
	return err;
}

int details_serve(struct conversion *c)
{
	struct details d = {.c = c};
	int err = conversion_load_dwarf(c);
	if (!err && !c->dwarf.n_units)
		return -ENODATA;
	if (!err)
		err = conversion_open_dwarf(c);
	d.context = (struct build_context){.dwarf = &c->dwarf,
					   .split = c->split,
					   .text = &c->object->text,
					   .symbols = &c->symbols,
					   .columns = true};
	if (!err)
		err = find_units(&d);
	if (!err)
		err = serve(&d);
	drop_units(&d);
	free(d.units);
	vec_free(&d.code);
	vec_free(&d.frames);
	vec_free(&d.variables);
	return err;
}

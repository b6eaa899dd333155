/*
 * pclntab.c - the header and the entries of Go's function table.
 *
 * Header: magic number, two zeros, the smallest instruction's size, that of a pointer. Then pointer-sized
 * numbers: functions, and since Go 1.16 files, since 1.18 the code's start (0 since 1.26), and the offsets of
 * the tables of names, file offsets, files, values and functions. Before, the functions follow at once, all
 * other offsets count from the header, and the offset of the files follows the functions.
 *
 * The table of functions has pairs of a start, ascending, and the offset of an entry, then the end of the
 * last function. An entry has fixed fields, the offsets of tables of values ("PCDATA"), then those of other
 * data ("FUNCDATA").
 */
#include "convert/golang/pclntab.h"

#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

#define NO_FUNCDATA UINT32_MAX

/* ---- Header ---- */

static int read_magic(struct cursor *c, struct pclntab *t)
{
	uint32_t magic = cursor_u32(c);
	switch (magic) {
	case 0xfffffffb: t->version = PCLNTAB_GO12; break;
	case 0xfffffffa: t->version = PCLNTAB_GO116; break;
	case 0xfffffff0: t->version = PCLNTAB_GO118; break;
	case 0xfffffff1: t->version = PCLNTAB_GO120; break;
	default: return -EBADMSG;
	}
	uint16_t zeros = cursor_u16(c);
	t->quantum = cursor_u8(c);
	t->pointer_size = cursor_u8(c);
	bool known = !zeros && (t->quantum == 1 || t->quantum == 2 || t->quantum == 4) &&
		     (t->pointer_size == 4 || t->pointer_size == 8);
	return cursor_ok(c) && known ? 0 : -EBADMSG;
}

/* The rest of the table from the offset that comes next; empty where that is outside. */
static struct span next_part(struct cursor *c, const struct pclntab *t)
{
	uint64_t off = cursor_uint(c, t->pointer_size);
	if (!cursor_ok(c) || off >= t->bytes.size)
		return (struct span){0};
	return (struct span){t->bytes.data + off, t->bytes.size - off};
}

/* Bytes of a start or an offset in the table of functions. */
static unsigned word_size(const struct pclntab *t)
{
	return t->version >= PCLNTAB_GO118 ? 4 : t->pointer_size;
}

/* The files of Go 1.2: their number, itself included, then the offset of each path. */
static void find_old_files(struct pclntab *t)
{
	struct cursor c = cursor_new(t->functions.data, t->functions.size, t->object->big_endian);
	cursor_skip(&c, t->n_functions * 2 * t->pointer_size + t->pointer_size);
	uint32_t off = cursor_u32(&c);
	if (!cursor_ok(&c) || off >= t->bytes.size)
		return;
	t->file_offsets = (struct span){t->bytes.data + off, t->bytes.size - off};
}

int pclntab_read_header(struct pclntab *t)
{
	struct cursor c = cursor_new(t->bytes.data, t->bytes.size, t->object->big_endian);
	int err = read_magic(&c, t);
	if (err)
		return err;
	t->n_functions = cursor_uint(&c, t->pointer_size);
	if (t->version == PCLNTAB_GO12) {
		t->names = t->files = t->values = t->bytes;
		t->functions = (struct span){c.pos, cursor_left(&c)};
	} else {
		cursor_skip(&c, t->pointer_size); /* number of files */
		t->text = t->version >= PCLNTAB_GO118 ? cursor_uint(&c, t->pointer_size) : 0;
		t->names = next_part(&c, t);
		t->file_offsets = next_part(&c, t);
		t->files = next_part(&c, t);
		t->values = next_part(&c, t);
		t->functions = next_part(&c, t);
	}
	if (!cursor_ok(&c) || !t->n_functions || t->n_functions >= t->functions.size / word_size(t) / 2)
		return -EBADMSG;
	if (t->version == PCLNTAB_GO12)
		find_old_files(t);
	return 0;
}

/* ---- Entries ---- */

const char *pclntab_name(const struct pclntab *t, uint32_t off)
{
	return off < t->names.size ? (const char *)t->names.data + off : NULL;
}

size_t pclntab_file_count(const struct pclntab *t)
{
	size_t most = t->file_offsets.size / sizeof(uint32_t), n = 0;
	if (!most)
		return 0;
	if (t->version == PCLNTAB_GO12)
		n = load32(t->file_offsets.data, t->object->big_endian);
	else if (t->files.data > t->file_offsets.data)
		n = (size_t)(t->files.data - t->file_offsets.data) / sizeof(uint32_t);
	return n < most ? n : most;
}

const char *pclntab_file(const struct pclntab *t, uint64_t index)
{
	struct cursor c = cursor_new(t->file_offsets.data, t->file_offsets.size, t->object->big_endian);
	cursor_seek(&c, index * sizeof(uint32_t));
	uint32_t off = cursor_u32(&c);
	if (!cursor_ok(&c) || off == UINT32_MAX)
		return NULL;
	return off < t->files.size ? (const char *)t->files.data + off : NULL;
}

/* The inline tree of the entry whose offsets of values, then of other data, come next. */
static void read_tree(struct cursor *c, const struct pclntab *t, uint32_t n_values, uint32_t n_data,
		      struct go_function *f)
{
	const struct tree_layout *l = t->layout;
	if (!l || n_values <= l->pcdata || n_data <= l->funcdata)
		return;
	cursor_skip(c, l->pcdata * sizeof(uint32_t));
	uint32_t call_values = cursor_u32(c);
	cursor_skip(c, ((uint64_t)n_values - l->pcdata - 1) * sizeof(uint32_t));
	if (t->version < PCLNTAB_GO118 && t->pointer_size == 8 &&
	    (t->addr + (uint64_t)(c->pos - t->bytes.data)) % 8)
		cursor_skip(c, sizeof(uint32_t));
	cursor_skip(c, (uint64_t)l->funcdata * word_size(t));
	uint64_t tree = cursor_uint(c, word_size(t));
	if (!cursor_ok(c) || (t->version >= PCLNTAB_GO118 ? tree == NO_FUNCDATA : !tree))
		return;
	f->call_values = call_values;
	f->tree = t->trees_base + tree;
}

/* The number of offsets of other data. */
static uint32_t read_data_count(struct cursor *c, const struct pclntab *t)
{
	if (t->layout && t->layout->wide_count)
		return cursor_u32(c);
	cursor_skip(c, 3);
	return cursor_u8(c);
}

/* The entry at @off of the table of functions, after its start. */
static bool read_entry(const struct pclntab *t, uint64_t off, struct go_function *f)
{
	struct cursor c = cursor_new(t->functions.data, t->functions.size, t->object->big_endian);
	if (t->version == PCLNTAB_GO12)
		c = cursor_new(t->bytes.data, t->bytes.size, t->object->big_endian);
	cursor_seek(&c, off);
	cursor_skip(&c, word_size(t));
	f->name = pclntab_name(t, cursor_u32(&c));
	cursor_skip(&c, 3 * sizeof(uint32_t)); /* arguments, deferred calls, stack pointer */
	f->file_values = cursor_u32(&c);
	f->line_values = cursor_u32(&c);
	uint32_t n_values = cursor_u32(&c);
	if (t->version > PCLNTAB_GO12)
		f->unit = cursor_u32(&c);
	if (t->version >= PCLNTAB_GO120)
		cursor_skip(&c, sizeof(uint32_t)); /* first line */
	uint32_t n_data = read_data_count(&c, t);
	bool ok = cursor_ok(&c);
	read_tree(&c, t, n_values, n_data, f);
	return ok;
}

/* The part of the code with @off, or that ends there if no other begins; or NULL. */
static const struct go_text *find_text(const struct pclntab *t, uint64_t off)
{
	size_t i = PARTITION_POINT(0, t->n_texts, mid, t->texts[mid].off <= off);
	return i && off <= t->texts[i - 1].end ? &t->texts[i - 1] : NULL;
}

uint64_t pclntab_address(const struct pclntab *t, uint64_t off)
{
	if (!t->n_texts)
		return t->text + off;
	const struct go_text *text = find_text(t, off);
	return text ? text->addr + (off - text->off) : 0;
}

/*
 * Where the function that begins at @off ends at the latest, if the next one begins at @next; 0 if it is in
 * no part of the code.
 */
static uint64_t limit_of(const struct pclntab *t, uint64_t off, uint64_t next)
{
	const struct go_text *text = t->n_texts ? find_text(t, off) : NULL;
	if (!text)
		return t->n_texts ? 0 : next;
	return text->end < next ? text->end : next;
}

bool pclntab_function(const struct pclntab *t, uint64_t index, struct go_function *ret)
{
	struct cursor c = cursor_new(t->functions.data, t->functions.size, t->object->big_endian);
	*ret = (struct go_function){0};
	cursor_seek(&c, index * 2 * word_size(t));
	uint64_t off = cursor_uint(&c, word_size(t)), entry = cursor_uint(&c, word_size(t)),
		 limit = limit_of(t, off, cursor_uint(&c, word_size(t)));
	ret->start = pclntab_address(t, off);
	ret->limit = ret->start + (limit - off);
	return cursor_ok(&c) && off < limit && limit - off <= UINT32_MAX && ret->start < ret->limit &&
	       read_entry(t, entry, ret) && ret->name && *ret->name;
}

/* ---- Values that depend on the program counter ---- */

/*
 * A sequence of pairs of variable-length numbers: the change of the value, zigzag-encoded, then the bytes of
 * code, in units of the smallest instruction, for which the new value holds. It begins with the value -1 at
 * the function's start, and ends with a change of 0 that is not the first.
 */

/* Reads one pair. False at the end, and on damage, which fails the cursor. */
static bool next_step(struct cursor *c, const struct pclntab *table, bool first, struct pc_step *at)
{
	uint64_t change = cursor_uleb(c);
	if (!cursor_ok(c) || (!change && !first))
		return false;
	uint64_t bytes = cursor_uleb(c);
	if (change > UINT32_MAX || bytes > (UINT32_MAX - at->end) / table->quantum) {
		cursor_fail(c);
		return false;
	}
	uint32_t delta = (uint32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	at->value = (int32_t)((uint32_t)at->value + delta);
	at->end += (uint32_t)bytes * table->quantum;
	return cursor_ok(c);
}

bool pc_values_read(const struct pclntab *table, uint32_t off, struct budget *budget, enum account account,
		    pc_step_vec *ret, int *err)
{
	struct cursor c = cursor_new(table->values.data, table->values.size, table->object->big_endian);
	struct pc_step at = {.value = -1};
	ret->n = 0;
	if (!off)
		return true;
	cursor_seek(&c, off);
	for (bool first = true; next_step(&c, table, first, &at); first = false) {
		if (!budget_work(budget, account, 1))
			return false;
		if (vec_push(ret, at)) {
			*err = -ENOMEM;
			return false;
		}
	}
	return cursor_ok(&c);
}

int32_t pc_value_at(const pc_step_vec *steps, uint32_t off)
{
	size_t i = PARTITION_POINT(0, steps->n, mid, steps->v[mid].end <= off);
	return i < steps->n ? steps->v[i].value : -1;
}

/*
 * moduledata.c - the structure "runtime.firstmoduledata", which is found by what it points to.
 *
 * Its first words are the address of the function table, then those of the table's parts; later ones differ
 * between versions (runtime/symtab.go). What inline trees count from since Go 1.18, "go:func.*", is one of a
 * few words past these, whose place changes from version to version: it is the first where the trees that
 * functions name begin with a possible node.
 *
 * In a position independent program linked by the system's linker the words are in relocations, and the file
 * has zeros. Those of Mach-O may be links of a chain of fixups (dyld's fixup-chains.h), with the address, or
 * its distance from the header, in the low 36 bits.
 */
#include "convert/golang/pclntab.h"

#include "convert/golang/relatives.h"

enum {
	WORD_NAMES = 1,     /* address of the names */
	WORD_END = 21,      /* "maxpc": the end of the last function */
	WORD_TEXT = 22,     /* the code's start */
	WORD_BASE_MIN = 36, /* "gofunc" is word 38 in Go 1.18, 40 in 1.20, 43 in 1.27 */
	WORD_BASE_MAX = 52,
	WORDS = WORD_BASE_MAX,

	CHAINED_BITS = 36,
	CODE_PADDING = 64, /* bytes at the end of a section */
};

struct moduledata {
	const struct pclntab *table;
	uint64_t addr; /* 0 = not found */
	uint64_t words[WORDS];
};

/* The address that a word of the file stands for. */
static uint64_t pointer_of(const struct object_file *object, uint64_t word)
{
	if (object->kind != IMAGE_MACHO || !(word >> CHAINED_BITS))
		return word;
	word &= ((uint64_t)1 << CHAINED_BITS) - 1;
	return word < object->base_address ? word + object->base_address : word;
}

static uint64_t load_word(const struct pclntab *t, const uint8_t *at)
{
	uint64_t word =
		t->pointer_size == 8 ? load64(at, t->object->big_endian) : load32(at, t->object->big_endian);
	return pointer_of(t->object, word);
}

/* ---- In the file's bytes ---- */

static bool search(struct moduledata *m, const struct data_area *area)
{
	const struct pclntab *t = m->table;
	size_t size = t->pointer_size, left = area->bytes.size;
	uint64_t names = t->addr + (uint64_t)(t->names.data - t->bytes.data);
	for (size_t off = -area->addr % size; off < left && left - off >= WORDS * size; off += size) {
		const uint8_t *at = area->bytes.data + off;
		if (load_word(t, at) != t->addr || load_word(t, at + WORD_NAMES * size) != names)
			continue;
		m->addr = area->addr + off;
		for (size_t i = 0; i < WORDS; i++)
			m->words[i] = load_word(t, at + i * size);
		return true;
	}
	return false;
}

static bool search_areas(struct moduledata *m)
{
	struct area_walk walk = area_walk_of(m->table->object);
	struct data_area area;
	while (next_area(&walk, &area))
		if (search(m, &area))
			return true;
	return false;
}

/* ---- In relocations ---- */

static void overlay_relocations(struct moduledata *m, struct cursor c)
{
	struct relative r;
	while (next_relative(&c, &r)) {
		uint64_t word = (r.addr - m->addr) / 8;
		if (r.addr >= m->addr && word < WORDS)
			m->words[word] = r.value;
	}
}

static bool search_relocations(struct moduledata *m)
{
	const struct cursor all = relatives_of(m->table->object);
	struct cursor c = all;
	struct relative r;
	while (!m->addr && next_relative(&c, &r))
		if (r.value == m->table->addr)
			m->addr = r.addr;
	if (m->addr)
		overlay_relocations(m, all);
	return m->addr;
}

/* ---- What it tells ---- */

/* Where the table ends, counted from the code's start. */
static uint32_t table_end(const struct pclntab *t)
{
	struct cursor c = cursor_new(t->functions.data, t->functions.size, t->object->big_endian);
	cursor_seek(&c, t->n_functions * 2 * sizeof(uint32_t));
	return cursor_u32(&c);
}

/* Whether code ends where the table's last function does. It would not with several code sections. */
static bool agrees(const struct moduledata *m)
{
	uint32_t end = table_end(m->table);
	return end && m->words[WORD_TEXT] + end == m->words[WORD_END];
}

static void find_trees(const struct moduledata *m, struct pclntab *t)
{
	for (size_t i = WORD_BASE_MIN; i < WORD_BASE_MAX; i++)
		if (inline_trees_at(t, m->words[i]))
			return;
}

/*
 * The code section begins with Go's code, unless the system's linker put other code there: then the section
 * is longer than the table tells.
 */
static int guess_code_start(struct pclntab *t)
{
	const struct object_section *s = object_section(t->object, ".text");
	if (!s)
		s = object_section(t->object, "__TEXT,__text");
	uint32_t end = table_end(t);
	if (!s || !end || s->size < end || s->size - end >= CODE_PADDING)
		return -EBADMSG;
	t->text = s->addr;
	return 0;
}

int moduledata_read(struct pclntab *t)
{
	struct moduledata m = {.table = t};
	if (t->version < PCLNTAB_GO118) {
		inline_trees_find(t);
		return 0;
	}
	if (!search_areas(&m) && !search_relocations(&m))
		return t->text ? 0 : guess_code_start(t);
	t->text = m.words[WORD_TEXT];
	if (!agrees(&m))
		return -EBADMSG;
	find_trees(&m, t);
	return 0;
}

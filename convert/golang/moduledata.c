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

#include "convert/object/source_format.h"

enum {
	WORD_NAMES = 1,     /* address of the names */
	WORD_END = 21,      /* "maxpc": the end of the last function */
	WORD_TEXT = 22,     /* the code's start */
	WORD_BASE_MIN = 36, /* "gofunc" is word 38 in Go 1.18, 40 in 1.20, 43 in 1.27 */
	WORD_BASE_MAX = 52,
	WORDS = WORD_BASE_MAX, /* of which the last follow those of Go 1.27 */

	CHAINED_BITS = 36,
	CODE_PADDING = 64, /* bytes at the end of a section */
};

struct moduledata {
	const struct pclntab *table;
	uint64_t words[WORDS];
};

static uint64_t load_word(const struct pclntab *t, const uint8_t *at)
{
	uint64_t word =
		t->pointer_size == 8 ? load64(at, t->object->big_endian) : load32(at, t->object->big_endian);
	/* Chained pointers have more than an address in a word. */
	if (!t->object->format->chains_pointers || !(word >> CHAINED_BITS))
		return word;
	word &= ((uint64_t)1 << CHAINED_BITS) - 1;
	return word < t->object->base_address ? word + t->object->base_address : word;
}

/* ---- Words of the program ---- */

/* Reads @n words at @addr, also those that relocations make. False: the file does not have them. */
static bool read_words(const struct pclntab *t, uint64_t addr, uint64_t *ret, size_t n)
{
	struct span in = object_bytes_at(t->object, addr);
	if (in.size / t->pointer_size < n)
		return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = load_word(t, in.data + i * t->pointer_size);
	struct cursor c = relatives_of(t->object);
	struct relative r;
	while (next_relative(&c, &r))
		if (r.addr >= addr && (r.addr - addr) / 8 < n)
			ret[(r.addr - addr) / 8] = r.value;
	return true;
}

/* ---- Where it is ---- */

/* The address of two words in @area, as moduledata begins; 0 if they are not there. */
static uint64_t search(const struct pclntab *t, const struct data_area *area)
{
	size_t size = t->pointer_size, left = area->bytes.size;
	uint64_t names = t->addr + (uint64_t)(t->names.data - t->bytes.data);
	for (size_t off = -area->addr % size; off < left && left - off >= 2 * size; off += size) {
		const uint8_t *at = area->bytes.data + off;
		if (load_word(t, at) == t->addr && load_word(t, at + size) == names)
			return area->addr + off;
	}
	return 0;
}

static uint64_t search_relocations(const struct pclntab *t)
{
	struct cursor c = relatives_of(t->object);
	struct relative r;
	while (next_relative(&c, &r))
		if (r.value == t->addr)
			return r.addr;
	return 0;
}

static bool find_moduledata(struct moduledata *m)
{
	struct area_walk walk = area_walk_of(m->table->object);
	struct data_area area;
	uint64_t addr = 0;
	while (!addr && next_area(&walk, &area))
		addr = search(m->table, &area);
	if (!addr)
		addr = search_relocations(m->table);
	return addr && read_words(m->table, addr, m->words, WORDS);
}

/* ---- What it tells ---- */

/* Where the table ends, counted from the code's start. */
static uint32_t table_end(const struct pclntab *t)
{
	struct cursor c = cursor_new(t->functions.data, t->functions.size, t->object->big_endian);
	cursor_seek(&c, t->n_functions * 2 * sizeof(uint32_t));
	return cursor_u32(&c);
}

/* Whether @text follows @last, or begins the code of @t. */
static bool is_next(const struct pclntab *t, const struct go_text *text, const struct go_text *last)
{
	bool follows = last ? text->off >= last->end && text->addr >= last->addr + (last->end - last->off)
			    : !text->off && text->addr == t->text;
	return follows && text->off < text->end && text->end <= UINT32_MAX;
}

/* Reads "textsectmap", @n times the offset, the offset of the end, and the address. False: it is none. */
static bool read_texts(struct pclntab *t, uint64_t addr, uint64_t n)
{
	uint64_t words[3 * GO_TEXT_MAX];
	if (n < 2 || n > GO_TEXT_MAX || !read_words(t, addr, words, 3 * n))
		return false;
	for (size_t i = 0; i < n; i++) {
		t->texts[i] = (struct go_text){words[3 * i], words[3 * i + 1], words[3 * i + 2]};
		if (!is_next(t, &t->texts[i], i ? &t->texts[i - 1] : NULL))
			return false;
	}
	t->n_texts = n;
	return true;
}

/* Its address, length and capacity are a few words past what trees count from. */
static void find_texts(const struct moduledata *m, struct pclntab *t)
{
	for (size_t i = WORD_BASE_MIN; i + 2 < WORDS; i++)
		if (m->words[i + 1] == m->words[i + 2] && read_texts(t, m->words[i], m->words[i + 1]))
			return;
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
	if (!find_moduledata(&m))
		return t->text ? 0 : guess_code_start(t);
	t->text = m.words[WORD_TEXT];
	find_texts(&m, t);
	/* Code ends where the table's last function does. */
	uint32_t end = table_end(t);
	if (!end || pclntab_address(t, end) != m.words[WORD_END])
		return -EBADMSG;
	find_trees(&m, t);
	return 0;
}

/*
 * pclntab_find.c - where Go's function table is.
 *
 * A file without its section (object_go_table()), but with others of Go's or no section at all, is searched
 * for the magic number, and so is a PE file, where it is in .rdata. The number's place is a multiple of 4,
 * and what follows must be a whole header.
 */
#include "convert/golang/pclntab.h"

#include "convert/object/object_file.h"
#include "convert/object/source_format.h"

#include <string.h>

static struct data_area section_area(const struct area_walk *w, const struct object_section *s)
{
	bool usable = section_is_data(s) || (w->code && s->code && s->compression == COMPRESSION_NONE);
	return usable ? (struct data_area){s->raw, s->addr} : (struct data_area){0};
}

static struct data_area segment_area(const struct object_file *object, const struct object_segment *s)
{
	if (s->off >= object->map_size)
		return (struct data_area){0};
	uint64_t left = object->map_size - s->off;
	return (struct data_area){{object->map + s->off, s->size < left ? s->size : left}, s->addr};
}

/*
 * PE files by Go's own linker have a section .symtab. Up to Go 1.15 their constants are in sections of code.
 */
struct area_walk area_walk_of(struct object_file *object)
{
	bool code = object->format->go_table_is_searched && object_section(object, ".symtab");
	return (struct area_walk){.object = object, .code = code, .left = object->map_size};
}

bool next_area(struct area_walk *w, struct data_area *ret)
{
	const struct object_file *object = w->object;
	size_t n = object->sections.n ? object->sections.n : object->segments.n, i = w->index++;
	if (i >= n)
		return false;
	*ret = object->sections.n ? section_area(w, &object->sections.v[i])
				  : segment_area(object, &object->segments.v[i]);
	if (ret->bytes.size > w->left)
		ret->bytes.size = w->left;
	w->left -= ret->bytes.size;
	return true;
}

/* Whether there is a table at @off of bytes that are loaded at @addr. */
static bool try_at(struct pclntab *t, struct span in, uint64_t addr, uint64_t off)
{
	t->bytes = (struct span){in.data + off, in.size - off};
	t->addr = addr + off;
	return !pclntab_read_header(t);
}

/* ---- By its magic number ---- */

static bool is_magic(uint32_t word)
{
	return word == 0xfffffff1 || word == 0xfffffff0 || word == 0xfffffffa || word == 0xfffffffb;
}

/* Whether a table that was found by its number alone is for this machine, and begins with a function. */
static bool is_sound(const struct pclntab *t)
{
	struct go_function first;
	return t->pointer_size == t->object->addr_size && pclntab_function(t, 0, &first);
}

static bool search(struct pclntab *t, struct span in, uint64_t addr)
{
	for (size_t off = -addr % 4; off < in.size && in.size - off >= 8; off += 4)
		if (is_magic(load32(in.data + off, t->object->big_endian)) && try_at(t, in, addr, off) &&
		    is_sound(t))
			return true;
	return false;
}

static bool is_section_of_go(const struct object_section *s)
{
	return !strncmp(s->name, ".go.", 4) || !strncmp(s->name, ".note.go.", 9) || strstr(s->name, ",__go_");
}

static bool search_areas(struct pclntab *t)
{
	struct object_file *object = t->object;
	bool go = !object->sections.n || object->format->go_table_is_searched;
	struct area_walk walk = area_walk_of(object);
	struct data_area area;
	for (size_t i = 0; i < object->sections.n && !go; i++)
		go = is_section_of_go(&object->sections.v[i]);
	while (go && next_area(&walk, &area))
		if (search(t, area.bytes, area.addr))
			return true;
	return false;
}

/* ---- Position independent programs ---- */

struct cursor relatives_of(struct object_file *object)
{
	const struct object_section *s = object->addr_size == 8 ? object_section(object, ".rela.dyn") : NULL;
	return s ? cursor_new(s->raw.data, s->raw.size, object->big_endian) : cursor_new(NULL, 0, false);
}

bool next_relative(struct cursor *c, struct relative *ret)
{
	while (cursor_left(c)) {
		*ret = (struct relative){.addr = cursor_u64(c)};
		uint32_t symbol = (uint32_t)(cursor_u64(c) >> 32);
		ret->value = cursor_u64(c);
		if (cursor_ok(c) && !symbol)
			return true;
	}
	return false;
}

/*
 * Entries before Go 1.18 have addresses, which relocations make: then the table is a copy with these applied.
 * 0 or -ENOMEM.
 */
static int relocate(struct pclntab *t, struct arena *arena)
{
	struct cursor c = relatives_of(t->object);
	struct relative r;
	if (t->version >= PCLNTAB_GO118 || !cursor_left(&c))
		return 0;
	uint8_t *copy = arena_alloc(arena, t->bytes.size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, t->bytes.data, t->bytes.size);
	while (next_relative(&c, &r)) {
		uint64_t off = r.addr - t->addr;
		if (off < t->bytes.size && t->bytes.size - off >= sizeof(r.value))
			store64(copy + off, r.value, t->object->big_endian);
	}
	t->bytes.data = copy;
	return pclntab_read_header(t) ? -ENOENT : 0;
}

int pclntab_find(struct object_file *object, struct arena *arena, struct pclntab *ret)
{
	*ret = (struct pclntab){.object = object};
	if (object->relocatable || (object->addr_size != 4 && object->addr_size != 8))
		return -ENOENT;
	const struct object_section *s = object_go_table(object);
	if ((s && try_at(ret, s->raw, s->addr, 0)) || search_areas(ret))
		return relocate(ret, arena);
	return s && s->raw.size ? -EBADMSG : -ENOENT;
}

/*
 * pdb_sections.c - section headers, and where symbols' sections and offsets are in the image. If its code was
 * rearranged, symbols count in the sections that the linker made, and pdb_omap.c has where those went.
 */
#include "convert/object/pdb/pdb.h"

#include "convert/object/coff.h"
#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"

#include <errno.h>

/* Indexes of the debug header. */
enum {
	DEBUG_OMAP_TO_SOURCE = 3,
	DEBUG_OMAP_FROM_SOURCE = 4,
	DEBUG_SECTIONS = 5,
	DEBUG_ORIGINAL_SECTIONS = 10,
};

enum {
	SECTION_HEADER_SIZE = 40,
	SECTION_NAME_SIZE = 8,
	SECTIONS_MAX = UINT16_MAX,
};

/* Bytes of the stream that the debug header has at @index; none if there is no such. */
static int listed_stream(const struct object_file *object, struct span debug_header, size_t index,
			 struct pdb_bytes *ret)
{
	*ret = (struct pdb_bytes){.copy = NULL};
	if (debug_header.size / 2 <= index)
		return 0;
	int err = pdb_stream(object, load16(debug_header.data + 2 * index, false), ret);
	return err == -ENOENT ? 0 : err;
}

static int read_sections(struct span bytes, pdb_sections *ret)
{
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	while (ret->n < SECTIONS_MAX && cursor_can_hold(&c, 1, SECTION_HEADER_SIZE)) {
		struct pdb_section s = {.size = 0};
		memcpy(s.name, cursor_take(&c, SECTION_NAME_SIZE), SECTION_NAME_SIZE);
		uint32_t size = cursor_u32(&c);
		s.rva = cursor_u32(&c);
		uint32_t raw_size = cursor_u32(&c);
		cursor_skip(&c, 16); /* offset, relocations and line numbers */
		s.flags = cursor_u32(&c);
		s.size = size ? size : raw_size;
		if (s.size > UINT32_MAX - s.rva)
			s.size = UINT32_MAX - s.rva;
		if (vec_push(ret, s))
			return -ENOMEM;
	}
	return 0;
}

static int load_sections(const struct object_file *object, struct span debug_header, size_t index,
			 pdb_sections *ret)
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes bytes = {.copy = NULL};
	int err = listed_stream(object, debug_header, index, &bytes);
	return err ? err : read_sections(bytes.bytes, ret);
}

static bool is_moved(const struct pdb *pdb)
{
	return pdb->omap.n || pdb->blocks.n;
}

static int load_omap(struct object_file *object, struct span debug_header)
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes from = {.copy = NULL}, to = {.copy = NULL};
	int err = listed_stream(object, debug_header, DEBUG_OMAP_FROM_SOURCE, &from);
	if (!err)
		err = listed_stream(object, debug_header, DEBUG_OMAP_TO_SOURCE, &to);
	return err ? err : pdb_load_omap(pdb_of(object), from.bytes, to.bytes);
}

/* The sections of the object file, which has none of their bytes. */
static int publish_sections(struct object_file *object)
{
	int err = 0;
	for (size_t i = 0; i < pdb_of(object)->sections.n && !err; i++) {
		const struct pdb_section *from = &pdb_of(object)->sections.v[i];
		struct object_section s = {.name = from->name, .addr = from->rva, .size = from->size};
		coff_set_use(&s, from->flags);
		err = object_add_section(object, &s);
	}
	ranges_normalize(&object->text);
	return err;
}

/*
 * Code ranges are those of the sections, but tools that move code may leave the section headers as they were:
 * then they are what the OMAP makes of these.
 */
static int move_code(struct object_file *object)
{
	for (size_t i = 0; i < object->sections.n; i++)
		object->sections.v[i].code = false;
	return pdb_move_code(pdb_of(object), &object->text);
}

int pdb_load_sections(struct object_file *object, struct span debug_header, struct gsym_diag *diag)
{
	struct pdb *pdb = pdb_of(object);
	int err = load_sections(object, debug_header, DEBUG_SECTIONS, &pdb->sections);
	if (!err)
		err = load_omap(object, debug_header);
	if (!err && is_moved(pdb))
		err = load_sections(object, debug_header, DEBUG_ORIGINAL_SECTIONS, &pdb->original);
	if (!err)
		err = publish_sections(object);
	if (!err && is_moved(pdb) && !pdb->original.n)
		err = move_code(object);
	return err ? diag_set(diag, err, "%s: %s", object->path,
			      err == -ENOMEM ? "out of memory"
					     : "section headers or address maps of the PDB are damaged")
		   : 0;
}

/* ---- Places ---- */

int pdb_place(const struct object_file *object, uint16_t section, uint32_t off, uint32_t size,
	      pdb_pieces *ret)
{
	const struct pdb *pdb = pdb_of(object);
	const pdb_sections *sections = pdb->original.n ? &pdb->original : &pdb->sections;
	ret->n = 0;
	if (!section || section > sections->n || off >= sections->v[section - 1].size)
		return 0;
	uint32_t left = sections->v[section - 1].size - off, rva = sections->v[section - 1].rva + off;
	size = size < left ? size : left;
	if (!is_moved(pdb))
		return vec_push(ret, (struct pdb_piece){0, rva, size});
	return size ? pdb_omap_place(pdb, rva, size, ret) : pdb_omap_address(pdb, rva, ret);
}

/*
 * pdb_sections.c - section headers, and where symbols' sections and offsets are in the image.
 *
 * A tool that rearranges the code of a linked image leaves two tables in its PDB file (OMAP): symbols count
 * in the sections that the linker made, and the table "from source" says where their parts went. An entry
 * holds for all addresses up to that of the next.
 */
#include "convert/object/pdb/pdb.h"

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "gsym/base/search.h"

#include <errno.h>

#define RVA_END 0x80000000U

/* Indexes of the debug header. */
enum {
	DEBUG_OMAP_FROM_SOURCE = 4,
	DEBUG_SECTIONS = 5,
	DEBUG_ORIGINAL_SECTIONS = 10,
};

enum {
	SECTION_HEADER_SIZE = 40,
	SECTION_NAME_SIZE = 8,
	OMAP_SIZE = 8,
	SECTIONS_MAX = UINT16_MAX,
	IMAGE_SCN_CNT_CODE = 0x20,
	IMAGE_SCN_MEM_DISCARDABLE = 0x02000000,
	IMAGE_SCN_MEM_EXECUTE = 0x20000000,
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

/* Tools mark what they removed by 0, or by an address that no image has: images are smaller than 2 GiB. */
static bool is_removed(const struct pdb_omap *entry)
{
	return !entry->to || entry->to >= RVA_END;
}

/* -EBADMSG also when entries are not in order: their code could be anywhere. */
static int load_omap(struct object_file *object, struct span debug_header)
{
	struct pdb *pdb = object->pdb;
	CLEANUP(pdb_bytes_free) struct pdb_bytes bytes = {.copy = NULL};
	int err = listed_stream(object, debug_header, DEBUG_OMAP_FROM_SOURCE, &bytes);
	struct cursor c = cursor_new(bytes.bytes.data, bytes.bytes.size, false);
	for (uint32_t last = 0; !err && cursor_can_hold(&c, 1, OMAP_SIZE);) {
		struct pdb_omap entry = {.from = cursor_u32(&c)};
		entry.to = cursor_u32(&c);
		err = entry.from < last ? -EBADMSG : vec_push(&pdb->omap, entry);
		last = entry.from;
	}
	return err;
}

/* The sections of the object file, which has none of their bytes. */
static int publish_sections(struct object_file *object)
{
	int err = 0;
	for (size_t i = 0; i < object->pdb->sections.n && !err; i++) {
		const struct pdb_section *from = &object->pdb->sections.v[i];
		struct object_section s = {.name = from->name, .addr = from->rva, .size = from->size};
		s.code = from->flags & (IMAGE_SCN_CNT_CODE | IMAGE_SCN_MEM_EXECUTE);
		s.allocated = s.code || !(from->flags & IMAGE_SCN_MEM_DISCARDABLE);
		err = vec_push(&object->sections, s);
		if (!err)
			err = object_add_code(object, &s);
	}
	ranges_normalize(&object->text);
	return err;
}

/*
 * Code ranges are those of the sections, but tools that move code may leave the section headers as they were:
 * then they are what the OMAP makes of these. Both are sorted, and walked once.
 */
static int move_code(struct object_file *object)
{
	const struct pdb *pdb = object->pdb;
	range_vec moved = {0};
	int err = 0;
	for (size_t i = 0, t = 0; i < pdb->omap.n && t < object->text.n && !err;) {
		const struct pdb_omap *e = &pdb->omap.v[i];
		const struct range *text = &object->text.v[t];
		uint64_t end = i + 1 < pdb->omap.n ? e[1].from : UINT32_MAX;
		uint64_t lo = e->from > text->lo ? e->from : text->lo, hi = end < text->hi ? end : text->hi;
		if (lo < hi && !is_removed(e))
			err = vec_push(&moved,
				       (struct range){e->to + (lo - e->from), e->to + (hi - e->from)});
		if (end < text->hi)
			i++;
		else
			t++;
	}
	for (size_t i = 0; i < object->sections.n; i++)
		object->sections.v[i].code = false;
	ranges_normalize(&moved);
	vec_free(&object->text);
	object->text.v = moved.v;
	object->text.n = moved.n;
	object->text.cap = moved.cap;
	return err;
}

int pdb_load_sections(struct object_file *object, struct span debug_header, struct gsym_diag *diag)
{
	struct pdb *pdb = object->pdb;
	int err = load_sections(object, debug_header, DEBUG_SECTIONS, &pdb->sections);
	if (!err)
		err = load_omap(object, debug_header);
	if (!err && pdb->omap.n)
		err = load_sections(object, debug_header, DEBUG_ORIGINAL_SECTIONS, &pdb->original);
	if (!err)
		err = publish_sections(object);
	if (!err && pdb->omap.n && !pdb->original.n)
		err = move_code(object);
	return err ? diag_set(diag, err, "%s: %s", object->path,
			      err == -ENOMEM ? "out of memory"
					     : "section headers or address maps of the PDB are damaged")
		   : 0;
}

/* ---- Places ---- */

/* Adds what [rva, end) has of the part of the code that begins with entry @i. */
static int add_part(const struct pdb *pdb, size_t i, uint32_t rva, uint32_t end, uint32_t off,
		    pdb_pieces *ret)
{
	const struct pdb_omap *e = &pdb->omap.v[i];
	uint32_t size = end - rva, moved = e->to + (rva - e->from);
	if (is_removed(e) || moved < e->to || size > UINT32_MAX - moved)
		return 0;
	return vec_push(ret, (struct pdb_piece){off, moved, size});
}

static int place_moved(const struct pdb *pdb, uint32_t rva, uint32_t size, pdb_pieces *ret)
{
	size_t after = PARTITION_POINT(0, pdb->omap.n, mid, pdb->omap.v[mid].from <= rva);
	uint32_t at = rva, end = rva + size;
	int err = 0;
	for (size_t i = after; i <= pdb->omap.n && !err && i - after < PDB_PIECES_MAX; i++) {
		bool last = i == pdb->omap.n || pdb->omap.v[i].from >= end;
		uint32_t until = last ? end : pdb->omap.v[i].from;
		if (i)
			err = add_part(pdb, i - 1, at, until, at - rva, ret);
		if (last)
			break;
		at = until;
	}
	return err;
}

int pdb_place(const struct object_file *object, uint16_t section, uint32_t off, uint32_t size,
	      pdb_pieces *ret)
{
	const struct pdb *pdb = object->pdb;
	const pdb_sections *sections = pdb->original.n ? &pdb->original : &pdb->sections;
	ret->n = 0;
	if (!section || section > sections->n || off >= sections->v[section - 1].size)
		return 0;
	uint32_t left = sections->v[section - 1].size - off, rva = sections->v[section - 1].rva + off;
	size = size < left ? size : left;
	return pdb->omap.n ? place_moved(pdb, rva, size, ret)
			   : vec_push(ret, (struct pdb_piece){0, rva, size});
}

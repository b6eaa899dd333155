/*
 * dwp.c - packages of split units: one file, its sections the concatenation of those of many .dwo files, and
 * an index of the part of each section that belongs to a unit (DWARF 5, 7.3.5; version 2 of the index
 * is GNU's, for DWARF 4).
 */
#include "convert/dwarf/split.h"

#include "convert/object/object_open.h"
#include "work/types/machine_fault.h"

#include <string.h>

enum {
	COLUMNS_MAX = 16,
	INDEX_HEADER = 16,
	PROBES_MAX = 4096, /* at least a third of the slots is empty (7.3.5.3), so longer chains are damage */
};

/* Section identifiers of version 5 (7.3.5.3); those used here are the same in version 2, except
 * SECT_RNGLISTS. */
enum {
	SECT_INFO = 1,
	SECT_ABBREV = 3,
	SECT_STR_OFFSETS = 6,
	SECT_RNGLISTS = 8,
};

struct dwp {
	struct object_file *object;
	struct dwarf whole; /* sections of all units together; no units */
	struct span index;  /* .debug_cu_index */
	uint32_t version, columns, units, slots;
	uint32_t column[COLUMNS_MAX]; /* section identifier of each */
};

static bool read_index_header(struct dwp *dwp)
{
	struct cursor c = cursor_new(dwp->index.data, dwp->index.size, dwp->whole.big_endian);
	dwp->version = cursor_u32(&c);
	if (dwp->version != 2) { /* version 5: two bytes, and two of padding */
		cursor_seek(&c, 0);
		dwp->version = cursor_u16(&c);
		(void)cursor_u16(&c);
	}
	dwp->columns = cursor_u32(&c);
	dwp->units = cursor_u32(&c);
	dwp->slots = cursor_u32(&c);
	bool power = dwp->slots && !(dwp->slots & (dwp->slots - 1));
	if (!cursor_ok(&c) || (dwp->version != 2 && dwp->version != 5) || !power ||
	    dwp->columns > COLUMNS_MAX || !cursor_can_hold(&c, dwp->slots, 12))
		return false;
	cursor_skip(&c, (uint64_t)dwp->slots * 12);
	for (uint32_t i = 0; i < dwp->columns; i++)
		dwp->column[i] = cursor_u32(&c);
	/* the tables of offsets and of sizes */
	return cursor_ok(&c) &&
	       (!dwp->columns || cursor_can_hold(&c, (uint64_t)dwp->units * dwp->columns, 8));
}

struct dwp *dwp_open(const char *path, const struct convert_opener *opener)
{
	struct dwp *dwp = calloc(1, sizeof(*dwp));
	struct warnings warnings = {0};
	struct object_section *index = NULL;
	int err = dwp ? object_open(path, opener, &dwp->object, NULL) : -ENOMEM;
	if (!err)
		index = object_section(dwp->object, ".debug_cu_index");
	if (index)
		err = section_load(index);
	if (index && !err)
		err = dwarf_load_sections(&dwp->whole, dwp->object, true, 1, &warnings);
	if (index && !err)
		dwp->index = index->data;
	if (!memory_fault_note(opener, err) && index && read_index_header(dwp))
		return dwp;
	dwp_close(dwp);
	return NULL;
}

void dwp_close(struct dwp *dwp)
{
	if (dwp)
		object_close(dwp->object);
	free(dwp);
}

/* The row of a unit, counted from 1; 0 when it is not in the package. Double hashing (7.3.5.3). */
static uint32_t find_row(const struct dwp *dwp, uint64_t dwo_id)
{
	bool big = dwp->whole.big_endian;
	const uint8_t *ids = dwp->index.data + INDEX_HEADER, *rows = ids + (size_t)dwp->slots * 8;
	uint32_t mask = dwp->slots - 1, step = ((uint32_t)(dwo_id >> 32) & mask) | 1,
		 slot = (uint32_t)dwo_id & mask;
	for (uint32_t probes = 0; probes < dwp->slots && probes < PROBES_MAX;
	     probes++, slot = (slot + step) & mask) {
		uint32_t row = load32(rows + (size_t)slot * 4, big);
		if (!row || load64(ids + (size_t)slot * 8, big) == dwo_id)
			return row;
	}
	return 0;
}

static bool cut_section(struct span *section, uint32_t off, uint32_t size)
{
	if (off > section->size || size > section->size - off)
		return false;
	*section = (struct span){section->data + off, size};
	return true;
}

int dwp_find(const struct dwp *dwp, uint64_t dwo_id, struct dwarf *ret)
{
	bool big = dwp->whole.big_endian, ok = true;
	uint32_t row = find_row(dwp, dwo_id);
	if (!row)
		return -ENOENT;
	if (row > dwp->units)
		return -EBADMSG;
	const uint8_t *offsets =
		dwp->index.data + INDEX_HEADER + (size_t)dwp->slots * 12 + (size_t)dwp->columns * 4;
	const uint8_t *sizes = offsets + (size_t)dwp->units * dwp->columns * 4;
	*ret = dwp->whole;
	ret->bytes = dwp->whole.bytes / dwp->units;
	for (uint32_t i = 0; i < dwp->columns; i++) {
		size_t at = ((size_t)(row - 1) * dwp->columns + i) * 4;
		uint32_t off = load32(offsets + at, big), size = load32(sizes + at, big);
		ret->bytes += size;
		switch (dwp->column[i]) {
		case SECT_INFO: ok &= cut_section(&ret->info, off, size); break;
		case SECT_ABBREV: ok &= cut_section(&ret->abbrev, off, size); break;
		case SECT_STR_OFFSETS: ok &= cut_section(&ret->str_offsets, off, size); break;
		case SECT_RNGLISTS: ok &= dwp->version < 5 || cut_section(&ret->rnglists, off, size); break;
		}
	}
	return ok ? 0 : -EBADMSG;
}

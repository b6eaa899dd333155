/*
 * pe_image.c - a PE file as it is loaded: bytes by their address, symbols in its code, and its id.
 */
#include "convert/object/pe/pe.h"

#include "convert/object/pdb/pdb.h"
#include "gsym/base/diag.h"
#include "gsym/base/search.h"

#include <errno.h>
#include <string.h>

struct span pe_bytes(const struct object_file *object, uint64_t rva)
{
	const struct pe *pe = pe_of(object);
	size_t i = PARTITION_POINT(0, pe->pieces.n, mid, pe->pieces.v[mid].rva <= rva);
	const struct pe_piece *p = i ? &pe->pieces.v[i - 1] : NULL;
	if (!p || rva - p->rva >= p->bytes.size)
		return (struct span){0};
	return (struct span){p->bytes.data + (rva - p->rva), p->bytes.size - (rva - p->rva)};
}

struct span pe_directory_bytes(const struct object_file *object, unsigned index)
{
	const struct pe_directory *d = &pe_of(object)->directories[index];
	struct span bytes = d->rva ? pe_bytes(object, d->rva) : (struct span){0};
	bytes.size = d->size < bytes.size ? d->size : bytes.size;
	return bytes;
}

const char *pe_text(const struct object_file *object, uint64_t rva, struct name_budget *budget)
{
	struct span bytes = pe_bytes(object, rva);
	if (!bytes.size || name_budget_take(budget, bytes.data, bytes.size) < 0)
		return NULL;
	return (const char *)bytes.data;
}

int pe_add_symbol(struct object_file *object, uint64_t addr, const char *name, enum symbol_type type,
		  bool global)
{
	if (pe_is_thumb(object))
		addr &= ~(uint64_t)1;
	if (!ranges_find(&object->text, addr))
		return 0;
	return vec_push(&object->symbols,
			(struct symbol){.addr = addr, .name = name, .type = type, .global = global});
}

/* ---- The id ---- */

/*
 * The GUID of the CodeView record, which a linker that writes a PDB file makes, and GNU ld and lld with
 * --build-id. The age that follows is no part of it: it counts the times that a PDB file was written, and
 * names of a mount take a GUID with any age. The path of the PDB file is the last field.
 */

enum {
	IMAGE_DEBUG_TYPE_CODEVIEW = 2,
	DEBUG_ENTRY_SIZE = 28,
	RECORD_SIZE = 4 + GUID_SIZE + 4, /* "RSDS", GUID, age; a file name follows */
};

static bool take_record(struct object_file *object, struct span record)
{
	if (record.size < RECORD_SIZE || memcmp(record.data, "RSDS", 4) != 0 ||
	    !object_set_guid(object, record.data + 4))
		return false;
	pe_of(object)->pdb_age = load32(record.data + 4 + GUID_SIZE, false);
	if (memchr(record.data + RECORD_SIZE, 0, record.size - RECORD_SIZE))
		pe_of(object)->pdb_path = (const char *)record.data + RECORD_SIZE;
	return true;
}

/* IMAGE_DEBUG_DIRECTORY */
static bool take_entry(struct object_file *object, struct cursor *c)
{
	cursor_skip(c, 12);
	uint32_t type = cursor_u32(c), size = cursor_u32(c), rva = cursor_u32(c), off = cursor_u32(c);
	struct span record = rva ? pe_bytes(object, rva) : (struct span){0};
	if (!record.size && off < object->map_size)
		record = (struct span){object->map + off, object->map_size - off};
	record.size = size < record.size ? size : record.size;
	return type == IMAGE_DEBUG_TYPE_CODEVIEW && take_record(object, record);
}

void pe_read_id(struct object_file *object)
{
	struct span bytes = pe_directory_bytes(object, DIRECTORY_DEBUG);
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	while (cursor_can_hold(&c, 1, DEBUG_ENTRY_SIZE))
		if (take_entry(object, &c))
			return;
}

int pe_check_age(const struct object_file *pe, const struct object_file *debug, struct gsym_diag *diag)
{
	if (debug->format != &pdb_format || !pe->id_size || pe_of(pe)->pdb_age == pdb_of(debug)->age)
		return 0;
	return diag_set(diag, -EINVAL,
			"%s: its age, %u, is not that which %s names, %u: it was written by another link",
			debug->path, pdb_of(debug)->age, pe->path, pe_of(pe)->pdb_age);
}

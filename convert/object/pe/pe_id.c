/*
 * pe_id.c - the id of a PE file: the GUID of its CodeView record, which a linker that writes a PDB file
 * makes, and GNU ld and lld with --build-id.
 *
 * The age that follows is no part of it: it counts the times that a PDB file was written, and names of a
 * mount take a GUID with any age. The path of the PDB file is the last field.
 */
#include "convert/object/pe/pe.h"

#include "convert/object/pdb/pdb.h"
#include "gsym/base/diag.h"

#include <errno.h>
#include <string.h>

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

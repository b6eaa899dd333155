/*
 * pe_image.c - a PE file as it is loaded: bytes by their address, and symbols in its code.
 */
#include "convert/object/pe/pe.h"

#include "gsym/base/search.h"

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

/*
 * pdb_publics.c - public symbols: names as the linker has them, section and offset, no size.
 *
 * Their records lie among others in a stream of symbols, where an incremental linker leaves removed ones. The
 * stream of publics lists the valid ones by address, after a hash table of their names.
 */
#include "convert/object/pdb/pdb.h"

#include "convert/object/coff.h"
#include "convert/record/budget.h"
#include "gsym/base/cursor.h"

#include <errno.h>

enum {
	S_PUB32 = 0x110e,
	PUBLIC_IS_FUNCTION = 2,
	PUBLICS_HEADER_SIZE = 28,
	ENTRY_SIZE = 4,
};

struct publics {
	struct object_file *object;
	const struct object_file *pdb;
	struct span symbols;
	struct known_addresses known; /* that other tables name */
	struct name_budget budget;
	pdb_pieces places;
};

/* The record at @off of the stream of symbols. */
static int add_public(struct publics *p, uint32_t off)
{
	struct cursor c = cursor_new(p->symbols.data, p->symbols.size, false);
	cursor_seek(&c, off);
	struct cursor record = cursor_window(&c, cursor_u16(&c));
	if (cursor_u16(&record) != S_PUB32)
		return 0;
	uint32_t flags = cursor_u32(&record), in_section = cursor_u32(&record);
	uint16_t section = cursor_u16(&record);
	int err = cursor_ok(&record) ? pdb_place(p->pdb, section, in_section, 0, &p->places) : 0;
	if (err || !cursor_ok(&record) || !p->places.n)
		return err;
	uint64_t addr = p->object->base_address + p->places.v[0].rva;
	int64_t size = name_budget_take(&p->budget, record.pos, cursor_left(&record));
	if (size <= 0 || known_address(&p->known, addr))
		return 0;
	const char *name = (const char *)record.pos;
	const char *plain = coff_plain_name(p->object, pdb_of(p->pdb)->machine, name, (size_t)size, true);
	if (!plain)
		return -ENOMEM;
	if (!*plain || !ranges_find(&p->object->text, addr))
		return 0;
	struct symbol symbol = {.addr = addr,
				.name = plain,
				.type = (flags & PUBLIC_IS_FUNCTION) ? SYMBOL_FUNC : SYMBOL_NOTYPE,
				.global = true};
	return vec_push(&p->object->symbols, symbol);
}

/* The list of records by address, in the stream of publics. */
static struct span by_address(struct span publics)
{
	struct cursor c = cursor_new(publics.data, publics.size, false);
	uint32_t names = cursor_u32(&c), size = cursor_u32(&c);
	cursor_seek(&c, PUBLICS_HEADER_SIZE);
	cursor_skip(&c, names);
	size = size < cursor_left(&c) ? size : (uint32_t)cursor_left(&c);
	return (struct span){c.pos, cursor_ok(&c) ? size : 0};
}

static int add_publics(struct publics *p, struct span list)
{
	int err = 0;
	p->budget = name_budget_of(p->symbols.size + list.size);
	for (size_t i = 0; i + ENTRY_SIZE <= list.size && !err; i += ENTRY_SIZE)
		err = add_public(p, load32(list.data + i, false));
	p->object->names_exceeded |= p->budget.exceeded;
	p->object->name_bytes += (p->symbols.size + list.size) * BUDGET_NAMES - p->budget.left;
	return err;
}

/* The symbols' stream, which their names are borrowed from, stays with the file. */
static int load_records(const struct object_file *pdb, struct span *ret)
{
	struct pdb *p = pdb_of(pdb);
	int err = p->symbol_bytes.bytes.data ? 0 : pdb_stream(pdb, p->symbols_stream, &p->symbol_bytes);
	*ret = p->symbol_bytes.bytes;
	return err;
}

int pdb_add_publics(struct object_file *object, const struct object_file *pdb)
{
	struct publics p = {.object = object, .pdb = pdb};
	CLEANUP(pdb_bytes_free) struct pdb_bytes publics = {.copy = NULL};
	int err = load_records(pdb, &p.symbols);
	if (!err)
		err = pdb_stream(pdb, pdb_of(pdb)->publics_stream, &publics);
	if (!err)
		err = known_addresses_make(object, &p.known);
	if (!err)
		err = add_publics(&p, by_address(publics.bytes));
	free(p.known.v);
	vec_free(&p.places);
	object->symbols_damaged |= err == -EBADMSG;
	return err == -ENOMEM ? err : 0;
}

int pdb_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	int err = 0;
	for (size_t i = 0; i < n_sources && !err; i++)
		if (sources[i]->format == &pdb_format)
			err = pdb_add_publics(object, sources[i]);
	return err;
}

/*
 * pdb_dbi.c - the DBI stream: its header, the modules, and the list of further streams at its end. What lies
 * between them (section contributions, names of source files) can be large and is not read.
 */
#include "convert/object/pdb/pdb.h"

#include "convert/object/coff.h"
#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"

#include <errno.h>

enum {
	DBI_HEADER_SIZE = 64,
	DBI_SIGNATURE = 0xffffffff,
	SUBSTREAMS = 7,
	MODULE_SIZE = 64, /* without its names */
};

/* In the order in which they follow the header; the sizes are in another. */
enum substream {
	SUBSTREAM_MODULES,
	SUBSTREAM_CONTRIBUTIONS,
	SUBSTREAM_SECTION_MAP,
	SUBSTREAM_FILES,
	SUBSTREAM_TYPE_SERVERS,
	SUBSTREAM_EDIT_AND_CONTINUE,
	SUBSTREAM_DEBUG_HEADER,
};

struct dbi_header {
	uint32_t age;
	uint16_t publics, symbols, machine;
	uint32_t sizes[SUBSTREAMS];
};

static int damaged(const struct object_file *object, int err, struct gsym_diag *diag)
{
	return diag_set(diag, err, "%s: %s", object->path,
			err == -ENOMEM ? "out of memory" : "the DBI stream (3) of the PDB is damaged");
}

/* -ENOENT: the stream is empty or missing, as in a file of types that a compiler shares. */
static int read_header(const struct object_file *object, struct dbi_header *ret)
{
	const struct msf *msf = &pdb_of(object)->msf;
	CLEANUP(pdb_bytes_free) struct pdb_bytes bytes = {.copy = NULL};
	uint32_t size = 0;
	int err = msf_stream_size(msf, PDB_STREAM_DBI, &size);
	if (!err)
		err = size ? msf_read(msf, PDB_STREAM_DBI, 0, DBI_HEADER_SIZE, &bytes) : -ENOENT;
	struct cursor c = cursor_new(bytes.bytes.data, bytes.bytes.size, false);
	if (err || cursor_u32(&c) != DBI_SIGNATURE)
		return err ? err : -EBADMSG;
	cursor_skip(&c, 4); /* version */
	ret->age = cursor_u32(&c);
	cursor_skip(&c, 4); /* global symbols, build number */
	ret->publics = cursor_u16(&c);
	cursor_skip(&c, 2);
	ret->symbols = cursor_u16(&c);
	cursor_skip(&c, 2);
	for (enum substream s = SUBSTREAM_MODULES; s <= SUBSTREAM_TYPE_SERVERS; s++)
		ret->sizes[s] = cursor_u32(&c);
	cursor_skip(&c, 4); /* type server of MFC */
	ret->sizes[SUBSTREAM_DEBUG_HEADER] = cursor_u32(&c);
	ret->sizes[SUBSTREAM_EDIT_AND_CONTINUE] = cursor_u32(&c);
	cursor_skip(&c, 2); /* flags */
	ret->machine = cursor_u16(&c);
	return 0;
}

/* The machine that the program says: one with code for two machines names that which can load it. */
static uint16_t machine_of_program(uint16_t machine)
{
	switch (machine) {
	case IMAGE_FILE_MACHINE_ARM64EC: return IMAGE_FILE_MACHINE_AMD64;
	case IMAGE_FILE_MACHINE_ARM64X: return IMAGE_FILE_MACHINE_ARM64;
	}
	return machine;
}

int pdb_read_dbi_header(struct object_file *object, struct gsym_diag *diag)
{
	struct dbi_header header = {0};
	int err = read_header(object, &header);
	if (err == -ENOENT)
		return diag_set(diag, -ENOEXEC,
				"%s: a PDB of types alone, which a compiler wrote: not that of a program",
				object->path);
	if (err)
		return damaged(object, err, diag);
	pdb_of(object)->age = header.age;
	pdb_of(object)->machine = header.machine;
	pdb_of(object)->publics_stream = header.publics;
	pdb_of(object)->symbols_stream = header.symbols;
	coff_set_machine(object, machine_of_program(header.machine));
	return 0;
}

static int read_substream(const struct object_file *object, const struct dbi_header *header,
			  enum substream which, struct pdb_bytes *ret)
{
	uint64_t off = DBI_HEADER_SIZE;
	for (enum substream s = SUBSTREAM_MODULES; s < which; s++)
		off += header->sizes[s];
	return msf_read(&pdb_of(object)->msf, PDB_STREAM_DBI, off, header->sizes[which], ret);
}

/* ---- Modules ---- */

static int add_module(struct pdb *pdb, struct cursor *c)
{
	struct pdb_module module = {.stream = STREAM_NONE};
	cursor_skip(c, 34); /* its first section contribution, flags */
	module.stream = cursor_u16(c);
	module.symbol_bytes = cursor_u32(c);
	module.c11_bytes = cursor_u32(c);
	module.c13_bytes = cursor_u32(c);
	cursor_skip(c, 16); /* source files */
	module.name = cursor_str(c);
	(void)cursor_str(c); /* object file or archive */
	cursor_seek(c, (cursor_off(c) + 3) & ~(uint64_t)3);
	return cursor_ok(c) ? vec_push(&pdb->modules, module) : -EBADMSG;
}

static int load_modules(struct object_file *object, const struct dbi_header *header)
{
	struct pdb *pdb = pdb_of(object);
	int err = read_substream(object, header, SUBSTREAM_MODULES, &pdb->module_bytes);
	struct cursor c = cursor_new(pdb->module_bytes.bytes.data, pdb->module_bytes.bytes.size, false);
	while (!err && cursor_can_hold(&c, 1, MODULE_SIZE))
		err = add_module(pdb, &c);
	return err;
}

int pdb_load(struct object_file *object, struct gsym_diag *diag)
{
	struct pdb *pdb = pdb_of(object);
	CLEANUP(pdb_bytes_free) struct pdb_bytes debug_header = {.copy = NULL};
	struct dbi_header header = {0};
	if (pdb->loaded)
		return 0;
	int err = msf_load(&pdb->msf, diag);
	if (err)
		return diag_prefix(diag, err, "%s", object->path);
	err = read_header(object, &header);
	if (!err)
		err = load_modules(object, &header);
	if (!err)
		err = read_substream(object, &header, SUBSTREAM_DEBUG_HEADER, &debug_header);
	if (err)
		return damaged(object, err, diag);
	err = pdb_load_sections(object, debug_header.bytes, diag);
	pdb->loaded = !err;
	return err;
}

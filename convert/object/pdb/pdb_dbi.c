/*
 * pdb_dbi.c - the DBI stream: its header, the modules, and the list of further streams at its end, among them
 * those of the sections. What lies between them (section contributions, names of source files) can be large
 * and is not read.
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

int pdb_stream(const struct object_file *pdb, uint32_t number, struct pdb_bytes *ret)
{
	uint32_t size;
	int err = number == STREAM_NONE ? -ENOENT : msf_stream_size(&pdb_of(pdb)->msf, number, &size);
	return err ? err : msf_read(&pdb_of(pdb)->msf, number, 0, size, ret);
}

/* ---- Modules ---- */

/* Reads the next module. False for one whose names do not end, which is the last of the list. */
static bool take_module(struct cursor *c, struct pdb_module *ret)
{
	cursor_skip(c, 34); /* its first section contribution, flags */
	ret->stream = cursor_u16(c);
	ret->symbol_bytes = cursor_u32(c);
	ret->c11_bytes = cursor_u32(c);
	ret->c13_bytes = cursor_u32(c);
	cursor_skip(c, 16); /* source files */
	ret->name = cursor_str(c);
	(void)cursor_str(c); /* object file or archive */
	bool is_whole = cursor_ok(c);
	cursor_seek(c, (cursor_off(c) + 3) & ~(uint64_t)3);
	return is_whole;
}

int pdb_find_module(const struct object_file *object, const char *name, struct pdb_module *ret)
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes bytes = {.copy = NULL};
	struct dbi_header header = {0};
	int err = read_header(object, &header);
	if (!err)
		err = read_substream(object, &header, SUBSTREAM_MODULES, &bytes);
	struct cursor c = cursor_new(bytes.bytes.data, bytes.bytes.size, false);
	while (!err && cursor_can_hold(&c, 1, MODULE_SIZE) && take_module(&c, ret)) {
		if (strcmp(ret->name, name) != 0)
			continue;
		ret->name = name;
		return 0;
	}
	return err ? err : -ENOENT;
}

static int load_modules(struct object_file *object, const struct dbi_header *header)
{
	struct pdb *pdb = pdb_of(object);
	int err = read_substream(object, header, SUBSTREAM_MODULES, &pdb->module_bytes);
	struct cursor c = cursor_new(pdb->module_bytes.bytes.data, pdb->module_bytes.bytes.size, false);
	while (!err && !pdb->modules_cut && cursor_can_hold(&c, 1, MODULE_SIZE)) {
		struct pdb_module module;
		pdb->modules_cut = !take_module(&c, &module);
		err = pdb->modules_cut ? 0 : vec_push(&pdb->modules, module);
	}
	return err;
}

/* ---- Sections ---- */

/*
 * The debug header lists the streams with section headers. If the code of the image was rearranged, symbols
 * count in the sections that the linker made, and pdb_omap.c has where those went.
 */

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

static int load_section_headers(const struct object_file *object, struct span debug_header, size_t index,
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

/* Reads sections and OMAP tables from the streams that @debug_header lists. */
static int read_all_sections(struct object_file *object, struct span debug_header, struct gsym_diag *diag)
{
	struct pdb *pdb = pdb_of(object);
	int err = load_section_headers(object, debug_header, DEBUG_SECTIONS, &pdb->sections);
	if (!err)
		err = load_omap(object, debug_header);
	if (!err && is_moved(pdb))
		err = load_section_headers(object, debug_header, DEBUG_ORIGINAL_SECTIONS, &pdb->original);
	if (!err)
		err = publish_sections(object);
	if (!err && is_moved(pdb) && !pdb->original.n)
		err = move_code(object);
	return err ? diag_set(diag, err, "%s: %s", object->path,
			      err == -ENOMEM ? "out of memory"
					     : "section headers or address maps of the PDB are damaged")
		   : 0;
}

/* ---- All of it ---- */

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
	err = read_all_sections(object, debug_header.bytes, diag);
	pdb->loaded = !err;
	return err;
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

/*
 * A PDB file: container, PDB and DBI streams, sections, OMAP, publics, and the whole converter. Checked is
 * what the rest of the converter relies on.
 */
#include "convert/object/object_open.h"
#include "convert/object/pdb/pdb.h"
#include "tests/fuzz/whole.h"
#include "tests/fuzz/promise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(struct span bytes, const struct object_file *object)
{
	return bytes.data >= object->map && bytes.size <= object->map_size &&
	       (size_t)(bytes.data - object->map) <= object->map_size - bytes.size;
}

/* Streams are in the file, or copies which are no larger than the file together. */
static void check_streams(const struct object_file *object)
{
	size_t copied = 0;
	for (uint32_t i = 0; i < pdb_of(object)->msf.n_streams + 2; i++) {
		struct pdb_bytes stream;
		int err = pdb_stream(object, i, &stream);
		expect(!err || err == -ENOENT || err == -EBADMSG);
		if (err)
			continue;
		expect(stream.copy || !stream.bytes.size || is_within(stream.bytes, object));
		copied += stream.copy ? stream.bytes.size : 0;
		for (size_t at = 0; stream.copy && at < stream.bytes.size; at++)
			(void)*(const volatile uint8_t *)&stream.bytes.data[at];
		pdb_bytes_free(&stream);
	}
	expect(copied <= object->map_size);
}

static void check_modules(const struct object_file *object)
{
	size_t names = 0;
	expect(pdb_of(object)->modules.n <= object->map_size / 64);
	for (size_t i = 0; i < pdb_of(object)->modules.n; i++)
		names += strlen(pdb_of(object)->modules.v[i].name);
	expect(names <= object->map_size);
}

/* Pieces are in order, and lie within what was asked for and in 32 bits of addresses. */
static void check_places(const struct object_file *object, uint16_t section, uint32_t off, uint32_t size)
{
	static pdb_pieces pieces;
	uint32_t last = 0;
	expect(!pdb_place(object, section, off, size, &pieces));
	expect(pieces.n <= PDB_PIECES_MAX);
	for (size_t i = 0; i < pieces.n; i++) {
		const struct pdb_piece *p = &pieces.v[i];
		expect(p->rva >= last && (uint64_t)p->off + p->size <= size);
		expect((uint64_t)p->rva + p->size <= UINT32_MAX);
		last = p->rva;
	}
}

static void check_symbols(struct object_file *object)
{
	struct object_file *const sources[] = {object};
	expect(!object_load_symbols(object, sources, 1));
	expect(object->symbols.n <= object->map_size / 4);
	for (size_t i = 0; i < object->symbols.n; i++) {
		expect(ranges_find(&object->text, object->symbols.v[i].addr) != NULL);
		expect(strlen(object->symbols.v[i].name) <= object->map_size);
	}
}

static void check(struct object_file *object)
{
	struct gsym_diag diag = {""};
	int err = pdb_load(object, &diag);
	expect(!err || (err == -EBADMSG && diag.text[0]));
	if (err)
		return;
	expect_sections(object);
	check_streams(object);
	check_modules(object);
	for (uint16_t i = 0; i < 8; i++) {
		check_places(object, i, 0, UINT32_MAX);
		check_places(object, i, 0x10, 0x20);
		check_places(object, i, 0, 0);
	}
	check_symbols(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_file *object;
	if (!object_open_memory(data, size, "input", &object, NULL)) {
		if (object->format == &pdb_format)
			check(object);
		object_close(object);
	}
	convert_whole(data, size);
	return 0;
}

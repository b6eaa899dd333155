/*
 * A Mach-O file, or one with several images: reading each, their symbols and stubs, the trie of exported
 * symbols, and the whole converter for the first. Checked is what the rest of the converter relies on.
 */
#include "convert/identity/identity.h"
#include "convert/object/macho/macho.h"
#include "convert/object/object_open.h"
#include "convert/object/source_format.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/whole.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sections(const struct object_file *object)
{
	expect_sections(object);
	for (size_t i = 1; i < object->text.n; i++)
		expect(object->text.v[i - 1].hi < object->text.v[i].lo);
}

/* Symbols are in code, and their names end. */
static void check_symbols(struct object_file *object)
{
	struct object_file *const sources[] = {object};
	if (object_load_symbols(object, sources, 1))
		return;
	for (size_t i = 0; i < object->symbols.n; i++) {
		expect(ranges_find(&object->text, object->symbols.v[i].addr) != NULL);
		expect(strlen(object->symbols.v[i].name) <= object->map_size + sizeof("symbol stub for: "));
	}
}

static int check_object(void *user, struct object_file *object)
{
	size_t *n = user;
	check_sections(object);
	check_symbols(object);
	object->symbols.n = 0; /* the next slice has others */
	return ++*n < SLICES_MAX ? 0 : 1;
}

static void check_slices(struct span file)
{
	struct object_slice slices[SLICES_MAX];
	size_t n = fat_format.slices(file, slices);
	for (size_t i = 0; i < n; i++) {
		expect(slices[i].off <= file.size && slices[i].size <= file.size - slices[i].off &&
		       slices[i].arch[0]);
		struct object_file *object;
		size_t seen = 0;
		if (object_open_memory(file.data + slices[i].off, slices[i].size, "slice", &object, NULL))
			continue;
		check_object(&seen, object);
		object_close(object);
	}
}

struct names {
	size_t n, bytes;
};

static int count_name(void *user, const char *name, uint64_t addr)
{
	struct names *names = user;
	(void)addr;
	names->n++;
	names->bytes += strlen(name);
	return 0;
}

/* A trie gives no more names than it has bytes, by some factor. */
static void check_trie(struct span trie)
{
	struct names names = {0};
	bool is_cut;
	macho_walk_exports(trie, count_name, &names, &is_cut);
	expect(names.n <= 4 * trie.size + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span file = {data, size};
	struct object_file *object;
	size_t seen = 0;
	check_slices(file);
	check_trie(file);
	if (!object_open_memory(data, size, "input", &object, NULL)) {
		if (object->format == &macho_format)
			check_object(&seen, object);
		object_close(object);
	}
	convert_whole(data, size);
	return 0;
}

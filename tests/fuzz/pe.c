/*
 * A PE file: headers, symbols, exports, unwind data, imports, and the whole converter. Checked is what the
 * rest of the converter relies on.
 */
#include "convert/object/object_open.h"
#include "convert/object/pe/pe.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/whole.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sections(const struct object_file *object)
{
	expect_sections(object);
	for (size_t i = 0; i < object->segments.n; i++)
		expect(object->segments.v[i].off <= object->map_size &&
		       object->segments.v[i].size <= object->map_size - object->segments.v[i].off);
	for (size_t i = 1; i < pe_of(object)->pieces.n; i++)
		expect(pe_of(object)->pieces.v[i - 1].rva <= pe_of(object)->pieces.v[i].rva);
}

/* Symbols are in code, and their names end. */
static void check_symbols(struct object_file *object)
{
	struct object_file *const sources[] = {object};
	expect(!object_load_symbols(object, sources, 1) && !object_load_plt(object, NULL));
	for (size_t i = 0; i < object->symbols.n; i++) {
		expect(ranges_find(&object->text, object->symbols.v[i].addr) != NULL);
		expect(strlen(object->symbols.v[i].name) <= object->map_size);
	}
}

static void check_functions(const struct object_file *object)
{
	range_vec functions = {0};
	expect(!pe_list_functions(object, &functions, &(struct damaged_entries){0}));
	expect(functions.n <= object->map_size / 8);
	for (size_t i = 0; i < functions.n; i++)
		expect(functions.v[i].lo < functions.v[i].hi &&
		       (!i || functions.v[i - 1].lo <= functions.v[i].lo));
	vec_free(&functions);
}

static void check_imports(const struct object_file *object)
{
	pe_imports imports = {0};
	size_t bytes = 0;
	expect(!pe_list_imports(object, &imports));
	for (size_t i = 0; i < imports.n; i++)
		bytes += strlen(imports.v[i].name);
	expect(bytes <= object->map_size);
	vec_free(&imports);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_file *object;
	if (!object_open_memory(data, size, "input", &object, NULL)) {
		if (object->format == &pe_format) {
			check_sections(object);
			check_symbols(object);
			check_functions(object);
			check_imports(object);
		}
		object_close(object);
	}
	convert_whole(data, size);
	return 0;
}

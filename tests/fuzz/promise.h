/*
 * promise.h - what fuzz targets of object files check: promises of a reader to the rest of the converter.
 */
#ifndef TESTS_FUZZ_PROMISE_H
#define TESTS_FUZZ_PROMISE_H

#include "convert/object/object_file.h"
#include "tests/fuzz/expect.h"

/* Sections have names, and their bytes are in the object file. */
static inline void expect_sections(const struct object_file *object)
{
	const uint8_t *end = object->map + object->map_size;
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		expect(s->name != NULL);
		expect(!s->raw.size || (s->raw.data >= object->map && s->raw.data <= end &&
					s->raw.size <= (size_t)(end - s->raw.data)));
	}
}

#endif

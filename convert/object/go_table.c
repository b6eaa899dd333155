#include "convert/object/go_table.h"

#include "work/types/go_id.h"

#include <string.h>

bool section_is_data(const struct object_section *section)
{
	return section->allocated && !section->code && section->raw.size &&
	       section->compression == COMPRESSION_NONE;
}

const struct object_section *object_go_table(struct object_file *object)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", "__TEXT,__gopclntab",
					    "__DATA_CONST,__gopclntab"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct object_section *s = object_section(object, names[i]);
		if (s && section_is_data(s))
			return s;
	}
	return NULL;
}

/* cmd/internal/buildid/buildid.go: the marker, the id, a quote; within the first 32 KB of the code. */
void go_build_id_in_code(const struct object_file *object, char ret[static GO_ID_SIZE])
{
	static const char marker[] = "\xff Go build ID: \"";
	enum { MARKER_SIZE = sizeof(marker) - 1, SEARCHED = 32 << 10 };
	*ret = 0;
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		size_t size = s->raw.size < SEARCHED ? s->raw.size : SEARCHED;
		const char *at = s->code && size ? memmem(s->raw.data, size, marker, MARKER_SIZE) : NULL;
		if (!at)
			continue;
		at += MARKER_SIZE;
		const char *end = (const char *)s->raw.data + size,
			   *quote = memchr(at, '"', (size_t)(end - at));
		if (!quote || !go_id_parse(at, (size_t)(quote - at), ret))
			*ret = 0;
		return;
	}
}

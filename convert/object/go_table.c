#include "convert/object/go_table.h"

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

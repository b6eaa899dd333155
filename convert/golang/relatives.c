#include "convert/golang/relatives.h"

struct cursor relatives_of(struct object_file *object)
{
	const struct object_section *s = object->addr_size == 8 ? object_section(object, ".rela.dyn") : NULL;
	return s ? cursor_new(s->raw.data, s->raw.size, object->big_endian) : cursor_new(NULL, 0, false);
}

bool next_relative(struct cursor *c, struct relative *ret)
{
	while (cursor_left(c)) {
		*ret = (struct relative){.addr = cursor_u64(c)};
		uint32_t symbol = (uint32_t)(cursor_u64(c) >> 32);
		ret->value = cursor_u64(c);
		if (cursor_ok(c) && !symbol)
			return true;
	}
	return false;
}

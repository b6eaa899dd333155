#include "fs/name/link_address.h"

#include "convert/cache/notes.h"

static bool offset_to_link(const struct address_map *map, uint64_t off, uint64_t *ret)
{
	for (size_t i = 0; i < map->n; i++) {
		uint64_t from = map->segments[i].off;
		if (off < from || off - from >= map->segments[i].size)
			continue;
		*ret = map->segments[i].addr + (off - from);
		return true;
	}
	return false;
}

bool place_to_link(const struct context *context, const struct address_map *map, uint64_t n, uint64_t *ret)
{
	switch ((enum address_space)context->space) {
	case SPACE_SYMBOL: /* a link-time address since the symbol was looked up */
	case SPACE_LINK: *ret = n; break;
	case SPACE_RUNTIME:
		if (n < context->load || __builtin_add_overflow(n - context->load, map->base, ret))
			return false;
		break;
	case SPACE_RVA:
		if (__builtin_add_overflow(n, map->base, ret))
			return false;
		break;
	case SPACE_FILE:
		if (!offset_to_link(map, n, ret))
			return false;
		break;
	}
	return !context->is_return || (*ret)-- != 0;
}

bool place_to_ask(const struct request *request, struct convert_address *ret)
{
	const struct context *context = &request->context;
	uint64_t n = request->address;
	if (request->kind != REQUEST_ADDRESS)
		return false;
	switch ((enum address_space)context->space) {
	case SPACE_LINK:
	case SPACE_RVA: break;
	case SPACE_RUNTIME:
		if (n < context->load)
			return false;
		n -= context->load;
		break;
	case SPACE_FILE:
	case SPACE_SYMBOL: return false;
	}
	*ret = (struct convert_address){n - context->is_return, context->space != SPACE_LINK};
	return !context->is_return || n;
}

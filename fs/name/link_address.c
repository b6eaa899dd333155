#include "fs/name/link_address.h"

#include "work/types/convert_address.h"

bool place_to_ask(const struct context *context, uint64_t n, struct convert_address *ret)
{
	switch ((enum address_space)context->space) {
	case SPACE_LINK: ret->origin = ADDRESS_LINKED; break;
	case SPACE_RVA: ret->origin = ADDRESS_FROM_BASE; break;
	case SPACE_RUNTIME:
		if (n < context->load)
			return false;
		n -= context->load;
		ret->origin = ADDRESS_FROM_BASE;
		break;
	case SPACE_FILE: ret->origin = ADDRESS_IN_FILE; break;
	case SPACE_SYMBOL: return false;
	}
	ret->value = n - context->is_return;
	return !context->is_return || n;
}

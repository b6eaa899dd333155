#include "fs/name/link_address.h"

#include "convert/cache/notes.h"

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

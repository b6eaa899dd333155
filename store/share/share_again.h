/* share_again.h - conversions in the cache that could not be given to the store when they were made. */
#ifndef STORE_SHARE_SHARE_AGAIN_H
#define STORE_SHARE_SHARE_AGAIN_H

#include "work/run/converter.h"

struct share_offer;

/*
 * @handle, which the cache has for @request, to be given unless the store has it. Opens the files, and reads
 * none. NULL if it was given (cache_mark()), if there is no store, or if that cannot be.
 */
struct share_offer *share_again(const struct converter *converter, const struct convert_request *request,
				struct handle *handle);

#endif

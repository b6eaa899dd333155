/* place.h - what a number means: addresses as an image was loaded, counted, stored, and as it was linked. */
#ifndef FS_PLACE_H
#define FS_PLACE_H

#include "notes.h"
#include "name.h"

/* The link-time address of @n; of a return address, one byte before it. False when there is none. Pure. */
bool place_to_link(const struct context *context, const struct address_map *map, uint64_t n, uint64_t *ret);

#endif

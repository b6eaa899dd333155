/* link_address.h - what a number means: addresses as an image was loaded, counted, stored, and as it was
 * linked. */
#ifndef FS_NAME_LINK_ADDRESS_H
#define FS_NAME_LINK_ADDRESS_H

#include "fs/name/name.h"

struct address_map;

/* The link-time address of @n; of a return address, one byte before it. False when there is none. Pure. */
bool place_to_link(const struct context *context, const struct address_map *map, uint64_t n, uint64_t *ret);

#endif

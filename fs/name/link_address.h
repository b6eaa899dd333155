/* link_address.h - what a worker is asked for of an image that is not open. */
#ifndef FS_NAME_LINK_ADDRESS_H
#define FS_NAME_LINK_ADDRESS_H

#include "fs/name/name.h"

struct convert_address;

/*
 * What to ask of an image that is not open, whose address map is not known: the link-time address of @n, its
 * distance from the image base, or its offset in the file. False when that needs more. Pure.
 */
bool place_to_ask(const struct context *context, uint64_t n, struct convert_address *ret);

#endif

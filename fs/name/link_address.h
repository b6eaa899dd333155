/* link_address.h - what a number means: addresses as an image was loaded, counted, stored, and as it was
 * linked. */
#ifndef FS_NAME_LINK_ADDRESS_H
#define FS_NAME_LINK_ADDRESS_H

#include "fs/name/name.h"

struct address_map;
struct convert_address;

/*
 * What to ask of an image that is not open, whose address map is not known: the link-time address of
 * @request, or its distance from the image base. False when that needs more. Pure.
 */
bool place_to_ask(const struct request *request, struct convert_address *ret);

#endif

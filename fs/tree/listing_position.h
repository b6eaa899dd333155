/*
 * listing_position.h - where a listing goes on.
 *
 * A position comes back from the client, which may have kept it for long, or invented it: it has 64 bits,
 * whatever size_t has.
 */
#ifndef FS_TREE_LISTING_POSITION_H
#define FS_TREE_LISTING_POSITION_H

#include <stdint.h>

/*
 * The number, among those that are listed from position @first on, of what is at position @off: 0 before
 * them, UINT32_MAX, at which there is nothing, for all that a number cannot hold. Pure.
 */
static inline uint32_t position_number(uint64_t off, uint64_t first)
{
	if (off < first)
		return 0;
	return off - first < UINT32_MAX ? (uint32_t)(off - first) : UINT32_MAX;
}

#endif

/*
 * inode_key.h - keys of what inode numbers stand for, which do not depend on the order in which things were
 * found, so that a daemon finds again what another one gave out.
 *
 * A key is the end of the hash by which a table finds the object anyway: no other table is needed to find it
 * by its key. The second of two objects with the same end has its number as key instead, so that a key means
 * one thing. After a restart that may be the other one: the generation that goes with the inode number is
 * made of the beginning of the hash, and tells.
 */
#ifndef FS_NAME_INODE_KEY_H
#define FS_NAME_INODE_KEY_H

#include <stdbool.h>

#include "gsym/base/hash_table.h"

enum { INODE_KEY_BITS = 28 };

#define INODE_KEY_ODD (1U << 29) /* and a number */

/* Whether an object with @hash, not yet in @table, needs its number as key. Key 0 is no object's. */
static inline bool inode_key_is_taken(const struct table *table, uint64_t hash)
{
	return !(hash & ((1U << INODE_KEY_BITS) - 1)) || table_first_end(table, hash, INODE_KEY_BITS);
}

/* @odd: it needed @number. */
static inline uint32_t inode_key(uint64_t hash, bool odd, uint32_t number)
{
	return odd ? INODE_KEY_ODD | number : (uint32_t)hash & ((1U << INODE_KEY_BITS) - 1);
}

/* What the key leaves out of @hash. Not 0. */
static inline uint32_t inode_generation(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

#endif

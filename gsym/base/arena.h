/*
 * arena.h - memory that is released all at once.
 *
 * One owner, no locks.
 */
#ifndef GSYM_BASE_ARENA_H
#define GSYM_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* Zero-initialised is empty. */
struct arena {
	struct arena_chunk *top;
	char *pos, *end;
	size_t size; /* of all chunks */
};

/* @size bytes aligned for any type and not cleared, or NULL without memory. A size of 0 is allowed. */
void *arena_alloc(struct arena *arena, size_t size);

/* Room for @count elements of @elem bytes; NULL also when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t elem);

/* A copy of @size bytes followed by a NUL. */
char *arena_strdup(struct arena *arena, const char *text, size_t size);

void arena_free(struct arena *arena);

#endif

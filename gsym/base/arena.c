#include "gsym/base/arena.h"

#include "gsym/base/invariant.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_SIZE = 256 * 1024,
	ALIGN = 16,
};

static_assert((ALIGN & (ALIGN - 1)) == 0 && ALIGN >= _Alignof(max_align_t), "fits any type");

struct arena_chunk {
	struct arena_chunk *below;
	size_t size;
};

static size_t header_size(void)
{
	return (sizeof(struct arena_chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static int arena_grow(struct arena *arena, size_t size)
{
	size_t want = size > CHUNK_SIZE - header_size() ? size + header_size() : CHUNK_SIZE;
	struct arena_chunk *chunk = malloc(want);
	if (!chunk)
		return -1;
	chunk->below = arena->top;
	chunk->size = want;
	arena->top = chunk;
	arena->pos = (char *)chunk + header_size();
	arena->end = (char *)chunk + want;
	return 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (size > (size_t)(arena->end - arena->pos) && arena_grow(arena, size))
		return NULL;
	if (!arena->pos && arena_grow(arena, size)) /* size 0 in an empty arena */
		return NULL;
	void *at = arena->pos;
	invariant((uintptr_t)at % ALIGN == 0 && size <= (size_t)(arena->end - arena->pos));
	arena->pos += size;
	return at;
}

void *arena_array(struct arena *arena, size_t count, size_t elem)
{
	size_t size;
	if (__builtin_mul_overflow(count, elem, &size))
		return NULL;
	return arena_alloc(arena, size);
}

char *arena_strdup(struct arena *arena, const char *text, size_t size)
{
	char *copy = arena_alloc(arena, size + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	copy[size] = 0;
	return copy;
}

void arena_free(struct arena *arena)
{
	while (arena->top) {
		struct arena_chunk *below = arena->top->below;
		free(arena->top);
		arena->top = below;
	}
	arena->pos = arena->end = NULL;
}

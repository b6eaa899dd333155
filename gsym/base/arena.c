#include "gsym/base/arena.h"

#include "gsym/base/huge_pages.h"
#include "gsym/base/invariant.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_SIZE = 256 * 1024,
	HUGE_FROM = 4 << 20, /* size of an arena from which on its chunks are large */
	HUGE_CHUNK_SIZE = 8 << 20,
	ALIGN = _Alignof(max_align_t), /* as malloc() has it: 8 on ARM with 32 bits */
};

static_assert((ALIGN & (ALIGN - 1)) == 0, "a power of two");

struct arena_chunk {
	struct arena_chunk *below;
	size_t size;
};

static size_t header_size(void)
{
	return (sizeof(struct arena_chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Only those of its huge pages that are used take memory. */
static struct arena_chunk *huge_chunk(size_t size)
{
	void *chunk;
	if (posix_memalign(&chunk, HUGE_PAGE, size))
		return NULL;
	huge_pages_advise(chunk, size);
	return chunk;
}

static int arena_grow(struct arena *arena, size_t size)
{
	size_t least = arena->size < HUGE_FROM ? CHUNK_SIZE : HUGE_CHUNK_SIZE;
	size_t want = size > least - header_size() ? size + header_size() : least;
	struct arena_chunk *chunk = want < HUGE_CHUNK_SIZE ? malloc(want) : huge_chunk(want);
	if (!chunk)
		return -1;
	arena->size += want;
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
	arena->size = 0;
}

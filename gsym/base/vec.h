/*
 * vec.h - growable arrays, what sorts them, and the cleanup idioms used everywhere.
 *
 * A vector is declared as VEC(type); all sizes are checked, growth doubles, and a failed growth leaves the
 * vector as it was. Zero-initialised is empty.
 */
#ifndef GSYM_BASE_VEC_H
#define GSYM_BASE_VEC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(type)              \
	struct {               \
		type *v;       \
		size_t n, cap; \
	}

/* Reserves @more elements at the end: 0 or -ENOMEM. */
static inline int vec_reserve_(void **v, size_t n, size_t *cap, size_t more, size_t elem)
{
	size_t need, bytes, want = *cap ? *cap * 2 : 16;
	if (__builtin_add_overflow(n, more, &need))
		return -ENOMEM;
	if (need <= *cap)
		return 0;
	if (want < need)
		want = need;
	if (__builtin_mul_overflow(want, elem, &bytes))
		return -ENOMEM;
	void *grown = realloc(*v, bytes);
	if (!grown)
		return -ENOMEM;
	*v = grown;
	*cap = want;
	return 0;
}

#define vec_reserve(vec, more)                   \
	((vec)->cap - (vec)->n >= (size_t)(more) \
		 ? 0                             \
		 : vec_reserve_((void **)&(vec)->v, (vec)->n, &(vec)->cap, (more), sizeof(*(vec)->v)))

static inline int vec_first_(void **v, size_t *cap, size_t more, size_t elem)
{
	size_t bytes;
	if (__builtin_mul_overflow(more, elem, &bytes))
		return -ENOMEM;
	*v = malloc(bytes);
	*cap = *v ? more : 0;
	return *v ? 0 : -ENOMEM;
}

/* Likewise, for the many vectors that rarely hold more than one element: the first get no spare room. */
#define vec_reserve_few(vec, more)           \
	((vec)->cap ? vec_reserve(vec, more) \
		    : vec_first_((void **)&(vec)->v, &(vec)->cap, (more), sizeof(*(vec)->v)))

/* Appends one element: 0 or -ENOMEM. */
#define vec_push(vec, ...) (vec_reserve((vec), 1) ? -ENOMEM : ((vec)->v[(vec)->n++] = (__VA_ARGS__), 0))

#define vec_free(vec)                      \
	do {                               \
		free((vec)->v);            \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Says as qsort() wants it which of two numbers or pointers comes first. "?:" joins several keys. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Hands ownership over: yields the pointer and leaves NULL for the cleanup. */
#define TAKE(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

static inline void freep(void *p)
{
	free(*(void **)p);
}

#endif

/*
 * content.h - the bytes of one answer, reference-counted, so that a reply can outlive the node that cached
 * them.
 */
#ifndef FS_SYS_CONTENT_H
#define FS_SYS_CONTENT_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/invariant.h"

struct content {
	atomic_uint refs;
	uint32_t size;
	char data[];
};

/* With one reference, for the caller to fill; NULL without memory or past 4 GiB. */
static inline struct content *content_alloc(size_t size)
{
	struct content *content = size > UINT32_MAX ? NULL : malloc(sizeof(*content) + size);
	if (!content)
		return NULL;
	atomic_init(&content->refs, 1);
	content->size = (uint32_t)size;
	return content;
}

/* A copy; NULL likewise. */
static inline struct content *content_new(const char *data, size_t size)
{
	struct content *content = content_alloc(size);
	if (content && size)
		memcpy(content->data, data, size);
	return content;
}

static inline struct content *content_get(struct content *content)
{
	unsigned before = atomic_fetch_add_explicit(&content->refs, 1, memory_order_relaxed);
	invariant(before > 0 && before < UINT_MAX);
	return content;
}

/* NULL is allowed. */
static inline void content_put(struct content *content)
{
	if (!content)
		return;
	unsigned before = atomic_fetch_sub_explicit(&content->refs, 1, memory_order_acq_rel);
	invariant(before > 0);
	if (before == 1)
		free(content);
}

#endif

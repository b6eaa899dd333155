/*
 * content.h - the bytes of one answer, counted, so that a reply can use them while the node that kept them
 * goes.
 */
#ifndef FS_SYS_CONTENT_H
#define FS_SYS_CONTENT_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct content {
	atomic_uint refs;
	uint32_t size;
	char data[];
};

/* A copy with one reference, or NULL without memory or past 4 GiB. */
static inline struct content *content_new(const char *data, size_t size)
{
	struct content *content = size > UINT32_MAX ? NULL : malloc(sizeof(*content) + size);
	if (!content)
		return NULL;
	atomic_init(&content->refs, 1);
	content->size = (uint32_t)size;
	memcpy(content->data, data, size);
	return content;
}

static inline struct content *content_get(struct content *content)
{
	atomic_fetch_add_explicit(&content->refs, 1, memory_order_relaxed);
	return content;
}

/* NULL is allowed. */
static inline void content_put(struct content *content)
{
	if (content && atomic_fetch_sub_explicit(&content->refs, 1, memory_order_acq_rel) == 1)
		free(content);
}

#endif

/*
 * demangle_cache.h - a direct-mapped cache of demangled names.
 *
 * A batch asks for the same functions over and over, and demangling costs several times the rest of an
 * answer. One owner, no locks, bounded memory.
 */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_CACHE_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_CACHE_H

#include "gsym/render/demangle/demangle.h"

struct demangle_cache;

/* NULL without memory: all functions accept a NULL cache, and then cache nothing. */
struct demangle_cache *demangle_cache_new(void);
void demangle_cache_free(struct demangle_cache *cache);

/* Bytes of memory in use; 0 for NULL. */
size_t demangle_cache_bytes(const struct demangle_cache *cache);

/*
 * As demangle_append(). The key is the address of @name, so a cache must not outlive the strings it has
 * seen, and serves one mode.
 */
void demangle_cached(struct demangle_cache *cache, struct text_buf *out, const char *name,
		     enum demangle_mode mode);

#endif

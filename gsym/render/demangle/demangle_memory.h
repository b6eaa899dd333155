/*
 * demangle_memory.h - the demanglers of libiberty that allocate, where there is no memory.
 *
 * They allocate by xmalloc(), which ends the process. Here are xmalloc() and its kin in place of libiberty's:
 * they leave the demangler by longjmp() instead.
 */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_MEMORY_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_MEMORY_H

#include <stdbool.h>

typedef char *allocating_demangler(const char *mangled, int options);

/*
 * @run of @name: a string to be freed, or NULL, which means without @ret_failed that it is not such a name.
 * What the demangler had allocated when there was no more memory is lost: at most a few copies of the name.
 */
char *demangle_allocating(allocating_demangler *run, const char *name, int options, bool *ret_failed);

#endif

/*
 * demangle_parts.h - what stands between demangle.c and libiberty, and demanglers of our own.
 */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_PARTS_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_PARTS_H

#include "gsym/base/text_buf.h"

/* ---- Whether libiberty demangles a name in bounded time and memory (demangle_cost.c) ---- */

/*
 * False for a C++ name that takes libiberty exponential time. No compiler emits one. The size of the output
 * is not considered: demangle.c limits it.
 */
bool demangle_affordable(const char *name);

/* The same for a D name, which may also recurse too deep. */
bool demangle_affordable_d(const char *name);

/*
 * False for an Ada name that may overflow libiberty's buffer, which is sized for one part that expands
 * ("SO" to "'Output"). No compiler emits one with several.
 */
bool demangle_affordable_ada(const char *name);

/* ---- The demanglers that allocate, where there is no memory (demangle_memory.c) ---- */

/*
 * They allocate by xmalloc(), which ends the process. Here are xmalloc() and its kin in place of libiberty's:
 * they leave the demangler by longjmp() instead.
 */

typedef char *allocating_demangler(const char *mangled, int options);

/*
 * @run of @name: a string to be freed, or NULL, which means without @ret_failed that it is not such a name.
 * What the demangler had allocated when there was no more memory is lost: at most a few copies of the name.
 */
char *demangle_allocating(allocating_demangler *run, const char *name, int options, bool *ret_failed);

/* ---- libiberty's spelling of a C++ name turned into llvm's (demangle_style.c) ---- */

/* Rewrites the @size bytes of @text in place and returns the new size, which is never larger. */
size_t demangle_restyle(char *text, size_t size);

/* ---- OCaml (demangle_ocaml.c) ---- */

/* Appends the path and the name of an identifier, which are shorter than @text; nothing of other names. */
bool demangle_append_ocaml(struct text_buf *out, const char *text);

/* ---- Microsoft's, where LLVM's demangler is missing (demangle_microsoft.c) ---- */

/* Appends the name with its scopes, at most @max bytes, without types; nothing of other names. */
bool demangle_append_microsoft(struct text_buf *out, const char *name, size_t max);

#endif

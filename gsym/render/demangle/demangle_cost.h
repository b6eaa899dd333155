/* demangle_cost.h - whether libiberty demangles a name in bounded time and memory. */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_COST_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_COST_H

#include <stdbool.h>

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

#endif

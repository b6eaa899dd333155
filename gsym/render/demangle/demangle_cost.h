/* demangle_cost.h - whether libiberty can be trusted with a name. */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_COST_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_COST_H

#include <stdbool.h>

/*
 * False for a C++ name of a few hundred bytes that would keep the demangler busy for years. No compiler emits
 * one. What such names expand to is not the concern here: output is bounded by its reader.
 */
bool demangle_affordable(const char *name);

/* The same for a D name. */
bool demangle_affordable_d(const char *name);

/*
 * False for an Ada name that would be written past the end of libiberty's buffer, which has room for one part
 * that grows
 * ('Output for SO): no compiler emits one with several.
 */
bool demangle_affordable_ada(const char *name);

#endif

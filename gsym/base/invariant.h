/*
 * invariant.h - invariants that are checked.
 *
 * Three tiers:
 *
 *  - static_assert() for what the compiler can prove: sizes, table lengths, values of enumerators.
 *
 *  - invariant(cond) for what this program guarantees to itself: order of arrays before a binary
 *    search, positions within bounds, reference counts, states of a state machine. On in debug and
 *    sanitizer builds, where a violation aborts; not evaluated with NDEBUG, so the condition must
 *    have no side effects.
 *
 *  - Whatever depends on input (files, logs, options) is not an invariant: it is checked in every
 *    build, and a violation is an error with a diagnosis.
 */
#ifndef GSYM_BASE_INVARIANT_H
#define GSYM_BASE_INVARIANT_H

#include <assert.h>

#ifdef NDEBUG
/* The condition is still compiled, so that it stays valid and its variables count as used. */
#define invariant(cond) ((void)(0 && (cond)))
#else
#define invariant(cond) assert(cond)
#endif

#endif

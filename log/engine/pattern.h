/*
 * pattern.h - regular expressions from untrusted files, matched in bounded time.
 *
 * Call sites name their callees by POSIX extended regular expressions, and a hostile one can cost the C
 * library's matcher exponential time or memory. This matcher simulates the NFA, so its work is the length
 * of the name times that of the pattern, and patterns have limits. Bytes are characters.
 *
 * Not supported, and rejected: back references, and repetitions that expand to more than
 * PATTERN_PROGRAM_MAX steps.
 */
#ifndef LOG_ENGINE_PATTERN_H
#define LOG_ENGINE_PATTERN_H

#include "gsym/base/vec.h"

enum {
	PATTERN_SIZE_MAX = 1024, /* bytes of a pattern */
	PATTERN_DEPTH_MAX = 50,  /* of parentheses */
	PATTERN_PROGRAM_MAX = 4096,
};

struct pattern_step;
struct pattern_set;
struct pattern_node;

/* A compiled pattern; zero-initialised is none. pattern_compile() reuses its memory. */
struct pattern {
	VEC(struct pattern_step) program;
	VEC(struct pattern_set) sets;
	VEC(struct pattern_node) nodes;
	VEC(uint16_t) lists; /* of the matcher */
};

void pattern_deinit(struct pattern *pattern);

/* Compiles @text: 0, -EINVAL when it is no pattern or beyond the limits, -ENOMEM. */
int pattern_compile(struct pattern *pattern, const char *text);

/*
 * Whether the pattern matches a substring of @name, of @size bytes. Each step of the search decrements
 * @budget; once it is exhausted, nothing matches.
 */
bool pattern_search(struct pattern *pattern, const char *name, size_t size, uint64_t *budget);

#endif

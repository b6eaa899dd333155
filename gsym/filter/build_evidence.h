/*
 * build_evidence.h - whether a log is of the build that the image of a module is, if neither says so by an
 * id.
 *
 * A function that has the same size in two builds may do so by chance. So the functions that a log names
 * speak for or against the module: two that have another size among the last few dozen reject it, and its
 * frames are not explained until the log tells that another kernel was booted. One alone does not: the
 * kernel's sizes are not always those of an image, see symbol_match.h.
 */
#ifndef GSYM_FILTER_BUILD_EVIDENCE_H
#define GSYM_FILTER_BUILD_EVIDENCE_H

#include "gsym/base/vec.h"
#include "gsym/filter/filter_types.h"

enum {
	EVIDENCE_WINDOW = 128,     /* functions that are looked at together */
	EVIDENCE_AGAINST = 2,      /* of these with another size */
	EVIDENCE_MODULES_MAX = 256 /* further modules are never rejected */
};

struct module_evidence {
	char name[FILTER_NAME_SIZE];
	uint64_t seen[EVIDENCE_WINDOW]; /* functions: index in the image, and whether it fits */
	uint32_t n_seen, n_against;
	bool rejected;
};

/* Zero-initialised is empty. */
struct build_evidence {
	VEC(struct module_evidence) modules;
};

/*
 * Adds a frame. A module with an id is what its image is, and never rejected.
 *
 * @evidence: of the frames before
 * @module:   of the frame
 * @function: that it names, index in the module's image
 * @fits:     whether its size in the log is that in the image
 *
 * 0 or -ENOMEM.
 */
int build_evidence_add(struct build_evidence *evidence, const struct filter_module *module, uint32_t function,
		       bool fits);

bool build_is_rejected(const struct build_evidence *evidence, const struct filter_module *module);

/* Forgets all frames. */
void build_evidence_reset(struct build_evidence *evidence);

void build_evidence_deinit(struct build_evidence *evidence);
size_t build_evidence_memory(const struct build_evidence *evidence);

#endif

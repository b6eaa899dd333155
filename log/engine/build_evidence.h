/*
 * build_evidence.h - whether a log is of the build that the image of a module is, if neither says so by an
 * id.
 *
 * A function that has the same size in two builds may do so by chance. So the functions that a log names
 * speak for or against the module: two that have another size reject it, and its frames are not explained
 * until the log tells that another kernel was booted. Functions are counted in blocks of EVIDENCE_WINDOW
 * different ones, after each of which the count begins anew. One alone does not reject: the kernel's sizes
 * are not always those of an image, see symbol_match.h.
 *
 * Of other modules logs tell where functions start. Of those of another build many may start where they do in
 * the image, since all before the first change do, so that two which do not reject the module here, too.
 * But such a log may be of many processes, and of a time when the module was replaced: two functions that
 * started elsewhere before, and now start where they should, accept the module again.
 */
#ifndef LOG_ENGINE_BUILD_EVIDENCE_H
#define LOG_ENGINE_BUILD_EVIDENCE_H

#include "gsym/base/vec.h"
#include "log/line/filter_types.h"

enum {
	EVIDENCE_WINDOW = 128,     /* different functions that are counted together */
	EVIDENCE_AGAINST = 2,      /* of these with another size, or start */
	EVIDENCE_MODULES_MAX = 256 /* further modules are never rejected */
};

struct module_evidence {
	char name[FILTER_NAME_SIZE];
	uint64_t seen[EVIDENCE_WINDOW]; /* functions: which, and whether it fits */
	uint32_t n_seen, n_against;
	uint64_t again; /* the function that began to accept a rejected module; 0: none */
	bool rejected;
	bool before; /* it had been rejected before it was accepted again */
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
 * @function: that it names: index in the kernel's image, or a hash of its name
 * @fits:     whether its size in the log is that in the image, or its start
 *
 * 1 if it rejects the module for the first time, 0 or -ENOMEM.
 */
int build_evidence_add(struct build_evidence *evidence, const struct filter_module *module, uint64_t function,
		       bool fits);

bool build_is_rejected(const struct build_evidence *evidence, const struct filter_module *module);

/* Forgets all frames. */
void build_evidence_reset(struct build_evidence *evidence);

void build_evidence_deinit(struct build_evidence *evidence);
size_t build_evidence_memory(const struct build_evidence *evidence);

#endif

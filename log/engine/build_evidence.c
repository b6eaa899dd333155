/*
 * Whether a log is of the build that the image of a module is, if neither says so by an id.
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
#include "log/engine/pending_stack.h"

#include <errno.h>
#include <string.h>

static struct module_evidence *find_evidence(const struct build_evidence *evidence,
					     const struct filter_module *module)
{
	for (size_t i = 0; !module->id[0] && i < evidence->modules.n; i++)
		if (strcmp(evidence->modules.v[i].name, module->name) == 0)
			return &evidence->modules.v[i];
	return NULL;
}

static bool is_new(const struct module_evidence *m, uint64_t key)
{
	for (uint32_t i = 0; i < m->n_seen; i++)
		if (m->seen[i] == key)
			return false;
	return true;
}

static void see_function(struct module_evidence *m, uint64_t key)
{
	if (!is_new(m, key))
		return;
	if (m->n_seen == EVIDENCE_WINDOW)
		m->n_seen = m->n_against = 0;
	m->seen[m->n_seen++] = key;
	m->n_against += !(key & 1);
}

/* Whether functions that did not fit, and now do, accept a rejected module. */
static void weigh_again(struct module_evidence *m, uint64_t key)
{
	if (!(key & 1)) {
		m->again = 0;
		see_function(m, key);
	} else if (!is_new(m, key ^ 1) && !m->again) {
		m->again = key;
	} else if (!is_new(m, key ^ 1) && m->again != key) {
		m->rejected = false;
		m->n_seen = m->n_against = 0;
		m->again = 0;
	}
}

int build_evidence_add(struct build_evidence *evidence, const struct filter_module *module, uint64_t function,
		       bool fits)
{
	struct module_evidence *m = find_evidence(evidence, module);
	uint64_t key = function << 1 | fits;
	if (!m) {
		if (module->id[0] || evidence->modules.n >= EVIDENCE_MODULES_MAX)
			return 0;
		if (vec_reserve(&evidence->modules, 1))
			return -ENOMEM;
		m = &evidence->modules.v[evidence->modules.n++];
		*m = (struct module_evidence){.n_seen = 0};
		strcpy(m->name, module->name);
	}
	if (m->rejected) {
		if (!module->is_kernel)
			weigh_again(m, key);
		return 0;
	}
	see_function(m, key);
	m->rejected = m->n_against >= EVIDENCE_AGAINST;
	bool first = m->rejected && !m->before;
	m->before |= m->rejected;
	return first;
}

bool build_is_rejected(const struct build_evidence *evidence, const struct filter_module *module)
{
	const struct module_evidence *m = find_evidence(evidence, module);
	return m && m->rejected;
}

void build_evidence_reset(struct build_evidence *evidence)
{
	evidence->modules.n = 0;
}

void build_evidence_deinit(struct build_evidence *evidence)
{
	vec_free(&evidence->modules);
}

size_t build_evidence_memory(const struct build_evidence *evidence)
{
	return evidence->modules.cap * sizeof(*evidence->modules.v);
}

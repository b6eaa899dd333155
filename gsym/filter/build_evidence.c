#include "gsym/filter/build_evidence.h"

#include <errno.h>
#include <string.h>

static struct module_evidence *find(const struct build_evidence *evidence, const struct filter_module *module)
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

int build_evidence_add(struct build_evidence *evidence, const struct filter_module *module, uint32_t function,
		       bool fits)
{
	struct module_evidence *m = find(evidence, module);
	uint64_t key = (uint64_t)function << 1 | fits;
	if (!m) {
		if (module->id[0] || evidence->modules.n >= EVIDENCE_MODULES_MAX)
			return 0;
		if (vec_reserve(&evidence->modules, 1))
			return -ENOMEM;
		m = &evidence->modules.v[evidence->modules.n++];
		*m = (struct module_evidence){.n_seen = 0};
		strcpy(m->name, module->name);
	}
	if (m->rejected || !is_new(m, key))
		return 0;
	if (m->n_seen == EVIDENCE_WINDOW)
		m->n_seen = m->n_against = 0;
	m->seen[m->n_seen++] = key;
	m->n_against += !fits;
	m->rejected = m->n_against >= EVIDENCE_AGAINST;
	return 0;
}

bool build_is_rejected(const struct build_evidence *evidence, const struct filter_module *module)
{
	const struct module_evidence *m = find(evidence, module);
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

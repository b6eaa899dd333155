#include "convert/codeview/cv_parts.h"

#include "gsym/base/search.h"

#include <string.h>

/* The name of a module, to find it by. */
struct module_name {
	const char *name;
	size_t index;
};

struct import_names {
	struct cv_source *source;
	struct cv_module_result *modules;
	struct module_name *names; /* ascending */
	size_t n;
	struct arena *arena;
	struct warnings *warnings;
};

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

/* Names are paths of Windows: imports have them in lower case. */
static int compare_path(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) - lower(*b);
}

static int compare_name(const void *a, const void *b)
{
	const struct module_name *x = a, *y = b;
	int c = compare_path(x->name, y->name);
	return c ?: COMPARE(x->index, y->index);
}

static int compare_export(const void *a, const void *b)
{
	const struct cv_export *x = a, *y = b;
	return COMPARE(x->local, y->local);
}

/* The module whose name is at @off of the strings; NULL: none, or the name exceeds the budget. */
static const struct cv_module_result *named_module(const struct import_names *im, uint32_t off,
						   struct name_budget *budget)
{
	struct span strings = im->source->strings;
	const char *name = (const char *)strings.data + off;
	if (off >= strings.size || name_budget_take(budget, name, strings.size - off) < 0)
		return NULL;
	size_t i = PARTITION_POINT(0, im->n, mid, compare_path(im->names[mid].name, name) < 0);
	return i < im->n && !compare_path(im->names[i].name, name) ? &im->modules[im->names[i].index] : NULL;
}

/* The IPI stream's number of what @module exports as @local; 0: there is none. */
static uint32_t exported_item(const struct cv_module_result *module, uint32_t local)
{
	if (!module)
		return 0;
	size_t i = PARTITION_POINT(0, module->n_exports, mid, module->exports[mid].local < local);
	return i < module->n_exports && module->exports[i].local == local ? module->exports[i].item : 0;
}

/* Names what @m inlines from other modules. */
static int name_pending(struct import_names *im, struct cv_module_result *m)
{
	struct name_budget names = name_budget_of(m->input), paths = names;
	const struct cv_module_result *from = NULL;
	for (uint32_t i = 0; i < m->n_pending; i++) {
		const struct cv_pending *p = &m->pending[i];
		const struct cv_item_name *name;
		if (!i || p[-1].module != p->module)
			from = named_module(im, p->module, &paths);
		uint32_t item = exported_item(from, p->local);
		int err = cv_item_name(&im->source->items, item, im->arena, &names, &name);
		if (err == -ENOMEM)
			return err;
		if (err)
			warning_count(im->warnings, WARN_CV_ITEM, "imports", p->local);
		else
			m->unit.strings[p->string] = name->string;
	}
	return 0;
}

int cv_imports_name(struct cv_source *source, struct cv_module_result *modules, size_t n, struct arena *arena,
		    struct warnings *warnings)
{
	CLEANUP(freep) struct module_name *names = malloc((n + 1) * sizeof(*names));
	struct import_names im = {source, modules, names, n, arena, warnings};
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		names[i] = (struct module_name){pdb_of(source->pdb)->modules.v[i].name, i};
		if (modules[i].n_exports)
			qsort(modules[i].exports, modules[i].n_exports, sizeof(*modules[i].exports),
			      compare_export);
	}
	qsort(names, n, sizeof(*names), compare_name);
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = name_pending(&im, &modules[i]);
	return err;
}

/*
 * module_table.h - the files that one process was asked about, open, the least recently used closed first.
 */
#ifndef CLI_SYMBOLIZER_MODULE_TABLE_H
#define CLI_SYMBOLIZER_MODULE_TABLE_H

#include "cli/lookup/object_lookup.h"
#include "cli/lookup/tell_reason.h"
#include "cli/symbolizer/symbol_query.h"
#include "cli/symbolizer/symbol_table.h"
#include "gsym/base/vec.h"
#include "work/worker/worker.h"
#include "gsym/render/demangle/demangle_cache.h"

struct symbol_module {
	char *name; /* as it was asked for */
	bool by_id, is_32_bit;
	char *path;                /* of the object file; NULL: it is not known */
	struct lookup_image image; /* without a reader of a file in which no function is known */
	struct demangle_cache *names;
	struct told_reasons told;
	int err; /* why it is not open, or 0 */
	bool has_told_err;
	struct gsym_diag diag;
	bool has_tried;             /* to open the next */
	struct object_file *object; /* see module_object() */
	bool has_symbols;
	struct symbol_table symbols; /* see module_symbols() */
};

/* The most recently used first. */
struct module_table {
	const struct symbolizer_options *options;
	VEC(struct symbol_module *) list;
	/*
	 * asked() fills @ret with the addresses that are waited for in the file that @query opens. early()
	 * answers them by a module that has what is certain about them and is gone after the call: see struct
	 * object_options.
	 */
	size_t (*asked)(void *user, const struct symbol_query *query,
			struct convert_address ret[static WORKER_ASKED_MAX]);
	bool (*early)(void *user, struct symbol_module *module);
	void *user;
};

/*
 * The module of @query, opened if it is not: 0 or the errno of opening, in either case with a module, which
 * is valid until the next call, but for -ENOMEM. -ENOENT: no such file, or build ID; -ENOEXEC: no object
 * file; -EALREADY: early() has answered all that will be asked.
 */
int module_find(struct module_table *table, const struct symbol_query *query, struct symbol_module **ret);

/* The object file itself, for what GSYM does not hold; NULL if it cannot be read. 0 or -ENOMEM. */
int module_object(struct symbol_module *module, struct object_file **ret);

/* Its symbols, for the same; none if it cannot be read. 0 or -ENOMEM. */
int module_symbols(struct symbol_module *module, const struct symbolizer_options *options,
		   const struct symbol_table **ret);

void module_table_deinit(struct module_table *table);

#endif

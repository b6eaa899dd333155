/*
 * debug_map.h - the debug map of a Mach-O binary, whose debug data stays in the object files: their paths and
 * the final address of each function (N_OSO and N_FUN of <mach-o/stab.h>), as dsymutil(1) uses it.
 */
#ifndef CONVERT_BUILD_DEBUG_MAP_H
#define CONVERT_BUILD_DEBUG_MAP_H

#include "convert/build/builder.h"

/* A function of the binary. */
struct mapped_function {
	const char *name; /* as the object's symbol table has it, without the underscore */
	uint64_t addr, size;
};

/* An object file of the binary. */
struct mapped_object {
	const char *path;            /* "dir/x.o", or "dir/lib.a(x.o)" */
	uint64_t mtime;              /* seconds since the epoch; 0: unknown */
	size_t first, end;           /* its functions */
	struct unit_result *results; /* of its units */
	size_t n_results;
	uint64_t input;      /* bytes of its debug data */
	int err;             /* of its conversion: 0 or -ENOMEM */
	const char *trouble; /* its path if it cannot be used, or NULL */
};

struct debug_map {
	VEC(struct mapped_function) functions;
	VEC(struct mapped_object) objects;
};

/* Reads the map of @object; it is empty if @object has none. 0 or -ENOMEM. */
int debug_map_read(const struct object_file *object, struct debug_map *ret);
void debug_map_free(struct debug_map *map);

/*
 * Opens one object file, builds records of its functions at their addresses in the binary, and closes it: a
 * program may have more object files than a process may have mappings.
 *
 * @map:     of @binary
 * @mapped:  the object file; its results are set, or its trouble if it is missing or was modified
 * @binary:  for its architecture and opener
 * @like:    context to copy settings from
 * @builder: of the calling thread
 *
 * 0 or -ENOMEM.
 */
int debug_map_build(const struct debug_map *map, struct mapped_object *mapped,
		    const struct object_file *binary, const struct build_context *like,
		    struct unit_builder *builder);

#endif

/*
 * debug_map.h - debug data that was never linked: a Mach-O binary names the object files it was made of, and
 * where each of their functions went (N_OSO and N_FUN of <mach-o/stab.h>). That is what dsymutil(1) works
 * from.
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
	uint64_t mtime;              /* seconds since the epoch; 0: not told */
	size_t first, end;           /* its functions */
	struct unit_result *results; /* of its units */
	size_t n_results;
	int err;             /* of its conversion: 0 or -ENOMEM */
	const char *trouble; /* why it cannot be used, or NULL */
};

struct debug_map {
	VEC(struct mapped_function) functions;
	VEC(struct mapped_object) objects;
};

/* Reads the map of @object: one without objects when it has none. 0 or -ENOMEM. */
int debug_map_read(const struct object_file *object, struct debug_map *ret);
void debug_map_free(struct debug_map *map);

/*
 * Opens one object, makes records of its functions, at their addresses in the binary, and closes it: a
 * program may be made of more objects than a process may have mappings. What is missing or of another time is
 * told in object->trouble. @builder is one of the calling thread; @like is the context to go by. 0 or
 * -ENOMEM.
 */
int debug_map_build(const struct debug_map *map, struct mapped_object *mapped,
		    const struct object_file *binary, const struct build_context *like,
		    struct unit_builder *builder);

#endif

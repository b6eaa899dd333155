/*
 * verify_object.h - an object file opened for a comparison: its sections given to libdwarf, its code and
 * symbols.
 *
 * libdwarf could open the file itself, but releases of 2021 support neither zstd nor some section headers of
 * current linkers. It gets the sections as the converter's object file layer finds and decompresses them, and
 * interprets them on its own.
 */
#ifndef CONVERT_VERIFY_VERIFY_OBJECT_H
#define CONVERT_VERIFY_VERIFY_OBJECT_H

#include "convert/object/object_file.h"
#include "convert/verify/verify_libdwarf.h"

struct verify_section {
	const char *name; /* ".debug_...", compressed or not */
	struct span data;
};

struct verify_object {
	struct object_file *file;
	Dwarf_Debug dbg;
	struct dw_access access;
	VEC(struct verify_section) sections; /* the first is empty, as in ELF */
	VEC(char *) names;                   /* of sections that had others in the file */
	VEC(struct symbol) symbols;          /* by address */
};

/*
 * Opens an object file, of one with several images that whose id is that of @info. -ENODATA when there is no
 * DWARF, -ENOEXEC when it cannot be read. @ret is to be closed after a success only.
 */
int verify_object_open(const char *path, const struct gsym_info *info, struct verify_object *ret,
		       struct gsym_diag *diag);
void verify_object_close(struct verify_object *object);

/* Whether @addr is code; anything is in a file without sections. */
bool verify_object_is_code(const struct verify_object *object, uint64_t addr);

/* Whether a symbol called @name has the value @addr. */
bool verify_object_has_symbol(const struct verify_object *object, uint64_t addr, const char *name);

/* The address of the nearest function symbol before @low, if one there holds [low, high); else @low. */
uint64_t verify_object_holder(const struct verify_object *object, uint64_t low, uint64_t high);

#endif

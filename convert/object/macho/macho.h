/*
 * macho.h - the parts of the Mach-O reader. Sources: Apple's <mach-o/loader.h>, <mach-o/nlist.h>,
 * <mach-o/stab.h> and <mach-o/fat.h>. Constants are defined here, because other systems lack those headers.
 */
#ifndef CONVERT_OBJECT_MACHO_MACHO_H
#define CONVERT_OBJECT_MACHO_MACHO_H

#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "convert/record/budget.h"
#include "gsym/base/cursor.h"
#include "gsym/base/invariant.h"

enum {
	MACHO_NAME_SIZE = 16, /* of segments and sections; not terminated when full */
	NLIST_32_SIZE = 12,
	NLIST_64_SIZE = 16,
};

/* A range of the file as a load command gives it; not checked against the file's size. */
struct macho_part {
	uint64_t off, size;
};

/* A section of stubs (S_SYMBOL_STUBS), in section order. */
struct macho_stubs {
	uint64_t addr, size;
	uint32_t stub_size, first; /* bytes of one; its index in the indirect symbol table */
};

struct macho {
	uint32_t file_type;
	uint64_t text_addr; /* address of __TEXT: symbols below are not code */
	bool has_text_addr;
	struct macho_part symbols, strings; /* symbols.size counts entries */
	struct macho_part indirect;         /* size counts entries */
	struct macho_part starts, exports;
	const char *install_name; /* of a library; in the mapping, or NULL */
	struct name_budget names; /* of @strings, which many symbols may share */
	VEC(struct macho_stubs) stubs;
};

static inline struct macho *macho_of(const struct object_file *object)
{
	invariant(object->format == &macho_format);
	return object->own;
}

/* Whether @data begins like a Mach-O file for one architecture. */
bool macho_is_thin(struct span data);

/*
 * Apple's name of the architecture, such as "arm64e": from a Mach-O header, and from cputype and cpusubtype.
 */
void macho_arch_name(struct span data, char ret[static 16]);
void macho_machine_name(uint32_t type, uint32_t subtype, char ret[static 16]);

/* Whether @fd, which stays the caller's, has the magic number of a fat file. */
bool begins_like_fat_file(int fd);

/*
 * What a fat file holds for @arch, which may be a static library; all of a file that is not fat. Empty when
 * it holds nothing for @arch (fat.c).
 */
struct span fat_part_for(struct span file, const char *arch);

/* An entry of the symbol table (struct nlist). */
struct macho_symbol {
	uint32_t name; /* offset in the string table */
	uint8_t type, section;
	uint64_t value;
};

/* Entry @i; false beyond the end of the table. */
bool macho_read_symbol(const struct object_file *object, uint64_t i, struct macho_symbol *ret);

/* Its name in the string table, "" when it has none or the budget of names is used up; and the C name,
 * without the leading underscore. */
const char *macho_symbol_text(const struct object_file *object, const struct macho_symbol *symbol);
const char *macho_symbol_name(const struct object_file *object, const struct macho_symbol *symbol);

/* Whether it is defined in a section and not a debugging entry (stab). */
bool macho_is_defined(const struct macho_symbol *symbol);

/* See object_load_symbols(). */
int macho_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);

/* See object_load_plt(). */
int macho_load_plt(struct object_file *object, const struct object_file *symtab);

/*
 * Calls @each for the exported symbols of a trie; it stops when that returns non-zero, which is then
 * returned. Where the trie is damaged, too deep or costs too much, exports are left out: @ret_cut. Names are
 * only valid during the call.
 */
int macho_walk_exports(struct span trie, int (*each)(void *user, const char *name, uint64_t addr), void *user,
		       bool *ret_cut);

#endif

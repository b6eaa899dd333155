/*
 * source_format.h - what a reader of one kind of input provides.
 *
 * A new source format is one file with a struct source_format, its declaration here, and a row of formats[]
 * in object_open.c. A format whose functions do not come from DWARF and symbol tables also needs a row of
 * direct_sources[] in convert.c.
 */
#ifndef CONVERT_OBJECT_SOURCE_FORMAT_H
#define CONVERT_OBJECT_SOURCE_FORMAT_H

#include "work/types/image_identity.h"
#include "gsym/base/bytes.h"

struct object_file;
struct object_section;

/* One of the object files in a container. */
struct object_slice {
	uint64_t off, size;
	char arch[16];
};

enum { SLICES_MAX = 30 };

struct source_format {
	enum image_kind kind; /* IMAGE_OTHER for containers */

	/* Whether @file, all of its bytes, begins like a file of this format. Reads no more than a header. */
	bool (*probe)(struct span file);

	/*
	 * A container of object files sets these two and nothing below. The first lists the slices in other
	 * formats, at most SLICES_MAX, and returns their number. Slices that lie outside of @file or hold
	 * something else are left out; of the former the second tells object_expect().
	 */
	size_t (*slices)(struct span file, struct object_slice ret[static SLICES_MAX]);
	void (*expect)(struct object_file *object);

	/*
	 * Reads headers from object->map: sections, segments, architecture and id. 0, -ENOEXEC when it is no
	 * such file after all, -EBADMSG when it is damaged, -ENOTSUP, -ENOMEM.
	 */
	int (*read)(struct object_file *object, struct gsym_diag *diag);

	/* Those below may be NULL. */

	/* Frees what read() allocated for this format alone; also after read() failed. */
	void (*close)(struct object_file *object);

	/* See object_has_symbols(), object_load_symbols(), object_load_plt() and section_relocate(). */
	bool (*has_symbols)(struct object_file *object);
	int (*load_symbols)(struct object_file *object, struct object_file *const *sources, size_t n_sources);
	int (*load_plt)(struct object_file *object, const struct object_file *symtab);
	int (*relocate)(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);
};

extern const struct source_format elf_format;      /* elf/elf.c */
extern const struct source_format macho_format;    /* macho/macho.c */
extern const struct source_format fat_format;      /* macho/fat.c */
extern const struct source_format pe_format;       /* pe/pe.c */
extern const struct source_format pdb_format;      /* pdb/pdb.c */
extern const struct source_format breakpad_format; /* breakpad_module.c */
extern const struct source_format gsym_format;     /* gsym_source.c */

#endif

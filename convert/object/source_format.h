/*
 * source_format.h - what a reader of one kind of input provides.
 *
 * A new source format is one file with a struct source_format, and a row of IMAGE_KINDS, from which its
 * declaration here and its place among formats[] in object_open.c follow. Code outside of the reader asks for
 * traits and calls functions; it never compares kinds. A format whose functions do not come from DWARF and
 * symbol tables also needs a value of enum function_source and a row of direct_sources[] in convert.c.
 */
#ifndef CONVERT_OBJECT_SOURCE_FORMAT_H
#define CONVERT_OBJECT_SOURCE_FORMAT_H

#include "gsym/gsym.h"
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

/* What may complete a file, and so is looked for. */
enum companion {
	COMPANION_NONE,
	COMPANION_DEBUG_FILE, /* by build id, also fetched, and by .gnu_debuglink; an alternate file */
	COMPANION_DSYM,       /* a bundle, or object files that symbols name */
	COMPANION_PDB,        /* besides files as above, which are not fetched */
};

/* Where the functions of a file come from. */
enum function_source {
	FUNCTIONS_DWARF,    /* DWARF, and symbol tables */
	FUNCTIONS_TEXT,     /* text symbols of Breakpad */
	FUNCTIONS_GSYM,     /* GSYM, which is all of the file */
	FUNCTIONS_CODEVIEW, /* CodeView in a PDB file, which completes a program */
};

struct source_format {
	enum image_kind kind; /* IMAGE_OTHER for containers */

	enum function_source functions;
	enum companion companion;
	bool has_fragments;     /* functions that are waited for can be converted before the rest */
	bool ranks_below_dwarf; /* as a debug file, since its names are another tool's */
	bool keeps_rows;      /* tools of its platform show more rows of line tables than the last of each */
	bool keeps_code_at_0; /* address 0 does not mean that the linker dropped the code */
	bool chains_pointers; /* the upper bits of a pointer in data may say where the next one is */
	bool go_id_in_code;   /* Go's build id is in the code, not in a note */
	bool go_table_is_searched; /* Go's function table has no section of its own */

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

	/* Frees what object->own refers to; also after read() failed, if that set it. */
	void (*close)(struct object_file *object);

	/* See object_has_symbols(), object_load_symbols(), object_load_plt() and section_relocate(). */
	bool (*has_symbols)(struct object_file *object);
	int (*load_symbols)(struct object_file *object, struct object_file *const *sources, size_t n_sources);
	int (*load_plt)(struct object_file *object, const struct object_file *symtab);
	int (*relocate)(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);

	/* The name of the program, as a file tells it that is called otherwise. False if it tells none. */
	bool (*own_name)(struct object_file *object, char ret[static IMAGE_NAME_SIZE]);

	/* Reads what a conversion needs beyond read(). 0; -EBADMSG, -ENOMEM. */
	int (*load)(struct object_file *object, struct gsym_diag *diag);

	/* -EINVAL if @debug, which has the id of @program, is for another link of it, else 0. */
	int (*check_debug)(const struct object_file *program, const struct object_file *debug,
			   struct gsym_diag *diag);
};

#define FORMAT_DECLARATION(kind, reader, ...) extern const struct source_format reader##_format;
IMAGE_KINDS(FORMAT_DECLARATION)
#undef FORMAT_DECLARATION

extern const struct source_format fat_format; /* macho/fat.c */

#endif

/*
 * object_file.h - an object file as the converter sees it: named sections, code ranges, symbols, an identity.
 *
 * The file is mapped, never read whole. Sections are bounded spans of the mapping; compressed ones are
 * decompressed once, on request, into memory of their own.
 */
#ifndef CONVERT_OBJECT_OBJECT_FILE_H
#define CONVERT_OBJECT_OBJECT_FILE_H

#include "convert/record/convert_types.h"
#include "convert/record/range.h"
#include "gsym/base/arena.h"
#include "gsym/base/bytes.h"

enum compression {
	COMPRESSION_NONE,
	COMPRESSION_ZLIB, /* SHF_COMPRESSED with ELFCOMPRESS_ZLIB, or a .zdebug_ section */
	COMPRESSION_ZSTD, /* SHF_COMPRESSED with ELFCOMPRESS_ZSTD */
	COMPRESSION_UNKNOWN,
};

struct object_section {
	const char *name; /* borrowed from the file */
	uint64_t addr, size;
	bool allocated; /* SHF_ALLOC */
	bool code;      /* allocated and executable */
	bool grouped;   /* SHF_GROUP */
	enum compression compression;
	struct span raw;    /* bytes in the file, without compression header; empty for SHT_NOBITS */
	uint64_t full_size; /* after decompression, as the file claims */
	struct span data;   /* what section_load() made of it */
	bool owned;         /* data was decompressed and is unmapped with the object file */
};

/* Bytes of the file that are loaded. */
struct object_segment {
	uint64_t off, addr, size;
};

enum symbol_type {
	SYMBOL_FUNC,   /* STT_FUNC and STT_GNU_IFUNC */
	SYMBOL_NOTYPE, /* labels of assembly code */
	SYMBOL_STUB,   /* an entry of a procedure linkage table, found by object_load_plt() */
	SYMBOL_START,  /* no name: a function begins here, and the one before it ends */
};

struct symbol {
	uint64_t addr, size;
	const char *name; /* borrowed from the file, or from the object file; terminated */
	enum symbol_type type;
	bool global;
	bool resolver; /* STT_GNU_IFUNC: the code here finds the function */
	bool dotted;   /* the table has the name with a dot before it: code of a function descriptor */
};

enum { RELEASE_STEP = 16 << 20 }; /* bytes read between two calls of object_release() */

struct object_file {
	char *path;
	const struct convert_opener
		*opener;    /* that of object_open(), borrowed: for files this one refers to */
	struct span file;   /* all of it */
	bool mapped;        /* file is ours to unmap */
	uint64_t mtime;     /* seconds since the epoch; 0 = not known */
	const uint8_t *map; /* the object file in it: all, but for a slice of a fat file */
	size_t map_size;
	enum image_kind kind;
	struct arena names;       /* of sections and symbols that the file does not have as text */
	void *owned;              /* memory to free with the object file, or NULL */
	void *elf;                /* libelf's handle */
	struct macho *macho;      /* or what the reader of Mach-O needs */
	struct gsym_reader *gsym; /* GSYM that it is, or has in a section; or NULL */
	bool big_endian;
	bool relocatable;      /* ET_REL: addresses are those of our own layout of the sections */
	uint64_t laid_out;     /* end of that layout */
	uint64_t lost_headers; /* where the section headers should be, if that is behind the end of the file;
				  else 0 */
	uint64_t
		relocations; /* bytes of relocation tables applied; no two share bytes, so at most map_size */
	struct {
		size_t symtab, section; /* indexes of an SHT_SYMTAB_SHNDX section and of what it belongs to */
	} index_tables[2];              /* of .symtab and .dynsym */
	unsigned n_index_tables;
	uint16_t machine; /* e_machine */
	uint8_t addr_size;
	char arch[16];
	uint8_t id[IMAGE_ID_MAX];
	size_t id_size;
	bool id_is_cut; /* see struct image_identity */
	bool has_base;
	uint64_t base_address;               /* p_vaddr of the first PT_LOAD, as upstream writes it */
	VEC(struct object_segment) segments; /* those with bytes in the file */
	VEC(struct object_section) sections; /* section n of the file is sections.v[n - 1] */
	range_vec text;                      /* normalized; empty when the file has no sections */
	VEC(struct symbol) symbols;          /* in table order, defined ones in code only */
	struct object_section *opd;          /* function descriptors (ELFv1 of ppc64), or NULL */
	bool symbols_damaged;
};

/* One of several images in a file; all fields may be unset. */
struct object_pick {
	const char *arch;
	const uint8_t *id;
	size_t id_size;
};

/* The same for a file that may hold several images. -ENOEXEC when the pick fits none, or not just one. */
int object_open_slice(const char *path, const struct convert_opener *opener, const struct object_pick *pick,
		      struct object_file **ret, struct gsym_diag *diag);

/*
 * The same for a Mach-O object that may be a member of a static library: "lib.a(x.o)". @mtime: of which time,
 * in seconds since the epoch, 0 = any. -ESTALE when it is of another one.
 */
int object_open_object(const char *path, const struct convert_opener *opener, const char *arch,
		       uint64_t mtime, struct object_file **ret, struct gsym_diag *diag);

/* Opens an object file. -ENOEXEC when it is none, -EBADMSG when its headers are damaged. @opener may be NULL.
 */
int object_open(const char *path, const struct convert_opener *opener, struct object_file **ret,
		struct gsym_diag *diag);

/* The same for an open file, which stays the caller's. @name takes the place of its path. */
int object_open_descriptor(int fd, const char *name, const struct convert_opener *opener,
			   struct object_file **ret, struct gsym_diag *diag);

/*
 * Opens every object file in the file @fd, which stays the caller's, one after the other, and hands it to
 * @each, for as long as that returns 0; what it returned else is returned. A damaged slice of a fat file is
 * passed over. @name is only used in messages.
 */
int object_each(int fd, const char *name, int (*each)(void *user, struct object_file *object), void *user,
		struct gsym_diag *diag);

/* The same for a file in memory, borrowed until object_close(). @name is only used in messages. */
int object_open_memory(const void *data, size_t size, const char *name, struct object_file **ret,
		       struct gsym_diag *diag);
void object_close(struct object_file *object);
void object_closep(struct object_file **object);

/* The section of that name with bytes in the file, or NULL. ".debug_x" also finds ".zdebug_x". */
struct object_section *object_section(struct object_file *object, const char *name);

/* The first such section behind @after, or NULL; @after NULL: the first of all. */
struct object_section *object_next_section(struct object_file *object, const char *name,
					   const struct object_section *after);

/* Whether the bytes of its code are in the file, which a separate debug file lacks. */
bool object_has_code(const struct object_file *object);

/* Whether it has a symbol table of its own, other than that for dynamic linking. */
bool object_has_symbols(struct object_file *object);

/*
 * Fills object->symbols from the first of @sources that has a .symtab, and from .dynsym of @object for
 * addresses that one does not name. Names are borrowed from the sources. 0 or -ENOMEM.
 */
int object_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);

/* Of a section with that older form of compression: takes the header off. */
void section_read_zdebug(struct object_section *section);

/*
 * Appends the stubs of the procedure linkage tables in @object, whose other symbols must be loaded, to
 * object->symbols as SYMBOL_STUB "name@plt". Those of Mach-O files are functions "symbol stub for: name", and
 * for an object file that is a dSYM they may be in the file with the symbols, @symtab, which may be NULL. 0
 * or -ENOMEM.
 */
int object_load_plt(struct object_file *object, const struct object_file *symtab);

/*
 * Makes section->data: the raw bytes, or decompressed ones. Different sections may be loaded by different
 * threads at once. -EBADMSG when the compressed bytes are damaged, -EFBIG when the claim is absurd.
 */
int section_load(struct object_section *section);

/*
 * Gives bytes [from, to) of @data back to the system where they are mapped from the file, so that memory in
 * use does not grow with it. Reading them again only faults them in again.
 */
void object_release(const struct object_file *object, struct span data, uint64_t from, uint64_t to);

/*
 * Applies the relocations of a loaded section of a relocatable file to a copy of it, which section->data then
 * is. Relocations of unknown type or place are left out: *ret_skipped counts them. Not for several threads at
 * once. 0 or -ENOMEM.
 */
int section_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);

#endif

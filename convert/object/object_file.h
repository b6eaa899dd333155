/*
 * object_file.h - an object file as the converter sees it: named sections, code ranges, symbols, an identity.
 *
 * The file is mapped, never read whole. Sections are bounded spans of the mapping; compressed ones are
 * decompressed once, on request, into memory of their own. Opening files is object_open.h.
 */
#ifndef CONVERT_OBJECT_OBJECT_FILE_H
#define CONVERT_OBJECT_OBJECT_FILE_H

#include "convert/record/range.h"
#include "gsym/base/arena.h"
#include "gsym/base/bytes.h"
#include "work/types/convert_types.h"
#include "work/types/image_identity.h"

/*
 * How a section is compressed, as elf.c found it. It is undone whole by compress.c, which also bounds the
 * ratio, and step by step by section_stream.c for those that have an inflater there.
 */
enum compression {
	COMPRESSION_NONE,
	COMPRESSION_ZLIB,    /* SHF_COMPRESSED with ELFCOMPRESS_ZLIB, or a .zdebug_ section */
	COMPRESSION_ZSTD,    /* SHF_COMPRESSED with ELFCOMPRESS_ZSTD */
	COMPRESSION_UNKNOWN, /* the section counts as damaged */
};

struct object_section {
	const char *name; /* borrowed from the mapping, static, or in object->names */
	uint64_t addr, size;
	bool allocated; /* SHF_ALLOC */
	bool code;      /* allocated and executable */
	bool grouped;   /* SHF_GROUP */
	bool outside;   /* its bytes would be past the end of the file */
	enum compression compression;
	struct span raw;    /* bytes in the file, without compression header; empty for SHT_NOBITS */
	uint64_t full_size; /* after decompression, as the header claims */
	struct span data;   /* set by section_load() */
	bool owned;         /* data is an anonymous mapping, unmapped with the object file */
};

/* A loadable segment with bytes in the file. */
struct object_segment {
	uint64_t off, addr, size;
};

enum symbol_type {
	SYMBOL_FUNC,   /* STT_FUNC and STT_GNU_IFUNC */
	SYMBOL_NOTYPE, /* STT_NOTYPE: labels of assembly code */
	SYMBOL_STUB,   /* an entry of a procedure linkage table, found by object_load_plt() */
};

struct symbol {
	uint64_t addr, size;
	const char *name; /* NUL-terminated; borrowed from the mapping, or in object->names */
	enum symbol_type type;
	bool global;
	bool resolver; /* STT_GNU_IFUNC: the code at addr returns the address of the function */
	bool dotted;   /* the table has the name with a leading dot: code of a function descriptor */
};

/*
 * A label without type and size that lies in no code, or past the end of its own section: it names nothing,
 * but may be the counterpart of one in code ("_etext" of "_stext").
 */
struct outside_label {
	uint64_t addr;
	const char *name;
};

enum { RELEASE_STEP = 16 << 20 }; /* bytes read between two calls of object_release() */

/*
 * Bytes that headers place past the end of the file, as in a copy that broke off. Not an error: of some files
 * the headers are wrong, and the rest tells enough.
 */
struct lost_bytes {
	const char *what; /* static text; NULL: none */
	unsigned number;  /* of several such, from 1; 0: it is the only one */
	uint64_t off, end;
};

/* Impossible entries of tables of functions, which were ignored whole or in part. */
struct damaged_entries {
	uint64_t n;
	const char *section; /* the table with the first one, static text */
	uint64_t off;        /* offset of the first one in that table, bytes */
};

/* Counts an entry at @off of @section, which is static text. */
void damage_count(struct damaged_entries *damaged, const char *section, uint64_t off);

struct object_file {
	char *path;
	const struct convert_opener *opener; /* of object_open(), borrowed: for files this one refers to */
	const struct source_format *format;  /* NULL until one is found */

	/* Bytes */
	struct span file;   /* all of the file */
	bool mapped;        /* file is unmapped by object_close() */
	const uint8_t *map; /* the object file in it: all, or a slice of a fat file */
	size_t map_size;
	uint64_t mtime;               /* seconds since the epoch; 0 = not known */
	struct span inflated;         /* anonymous mapping of a compressed file, unmapped by object_close() */
	struct lost_bytes lost;       /* the first of the object file, */
	struct lost_bytes lost_slice; /* and of the fat file around it */

	/* Identity */
	bool big_endian;
	uint8_t addr_size;
	uint16_t machine;   /* e_machine; 0 for other formats */
	uint64_t mode_bits; /* in debug data, of addresses of code: bit 0 marks MIPS16, microMIPS and Thumb */
	char arch[16];
	uint8_t id[IMAGE_ID_MAX];
	size_t id_size;
	bool id_is_truncated; /* see struct image_identity */
	char go_id[GO_ID_SIZE];
	bool has_base;
	bool is_relative;      /* addresses count from a base that the file does not tell */
	uint64_t base_address; /* p_vaddr of the first PT_LOAD, address of __TEXT, or ImageBase */

	/* Content */
	VEC(struct object_segment) segments;
	VEC(struct object_section) sections; /* ELF section n is sections.v[n - 1] */
	range_vec text;                      /* code sections, or segments if it has none; normalized */
	VEC(struct symbol) symbols;          /* of code, in table order */
	VEC(struct outside_label) outside;
	/*
	 * Code of functions as a table of the file other than that of symbols has it, ascending, none in
	 * another: symbols without size do not reach beyond. Set with the symbols, if any has no size.
	 */
	range_vec functions;
	const char *bounded_by; /* that table, static text; NULL: none */
	struct damaged_entries damaged_bounds;
	/* If set, symbols are loaded only if they touch one of these normalized ranges; borrowed. */
	const range_vec *near;
	bool passed_by; /* there are others */
	bool symbols_damaged;
	bool unnamed;             /* names of sections are damaged */
	const char *misplaced;    /* a section of code that is in no executable segment, or NULL */
	uint64_t cut_command;     /* offset of a load command that is damaged or too short; 0: none */
	uint64_t name_bytes;      /* read for symbols */
	bool exports_cut;         /* exports of a Mach-O file were left out */
	bool names_exceeded;      /* names of symbols were left out: see budget.h */
	struct arena names;       /* section and symbol names that are not in the file as text */
	struct gsym_reader *gsym; /* the GSYM that this is, or has in a section; or NULL */

	void *own;        /* what the reader of its format keeps, see object_new_own() */
	bool relocatable; /* ET_REL: addresses are those of our own layout of the sections */
};

void object_close(struct object_file *object);
void object_closep(struct object_file **object);

/* The section called @name with bytes in the file, or NULL. ".debug_x" also finds ".zdebug_x". */
struct object_section *object_section(struct object_file *object, const char *name);

/* The next such section after @after, or NULL; @after NULL: the first. */
struct object_section *object_next_section(struct object_file *object, const char *name,
					   const struct object_section *after);

/*
 * The file's bytes that are loaded at @addr, up to the end of their section, or of their segment where there
 * are no sections; empty if there are none.
 */
struct span object_bytes_at(const struct object_file *object, uint64_t addr);

/*
 * Returns whether the file has the bytes of its code, which a separate debug file lacks. A file without
 * sections has them if it has segments.
 */
bool object_has_code(const struct object_file *object);

/* Sets @diag to what a file of @size bytes lacks as @lost says, and to what to do; returns @err. */
int lost_bytes_tell(const struct lost_bytes *lost, uint64_t size, int err, struct gsym_diag *diag);

/* Whether it has a symbol table other than that for dynamic linking. */
bool object_has_symbols(struct object_file *object);

/*
 * Fills object->symbols from the first of @sources that has a .symtab, and from .dynsym of @object for
 * addresses that the former does not name. Names are borrowed from the sources. 0 or -ENOMEM.
 */
int object_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);

/* Undoes object_load_symbols(). */
void object_forget_symbols(struct object_file *object);

/*
 * Appends the stubs of the procedure linkage tables in @object, whose other symbols must be loaded, to
 * object->symbols as SYMBOL_STUB "name@plt". Those of Mach-O files are functions "symbol stub for: name"; if
 * @object is a dSYM, its stubs may be in the file with the symbols, @symtab, which may be NULL. 0 or -ENOMEM.
 */
int object_load_plt(struct object_file *object, const struct object_file *symtab);

/*
 * Returns the pages of bytes [from, to) of @data to the system if @data is a span of the mapped file, which
 * bounds resident memory. Reading them again faults them in again.
 */
void object_release(const struct object_file *object, struct span data, uint64_t from, uint64_t to);

/*
 * Sets section->data: the raw bytes, or decompressed ones. Different sections may be loaded concurrently.
 * -EBADMSG when the compressed bytes are damaged, -EFBIG when the claimed size is implausible.
 */
int section_load(struct object_section *section);

/* Maps memory for the decompressed bytes of section->data: 0, -EFBIG as above, -ENOMEM. */
int section_reserve(struct object_section *section);

/* Undoes both. */
void section_unload(struct object_section *section);

/*
 * Bytes of input that a loaded section stands for in budgets: decompressed ones, up to the ratio of real
 * data.
 */
uint64_t section_input(const struct object_section *section);

/*
 * Has them find out which instructions this processor has, for which they may open files: in a sandbox they
 * could not, and would do without the fast ones.
 */
void compression_prepare(void);

/*
 * Applies the relocations of a loaded section of a relocatable file to a private copy, which section->data
 * then is. Relocations of unknown type or outside of the section are skipped and added to *ret_skipped. Not
 * thread-safe. 0, -ENOMEM, or -ENOTSUP: those of the machine are not known, and the section means nothing.
 */
int section_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);

/* ---- A compressed section inflated from its beginning, step by step (section_stream.c) ---- */

/*
 * What was inflated can be read while the rest still is, by other threads, too. Compressed bytes are given
 * back to the system, and pages whose bytes are no longer needed are used again, so that a section of any
 * size takes little memory. Its bytes have their place in one mapping as large as the section.
 */

struct section_stream;

/*
 * Begins to inflate @section of @object. section->data becomes the mapping, of which nothing may be read yet.
 * Both are borrowed until section_stream_close(). *ret is NULL where only section_load() can decompress it.
 * 0, -EFBIG as for section_load(), or -ENOMEM.
 */
int section_stream_open(const struct object_file *object, struct object_section *section,
			struct section_stream **ret);

/* Nothing of the section may be read from now on. */
void section_stream_close(struct section_stream *stream);

/*
 * Inflates some more. One thread at a time.
 *
 * @ret: so many bytes of s->data may be read now; all of them, once the checksum was verified
 *
 * 0, -EBADMSG if the section is damaged, or -ENOMEM: then nothing that was read is to be trusted.
 */
int section_stream_step(struct section_stream *stream, uint64_t *ret);

/* The inflated bytes before @to are not read any more: they may be anything from now on. By any thread. */
void section_stream_release(struct section_stream *stream, uint64_t to);

/* ---- Go's function table and build id ---- */

/* Whether the section is loaded, with bytes of the file that are neither code nor compressed. */
bool section_is_data(const struct object_section *section);

/*
 * ELF: .gopclntab, also .data.rel.ro.gopclntab in position independent programs; Mach-O: __gopclntab. NULL
 * when there is none, or only its place, as in a separate debug file.
 */
const struct object_section *object_go_table(struct object_file *object);

/*
 * The build id that Go's linker writes where the code begins, the only place for it in PE and Mach-O files,
 * as go_id.h takes it; "" when there is none.
 */
void go_build_id_in_code(const struct object_file *object, char ret[static GO_ID_SIZE]);

/* ---- For the summary ---- */

/*
 * Lists the allocated, non-empty sections of a relocatable @object in @summary, in file order. If there are
 * more than CONVERT_SECTIONS_MAX, only those with code, the first ones. 0 or -ENOMEM.
 */
int layout_report(const struct object_file *object, struct convert_summary *summary);

/*
 * Sets the image base and the segments in @summary. A separate debug file has the addresses of its program
 * but not its file offsets, so no segments are listed for it. 0 or -ENOMEM.
 */
int segments_report(const struct object_file *object, struct convert_summary *summary);

/* ---- For readers of source formats ---- */

/*
 * Headers say where the file has bytes: notes the first that it lacks as object->lost.
 *
 * @what:   static text
 * @number: of several such, from 1; 0: it is the only one
 * @off:    counts from object->map
 * @size:   bytes
 */
void object_expect(struct object_file *object, const char *what, unsigned number, uint64_t off,
		   uint64_t size);

/* Bytes [off, off + size) of object->map; without data if it does not have them all. */
struct span object_span(const struct object_file *object, uint64_t off, uint64_t size);

/*
 * Allocates object->own, zeroed. It is freed with the object file, after the format's close(). 0, or -ENOMEM
 * with @diag set.
 */
int object_new_own(struct object_file *object, size_t size, struct gsym_diag *diag);

/* Undoes read(): closes and frees object->own. */
void object_free_own(struct object_file *object);

/*
 * Appends @section, and its range to object->text if it has code. The header is taken off one that is
 * compressed in the older form of GNU and Apple tools: name ".zdebug_", content "ZLIB" and the size in eight
 * bytes, big-endian. 0 or -ENOMEM.
 */
int object_add_section(struct object_file *object, const struct object_section *section);

/* Sets object->id; false if it is too long. */
bool object_set_id(struct object_file *object, const void *id, size_t size);

enum { GUID_SIZE = 16 };

/* Sets object->id to a GUID of Microsoft's files, in the order of bytes of its text; false if it is all 0. */
bool object_set_guid(struct object_file *object, const uint8_t guid[static GUID_SIZE]);

struct machine_name {
	uint16_t machine;
	const char *arch;
};

/* Sets object->arch to the name of @machine, or to @other if none of @n names is for it. */
void object_set_arch(struct object_file *object, const struct machine_name *names, size_t n, uint16_t machine,
		     const char *other);

/* Copies a name that the file gives itself; false if no file can be called so. @name may be NULL. */
bool object_take_name(const char *name, char ret[static IMAGE_NAME_SIZE]);

/* Sorts object->functions, which @table (static text) has, and cuts each where the next begins. */
void object_settle_functions(struct object_file *object, const char *table);

/* Addresses that have a symbol already. */
struct known_addresses {
	uint64_t *v; /* sorted; free() */
	size_t n;
};

/* Those of all symbols loaded so far. 0 or -ENOMEM. */
int known_addresses_make(const struct object_file *object, struct known_addresses *ret);

bool known_address(const struct known_addresses *known, uint64_t addr);

#endif

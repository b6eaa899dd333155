/*
 * pdb.h - the reader of PDB files: their streams, modules, and where their code is. Sources: LLVM's "The PDB
 * File Format", Microsoft's cvinfo.h and PDB1.
 *
 * A PDB file holds relative virtual addresses and no image base. With its PE file, addresses are those plus
 * the image base; a PDB file alone has the base address 0.
 *
 * pdb_format reads what identifies the file; modules, sections and the rest need pdb_load(), which a
 * conversion calls once. After that all is read-only, and any thread may read it.
 */
#ifndef CONVERT_OBJECT_PDB_PDB_H
#define CONVERT_OBJECT_PDB_PDB_H

#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/base/bytes.h"
#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"

/* ---- Multi-stream files, the container (msf.c) ---- */

/*
 * Source: LLVM's "The MSF File Format", version 7. A file is blocks of one size. A stream is a list of block
 * numbers and a size in bytes; the directory, itself scattered over blocks, holds the sizes and lists of all
 * streams. Opening reads the first block alone, and the bytes of a stream only those parts of the directory
 * that lead to them, until msf_load() has read all of it.
 */

enum {
	STREAM_NONE = 0xffff,         /* where a stream is named by 16 bits */
	STREAM_SIZE_NONE = UINT32_MAX /* of a stream that was deleted */
};

/* Bytes of a stream: of the mapping where its blocks are consecutive, else a copy. */
struct pdb_bytes {
	struct span bytes;
	void *copy; /* or NULL; pdb_bytes_free() */
};

void pdb_bytes_free(struct pdb_bytes *bytes); /* usable with CLEANUP */

/* Zero-initialised is empty. */
struct msf {
	struct span file; /* borrowed */
	uint32_t block_size, n_blocks, n_streams;
	uint32_t directory_size;    /* bytes */
	struct span directory_list; /* numbers of its blocks */

	/* Of msf_load() */
	struct pdb_bytes directory;
	uint32_t *first; /* of each stream: how many blocks those before it have; NULL: not loaded */
};

/* Whether @file begins like one. */
bool msf_probe(struct span file);

/*
 * Reads the header of @file, which stays the caller's. 0, or -EBADMSG with a diagnosis that lacks the name of
 * the file.
 */
int msf_open(struct span file, struct msf *ret, struct gsym_diag *diag);

/*
 * Reads the directory. The streams together have no more blocks than the file: so copies of all of them are
 * bounded by its size. 0, -EBADMSG with such a diagnosis, -ENOMEM.
 */
int msf_load(struct msf *msf, struct gsym_diag *diag);

void msf_close(struct msf *msf);

/* The size of a stream in bytes. 0; -ENOENT: there is none; -EBADMSG; -ENOMEM. */
int msf_stream_size(const struct msf *msf, uint32_t number, uint32_t *ret);

/*
 * Bytes [off, off + size) of a stream. Thread-safe.
 *
 * 0; -ENOENT: there is no such stream; -EBADMSG: it has no such bytes, or its blocks lie outside of the file;
 * -ENOMEM.
 */
int msf_read(const struct msf *msf, uint32_t number, uint64_t off, uint64_t size, struct pdb_bytes *ret);

/* ---- PDB files ---- */

enum {
	PDB_STREAM_INFO = 1,
	PDB_STREAM_TYPES = 2, /* TPI */
	PDB_STREAM_DBI = 3,
	PDB_STREAM_IDS = 4, /* IPI */
};

/* A compiland of the DBI stream. */
struct pdb_module {
	const char *name;      /* in memory of the object file */
	uint16_t stream;       /* STREAM_NONE: none */
	uint32_t symbol_bytes; /* from the stream's start, with the signature */
	uint32_t c11_bytes, c13_bytes;
};

/* A section of the image, or of the image before its code was rearranged. */
struct pdb_section {
	uint32_t rva, size, flags;
	char name[9];
};

typedef VEC(struct pdb_section) pdb_sections;

/*
 * An entry of an OMAP table: from there on to the next entry, code was moved by @to - @from. @to 0, or from 2
 * GiB on: the other image does not have it.
 */
struct pdb_omap {
	uint32_t from, to;
};

typedef VEC(struct pdb_omap) pdb_omaps;

/* Code of the image, from @rva on, that is code [source, end) of the image before it was rearranged. */
struct pdb_block {
	uint32_t source, end, rva;
	uint32_t reach; /* the highest end in the tree of which this is the root */
};

typedef VEC(struct pdb_block) pdb_blocks;

struct pdb {
	uint32_t age;          /* of the DBI stream, which is that in the PE file */
	uint16_t machine;      /* IMAGE_FILE_MACHINE_; object->arch is that of the program */
	uint32_t names_stream; /* "/names": string table of C13 file names; STREAM_NONE: none */

	/* Of pdb_load() */
	bool loaded;
	VEC(struct pdb_module) modules;
	bool modules_cut; /* the list has further ones, which are damaged */

	/* Private to the room */
	struct msf msf;
	uint16_t publics_stream, symbols_stream; /* STREAM_NONE: none */
	struct pdb_bytes module_bytes, symbol_bytes;
	pdb_sections sections; /* of the image */
	pdb_sections original; /* which symbols count in when there is an OMAP; else empty */
	pdb_omaps omap;        /* from the original image; ascending by from */
	pdb_blocks blocks;     /* of the table back; ascending by source */
};

static inline struct pdb *pdb_of(const struct object_file *object)
{
	invariant(object->format == &pdb_format);
	return object->own;
}

/*
 * Reads modules, sections and the OMAP tables of @pdb, and fills its sections and code ranges. Does nothing
 * the second time. 0; -EBADMSG, -ENOMEM.
 */
int pdb_load(struct object_file *pdb, struct gsym_diag *diag);

/* Reads stream @number. Thread-safe. 0; -ENOENT: there is none (also STREAM_NONE); -EBADMSG; -ENOMEM. */
int pdb_stream(const struct object_file *pdb, uint32_t number, struct pdb_bytes *ret);

/* Where a part of the code is loaded. */
struct pdb_piece {
	uint32_t off; /* from the first of the bytes asked for */
	uint32_t rva, size;
};

typedef VEC(struct pdb_piece) pdb_pieces;

enum { PDB_PIECES_MAX = 4096 };

/*
 * Where bytes [off, off + size) of section @section (from 1 on) are loaded. Without OMAP that is one piece;
 * with it the bytes may be scattered, some be gone, and some be there several times: code that a tool added
 * counts as the original code that it names. Costs a binary search, and as much for each piece at most.
 *
 * @pdb:     loaded
 * @section: as symbols and line tables have it
 * @off:     in the section
 * @size:    0: where a label is, which is one piece of the size 0
 * @ret:     replaced; ascending by rva, at most PDB_PIECES_MAX. Empty where there is no such section, or the
 *           code was removed. Bytes past the end of the section are left out.
 *
 * 0 or -ENOMEM.
 */
int pdb_place(const struct object_file *pdb, uint16_t section, uint32_t off, uint32_t size, pdb_pieces *ret);

/* ---- For the room ---- */

/* Reads the PDB stream: GUID, "/names" and what the file lacks. The errnos of source_format.read(). */
int pdb_read_info(struct object_file *object, struct gsym_diag *diag);

/* Reads the header of the DBI stream: machine and age. -ENOEXEC: it is no program's. Likewise. */
int pdb_read_dbi_header(struct object_file *object, struct gsym_diag *diag);

/*
 * Finds the first module called @name, before pdb_load(), too, and stores it with @name. 0; -ENOENT: there is
 * none; -EBADMSG, -ENOMEM.
 */
int pdb_find_module(const struct object_file *object, const char *name, struct pdb_module *ret);

/* The function of struct source_format. */
bool pdb_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE]);

/* Reads the OMAP tables: that to the image, and that back. 0; -EBADMSG, -ENOMEM. */
int pdb_load_omap(struct pdb *pdb, struct span from_source, struct span to_source);

/* Replaces the code ranges of the original image by those of the image. 0 or -ENOMEM. */
int pdb_move_code(const struct pdb *pdb, range_vec *text);

/* Append the pieces of code [rva, rva + size) of the original image, or the place of a label. As above. */
int pdb_omap_place(const struct pdb *pdb, uint32_t rva, uint32_t size, pdb_pieces *ret);
int pdb_omap_address(const struct pdb *pdb, uint32_t rva, pdb_pieces *ret);

/*
 * Appends the public symbols of @pdb, which is loaded, to those of @object, its PE file or @pdb itself, where
 * no symbol is yet. Names are borrowed from both. 0 or -ENOMEM.
 */
int pdb_add_publics(struct object_file *object, const struct object_file *pdb);

/* See object_load_symbols(). */
int pdb_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);

#endif

/*
 * msf.h - multi-stream files, version 7: the container of PDB files. Source: LLVM's "The MSF File Format".
 *
 * A file is blocks of one size. A stream is a list of block numbers and a size in bytes; the directory,
 * itself scattered over blocks, holds the sizes and lists of all streams. Opening reads the first block
 * alone, and the bytes of a stream only those parts of the directory that lead to them, until msf_load() has
 * read all of it.
 */
#ifndef CONVERT_OBJECT_PDB_MSF_H
#define CONVERT_OBJECT_PDB_MSF_H

#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"

struct gsym_diag;

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

#endif

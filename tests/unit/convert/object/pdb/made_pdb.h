/*
 * made_pdb.h - multi-stream files made in memory, for tests of what is in the streams of PDB files.
 *
 * A test appends bytes to the streams, made_pdb_open() lays them out, and made_pdb_close() frees all.
 */
#ifndef TESTS_MADE_PDB_H
#define TESTS_MADE_PDB_H

#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "convert/object/pdb/pdb.h"
#include "convert/object/source_format.h"
#include "gsym/base/diag.h"

enum {
	MADE_STREAMS = 8,
	MADE_DIRECTORY_BLOCK = 2,
	MADE_FIRST_BLOCK = 3, /* after the header, the list of the directory's block, and that */
};

struct made_stream {
	uint8_t *bytes;
	size_t n;
	bool gone; /* deleted: it has a number and nothing else */
};

/* Zero-initialised is empty. */
struct made_pdb {
	uint32_t block_size; /* 0: 512 */
	bool scattered;      /* a stream's last block comes first in the file: its bytes have to be copied */
	uint32_t n_streams;
	struct made_stream streams[MADE_STREAMS];
	uint8_t *file;
	size_t size;
	struct object_file object;
};

static inline void made_bytes(struct made_stream *s, const void *bytes, size_t size)
{
	s->bytes = realloc(s->bytes, s->n + size + 1);
	assert_non_null(s->bytes);
	if (size)
		memcpy(s->bytes + s->n, bytes, size);
	s->n += size;
}

static inline void made_fill(struct made_stream *s, uint8_t byte, size_t size)
{
	s->bytes = realloc(s->bytes, s->n + size + 1);
	assert_non_null(s->bytes);
	memset(s->bytes + s->n, byte, size);
	s->n += size;
}

static inline void made_u16(struct made_stream *s, uint32_t v)
{
	uint8_t bytes[2];
	store16(bytes, (uint16_t)v, false);
	made_bytes(s, bytes, sizeof(bytes));
}

static inline void made_u32(struct made_stream *s, uint32_t v)
{
	uint8_t bytes[4];
	store32(bytes, v, false);
	made_bytes(s, bytes, sizeof(bytes));
}

static inline void made_text(struct made_stream *s, const char *text)
{
	made_bytes(s, text, strlen(text) + 1);
}

static inline uint32_t made_blocks(const struct made_pdb *m, const struct made_stream *s)
{
	return s->gone ? 0 : (uint32_t)((s->n + m->block_size - 1) / m->block_size);
}

/* Where the directory is, for tests that damage it: the number of streams, their sizes, their blocks. */
static inline uint8_t *made_directory(struct made_pdb *m)
{
	return m->file + (size_t)MADE_DIRECTORY_BLOCK * m->block_size;
}

/* Writes the blocks of a stream from block @first on; returns how many. */
static inline uint32_t made_write(struct made_pdb *m, const struct made_stream *s, uint32_t first,
				  uint8_t *list)
{
	uint32_t n = made_blocks(m, s);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = first + (m->scattered ? n - 1 - i : i);
		size_t off = (size_t)i * m->block_size, left = s->n - off;
		store32(list + 4 * (size_t)i, number, false);
		memcpy(m->file + (size_t)number * m->block_size, s->bytes + off,
		       left < m->block_size ? left : m->block_size);
	}
	return n;
}

static inline void made_pdb_finish(struct made_pdb *m)
{
	static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
				    "DS\0\0";
	uint32_t n = MADE_FIRST_BLOCK, at = 4 + 4 * m->n_streams;
	m->block_size = m->block_size ? m->block_size : 512;
	for (uint32_t i = 0; i < m->n_streams; i++)
		n += made_blocks(m, &m->streams[i]);
	m->size = (size_t)n * m->block_size;
	m->file = calloc(1, m->size);
	assert_true(m->file && at + 4 * (size_t)(n - MADE_FIRST_BLOCK) <= m->block_size);
	memcpy(m->file, magic, sizeof(magic));
	store32(m->file + 32, m->block_size, false);
	store32(m->file + 40, n, false);
	store32(m->file + 44, at + 4 * (n - MADE_FIRST_BLOCK), false);
	store32(m->file + 52, 1, false);
	store32(m->file + m->block_size, MADE_DIRECTORY_BLOCK, false);
	store32(made_directory(m), m->n_streams, false);
	for (uint32_t i = 0, first = MADE_FIRST_BLOCK; i < m->n_streams; i++) {
		const struct made_stream *s = &m->streams[i];
		store32(made_directory(m) + 4 + 4 * (size_t)i, s->gone ? STREAM_SIZE_NONE : (uint32_t)s->n,
			false);
		uint32_t more = made_write(m, s, first, made_directory(m) + at);
		first += more;
		at += 4 * more;
	}
}

/* The file as an object file of which no stream was read yet. */
static inline struct object_file *made_pdb_open(struct made_pdb *m)
{
	static char name[] = "made.pdb";
	struct object_file *o = &m->object;
	if (!m->file)
		made_pdb_finish(m);
	*o = (struct object_file){.path = name, .format = &pdb_format};
	assert_int_equal(object_new_own(o, sizeof(struct pdb), NULL), 0);
	assert_int_equal(msf_open((struct span){m->file, m->size}, &pdb_of(o)->msf, NULL), 0);
	return o;
}

static inline void made_pdb_close(struct made_pdb *m)
{
	object_free_own(&m->object);
	vec_free(&m->object.sections);
	vec_free(&m->object.text);
	for (uint32_t i = 0; i < MADE_STREAMS; i++)
		free(m->streams[i].bytes);
	free(m->file);
	*m = (struct made_pdb){.file = NULL};
}

#endif

/*
 * msf.c - blocks to bytes.
 *
 * The header names the blocks with the list of the directory's blocks; that list is consecutive. What is
 * asked of a stream before msf_load() finds its list by adding the sizes of the streams before it: those
 * asked for then are among the first.
 */
#include "convert/object/pdb/pdb.h"

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"

#include <errno.h>
#include <stdlib.h>

static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
			    "DS\0\0"; /* and the NUL of the literal: 32 bytes */

enum {
	BLOCK_SIZE_MIN = 512,
	BLOCK_SIZE_MAX = 64 << 10,
	NUMBER_SIZE = 4, /* bytes of a block's number */
};

void pdb_bytes_free(struct pdb_bytes *bytes)
{
	free(bytes->copy);
	*bytes = (struct pdb_bytes){.copy = NULL};
}

bool msf_probe(struct span file)
{
	return file.size >= sizeof(magic) && !memcmp(file.data, magic, sizeof(magic));
}

static uint64_t blocks_of(const struct msf *msf, uint64_t size)
{
	return (size + msf->block_size - 1) / msf->block_size;
}

/* ---- Scattered bytes ---- */

/* Where the first @n of the bytes of block @number are in the file, or NULL: the last block may be cut. */
static const uint8_t *block_at(const struct msf *msf, uint32_t number, uint64_t n)
{
	uint64_t off = (uint64_t)number * msf->block_size;
	return off <= msf->file.size && n <= msf->file.size - off ? msf->file.data + off : NULL;
}

/* Whether the blocks of @list, one after another, are so in the file. */
static bool is_consecutive(struct span list)
{
	for (size_t i = NUMBER_SIZE; i < list.size; i += NUMBER_SIZE)
		if (load32(list.data + i, false) - load32(list.data + i - NUMBER_SIZE, false) != 1)
			return false;
	return true;
}

static int copy_blocks(const struct msf *msf, struct span list, uint64_t skip, uint64_t size, uint8_t *to)
{
	for (size_t i = 0; size; i += NUMBER_SIZE) {
		uint64_t left = msf->block_size - skip, n = size < left ? size : left;
		const uint8_t *from = block_at(msf, load32(list.data + i, false), skip + n);
		if (!from)
			return -EBADMSG;
		memcpy(to, from + skip, n);
		to += n;
		size -= n;
		skip = 0;
	}
	return 0;
}

/*
 * @size bytes that begin @skip bytes into the first block of @list, which has as many blocks as these need.
 */
static int gather(const struct msf *msf, struct span list, uint64_t skip, uint64_t size,
		  struct pdb_bytes *ret)
{
	if (is_consecutive(list)) {
		const uint8_t *at = block_at(msf, load32(list.data, false), skip + size);
		if (!at)
			return -EBADMSG;
		*ret = (struct pdb_bytes){.bytes = {at + skip, size}};
		return 0;
	}
	if (size > msf->file.size)
		return -EBADMSG;
	CLEANUP(freep) uint8_t *copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	int err = copy_blocks(msf, list, skip, size, copy);
	if (!err) {
		ret->bytes = (struct span){copy, size};
		ret->copy = TAKE(copy);
	}
	return err;
}

/* ---- The directory ---- */

static int read_directory(const struct msf *msf, uint64_t off, uint64_t size, struct pdb_bytes *ret)
{
	*ret = (struct pdb_bytes){.copy = NULL};
	if (off > msf->directory_size || size > msf->directory_size - off)
		return -EBADMSG;
	if (msf->directory.bytes.data) {
		ret->bytes = (struct span){msf->directory.bytes.data + off, size};
		return 0;
	}
	if (!size)
		return 0;
	uint64_t first = off / msf->block_size, n = blocks_of(msf, off % msf->block_size + size);
	struct span list = {msf->directory_list.data + first * NUMBER_SIZE, n * NUMBER_SIZE};
	return gather(msf, list, off % msf->block_size, size, ret);
}

static int read_number(const struct msf *msf, uint64_t off, uint32_t *ret)
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes b = {.copy = NULL};
	int err = read_directory(msf, off, NUMBER_SIZE, &b);
	if (!err)
		*ret = load32(b.bytes.data, false);
	return err;
}

int msf_open(struct span file, struct msf *ret, struct gsym_diag *diag)
{
	struct cursor c = cursor_new(file.data, file.size, false);
	struct msf msf = {.file = file};
	cursor_skip(&c, sizeof(magic));
	msf.block_size = cursor_u32(&c);
	cursor_skip(&c, 4); /* which of the two maps of free blocks is valid */
	msf.n_blocks = cursor_u32(&c);
	msf.directory_size = cursor_u32(&c);
	cursor_skip(&c, 4);
	uint32_t list_block = cursor_u32(&c);
	if (!cursor_ok(&c) || msf.block_size < BLOCK_SIZE_MIN || msf.block_size > BLOCK_SIZE_MAX ||
	    (msf.block_size & (msf.block_size - 1)))
		return diag_set(diag, -EBADMSG, "block size %u of the PDB is none", msf.block_size);
	uint64_t size = (uint64_t)msf.n_blocks * msf.block_size;
	if (size > file.size)
		return diag_set(diag, -EBADMSG,
				"truncated: %zu bytes, but its header counts %u blocks of %u bytes",
				file.size, msf.n_blocks, msf.block_size);
	uint64_t list_size = blocks_of(&msf, msf.directory_size) * NUMBER_SIZE;
	const uint8_t *list = block_at(&msf, list_block, list_size);
	if (!list || msf.directory_size < NUMBER_SIZE)
		return diag_set(diag, -EBADMSG, "the directory of the PDB, %u bytes, is outside of the file",
				msf.directory_size);
	msf.directory_list = (struct span){list, list_size};
	int err = read_number(&msf, 0, &msf.n_streams);
	if (!err && (msf.n_streams > msf.directory_size / NUMBER_SIZE - 1))
		err = -EBADMSG;
	if (err)
		return diag_set(diag, err, "the directory of the PDB is damaged");
	*ret = msf;
	return 0;
}

static uint64_t stream_blocks(const struct msf *msf, uint32_t size)
{
	return size == STREAM_SIZE_NONE ? 0 : blocks_of(msf, size);
}

static int count_blocks(struct msf *msf, struct span directory)
{
	uint64_t n = 0;
	uint64_t lists = (uint64_t)NUMBER_SIZE + (uint64_t)msf->n_streams * NUMBER_SIZE;
	uint32_t *first = malloc(((size_t)msf->n_streams + 1) * sizeof(*first));
	if (!first)
		return -ENOMEM;
	for (uint32_t i = 0; i < msf->n_streams && n <= msf->n_blocks; i++) {
		first[i] = (uint32_t)n;
		n += stream_blocks(msf,
				   load32(directory.data + NUMBER_SIZE + (size_t)i * NUMBER_SIZE, false));
	}
	if (n > msf->n_blocks || n * NUMBER_SIZE > directory.size - lists) {
		free(first);
		return -EBADMSG;
	}
	msf->first = first;
	return 0;
}

int msf_load(struct msf *msf, struct gsym_diag *diag)
{
	struct pdb_bytes directory;
	int err = msf->first ? 0 : read_directory(msf, 0, msf->directory_size, &directory);
	if (!err && !msf->first) {
		err = count_blocks(msf, directory.bytes);
		if (err)
			pdb_bytes_free(&directory);
		else
			msf->directory = directory;
	}
	return err ? diag_set(diag, err, "%s",
			      err == -ENOMEM ? "out of memory" : "the directory of the PDB is damaged")
		   : 0;
}

void msf_close(struct msf *msf)
{
	pdb_bytes_free(&msf->directory);
	free(msf->first);
	msf->first = NULL;
}

/* ---- Streams ---- */

int msf_stream_size(const struct msf *msf, uint32_t number, uint32_t *ret)
{
	uint32_t size = STREAM_SIZE_NONE;
	int err = number < msf->n_streams
			  ? read_number(msf, NUMBER_SIZE + (uint64_t)number * NUMBER_SIZE, &size)
			  : -ENOENT;
	if (err || size == STREAM_SIZE_NONE)
		return err ? err : -ENOENT;
	*ret = size;
	return 0;
}

/* How many blocks are listed before those of stream @number. */
static int find_list(const struct msf *msf, uint32_t number, uint64_t *ret)
{
	uint64_t n = 0;
	uint32_t size;
	int err = 0;
	for (uint32_t i = 0; i < number && !msf->first && !err; i++) {
		err = msf_stream_size(msf, i, &size);
		n += err ? 0 : stream_blocks(msf, size);
		err = err == -ENOENT ? 0 : err;
	}
	*ret = msf->first ? msf->first[number] : n;
	return err;
}

int msf_read(const struct msf *msf, uint32_t number, uint64_t off, uint64_t size, struct pdb_bytes *ret)
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes list = {.copy = NULL};
	uint32_t whole;
	uint64_t before = 0, skip = off % msf->block_size;
	*ret = (struct pdb_bytes){.copy = NULL};
	int err = msf_stream_size(msf, number, &whole);
	if (!err && (off > whole || size > whole - off))
		err = -EBADMSG;
	if (err || !size)
		return err;
	err = find_list(msf, number, &before);
	if (!err)
		err = read_directory(
			msf, NUMBER_SIZE * (1 + (uint64_t)msf->n_streams + before + off / msf->block_size),
			NUMBER_SIZE * blocks_of(msf, skip + size), &list);
	return err ? err : gather(msf, list.bytes, skip, size, ret);
}

/*
 * compress.c - sections compressed by zlib or zstd.
 *
 * The uncompressed size in the header is not trusted: it must be within the best ratio of the algorithm.
 * Memory is mapped lazily, so that a false size costs address space only.
 */

#include <libdeflate.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "work/types/memory_limit.h"

#include "convert/object/object_file.h"

enum {
	ZLIB_BEST_RATIO = 1032,       /* 258 bytes for 2 bits (RFC 1951, 3.2.5) */
	ZSTD_BEST_RATIO = 128 * 1024, /* a block of 128 KiB for its header alone (RFC 8878, 3.1.1.2) */
	MODEST_SIZE = 256 << 20,      /* below this any possible ratio is accepted */
	MODEST_RATIO = 64,
	REAL_RATIO = 16, /* debug data shrinks to a tenth at best */
};

void compression_prepare(void)
{
	(void)libdeflate_crc32(0, "", 0); /* on ARM it reads /proc/self/auxv, once */
}

static int inflate_zlib(struct span in, uint8_t *out, size_t size)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (!d) {
		memory_limit_note(0);
		return -ENOMEM;
	}
	enum libdeflate_result r = libdeflate_zlib_decompress(d, in.data, in.size, out, size, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS ? 0 : -EBADMSG;
}

static int inflate_zstd(struct span in, uint8_t *out, size_t size)
{
	size_t n = ZSTD_decompress(out, size, in.data, in.size);
	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation) {
		memory_limit_note(0);
		return -ENOMEM;
	}
	return !ZSTD_isError(n) && n == size ? 0 : -EBADMSG;
}

/*
 * -EFBIG if @in cannot decompress to @size bytes, or the ratio is implausible: real debug data shrinks to a
 * tenth, and a small file that fills memory is a decompression bomb. -ENOMEM if only this machine is too
 * small.
 */
static int check_claim(enum compression how, struct span in, uint64_t size)
{
	uint64_t ratio = how == COMPRESSION_ZLIB ? ZLIB_BEST_RATIO : ZSTD_BEST_RATIO;
	if (size / ratio > in.size)
		return -EFBIG;
	if (size > MODEST_SIZE && size / MODEST_RATIO > in.size)
		return -EFBIG;
	return size > PTRDIFF_MAX ? -ENOMEM : 0;
}

int section_reserve(struct object_section *s)
{
	int err = check_claim(s->compression, s->raw, s->full_size);
	if (err)
		return err;
	void *out = mmap(NULL, s->full_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (out == MAP_FAILED) {
		memory_limit_note(s->full_size);
		return -errno;
	}
	s->data = (struct span){out, s->full_size};
	s->owned = true;
	return 0;
}

void section_unload(struct object_section *s)
{
	if (s->owned)
		munmap((void *)(uintptr_t)s->data.data, s->data.size);
	s->data = (struct span){0};
	s->owned = false;
}

static int decompress(struct object_section *s)
{
	int err = s->full_size ? section_reserve(s) : check_claim(s->compression, s->raw, 0);
	if (err || !s->full_size)
		return err;
	uint8_t *out = (uint8_t *)(uintptr_t)s->data.data;
	if (s->compression == COMPRESSION_ZLIB)
		err = inflate_zlib(s->raw, out, s->full_size);
	else
		err = inflate_zstd(s->raw, out, s->full_size);
	if (err)
		section_unload(s);
	return err;
}

int section_load(struct object_section *s)
{
	if (s->data.data)
		return 0;
	switch (s->compression) {
	case COMPRESSION_NONE: s->data = s->raw; return 0;
	case COMPRESSION_ZLIB:
	case COMPRESSION_ZSTD: return decompress(s);
	case COMPRESSION_UNKNOWN: break;
	}
	return -EBADMSG;
}

uint64_t section_input(const struct object_section *s)
{
	uint64_t most = s->raw.size * REAL_RATIO;
	return s->compression == COMPRESSION_NONE || s->data.size < most ? s->data.size : most;
}

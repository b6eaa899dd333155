/*
 * Compressed bytes inflated: files as a whole, sections, and step by step. Bytes that a rule makes are
 * compressed, and must be what comes out, however they are asked for.
 */
#include "convert/object/compressed_file.h"
#include "convert/object/inflate/inflater.h"
#include "convert/object/object_file.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ---- What fails, and what is left ---- */

enum fault {
	FAULT_NONE,
	FAULT_MMAP,
	FAULT_MREMAP,
	FAULT_CALLOC,
	FAULT_CONTEXT,      /* no decoder can be made */
	FAULT_DECODER,      /* it has no memory while it decodes */
	FAULT_DECODER_LIMIT /* it needs more than it may have */
};

static enum fault fault;
static unsigned skipped; /* such calls that succeed before */
static int64_t mapped;   /* bytes */
/* Of memory_limit_note(), which is wrapped: the real one only keeps whether RLIMIT_DATA was reached. */
static unsigned noted; /* failures */
static size_t noted_size;
static int decompressors; /* of libdeflate */

static bool fails(enum fault kind)
{
	return fault == kind && !skipped--;
}

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t off);
int __real_munmap(void *at, size_t size);
void *__real_mremap(void *at, size_t old, size_t size, int flags);
void *__real_calloc(size_t n, size_t size);
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);
size_t __real_ZSTD_decompressStream(ZSTD_DStream *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in);
size_t __real_ZSTD_decompress(void *out, size_t size, const void *in, size_t in_size);
struct libdeflate_decompressor *__real_libdeflate_alloc_decompressor(void);
void __real_libdeflate_free_decompressor(struct libdeflate_decompressor *d);
lzma_ret __real_lzma_stream_decoder(lzma_stream *stream, uint64_t memory, uint32_t flags);
lzma_ret __real_lzma_code(lzma_stream *stream, lzma_action action);

void __wrap_memory_limit_note(size_t size)
{
	noted++;
	noted_size = size;
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t off)
{
	if (fails(FAULT_MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	void *p = __real_mmap64(at, size, protection, flags, fd, off);
	mapped += p == MAP_FAILED ? 0 : (int64_t)size;
	return p;
}

int __wrap_munmap(void *at, size_t size)
{
	mapped -= (int64_t)size;
	return __real_munmap(at, size);
}

void *__wrap_mremap(void *at, size_t old, size_t size, int flags)
{
	void *p = fails(FAULT_MREMAP) ? MAP_FAILED : __real_mremap(at, old, size, flags);
	mapped += p == MAP_FAILED ? 0 : (int64_t)size - (int64_t)old;
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails(FAULT_CALLOC) ? NULL : __real_calloc(n, size);
}

ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
	return fails(FAULT_CONTEXT) ? NULL : __real_ZSTD_createDCtx();
}

static size_t zstd_fault(void)
{
	return fails(FAULT_DECODER)         ? (size_t)-ZSTD_error_memory_allocation
	       : fails(FAULT_DECODER_LIMIT) ? (size_t)-ZSTD_error_frameParameter_windowTooLarge
					    : 0;
}

size_t __wrap_ZSTD_decompressStream(ZSTD_DStream *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
	size_t err = zstd_fault();
	return err ? err : __real_ZSTD_decompressStream(d, out, in);
}

size_t __wrap_ZSTD_decompress(void *out, size_t size, const void *in, size_t in_size)
{
	size_t err = zstd_fault();
	return err ? err : __real_ZSTD_decompress(out, size, in, in_size);
}

struct libdeflate_decompressor *__wrap_libdeflate_alloc_decompressor(void)
{
	struct libdeflate_decompressor *d =
		fails(FAULT_CONTEXT) ? NULL : __real_libdeflate_alloc_decompressor();
	decompressors += d != NULL;
	return d;
}

void __wrap_libdeflate_free_decompressor(struct libdeflate_decompressor *d)
{
	decompressors--;
	__real_libdeflate_free_decompressor(d);
}

lzma_ret __wrap_lzma_stream_decoder(lzma_stream *stream, uint64_t memory, uint32_t flags)
{
	return fails(FAULT_CONTEXT) ? LZMA_MEM_ERROR : __real_lzma_stream_decoder(stream, memory, flags);
}

lzma_ret __wrap_lzma_code(lzma_stream *stream, lzma_action action)
{
	return fails(FAULT_DECODER)         ? LZMA_MEM_ERROR
	       : fails(FAULT_DECODER_LIMIT) ? LZMA_MEMLIMIT_ERROR
					    : __real_lzma_code(stream, action);
}

/* ---- Compressed bytes ---- */

enum { PACKED_MOST = 1 << 20, PLAIN_MOST = 400000 };

static uint8_t plain[PLAIN_MOST];

static void make_plain(void)
{
	for (size_t i = 0; i < PLAIN_MOST; i++)
		plain[i] = (uint8_t)((i * 2654435761U >> 13) % (1 + i / 1000 % 7) + (i >> 8));
}

typedef size_t pack_fn(const uint8_t *in, size_t size, uint8_t *out);

static size_t pack_xz(const uint8_t *in, size_t size, uint8_t *out)
{
	size_t n = 0;
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, in, size, out, &n, PACKED_MOST),
			 LZMA_OK);
	return n;
}

static size_t pack_zstd(const uint8_t *in, size_t size, uint8_t *out)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size_t n = ZSTD_compress2(context, out, PACKED_MOST, in, size);
	assert_false(ZSTD_isError(n));
	ZSTD_freeCCtx(context);
	return n;
}

static size_t pack_deflate(const uint8_t *in, size_t size, uint8_t *out, bool gzip)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	size_t n = gzip ? libdeflate_gzip_compress(c, in, size, out, PACKED_MOST)
			: libdeflate_zlib_compress(c, in, size, out, PACKED_MOST);
	libdeflate_free_compressor(c);
	assert_true(n);
	return n;
}

static size_t pack_gzip(const uint8_t *in, size_t size, uint8_t *out)
{
	return pack_deflate(in, size, out, true);
}

static size_t pack_zlib(const uint8_t *in, size_t size, uint8_t *out)
{
	return pack_deflate(in, size, out, false);
}

static const struct file_kind {
	const char *name;
	pack_fn *pack;
	const struct inflater_kind *kind;
	unsigned memory;
	bool rest; /* what follows is ignored */
} kinds[] = {
	{"xz", pack_xz, &inflater_xz, 256, false},
	{"zstd", pack_zstd, &inflater_zstd, 128, false},
#ifdef HAVE_ISAL
	{"gzip", pack_gzip, &inflater_gzip, 0, true},
#endif
};

/* ---- Files ---- */

static unsigned probed;
static struct span first_bytes;
static bool wanted;

static bool probe(struct span first)
{
	probed++;
	first_bytes.size = first.size;
	assert_memory_equal(first.data, plain, first.size);
	return wanted;
}

/* Inflates @in, which must not be read past its end, and compares the first @size bytes. */
static int inflated(struct span in, size_t size, uint64_t most)
{
	struct span got = {(const uint8_t *)"", 12345};
	int64_t before = mapped;
	probed = 0;
	uint8_t *copy = malloc(in.size + !in.size);
	memcpy(copy, in.data, in.size);
	int err = compressed_file_inflate((struct span){copy, in.size}, probe, most, &got);
	free(copy);
	if (err) {
		assert_int_equal(got.size, 12345);
	} else {
		assert_int_equal(got.size, size);
		assert_memory_equal(got.data, plain, size);
		munmap((void *)(uintptr_t)got.data, got.size);
	}
	assert_int_equal(mapped, before);
	return err;
}

TEST(whole_files)
{
	static const size_t sizes[] = {1, 100, 65535, 65536, 65537, 131071, 131072, 131073, 262144, 300001};
	static uint8_t packed[PACKED_MOST];
	wanted = true;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			size_t size = sizes[i], n = kinds[k].pack(plain, size, packed);
			struct span in = {packed, n};
			assert_string_equal(compressed_file_format(in), kinds[k].name);
			assert_int_equal(compressed_file_memory(in), kinds[k].memory);
			assert_int_equal(inflated(in, size, size), 0);
			assert_int_equal(probed, 1);
			assert_int_equal(first_bytes.size, size < 65536 ? size : 65536);
			assert_int_equal(inflated(in, size, size - 1), -EFBIG);
			wanted = false;
			assert_int_equal(inflated(in, size, size), -ENOEXEC);
			assert_int_equal(probed, 1);
			wanted = true;
			/* Without a probe all is inflated. */
			struct span got;
			assert_int_equal(compressed_file_inflate(in, NULL, size, &got), 0);
			assert_int_equal(got.size, size);
			munmap((void *)(uintptr_t)got.data, got.size);
			/* Two, one after the other, and something else. */
			size_t half = size / 2;
			n = kinds[k].pack(plain, half, packed);
			n += kinds[k].pack(plain + half, size - half, packed + n);
			assert_int_equal(inflated((struct span){packed, n}, size, size), 0);
			memcpy(packed + n, "\x1f\x8b\x07 rest", 8);
			assert_int_equal(inflated((struct span){packed, n + 8}, size, size),
					 kinds[k].rest ? 0 : -EBADMSG);
		}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t n = kinds[k].pack(plain, 0, packed);
		assert_int_equal(compressed_file_inflate((struct span){packed, n}, NULL, 100, &first_bytes),
				 -ENOEXEC);
	}
}

/* Cut anywhere, and with any byte changed, it is damaged or at least not taken for more than it was. */
TEST(damaged_files)
{
	static uint8_t packed[PACKED_MOST];
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t n = kinds[k].pack(plain, 900, packed), magic = kinds[k].pack == pack_xz     ? 6
								      : kinds[k].pack == pack_zstd ? 4
												   : 3;
		for (size_t size = 0; size < n; size++) {
			struct span in = {packed, size};
			wanted = true;
			assert_int_equal(inflated(in, 900, 900), size < magic ? -ENOTSUP : -EBADMSG);
			unsigned asked = probed;
			wanted = false;
			assert_int_equal(inflated(in, 900, 900), size < magic ? -ENOTSUP
								 : asked      ? -ENOEXEC
									      : -EBADMSG);
		}
		wanted = true;
		for (size_t i = n - 4; i < n; i++) { /* the checksum, or the end */
			packed[i] ^= 0x20;
			assert_int_equal(inflated((struct span){packed, n}, 900, 900), -EBADMSG);
			packed[i] ^= 0x20;
		}
	}
}

TEST(formats)
{
	static const struct {
		const char *magic, *name;
		size_t size;
	} table[] = {{"\xfd"
		      "7zXZ\0",
		      "xz", 6},
		     {"\x28\xb5\x2f\xfd", "zstd", 4},
		     {"\x1f\x8b\x08", "gzip", 3},
		     {"BZh", "bzip2", 3}};
	struct span got;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint8_t *copy = malloc(table[i].size);
		memcpy(copy, table[i].magic, table[i].size);
		assert_string_equal(compressed_file_format((struct span){copy, table[i].size}),
				    table[i].name);
		assert_null(compressed_file_format((struct span){copy, table[i].size - 1}));
		for (size_t k = 0; k < table[i].size; k++) {
			copy[k] ^= 1;
			assert_null(compressed_file_format((struct span){copy, table[i].size}));
			copy[k] ^= 1;
		}
		free(copy);
	}
	struct span bzip2 = {(const uint8_t *)"BZh91", 5}, text = {(const uint8_t *)"text.", 5};
	assert_int_equal(compressed_file_inflate(bzip2, NULL, 10, &got), -ENOTSUP);
	assert_int_equal(compressed_file_inflate(text, NULL, 10, &got), -ENOTSUP);
	assert_int_equal(compressed_file_memory(bzip2), 0);
	assert_int_equal(compressed_file_memory(text), 0);
	assert_int_equal(compressed_file_most(0), 64 << 20);
	assert_int_equal(compressed_file_most(1 << 20), 64 << 20);
	assert_int_equal(compressed_file_most((1 << 20) + 1), (64 << 20) + 64);
	assert_true(compressed_file_most(UINT64_MAX / 64) == UINT64_MAX / 64 * 64);
	assert_true(compressed_file_most(UINT64_MAX / 64 + 1) == UINT64_MAX);
}

/* What fails is reported, noted where the process may have too little, and leaves nothing. */
TEST(no_memory)
{
	static uint8_t packed[PACKED_MOST];
	wanted = true;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t n = kinds[k].pack(plain, 200000, packed);
		struct span in = {packed, n};
		bool has_context = kinds[k].pack != pack_gzip;
		for (enum fault f = FAULT_MMAP; f <= FAULT_DECODER_LIMIT; f++)
			for (unsigned later = 0; later < 8; later++) {
				fault = f;
				skipped = later;
				noted = 0;
				int err = inflated(in, 200000, 200000);
				bool hit = skipped == UINT32_MAX;
				fault = FAULT_NONE;
				bool noting = f == FAULT_MMAP || (f == FAULT_MREMAP && later < 2) ||
					      f == FAULT_CONTEXT || f == FAULT_DECODER;
				if (!later)
					assert_int_equal(hit, has_context || f < FAULT_CONTEXT);
				assert_int_equal(err, !hit ? 0 : f == FAULT_DECODER_LIMIT ? -E2BIG : -ENOMEM);
				assert_int_equal(noted, hit && noting);
				if (hit && f == FAULT_MMAP)
					assert_int_equal(noted_size, 65536);
				if (hit && f == FAULT_MREMAP && noting)
					assert_int_equal(noted_size, 65536 << later);
				if (hit && f == FAULT_DECODER && kinds[k].pack == pack_zstd)
					assert_int_equal(noted_size, 128 << 20);
			}
	}
}

/* xz says how much memory it takes: here for a dictionary of 192 MiB, and one of 384. */
TEST(large_dictionaries)
{
	static uint8_t packed[PACKED_MOST];
	size_t n = pack_xz(plain, 5000, packed), header = 4 * (1 + (size_t)packed[12]), filter = 0;
	wanted = true;
	for (size_t i = 2; i < header && !filter; i++) /* LZMA2, with a byte of properties */
		filter = packed[12 + i] == 0x21 && packed[12 + i + 1] == 1 ? 12 + i : 0;
	assert_true(filter);
	for (uint8_t dictionary = 31; dictionary <= 33; dictionary += 2) {
		packed[filter + 2] = dictionary;
		store32(packed + 12 + header - 4, lzma_crc32(packed + 12, header - 4, 0), false);
		assert_int_equal(inflated((struct span){packed, n}, 5000, 5000),
				 dictionary == 31 ? 0 : -E2BIG);
	}
}

/* ---- Step by step ---- */

TEST(any_steps)
{
	static const struct file_kind zlib = {"zlib", pack_zlib,
#ifdef HAVE_ISAL
					      &inflater_zlib,
#else
					      NULL,
#endif
					      0, true};
	static uint8_t packed[PACKED_MOST], out[PLAIN_MOST + 1];
	uint32_t seed = 1;
	for (size_t k = 0; k <= ARRAY_SIZE(kinds); k++) {
		const struct file_kind *kind = k < ARRAY_SIZE(kinds) ? &kinds[k] : &zlib;
		for (size_t most = 1; kind->kind && most < 300000; most = most * 7 + 3) {
			size_t size = most < 30 ? 500 : PLAIN_MOST, n = kind->pack(plain, size, packed),
			       at = 0;
			struct span in = {packed, n};
			void *inflater = kind->kind->open(in);
			uint64_t used = 0;
			while (at < size) {
				seed = seed * 1664525 + 1013904223;
				size_t step = 1 + (seed >> 8) % most;
				step = step < size - at ? step : size - at;
				assert_false(at && kind->kind->ended(inflater));
				out[at + step] = 0xaa;
				assert_int_equal(kind->kind->inflate(inflater, out + at, step), step);
				assert_int_equal(out[at + step], 0xaa);
				at += step;
				assert_in_range(kind->kind->used(inflater), used, n);
				used = kind->kind->used(inflater);
			}
			assert_true(used > n / 2);
			assert_memory_equal(out, plain, size);
			assert_int_equal(kind->kind->inflate(inflater, out, 10), 0);
			assert_true(kind->kind->ended(inflater));
			assert_int_equal(kind->kind->used(inflater), n);
			assert_int_equal(kind->kind->inflate(inflater, out, 10), 0);
			kind->kind->close(inflater);
			/* The last byte is missing: nothing more comes, and it has not ended. */
			in.size = n - 1;
			inflater = kind->kind->open(in);
			int64_t got = kind->kind->inflate(inflater, out, size + 1);
			assert_true(got <= (int64_t)size);
			assert_false(kind->kind->ended(inflater));
			kind->kind->close(inflater);
		}
	}
}

/* Frames of zstd: by the size of their window, or of their content if that is it. */
TEST(suitable_frames)
{
	static const uint8_t size_bytes[] = {1, 2, 4, 8}, id_bytes[] = {0, 1, 2, 4};
	static const uint64_t contents[] = {0, 200, 60000, 8 << 20, (8 << 20) + 1, 1ULL << 24, 1ULL << 40};
	uint8_t frame[32];
	store32(frame, 0xfd2fb528, false);
	for (unsigned window = 0; window < 256; window++) {
		double bytes = (double)(1ULL << (10 + window / 8)) * (8 + window % 8) / 8;
		frame[4] = 0;
		frame[5] = (uint8_t)window;
		assert_int_equal(inflater_zstd_suits((struct span){frame, 6}), bytes <= 8 << 20);
		assert_false(inflater_zstd_suits((struct span){frame, 5}));
		frame[3] ^= 1;
		assert_false(inflater_zstd_suits((struct span){frame, 6}));
		frame[3] ^= 1;
	}
	for (unsigned code = 0; code < 4; code++)
		for (unsigned id = 0; id < 4; id++)
			for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
				uint64_t content = contents[i] - (code == 1 ? 256 : 0);
				size_t size = 5 + id_bytes[id] + size_bytes[code];
				if (size_bytes[code] < 8 && content >> (8 * size_bytes[code]))
					continue;
				memset(frame + 5, 0xff, sizeof(frame) - 5);
				frame[4] = (uint8_t)(code << 6 | 1 << 5 | id);
				for (unsigned b = 0; b < size_bytes[code]; b++)
					frame[5 + id_bytes[id] + b] = (uint8_t)(content >> (8 * b));
				assert_int_equal(inflater_zstd_suits((struct span){frame, size}),
						 contents[i] <= 8 << 20);
				assert_false(inflater_zstd_suits((struct span){frame, size - 1}));
			}
}

/* ---- Sections ---- */

TEST(claimed_sizes)
{
	static const struct {
		enum compression how;
		uint64_t in, size;
		int err;
		unsigned noted;
	} table[] = {
		{COMPRESSION_ZLIB, 10, 10 * 1032, 0},
		{COMPRESSION_ZLIB, 10, 11 * 1032 - 1, 0},
		{COMPRESSION_ZLIB, 10, 11 * 1032, -EFBIG},
		{COMPRESSION_ZSTD, 1, 2 * 131072 - 1, 0},
		{COMPRESSION_ZSTD, 1, 2 * 131072, -EFBIG},
		{COMPRESSION_ZSTD, 3000, 256 << 20, 0},
		{COMPRESSION_ZSTD, 3000, (256 << 20) + 1, -EFBIG},
		{COMPRESSION_ZLIB, 4 << 20, (256 << 20) + 63, 0},
		{COMPRESSION_ZLIB, 4 << 20, (256 << 20) + 64, -EFBIG},
		{COMPRESSION_ZLIB, 1ULL << 60, 1ULL << 63, -ENOMEM},
		{COMPRESSION_ZLIB, 1ULL << 60, PTRDIFF_MAX, -ENOMEM, 1}, /* which the kernel refuses */
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct object_section s = {.compression = table[i].how,
					   .raw = {(const uint8_t *)"", table[i].in},
					   .full_size = table[i].size};
		int64_t before = mapped;
		if (table[i].in > SIZE_MAX)
			continue;
		noted = 0;
		assert_int_equal(section_reserve(&s), table[i].err);
		assert_int_equal(s.owned, !table[i].err);
		assert_int_equal(s.data.size, table[i].err ? 0 : table[i].size);
		assert_int_equal(mapped - before, table[i].err ? 0 : table[i].size);
		assert_int_equal(noted, table[i].noted);
		section_unload(&s);
		assert_int_equal(mapped, before);
		assert_null(s.data.data);
		assert_false(s.owned);
	}
}

TEST(loaded_sections)
{
	static uint8_t packed[PACKED_MOST];
	for (enum compression how = COMPRESSION_ZLIB; how <= COMPRESSION_ZSTD; how++) {
		size_t n = (how == COMPRESSION_ZLIB ? pack_zlib : pack_zstd)(plain, 50000, packed);
		for (int more = -1; more <= 1; more++) {
			struct object_section s = {.compression = how,
						   .raw = {packed, n},
						   .full_size = (uint64_t)(50000 + more)};
			int64_t before = mapped;
			assert_int_equal(section_load(&s), more ? -EBADMSG : 0);
			assert_int_equal(s.owned, !more);
			assert_int_equal(mapped - before, more ? 0 : 50000);
			if (more)
				continue;
			const uint8_t *data = s.data.data;
			assert_int_equal(section_load(&s), 0);
			assert_ptr_equal(s.data.data, data);
			assert_memory_equal(data, plain, 50000);
			assert_int_equal(section_input(&s), 50000 < n * 16 ? 50000 : n * 16);
			s.raw.size = 50000 / 16;
			assert_int_equal(section_input(&s), 50000);
			s.raw.size--;
			assert_int_equal(section_input(&s), 49984);
			section_unload(&s);
			section_unload(&s);
			assert_int_equal(mapped, before);
		}
		struct object_section empty = {.compression = how, .raw = {packed, n}};
		int64_t before = mapped;
		assert_int_equal(section_load(&empty), 0);
		assert_false(empty.owned);
		assert_int_equal(mapped, before);
		for (enum fault f = FAULT_MMAP; f <= FAULT_DECODER; f++) {
			struct object_section s = {
				.compression = how, .raw = {packed, n}, .full_size = 50000};
			fault = f;
			skipped = noted = 0;
			int err = section_load(&s);
			bool hit = skipped == UINT32_MAX;
			fault = FAULT_NONE;
			assert_int_equal(err, hit ? -ENOMEM : 0);
			assert_int_equal(noted, hit);
			if (hit)
				assert_int_equal(noted_size, f == FAULT_MMAP ? 50000 : 0);
			if (f == FAULT_MMAP || f == (how == COMPRESSION_ZLIB ? FAULT_CONTEXT : FAULT_DECODER))
				assert_true(hit);
			assert_int_equal(s.data.size, hit ? 0 : 50000);
			section_unload(&s);
			assert_int_equal(mapped, before);
		}
	}
	assert_int_equal(decompressors, 0);
	struct object_section s = {.raw = {plain, 77}};
	assert_int_equal(section_load(&s), 0);
	assert_ptr_equal(s.data.data, plain);
	assert_int_equal(s.data.size, 77);
	assert_false(s.owned);
	assert_int_equal(section_input(&s), 77);
	int64_t before = mapped;
	section_unload(&s);
	assert_null(s.data.data);
	assert_int_equal(mapped, before);
	s.compression = COMPRESSION_UNKNOWN;
	assert_int_equal(section_load(&s), -EBADMSG);
	assert_null(s.data.data);
}

int main(void)
{
	make_plain();
	return unit_run();
}

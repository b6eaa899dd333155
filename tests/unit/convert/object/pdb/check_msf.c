/* Streams of multi-stream files as a model knows them, which lays their blocks out in any order. */
#include "convert/object/pdb/pdb.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
			    "DS\0\0";

enum { STREAMS_MOST = 8, BYTES_MOST = 1 << 20 };

enum order { ORDER_UP, ORDER_DOWN, ORDER_SHUFFLED };

/* A file, and what its streams hold. */
struct model {
	uint32_t block_size, n_blocks, n_streams, directory_size, list_block;
	uint32_t sizes[STREAMS_MOST];
	uint8_t *streams[STREAMS_MOST];
	bool moved[STREAMS_MOST]; /* whether its blocks follow one another nowhere */
	uint8_t *file;
	size_t size;
	uint32_t seed;
};

static uint32_t chance(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(m->seed >> 8) * below >> 24);
}

static uint32_t blocks_for(const struct model *m, uint32_t size)
{
	return size == STREAM_SIZE_NONE ? 0 : (size + m->block_size - 1) / m->block_size;
}

static void put(struct model *m, size_t off, uint32_t v)
{
	store32(m->file + off, v, false);
}

static void write_header(struct model *m)
{
	memcpy(m->file, magic, sizeof(magic));
	put(m, 32, m->block_size);
	put(m, 36, 1);
	put(m, 40, m->n_blocks);
	put(m, 44, m->directory_size);
	put(m, 48, 0xdeadbeef);
	put(m, 52, m->list_block);
}

/* Numbers of @n blocks in some order, from @first on. */
static void list_blocks(struct model *m, enum order order, uint32_t first, uint32_t n, uint32_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = order == ORDER_DOWN ? first + n - 1 - i : first + i;
	for (uint32_t i = n; order == ORDER_SHUFFLED && i > 1; i--) {
		uint32_t k = chance(m, i), old = ret[i - 1];
		ret[i - 1] = ret[k];
		ret[k] = old;
	}
}

static void write_blocks(struct model *m, const uint32_t *blocks, const uint8_t *bytes, uint32_t size)
{
	for (uint32_t off = 0; off < size; off += m->block_size)
		memcpy(m->file + (size_t)blocks[off / m->block_size] * m->block_size, bytes + off,
		       size - off < m->block_size ? size - off : m->block_size);
}

/* Makes the file of @m, whose block size, streams and sizes are set. */
static void make_file(struct model *m, enum order order, enum order directory_order)
{
	uint32_t n = 0, numbers[2048];
	for (uint32_t i = 0; i < m->n_streams; i++)
		n += blocks_for(m, m->sizes[i]);
	m->directory_size = 4 + 4 * m->n_streams + 4 * n;
	uint32_t directory_blocks = blocks_for(m, m->directory_size);
	uint32_t list_blocks_needed = blocks_for(m, 4 * directory_blocks);
	m->n_blocks = 1 + n + directory_blocks + list_blocks_needed;
	m->list_block = m->n_blocks - list_blocks_needed;
	m->size = (size_t)m->n_blocks * m->block_size;
	m->file = calloc(1, m->size);
	uint8_t *directory = calloc(1, m->directory_size);
	assert_true(m->file && directory && n + directory_blocks < 2048);
	write_header(m);
	list_blocks(m, order, 1, n, numbers);
	list_blocks(m, directory_order, 1 + n, directory_blocks, numbers + n);
	store32(directory, m->n_streams, false);
	for (uint32_t i = 0, at = 0; i < m->n_streams; i++) {
		uint32_t size = m->sizes[i], k = blocks_for(m, size);
		store32(directory + 4 + 4 * (size_t)i, size, false);
		m->streams[i] = malloc(k * m->block_size + 1);
		assert_non_null(m->streams[i]);
		for (uint32_t b = 0; b < k * m->block_size; b++)
			m->streams[i][b] = (uint8_t)chance(m, 256);
		m->moved[i] = false;
		for (uint32_t b = 0; b < k; b++) {
			store32(directory + 4 + 4 * (size_t)(m->n_streams + at + b), numbers[at + b], false);
			m->moved[i] |= b && numbers[at + b] != numbers[at + b - 1] + 1;
		}
		if (k)
			write_blocks(m, numbers + at, m->streams[i], size);
		at += k;
	}
	write_blocks(m, numbers + n, directory, m->directory_size);
	for (uint32_t i = 0; i < directory_blocks; i++)
		put(m, (size_t)m->list_block * m->block_size + 4 * (size_t)i, numbers[n + i]);
	free(directory);
}

static void forget(struct model *m)
{
	for (uint32_t i = 0; i < m->n_streams; i++)
		free(m->streams[i]);
	free(m->file);
}

static void assert_part(const struct model *m, const struct msf *msf, uint32_t stream, uint64_t off,
			uint64_t size)
{
	struct pdb_bytes got = {.copy = (void *)1};
	uint32_t whole = m->sizes[stream];
	int err = msf_read(msf, stream, off, size, &got);
	assert_int_equal(err, off > whole || size > whole - off ? -EBADMSG : 0);
	assert_int_equal(got.bytes.size, err ? 0 : size);
	if (!err && size)
		assert_memory_equal(got.bytes.data, m->streams[stream] + off, size);
	if (!m->moved[stream])
		assert_null(got.copy);
	if (!got.copy && got.bytes.data)
		assert_in_range(got.bytes.data - m->file, 0, m->size - size);
	pdb_bytes_free(&got);
	assert_null(got.copy);
}

static void assert_streams(struct model *m, const struct msf *msf)
{
	struct pdb_bytes none;
	uint32_t size;
	for (uint32_t i = 0; i < m->n_streams; i++) {
		if (m->sizes[i] == STREAM_SIZE_NONE) {
			assert_int_equal(msf_stream_size(msf, i, &size), -ENOENT);
			assert_int_equal(msf_read(msf, i, 0, 0, &none), -ENOENT);
			assert_null(none.copy);
			continue;
		}
		assert_int_equal(msf_stream_size(msf, i, &size), 0);
		assert_int_equal(size, m->sizes[i]);
		assert_part(m, msf, i, 0, size);
		assert_part(m, msf, i, 0, (uint64_t)size + 1);
		assert_part(m, msf, i, size, 0);
		assert_part(m, msf, i, size, 1);
		assert_part(m, msf, i, (uint64_t)size + 1, 0);
		assert_part(m, msf, i, UINT64_MAX, 2);
		for (int k = 0; size && k < 12; k++) {
			uint32_t off = chance(m, size);
			assert_part(m, msf, i, off, chance(m, size - off + 1));
		}
		for (uint32_t edge = m->block_size; edge <= size; edge += m->block_size) {
			assert_part(m, msf, i, edge - 1, 1);
			assert_part(m, msf, i, edge - 1, size > edge ? 2 : 1);
			assert_part(m, msf, i, edge, size - edge);
			assert_part(m, msf, i, 0, edge);
		}
	}
	assert_int_equal(msf_stream_size(msf, m->n_streams, &size), -ENOENT);
	assert_int_equal(msf_stream_size(msf, UINT32_MAX, &size), -ENOENT);
	assert_int_equal(msf_read(msf, m->n_streams, 0, 1, &none), -ENOENT);
}

static struct span bytes_of(const struct model *m)
{
	return (struct span){m->file, m->size};
}

/* The same before all of the directory is read and after. */
TEST(any_layout)
{
	static const uint32_t block_sizes[] = {512, 1024, 4096, 65536};
	for (uint32_t round = 0; round < 48; round++) {
		struct model m = {.block_size = block_sizes[round % 16 == 15 ? 3 : round % 3], .seed = round};
		struct msf msf;
		long before = live;
		m.n_streams = chance(&m, STREAMS_MOST + 1);
		for (uint32_t i = 0; i < m.n_streams; i++)
			switch (chance(&m, 6)) {
			case 0: m.sizes[i] = STREAM_SIZE_NONE; break;
			case 1: m.sizes[i] = 0; break;
			case 2: m.sizes[i] = m.block_size * (1 + chance(&m, 3)); break;
			default: m.sizes[i] = 1 + chance(&m, m.block_size * 4); break;
			}
		if (m.n_streams && m.block_size == 512 && round % 4 == 0)
			m.sizes[0] = 512 * (150 + chance(&m, 300)); /* the directory has several blocks */
		make_file(&m, round % 3, round / 3 % 3);
		assert_true(msf_probe(bytes_of(&m)));
		assert_int_equal(msf_open(bytes_of(&m), &msf, NULL), 0);
		assert_int_equal(msf.block_size, m.block_size);
		assert_int_equal(msf.n_blocks, m.n_blocks);
		assert_int_equal(msf.n_streams, m.n_streams);
		assert_streams(&m, &msf);
		assert_int_equal(msf_load(&msf, NULL), 0);
		assert_non_null(msf.first);
		assert_non_null(msf.directory.bytes.data);
		const void *first = msf.first;
		assert_int_equal(msf_load(&msf, NULL), 0);
		assert_ptr_equal(msf.first, first);
		assert_streams(&m, &msf);
		msf_close(&msf);
		msf_close(&msf);
		forget(&m);
		assert_int_equal(live, before);
	}
}

TEST(only_its_magic)
{
	uint8_t bytes[sizeof(magic)];
	memcpy(bytes, magic, sizeof(magic));
	assert_true(msf_probe((struct span){bytes, sizeof(bytes)}));
	assert_false(msf_probe((struct span){bytes, sizeof(bytes) - 1}));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 1;
		assert_false(msf_probe((struct span){bytes, sizeof(bytes)}));
		bytes[i] ^= 1;
	}
}

/* Three streams, the last of two blocks that are not in order. */
static struct model small_file(void)
{
	struct model m = {.block_size = 512, .n_streams = 3, .sizes = {100, 512, 700}, .seed = 7};
	make_file(&m, ORDER_DOWN, ORDER_UP);
	return m;
}

static int open_file(const struct model *m, size_t size, struct msf *ret, char text[static 128])
{
	struct gsym_diag diag = {""};
	int err = msf_open((struct span){m->file, size}, ret, &diag);
	snprintf(text, 128, "%.127s", diag.text);
	return err;
}

static void assert_refused(struct model *m, size_t size, const char *why)
{
	struct msf msf = {.n_streams = 77};
	char text[128] = "";
	assert_int_equal(open_file(m, size, &msf, text), -EBADMSG);
	assert_int_equal(msf.n_streams, 77);
	assert_string_equal(text, why);
}

TEST(headers)
{
	static const uint32_t bad[] = {0, 1, 256, 511, 513, 768, 1025, 65535, 65537, 131072, 0x80000000};
	static const char outside[] = "the directory of the PDB, %u bytes, is outside of the file";
	struct model m = small_file();
	struct msf msf;
	char text[128];
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put(&m, 32, bad[i]);
		snprintf(text, sizeof(text), "block size %u of the PDB is none", bad[i]);
		assert_refused(&m, m.size, text);
	}
	put(&m, 32, m.block_size);
	assert_refused(&m, 55, "block size 512 of the PDB is none");
	snprintf(text, sizeof(text), "truncated: %zu bytes, but its header counts %u blocks of 512 bytes",
		 m.size - 1, m.n_blocks);
	assert_refused(&m, m.size - 1, text);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	/* The list of the directory's one block, in the last four bytes of the file and past them. */
	assert_int_equal(m.directory_size, 4 + 3 * 4 + 4 * 4);
	uint32_t directory = load32(m.file + (size_t)m.list_block * 512, false);
	put(&m, 52, m.n_blocks);
	snprintf(text, sizeof(text), outside, m.directory_size);
	assert_refused(&m, m.size, text);
	put(&m, 52, UINT32_MAX);
	assert_refused(&m, m.size, text);
	m.file = realloc(m.file, m.size + 4);
	put(&m, m.size, directory);
	put(&m, 52, m.n_blocks);
	assert_refused(&m, m.size + 3, text);
	assert_int_equal(open_file(&m, m.size + 4, &msf, text), 0);
	assert_int_equal(msf.n_streams, 3);
	forget(&m);
}

/* The directory's size has room for the sizes of its streams, and for the number of them. */
TEST(directories)
{
	static const char damaged[] = "the directory of the PDB is damaged";
	struct model m = small_file();
	struct msf msf;
	char text[128];
	uint32_t number = load32(m.file + (size_t)m.list_block * 512, false);
	put(&m, 44, 16);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	put(&m, 44, 15);
	assert_refused(&m, m.size, damaged);
	put(&m, 44, 3);
	assert_refused(&m, m.size, "the directory of the PDB, 3 bytes, is outside of the file");
	put(&m, (size_t)number * 512, 0);
	put(&m, 44, 4);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_int_equal(msf.n_streams, 0);
	assert_int_equal(msf_load(&msf, NULL), 0);
	msf_close(&msf);
	put(&m, (size_t)m.list_block * 512, m.n_blocks);
	assert_refused(&m, m.size, damaged);
	put(&m, (size_t)m.list_block * 512, UINT32_MAX);
	assert_refused(&m, m.size, damaged);
	forget(&m);
}

static void assert_not_loaded(struct msf *msf)
{
	struct gsym_diag diag = {""};
	long before = live;
	assert_int_equal(msf_load(msf, &diag), -EBADMSG);
	assert_string_equal(diag.text, "the directory of the PDB is damaged");
	assert_null(msf->first);
	assert_null(msf->directory.bytes.data);
	assert_int_equal(live, before);
}

/* All streams have as many blocks as are listed, and as the file has, or fewer. */
TEST(counted_blocks)
{
	struct model m = small_file();
	struct msf msf;
	char text[128];
	size_t directory = (size_t)load32(m.file + (size_t)m.list_block * 512, false) * 512;
	put(&m, 44, m.directory_size - 4);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_not_loaded(&msf);
	put(&m, 44, m.directory_size);
	/* A stream of 1025 bytes, whose list has only two blocks. */
	put(&m, directory + 12, 1025);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_not_loaded(&msf);
	struct pdb_bytes bytes;
	assert_int_equal(msf_read(&msf, 2, 0, 1025, &bytes), -EBADMSG);
	/* As many blocks as the file has, and one more; the list is long enough for both. */
	put(&m, 44, 16 + 4 * 20);
	for (uint32_t more = 0; more < 2; more++) {
		put(&m, directory + 12, (m.n_blocks - 2 + more) * 512);
		assert_int_equal(open_file(&m, m.size, &msf, text), 0);
		if (more) {
			assert_not_loaded(&msf);
			continue;
		}
		assert_int_equal(msf_load(&msf, NULL), 0);
		assert_int_equal(msf.first[0], 0);
		assert_int_equal(msf.first[1], 1);
		assert_int_equal(msf.first[2], 2);
		msf_close(&msf);
	}
	/* A stream that has all of them leaves none to those after it, nor does one of a huge size. */
	put(&m, directory + 4, m.n_blocks * 512);
	put(&m, directory + 12, 700);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_not_loaded(&msf);
	put(&m, directory + 4, UINT32_MAX - 1);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_not_loaded(&msf);
	assert_int_equal(msf_read(&msf, 1, 0, 1, &bytes), -EBADMSG);
	forget(&m);
}

/* A block past those that the header counts may be cut. */
TEST(last_block)
{
	struct model m = small_file();
	struct msf msf;
	struct pdb_bytes bytes;
	char text[128];
	size_t directory = (size_t)load32(m.file + (size_t)m.list_block * 512, false) * 512;
	size_t lists = directory + 16;
	m.file = realloc(m.file, m.size + 100);
	memset(m.file + m.size, 'x', 100);
	put(&m, lists, m.n_blocks);
	assert_int_equal(open_file(&m, m.size + 100, &msf, text), 0);
	assert_int_equal(msf_read(&msf, 0, 0, 100, &bytes), 0);
	assert_ptr_equal(bytes.bytes.data, m.file + m.size);
	assert_int_equal(open_file(&m, m.size + 99, &msf, text), 0);
	assert_int_equal(msf_read(&msf, 0, 0, 100, &bytes), -EBADMSG);
	assert_int_equal(msf_read(&msf, 0, 1, 98, &bytes), 0);
	assert_int_equal(msf_read(&msf, 0, 1, 99, &bytes), -EBADMSG);
	/* The same as the second block of a stream whose blocks are not in order. */
	put(&m, lists + 12, m.n_blocks);
	assert_int_equal(open_file(&m, m.size + 100, &msf, text), 0);
	assert_int_equal(msf_read(&msf, 2, 0, 612, &bytes), 0);
	assert_memory_equal((const uint8_t *)bytes.bytes.data + 512, m.file + m.size, 100);
	pdb_bytes_free(&bytes);
	long before = live;
	assert_int_equal(msf_read(&msf, 2, 0, 613, &bytes), -EBADMSG);
	assert_null(bytes.bytes.data);
	assert_int_equal(live, before);
	forget(&m);
}

/* No copy is larger than the file, however often a stream names its blocks. */
TEST(repeated_blocks)
{
	struct model m = small_file();
	struct msf msf;
	struct pdb_bytes bytes;
	char text[128];
	size_t directory = (size_t)load32(m.file + (size_t)m.list_block * 512, false) * 512;
	put(&m, 44, 512);
	put(&m, directory + 12, 100 * 512);
	for (uint32_t i = 0; i < 100; i++)
		put(&m, directory + 16 + 4 * (2 + (size_t)i), 1 + i % 2);
	assert_int_equal(open_file(&m, m.size, &msf, text), 0);
	assert_int_equal(msf_read(&msf, 2, 0, m.size, &bytes), 0);
	assert_non_null(bytes.copy);
	assert_int_equal(bytes.bytes.size, m.size);
	for (size_t i = 0; i < m.size; i++)
		assert_int_equal(bytes.bytes.data[i], m.file[512 + i % 1024]);
	pdb_bytes_free(&bytes);
	assert_int_equal(msf_read(&msf, 2, 0, m.size + 1, &bytes), -EBADMSG);
	forget(&m);
}

/* Whichever allocation fails, nothing is lost, and the next time succeeds. */
TEST(no_memory)
{
	struct model m = {.block_size = 512, .n_streams = 4, .sizes = {512 * 300, 7, 1500, 3}, .seed = 9};
	struct msf msf;
	struct pdb_bytes bytes;
	make_file(&m, ORDER_DOWN, ORDER_DOWN);
	long before = live;
	assert_int_equal(msf_open(bytes_of(&m), &msf, NULL), 0);
	for (int loaded = 0; loaded < 2; loaded++) {
		long n = 0;
		for (int err = -ENOMEM; err; n++) {
			allowed = n;
			err = msf_read(&msf, 2, 3, 1400, &bytes);
			allowed = -1;
			assert_int_equal(err, err ? -ENOMEM : 0);
			if (err)
				assert_null(bytes.copy);
		}
		assert_true(n > 1);
		assert_memory_equal(bytes.bytes.data, m.streams[2] + 3, 1400);
		pdb_bytes_free(&bytes);
		for (long k = 0; !loaded && !msf.first; k++) {
			struct gsym_diag diag = {""};
			allowed = k;
			int err = msf_load(&msf, &diag);
			allowed = -1;
			assert_int_equal(err, k < 2 ? -ENOMEM : 0);
			assert_string_equal(diag.text, err ? "out of memory" : "");
			if (err)
				assert_int_equal(live, before);
		}
	}
	msf_close(&msf);
	forget(&m);
}

/* Objects of a store: what damage is found, what is signed, and that hostile ones cost little. */
#include "store/client/store_object.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include <xxhash.h>
#include <zstd.h>

#include "gsym/base/file_io.h"
#include "tests/lib/unit.h"
#include "tests/unit/store/client/key_files.h"

enum { MOST = 64 << 20, LARGE = 3 << 20, SIZE = 152 };

static const uint8_t payload[] = "payload of a test\n";
static const struct span small = {payload, sizeof(payload) - 1};

/* What "openssl pkeyutl -sign -rawin" makes of the message and the key of key_files.h. */
static const uint8_t known_signature[64] = {
	0x0d, 0xbc, 0x6e, 0x3a, 0x08, 0x40, 0xdc, 0x3a, 0x5f, 0xb5, 0x50, 0xee, 0xff, 0x8f, 0x9f, 0xe5,
	0x88, 0xba, 0x36, 0x1d, 0x9f, 0x36, 0xdf, 0x81, 0xe8, 0x02, 0xda, 0xc6, 0x38, 0xe6, 0xe5, 0xdd,
	0x41, 0xe3, 0x1e, 0x19, 0xd6, 0x22, 0x14, 0xd8, 0x66, 0x59, 0xee, 0x90, 0xb2, 0x17, 0x29, 0xce,
	0xca, 0x47, 0xb4, 0xc8, 0x1b, 0x8c, 0x02, 0xf0, 0x65, 0x8e, 0xe1, 0x9d, 0xa6, 0x3c, 0x6b, 0x02};

static struct store_key known_key(void)
{
	struct store_key key;
	for (size_t i = 0; i < STORE_DIGEST; i++)
		key.digest[i] = (uint8_t)i;
	return key;
}

static int setup(void **state)
{
	key_files_set_up(state);
	const struct key_files *files = *state;
	write_keys(files->secret, KNOWN_SECRET, 0600);
	write_keys(files->trusted, KNOWN_PUBLIC, 0600);
	return 0;
}

static struct store_trust *open_trust(const char *sign_key, const char *trusted_keys)
{
	struct store_trust *trust;
	assert_int_equal(trust_open(sign_key, trusted_keys, &trust, NULL), 0);
	return trust;
}

/* ---- Objects in files ---- */

struct object {
	int fd;
	uint64_t size;
};

static struct object empty_object(void)
{
	struct object object = {.fd = memfd_create("object", MFD_CLOEXEC)};
	assert_true(object.fd >= 0);
	return object;
}

static struct object make(struct span bytes, bool compress, struct store_trust *trust)
{
	struct object object = empty_object();
	struct store_key key = known_key();
	assert_int_equal(
		object_write(object.fd, &key, OBJECT_CONVERSION, bytes, compress, trust, &object.size, NULL),
		0);
	assert_int_equal(lseek(object.fd, 0, SEEK_END), object.size);
	return object;
}

static void read_bytes(const struct object *object, uint64_t off, void *to, size_t size)
{
	assert_int_equal(read_all(object->fd, to, size, (off_t)off), 0);
}

static void flip(const struct object *object, uint64_t bit)
{
	uint8_t byte;
	read_bytes(object, bit / 8, &byte, 1);
	byte ^= (uint8_t)(1 << bit % 8);
	assert_int_equal(write_all(object->fd, &byte, 1, (off_t)(bit / 8)), 0);
}

static int check(const struct object *object, const struct store_key *key, struct store_trust *trust,
		 struct object_trailer *ret)
{
	struct gsym_diag diag = {""};
	int err = object_check(object->fd, object->size, key, trust, ret, &diag);
	assert_true(!err == !diag.text[0]);
	return err;
}

static int check_known(const struct object *object, struct store_trust *trust)
{
	struct store_key key = known_key();
	struct object_trailer trailer;
	return check(object, &key, trust, &trailer);
}

static uint64_t written; /* bytes, by the next */

/* Makes @object what is unpacked of it. */
static int unpack(struct object *object, uint64_t most)
{
	struct gsym_diag diag = {""};
	struct object unpacked = empty_object();
	struct object_trailer trailer;
	int err = object_unpack(object->fd, object->size, unpacked.fd, most, &trailer, &diag);
	assert_true(!err == !diag.text[0]);
	unpacked.size = written = (uint64_t)lseek(unpacked.fd, 0, SEEK_END);
	if (!err) {
		assert_true(!trailer.flags && trailer.size == trailer.stored_size);
		assert_int_equal(written, trailer.size + OBJECT_TRAILER);
	}
	close(err ? unpacked.fd : object->fd);
	*object = err ? *object : unpacked;
	return err;
}

/* ---- What is written ---- */

TEST_OF(written_bytes, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, NULL);
	struct object object = make(small, true, trust);
	struct store_key key = known_key();
	uint8_t bytes[sizeof(payload) - 1 + OBJECT_TRAILER], zeros[76] = {0}, hash[16];
	XXH128_hash_t sum = XXH3_128bits(payload, small.size);
	assert_int_equal(object.size, sizeof(bytes));
	read_bytes(&object, 0, bytes, sizeof(bytes));
	const uint8_t *t = bytes + small.size;
	store64(hash, sum.low64, false);
	store64(hash + 8, sum.high64, false);
	assert_memory_equal(bytes, payload, small.size);
	assert_memory_equal(t, known_signature, 64);
	assert_memory_equal(t + 64, known_public, 32);
	assert_memory_equal(t + 96, key.digest, 32);
	assert_memory_equal(t + 128, hash, 16);
	assert_int_equal(load64(t + 144, false), small.size);
	assert_int_equal(load64(t + 152, false), small.size);
	assert_int_equal(load32(t + 160, false), OBJECT_CONVERSION);
	assert_int_equal(load32(t + 164, false), 0); /* too small to be worth compressing */
	assert_int_equal(load32(t + 168, false), 1);
	assert_memory_equal(t + 172, zeros, 76);
	assert_memory_equal(t + 248, "gsymobj1", 8);
	close(object.fd);
	trust_close(trust);
}

/* Bytes that compress well, or hardly. */
static uint8_t *many_bytes(size_t size, bool compressible)
{
	uint8_t *bytes = malloc(size);
	assert_non_null(bytes);
	uint64_t x = 1;
	for (size_t i = 0; i < size; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		bytes[i] = compressible ? (uint8_t)((i >> 4) & 0x3f) : (uint8_t)(x >> 56);
	}
	return bytes;
}

TEST_OF(round_trip, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	/* Around the size of blocks in which files are read and written. */
	static const size_t sizes[] = {1, 256 << 10, (256 << 10) + 1, 512 << 10, LARGE, LARGE + 1};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *bytes = many_bytes(sizes[i], true), *back = malloc(sizes[i]);
		struct object object = make((struct span){bytes, sizes[i]}, true, trust);
		if (sizes[i] > 1) {
			assert_true(object.size < sizes[i] / 2);
			assert_int_equal(check_known(&object, trust), -EBADMSG); /* compressed */
		}
		assert_int_equal(unpack(&object, sizes[i]), 0);
		assert_int_equal(object.size, sizes[i] + OBJECT_TRAILER);
		assert_int_equal(check_known(&object, trust), 0);
		read_bytes(&object, 0, back, sizes[i]);
		assert_memory_equal(bytes, back, sizes[i]);
		assert_int_equal(unpack(&object, sizes[i]), 0); /* nothing is left to be done */
		assert_int_equal(unpack(&object, sizes[i] - 1), -EFBIG);
		assert_int_equal(check_known(&object, trust), 0);
		close(object.fd);
		free(bytes);
		free(back);
	}
	trust_close(trust);
}

TEST(incompressible)
{
	uint8_t *bytes = many_bytes(LARGE, false);
	struct object object = make((struct span){bytes, LARGE}, true, NULL);
	assert_int_equal(object.size, LARGE + OBJECT_TRAILER);
	assert_int_equal(check_known(&object, NULL), 0);
	close(object.fd);
	free(bytes);
}

TEST(full_disk)
{
	struct store_key key = known_key();
	struct gsym_diag diag = {""};
	uint64_t size;
	int fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		skip();
	int err = object_write(fd, &key, OBJECT_CONVERSION, small, false, NULL, &size, &diag);
	assert_true(err < 0 && err != -EBADMSG && diag.text[0]);
	close(fd);
}

/* ---- Damage ---- */

TEST_OF(every_truncation, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	struct object object = make(small, false, trust);
	for (uint64_t size = 0; size < object.size; size++) {
		struct object cut = {object.fd, size};
		assert_int_equal(check_known(&cut, NULL), -EBADMSG);
		assert_int_equal(check_known(&cut, trust), -EBADMSG);
	}
	/* Cut after its size was read. */
	assert_int_equal(ftruncate(object.fd, (off_t)object.size - 1), 0);
	assert_int_equal(check_known(&object, NULL), -EBADMSG);
	close(object.fd);
	trust_close(trust);
}

TEST_OF(every_bit, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	struct object is_signed = make(small, false, trust), plain = make(small, false, NULL);
	for (uint64_t bit = 0; bit < is_signed.size * 8; bit++) {
		flip(&is_signed, bit);
		flip(&plain, bit);
		assert_int_not_equal(check_known(&is_signed, trust), 0);
		int err = check_known(&plain, NULL);
		assert_true(err == -EBADMSG || err == -EPROTO);
		flip(&is_signed, bit);
		flip(&plain, bit);
	}
	assert_int_equal(check_known(&is_signed, trust), 0);
	assert_int_equal(check_known(&plain, NULL), 0);
	close(is_signed.fd);
	close(plain.fd);
	trust_close(trust);
}

/* Of a compressed object every damage is found as well, when it is inflated or then. */
TEST(every_compressed_bit)
{
	uint8_t *bytes = many_bytes(4096, true);
	struct object object = make((struct span){bytes, 4096}, true, NULL);
	uint8_t original[4096];
	assert_true(object.size <= sizeof(original));
	read_bytes(&object, 0, original, object.size);
	for (uint64_t bit = 0; bit < object.size * 8; bit++) {
		struct object copy = empty_object();
		copy.size = object.size;
		assert_int_equal(write_all(copy.fd, original, object.size, 0), 0);
		flip(&copy, bit);
		int err = unpack(&copy, MOST);
		if (!err)
			err = check_known(&copy, NULL);
		/* A bit of the frame may say nothing about the content, such as one that is reserved. */
		if (err == 0) {
			uint8_t back[4096];
			assert_true(bit < (object.size - OBJECT_TRAILER) * 8);
			read_bytes(&copy, 0, back, sizeof(back));
			assert_memory_equal(back, bytes, sizeof(back));
		} else {
			assert_true(err == -EBADMSG || err == -EPROTO || err == -EFBIG);
		}
		close(copy.fd);
	}
	close(object.fd);
	free(bytes);
}

TEST_OF(another_key, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	struct object object = make(small, false, trust);
	struct store_key key = known_key();
	struct object_trailer trailer;
	assert_int_equal(check(&object, &key, trust, &trailer), 0);
	assert_true(trailer.is_signed && trailer.kind == OBJECT_CONVERSION);
	key.digest[31] ^= 1;
	assert_int_equal(check(&object, &key, NULL, &trailer), -EBADMSG);
	assert_int_equal(check(&object, &key, trust, &trailer), -EBADMSG);
	close(object.fd);
	trust_close(trust);
}

TEST(another_revision)
{
	struct object object = make(small, false, NULL);
	flip(&object, (small.size + 168) * 8 + 1);
	assert_int_equal(check_known(&object, NULL), -EPROTO);
	assert_int_equal(unpack(&object, MOST), -EPROTO);
	close(object.fd);
}

/* ---- Signatures ---- */

TEST_OF(is_unsigned, struct key_files, files)
{
	struct store_trust *trust = open_trust(NULL, files->trusted);
	struct object object = make(small, false, trust);
	assert_int_equal(check_known(&object, NULL), 0);
	assert_int_equal(check_known(&object, trust), -EPERM);
	close(object.fd);
	trust_close(trust);
}

TEST_OF(foreign_signer, struct key_files, files)
{
	char secret[128], public[128];
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	struct object object = make(small, false, trust);
	assert_int_equal(check_known(&object, trust), 0);
	close(object.fd);

	/* The key that signs is replaced, then the list. */
	assert_int_equal(trust_make_key(secret, public, NULL), 0);
	write_keys(files->secret, secret, 0600);
	object = make(small, false, trust);
	assert_int_equal(check_known(&object, trust), -EPERM);
	write_keys(files->trusted, public, 0600);
	assert_int_equal(check_known(&object, trust), 0);
	/* A list that cannot be read is a fault of this host, not of the object. */
	unlink(files->trusted);
	assert_int_equal(check_known(&object, trust), -ENOKEY);
	close(object.fd);
	trust_close(trust);
}

/* The signature of an object is of no use for another key, another kind or another payload. */
TEST_OF(replayed_signature, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, files->trusted);
	struct store_trust *without = open_trust(NULL, NULL);
	static const struct span others[] = {{payload, sizeof(payload) - 1}, {payload, sizeof(payload) - 2}};
	struct object object = make(small, false, trust);
	uint8_t proof[96];
	read_bytes(&object, small.size, proof, sizeof(proof));
	for (int i = 0; i < 3; i++) {
		struct object forged = empty_object();
		struct object_trailer trailer;
		struct store_key key = known_key();
		key.digest[0] ^= i == 0;
		assert_int_equal(object_write(forged.fd, &key, i == 1 ? OBJECT_FAILURE : OBJECT_CONVERSION,
					      others[i == 2], false, without, &forged.size, NULL),
				 0);
		off_t end = (off_t)(forged.size - OBJECT_TRAILER);
		assert_int_equal(write_all(forged.fd, proof, sizeof(proof), end), 0);
		assert_int_equal(check(&forged, &key, NULL, &trailer), 0);
		assert_int_equal(check(&forged, &key, trust, &trailer), -EPERM);
		close(forged.fd);
	}
	close(object.fd);
	trust_close(trust);
	trust_close(without);
}

TEST_OF(broken_key_file, struct key_files, files)
{
	struct store_trust *trust = open_trust(files->secret, NULL);
	struct store_key key = known_key();
	struct object object = empty_object();
	struct gsym_diag diag = {""};
	write_keys(files->secret, "gsymfs-secret-1 " KNOWN_SECRET_BASE64 "=\n", 0600);
	assert_int_equal(
		object_write(object.fd, &key, OBJECT_CONVERSION, small, false, trust, &object.size, &diag),
		-EBADMSG);
	assert_non_null(strstr(diag.text, files->secret));
	assert_null(strstr(diag.text, "nWGxne"));
	close(object.fd);
	trust_close(trust);
}

/* ---- Frames that cost more than they should ---- */

/* An object whose frame, of any bytes, is said to hold @size bytes. */
static struct object forge(const void *frame, size_t frame_size, uint64_t size)
{
	struct object object = make((struct span){(const uint8_t *)frame, frame_size}, false, NULL);
	uint8_t bytes[8];
	store64(bytes, size, false);
	assert_int_equal(write_all(object.fd, bytes, 8, (off_t)(frame_size + SIZE)), 0);
	store32(bytes, OBJECT_ZSTD, false);
	assert_int_equal(write_all(object.fd, bytes, 4, (off_t)(frame_size + 164)), 0);
	return object;
}

static int inflate_forged(const void *frame, size_t frame_size, uint64_t size, uint64_t most)
{
	struct object object = forge(frame, frame_size, size);
	int err = unpack(&object, most);
	/* No more was written than the frame was to hold. */
	assert_true(err == 0 || written <= size);
	close(object.fd);
	return err;
}

/* A frame of @blocks blocks of 128 KiB of one byte, whose header says that it holds @claim bytes. */
static size_t repeated_byte(uint8_t *to, unsigned blocks, uint32_t claim)
{
	static const uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x38}; /* a window of 128 KiB */
	memcpy(to, head, sizeof(head));
	store32(to + sizeof(head), claim, false);
	uint8_t *at = to + sizeof(head) + 4;
	for (unsigned i = 0; i < blocks; i++, at += 4) {
		uint32_t block = (128 << 10) << 3 | 1 << 1 | (i + 1 == blocks);
		store32(at, block | (uint32_t)'a' << 24, false);
	}
	return (size_t)(at - to);
}

TEST(expanding_frame)
{
	static uint8_t frame[10 + 4 * 1024];
	size_t size = repeated_byte(frame, 1024, 128 << 20);
	/* Claims more than is allowed: refused before a byte is written. */
	assert_int_equal(inflate_forged(frame, size, 128 << 20, MOST), -EFBIG);
	assert_int_equal(inflate_forged(frame, size, UINT64_MAX, UINT64_MAX), -EBADMSG);
	/* Claims less than it holds, in one place or in both. */
	assert_int_equal(inflate_forged(frame, size, 1 << 20, MOST), -EBADMSG);
	size = repeated_byte(frame, 1024, 1 << 20);
	assert_int_equal(inflate_forged(frame, size, 1 << 20, MOST), -EBADMSG);
	/* Claims more than it holds. */
	size = repeated_byte(frame, 8, 2 << 20);
	assert_int_equal(inflate_forged(frame, size, 2 << 20, MOST), -EBADMSG);
	/* The same frame is all right when it holds what it says. */
	size = repeated_byte(frame, 8, 1 << 20);
	assert_int_equal(inflate_forged(frame, size, 1 << 20, MOST), 0);
	/* But not with a byte after it. */
	assert_int_equal(inflate_forged(frame, size + 1, 1 << 20, MOST), -EBADMSG);
}

TEST(skippable_frames)
{
	static uint8_t frames[64 << 10];
	for (size_t at = 0; at < sizeof(frames); at += 8) {
		store32(frames + at, 0x184d2a50, false);
		store32(frames + at + 4, 0, false);
	}
	assert_int_equal(inflate_forged(frames, sizeof(frames), 0, MOST), -EBADMSG);
	assert_int_equal(inflate_forged(frames, sizeof(frames), 4096, MOST), -EBADMSG);
	/* After a frame that is all right. */
	size_t size = repeated_byte(frames, 8, 1 << 20);
	assert_int_equal(inflate_forged(frames, size + (sizeof(frames) - size) / 8 * 8, 1 << 20, MOST),
			 -EBADMSG);
}

TEST(large_window)
{
	uint8_t frame[64];
	size_t size = repeated_byte(frame, 8, 1 << 20);
	for (unsigned log = 17; log <= 41; log++) {
		frame[5] = (uint8_t)((log - 10) << 3);
		assert_int_equal(inflate_forged(frame, size, 1 << 20, MOST), log <= 23 ? 0 : -EBADMSG);
	}
}

TEST(two_frames)
{
	uint8_t frame[256];
	size_t one = ZSTD_compress(frame, sizeof(frame), payload, small.size, 3);
	assert_false(ZSTD_isError(one));
	memcpy(frame + one, frame, one);
	assert_int_equal(inflate_forged(frame, one, small.size, MOST), 0);
	assert_int_equal(inflate_forged(frame, 2 * one, small.size, MOST), -EBADMSG);
	assert_int_equal(inflate_forged(frame, 2 * one, 2 * small.size, MOST), -EBADMSG);
	for (size_t size = 0; size < one; size++)
		assert_int_equal(inflate_forged(frame, size, small.size, MOST), -EBADMSG);
}

/* What a frame holds has to be said in its header, so that nothing is decompressed that would be too much. */
TEST(frame_without_size)
{
	uint8_t frame[256] = {0};
	ZSTD_CCtx *context = ZSTD_createCCtx();
	for (int said = 0; said < 2; said++) {
		ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, said);
		size_t size = ZSTD_compress2(context, frame, sizeof(frame), payload, small.size);
		assert_false(ZSTD_isError(size));
		assert_int_equal(inflate_forged(frame, size, small.size, MOST), said ? 0 : -EBADMSG);
		/* The whole is one frame, not one after another that is skipped. */
		memmove(frame + 8, frame, size);
		store32(frame, 0x184d2a50, false);
		store32(frame + 4, 0, false);
		assert_int_equal(inflate_forged(frame, size + 8, small.size, MOST), -EBADMSG);
	}
	ZSTD_freeCCtx(context);
}

EACH_TEST(setup, key_files_tear_down)

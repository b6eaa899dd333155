#include "store/client/store_object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "store/client/sodium.h"
#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum {
	BLOCK = 256 << 10,
	LEVEL = 3,
	WINDOW_LOG_MAX = 23, /* 8 MiB, what every decoder should support (RFC 8878); level 3 needs less */
	ZSTD_BEST_RATIO = 128 << 10, /* a block of 128 KiB for one byte and its header */
	FRAME_MAGIC = 0xfd2fb528,

	/* Places in the trailer. */
	AT_SIGNATURE = 0,
	AT_SIGNER = 64,
	AT_KEY = 96,
	AT_HASH = 128,
	AT_STORED_SIZE = 144,
	AT_SIZE = 152,
	AT_KIND = 160,
	AT_FLAGS = 164,
	AT_REVISION = 168,
	AT_PADDING = 172,
	AT_MAGIC = 248,

	MESSAGE_SIZE = 8 + STORE_DIGEST + 4 + 8 + STORE_DIGEST,
};

static const uint8_t magic[8] = {'g', 's', 'y', 'm', 'o', 'b', 'j', '1'}, zeros[AT_MAGIC - AT_PADDING];

/* ---- The trailer ---- */

static void trailer_encode(const struct object_trailer *t, uint8_t ret[static OBJECT_TRAILER])
{
	memset(ret, 0, OBJECT_TRAILER);
	if (t->is_signed) {
		memcpy(ret + AT_SIGNATURE, t->signature, sizeof(t->signature));
		memcpy(ret + AT_SIGNER, t->signer, sizeof(t->signer));
	}
	memcpy(ret + AT_KEY, t->key.digest, STORE_DIGEST);
	memcpy(ret + AT_HASH, t->hash, sizeof(t->hash));
	store64(ret + AT_STORED_SIZE, t->stored_size, false);
	store64(ret + AT_SIZE, t->size, false);
	store32(ret + AT_KIND, t->kind, false);
	store32(ret + AT_FLAGS, t->flags, false);
	store32(ret + AT_REVISION, OBJECT_REVISION, false);
	memcpy(ret + AT_MAGIC, magic, sizeof(magic));
}

static int write_trailer(int fd, const struct object_trailer *t)
{
	uint8_t bytes[OBJECT_TRAILER];
	trailer_encode(t, bytes);
	return write_all(fd, bytes, sizeof(bytes), (off_t)t->stored_size);
}

/* Whether the sizes are those of a file of @file_size. */
static bool sizes_fit(const struct object_trailer *t, uint64_t file_size)
{
	if (t->stored_size != file_size - OBJECT_TRAILER)
		return false;
	return t->flags & OBJECT_ZSTD ? t->size / ZSTD_BEST_RATIO <= t->stored_size
				      : t->size == t->stored_size;
}

static int trailer_decode(const uint8_t *from, uint64_t file_size, struct object_trailer *ret,
			  struct gsym_diag *diag)
{
	struct object_trailer t = {.stored_size = load64(from + AT_STORED_SIZE, false),
				   .size = load64(from + AT_SIZE, false),
				   .flags = load32(from + AT_FLAGS, false)};
	uint32_t kind = load32(from + AT_KIND, false), revision = load32(from + AT_REVISION, false);
	memcpy(t.key.digest, from + AT_KEY, STORE_DIGEST);
	memcpy(t.hash, from + AT_HASH, sizeof(t.hash));
	memcpy(t.signer, from + AT_SIGNER, sizeof(t.signer));
	memcpy(t.signature, from + AT_SIGNATURE, sizeof(t.signature));
	bool has_signer = memcmp(t.signer, zeros, sizeof(t.signer)) != 0;
	t.is_signed = memcmp(t.signature, zeros, sizeof(t.signature)) != 0;
	if (memcmp(from + AT_MAGIC, magic, sizeof(magic)) != 0)
		return diag_set(diag, -EBADMSG, "no trailer at the end: truncated, or no object of a store");
	if (revision != OBJECT_REVISION)
		return diag_set(diag, -EPROTO, "an object of revision %u instead of %d", (unsigned)revision,
				OBJECT_REVISION);
	if (kind != OBJECT_CONVERSION && kind != OBJECT_FAILURE)
		return diag_set(diag, -EBADMSG, "damaged: of the unknown kind %u", (unsigned)kind);
	if (t.flags & ~(uint32_t)OBJECT_ZSTD || has_signer != t.is_signed ||
	    memcmp(from + AT_PADDING, zeros, sizeof(zeros)) != 0)
		return diag_set(diag, -EBADMSG, "damaged: no such trailer is written");
	if (!sizes_fit(&t, file_size))
		return diag_set(diag, -EBADMSG,
				"damaged: the sizes in the trailer do not fit the size of the file");
	t.kind = (enum object_kind)kind;
	*ret = t;
	return 0;
}

int object_read_trailer(int fd, uint64_t file_size, struct object_trailer *ret, struct gsym_diag *diag)
{
	uint8_t bytes[OBJECT_TRAILER];
	if (file_size < OBJECT_TRAILER || file_size > INT64_MAX)
		return diag_set(diag, -EBADMSG, "truncated: %llu bytes are less than a trailer",
				(unsigned long long)file_size);
	int err = read_all(fd, bytes, sizeof(bytes), (off_t)(file_size - OBJECT_TRAILER));
	if (err)
		return diag_set(diag, err, "cannot read the trailer: %s", strerror(-err));
	return trailer_decode(bytes, file_size, ret, diag);
}

static void make_message(const struct object_trailer *t, const uint8_t *sha256,
			 uint8_t ret[static MESSAGE_SIZE])
{
	memcpy(ret, "gsymfs1", 8); /* with its NUL */
	memcpy(ret + 8, t->key.digest, STORE_DIGEST);
	store32(ret + 40, t->kind, false);
	store64(ret + 44, t->size, false);
	memcpy(ret + 52, sha256, STORE_DIGEST);
}

static void store_hash(XXH128_hash_t hash, uint8_t ret[static 16])
{
	store64(ret, hash.low64, false);
	store64(ret + 8, hash.high64, false);
}

/* ---- Writing ---- */

static void free_compressor(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

/* Writes @payload as a frame of less than @most bytes. 0 with its size, or with 0: it takes more. */
static int write_frame(int fd, struct span payload, uint64_t most, uint64_t *ret_size)
{
	CLEANUP(free_compressor) ZSTD_CCtx *context = ZSTD_createCCtx();
	CLEANUP(freep) uint8_t *block = malloc(BLOCK);
	ZSTD_inBuffer in = {payload.data, payload.size, 0};
	if (!context || !block)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setPledgedSrcSize(context, payload.size);
	*ret_size = 0;
	for (uint64_t off = 0; off < most;) {
		ZSTD_outBuffer out = {block, BLOCK, 0};
		size_t left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
		if (ZSTD_isError(left))
			return -ENOMEM; /* nothing else can fail */
		int err = write_all(fd, block, out.pos, (off_t)off);
		if (err)
			return err;
		off += out.pos;
		if (!left && off < most)
			*ret_size = off;
		if (!left)
			break;
	}
	return 0;
}

static int write_payload(int fd, struct span payload, bool compress, struct object_trailer *t)
{
	int err = 0;
	t->size = t->stored_size = payload.size;
	t->flags = 0;
	if (compress && payload.size)
		err = write_frame(fd, payload, payload.size - payload.size / 10, &t->stored_size);
	if (compress && payload.size && t->stored_size)
		t->flags = OBJECT_ZSTD;
	if (err || t->flags)
		return err;
	t->stored_size = payload.size;
	return ftruncate(fd, 0) ? -errno : write_all(fd, payload.data, payload.size, 0);
}

static int sign(struct object_trailer *t, struct span payload, struct store_trust *trust,
		struct gsym_diag *diag)
{
	uint8_t digest[STORE_DIGEST], message[MESSAGE_SIZE];
	if (!trust_signs(trust))
		return 0;
	const struct sodium *sodium = sodium_library(diag);
	if (!sodium)
		return diag_prefix(diag, -ELIBACC, "signatures need libsodium");
	sodium->sha256(digest, payload.data, payload.size);
	make_message(t, digest, message);
	int n = trust_sign(trust, message, sizeof(message), t->signer, t->signature, diag);
	t->is_signed = n > 0;
	return n < 0 ? n : 0;
}

int object_write(int fd, const struct store_key *key, enum object_kind kind, struct span payload,
		 bool compress, struct store_trust *trust, uint64_t *ret_size, struct gsym_diag *diag)
{
	struct object_trailer t = {.key = *key, .kind = kind};
	store_hash(XXH3_128bits(payload.data, payload.size), t.hash);
	int err = write_payload(fd, payload, compress, &t);
	if (err)
		return diag_set(diag, err, "cannot write the object: %s", strerror(-err));
	err = sign(&t, payload, trust, diag);
	if (err)
		return err;
	err = write_trailer(fd, &t);
	if (err)
		return diag_set(diag, err, "cannot write the trailer: %s", strerror(-err));
	*ret_size = t.stored_size + OBJECT_TRAILER;
	return 0;
}

/* ---- Decompressing ---- */

static void free_decompressor(ZSTD_DCtx **context)
{
	ZSTD_freeDCtx(*context);
}

/* One frame, which is no skippable one, that says how much is in it. */
static int check_header(struct span frame, uint64_t size, struct gsym_diag *diag)
{
	if (frame.size < 4 || load32(frame.data, false) != FRAME_MAGIC ||
	    ZSTD_getFrameContentSize(frame.data, frame.size) != size)
		return diag_set(diag, -EBADMSG, "damaged: no zstd frame of %llu bytes",
				(unsigned long long)size);
	return 0;
}

/* Writes what is in @frame, which is @size bytes, to @fd. */
static int inflate_frame(struct span frame, int fd, uint64_t size, struct gsym_diag *diag)
{
	CLEANUP(free_decompressor) ZSTD_DCtx *context = ZSTD_createDCtx();
	CLEANUP(freep) uint8_t *block = malloc(BLOCK);
	ZSTD_inBuffer in = {frame.data, frame.size, 0};
	uint64_t off = 0;
	size_t left = 1;
	if (!context || !block)
		return diag_set(diag, -ENOMEM, "cannot decompress: %s", strerror(ENOMEM));
	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	while (left) {
		ZSTD_outBuffer out = {block, BLOCK, 0};
		const size_t before = in.pos;
		left = ZSTD_decompressStream(context, &out, &in);
		if (ZSTD_isError(left))
			return diag_set(diag, -EBADMSG, "damaged: zstd: %s", ZSTD_getErrorName(left));
		if (out.pos > size - off)
			return diag_set(diag, -EBADMSG, "damaged: the zstd frame holds more than it says");
		if (left && !out.pos && in.pos == before)
			return diag_set(diag, -EBADMSG, "damaged: the zstd frame is truncated");
		int err = write_all(fd, block, out.pos, (off_t)off);
		if (err)
			return diag_set(diag, err, "cannot write: %s", strerror(-err));
		off += out.pos;
	}
	if (in.pos < in.size)
		return diag_set(diag, -EBADMSG, "damaged: bytes after the zstd frame");
	return off == size ? 0 : diag_set(diag, -EBADMSG, "damaged: the zstd frame is truncated");
}

/* Likewise what is in the frame of @stored_size bytes at the begin of @from. */
static int inflate(int from, uint64_t stored_size, int to, uint64_t size, struct gsym_diag *diag)
{
	void *at = stored_size ? file_map(from, stored_size, MAP_PRIVATE) : MAP_FAILED;
	if (stored_size && at == MAP_FAILED)
		return diag_set(diag, system_error(errno), "cannot map: %s", strerror(errno));
	const struct span frame = {at, (size_t)stored_size};
	int err = check_header(frame, size, diag);
	if (!err)
		err = inflate_frame(frame, to, size, diag);
	if (at != MAP_FAILED)
		munmap(at, (size_t)stored_size);
	return err;
}

int object_unpack(int from, uint64_t file_size, int to, uint64_t most, struct object_trailer *ret,
		  struct gsym_diag *diag)
{
	struct object_trailer t;
	int err = object_read_trailer(from, file_size, &t, diag);
	if (err)
		return err;
	if (t.size > most)
		return diag_set(diag, -EFBIG, "a payload of %llu bytes, of %llu that are allowed",
				(unsigned long long)t.size, (unsigned long long)most);
	if (t.flags & OBJECT_ZSTD)
		err = inflate(from, t.stored_size, to, t.size, diag);
	else if ((err = copy_all(from, to, t.size)))
		diag_set(diag, err, "cannot copy: %s", strerror(-err));
	if (err)
		return err;
	t.flags = 0;
	t.stored_size = t.size;
	err = write_trailer(to, &t);
	if (err)
		return diag_set(diag, err, "cannot write the trailer: %s", strerror(-err));
	*ret = t;
	return 0;
}

/* ---- Checking ---- */

struct payload_hashes {
	XXH3_state_t *xxh3;
	const struct sodium *sodium; /* NULL: without SHA-256 */
	crypto_hash_sha256_state sha256;
};

static int hash_block(void *user, const void *bytes, size_t n, uint64_t off)
{
	struct payload_hashes *h = user;
	(void)off;
	XXH3_128bits_update(h->xxh3, bytes, n);
	if (h->sodium)
		h->sodium->sha256_update(&h->sha256, bytes, n);
	return 0;
}

/* Both hashes of the first @size bytes; SHA-256 only @with_sha256. Reads once. */
static int hash_payload(int fd, uint64_t size, bool with_sha256, uint8_t ret_xxh3[static 16],
			uint8_t ret_sha256[static STORE_DIGEST])
{
	struct payload_hashes h = {.xxh3 = XXH3_createState(),
				   .sodium = with_sha256 ? sodium_library(NULL) : NULL};
	int err = !h.xxh3 ? -ENOMEM : with_sha256 && !h.sodium ? -ELIBACC : 0;
	if (!err) {
		XXH3_128bits_reset(h.xxh3);
		if (h.sodium)
			h.sodium->sha256_init(&h.sha256);
		err = read_blocks(fd, size, hash_block, &h);
	}
	if (!err)
		store_hash(XXH3_128bits_digest(h.xxh3), ret_xxh3);
	if (!err && h.sodium)
		h.sodium->sha256_final(&h.sha256, ret_sha256);
	XXH3_freeState(h.xxh3);
	return err;
}

static int check_payload(int fd, const struct object_trailer *t, struct store_trust *trust,
			 struct gsym_diag *diag)
{
	uint8_t xxh3[16], sha256[STORE_DIGEST], message[MESSAGE_SIZE];
	bool demanded = trust_is_demanded(trust);
	int err = hash_payload(fd, t->size, demanded, xxh3, sha256);
	if (err)
		return diag_set(diag, err, "cannot read: %s", strerror(-err));
	if (memcmp(xxh3, t->hash, sizeof(t->hash)) != 0)
		return diag_set(diag, -EBADMSG, "damaged: the hash does not match");
	if (!demanded)
		return 0;
	make_message(t, sha256, message);
	return trust_verify(trust, message, sizeof(message), t->signer, t->signature, diag);
}

int object_check(int fd, uint64_t file_size, const struct store_key *key, struct store_trust *trust,
		 struct object_trailer *ret, struct gsym_diag *diag)
{
	struct object_trailer t;
	int err = object_read_trailer(fd, file_size, &t, diag);
	if (err)
		return err;
	if (t.flags)
		return diag_set(diag, -EBADMSG, "damaged: still compressed");
	if (memcmp(t.key.digest, key->digest, STORE_DIGEST) != 0)
		return diag_set(diag, -EBADMSG, "the object of another key");
	if (trust_is_demanded(trust) && !t.is_signed)
		return diag_set(diag, -EPERM, "not signed");
	err = check_payload(fd, &t, trust, diag);
	if (err)
		return err;
	*ret = t;
	return 0;
}

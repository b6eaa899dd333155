/*
 * store_object.h - conversions and failures as objects of a store.
 *
 *	payload     as of its kind, or a zstd frame with it
 *	trailer     OBJECT_TRAILER bytes, integers little endian:
 *	  signature      64 bytes, Ed25519; 0: unsigned
 *	  signer         32 bytes, its public key; 0: unsigned
 *	  key            32 bytes, see store_key.h
 *	  hash           16 bytes, XXH3-128 of the payload, decompressed
 *	  stored_size    64 bits, bytes before the trailer
 *	  size           64 bits, of the payload, decompressed
 *	  kind           32 bits, enum object_kind
 *	  flags          32 bits, enum object_flags
 *	  revision       32 bits, OBJECT_REVISION
 *	  padding        44 bytes, 0
 *	  magic          8 bytes, "gsymobj1"
 *
 * Signed is "gsymfs1\0" | key | kind, 32 bits | size, 64 bits | SHA-256 of the payload, decompressed: an
 * object that is signed is of no use under another key, and how it is compressed does not matter. The key is
 * in the object, so that an intact object under the name of another is noticed, signed or not.
 */
#ifndef STORE_CLIENT_STORE_OBJECT_H
#define STORE_CLIENT_STORE_OBJECT_H

#include "store/client/store_key.h"
#include "store/client/store_trust.h"
#include "gsym/base/bytes.h"

enum { OBJECT_TRAILER = 256 };

enum object_kind {
	OBJECT_CONVERSION = 1, /* a file of the cache, with inputs in portable form: see share.h */
	OBJECT_FAILURE,        /* text: see share.h */
};

enum object_flags { OBJECT_ZSTD = 1 };

struct object_trailer {
	struct store_key key;
	enum object_kind kind;
	uint32_t flags;
	uint64_t stored_size, size;
	uint8_t hash[16];
	bool is_signed;
	uint8_t signer[32], signature[64];
};

/*
 * Reads the trailer at the end of @fd, of @file_size bytes. 0; -EBADMSG if it is none, or sizes do not fit;
 * -EPROTO if it is of another revision. Checks no hash.
 */
int object_read_trailer(int fd, uint64_t file_size, struct object_trailer *ret, struct gsym_diag *diag);

/*
 * Writes an object to @fd, which is empty: @payload, and the trailer. Compressed at level 3 with @compress,
 * unless that saves less than a tenth.
 *
 * @trust: signs if it has a key of its own; NULL: unsigned
 *
 * 0; -ENOMEM; -ELIBACC; the errno of writing, or of a key file that cannot be read.
 */
int object_write(int fd, const struct store_key *key, enum object_kind kind, struct span payload,
		 bool compress, struct store_trust *trust, uint64_t *ret_size, struct gsym_diag *diag);

/*
 * In the child's sandbox: makes an object that is not compressed, in @to, which is empty, of that in @from.
 *
 * @file_size: of @from
 * @most:      bytes that the payload may have
 * @ret:       the trailer, with flags and stored_size changed
 *
 * 0; -EBADMSG; -EPROTO if it is of another revision; -EFBIG; or the errno of reading and writing.
 */
int object_unpack(int from, uint64_t file_size, int to, uint64_t most, struct object_trailer *ret,
		  struct gsym_diag *diag);

/*
 * By the client, which trusts neither the store nor the child: whether the object in @fd, not compressed, is
 * that of @key, intact, and signed by a key that is trusted.
 *
 * 0; -EBADMSG: damaged, or of another key; -EPROTO: of another revision; -EPERM: unsigned, of an unknown
 * signer, or with a false signature, while @trust demands one; -ENOKEY: the keys cannot be read; or the errno
 * of reading.
 */
int object_check(int fd, uint64_t file_size, const struct store_key *key, struct store_trust *trust,
		 struct object_trailer *ret, struct gsym_diag *diag);

#endif

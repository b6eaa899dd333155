/*
 * identity.h - identifying a file without converting it.
 */
#ifndef CONVERT_IDENTITY_IDENTITY_H
#define CONVERT_IDENTITY_IDENTITY_H

#include "convert/object/object_file.h"
#include "gsym/base/bytes.h"
#include "gsym/gsym.h"
#include "work/types/image_identity.h"

#include <stddef.h>
#include <stdint.h>

struct identities {
	struct image_identity list[IDENTITIES_MAX]; /* id_size is 0 where the hash was not made */
	size_t n;
	struct gsym_diag lost; /* what the file seems to lack, see struct lost_bytes; else empty */
	uint64_t to_hash; /* bytes that ids are the hash of; above what was allowed, some were not made */
};

/*
 * Identifies the object files in a file: from headers and notes alone, and by a hash where these have no id.
 *
 * The hash is that of the whole file up to IMAGE_HASH_MAX bytes. Of a larger one it is the hash of what its
 * sections load into memory, if that is no more: the work is bounded although files may be as large as they
 * like on a disk that does not store zeros. The hash does not depend on how the file is stored.
 *
 * @fd:       stays the caller's
 * @name:     stands for the path in messages
 * @hash_max: bytes to hash at most
 * @ret:      one for each object file: none, one, or those of a fat file
 *
 * 0, also for a file that is no object file; -EBADMSG when it is a damaged one, -ENOTSUP when it has no id
 * and is too large for a hash, -ENOMEM, or what mapping it gave.
 */
int identify_descriptor(int fd, const char *name, uint64_t hash_max, struct identities *ret,
			struct gsym_diag *diag);

/* ---- The id that profiles of OpenTelemetry give any executable (htlhash.c) ---- */

/*
 * The first half of the SHA-256 of the head of @file, its tail and its length
 * ("process.executable.build_id.htlhash").
 */
void htlhash(struct span file, uint8_t ret[static HTLHASH_SIZE]);

enum { SHA256_SIZE = 32 };

/* FIPS 180-4 */
void sha256(const void *data, size_t size, uint8_t ret[static SHA256_SIZE]);

/* ---- The name that an object file gives itself ---- */

/*
 * DT_SONAME of an ELF file, else the name of its debug file (.gnu_debuglink) without ".debug", unless that is
 * an id; the last component of the install name (LC_ID_DYLIB) of a Mach-O file. "" when there is none, as in
 * separate debug files, which have no bytes for either.
 */
void program_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE]);

#endif

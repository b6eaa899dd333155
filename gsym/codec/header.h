/*
 * header.h - the header of a GSYM file and where its tables are (gsym(5), "Version 1" and "Version 2").
 *
 * Version 1 has a header of fixed size and its tables in a fixed order; version 2 has a directory. Both
 * decode to the same struct. Internal.
 */
#ifndef GSYM_CODEC_HEADER_H
#define GSYM_CODEC_HEADER_H

#include "gsym/base/invariant.h"
#include "gsym/base/bytes.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/format.h"
#include "gsym/gsym.h"

static_assert(V1_HEADER_SIZE == V1_UUID_OFF + V1_UUID_MAX, "the UUID ends the header of version 1");

enum { MAGIC_SIZE = 4 };

/* Whether a file that begins so is GSYM, in either byte order. */
static inline bool header_has_magic(const uint8_t bytes[static MAGIC_SIZE])
{
	return load32(bytes, false) == GSYM_MAGIC || load32(bytes, true) == GSYM_MAGIC;
}

/* File offset and bytes of a table, as the file states them. */
struct table_range {
	uint64_t off, size;
	bool present;
};

struct gsym_header {
	uint16_t version; /* 1 or 2 */
	bool big_endian;
	uint8_t addr_off_size; /* 1, 2, 4 or 8 */
	uint64_t base_address;
	uint32_t num_addresses;
	struct span uuid;                             /* borrowed; size 0 = none */
	struct table_range tables[GLOBAL_INFO_KNOWN]; /* by enum global_info */
};

/* What the first bytes of a file of either version tell: how many functions it has. */
enum { HEADER_NUM_ADDRESSES_OFF = 16, HEADER_START_SIZE = 20 };

static inline uint32_t header_num_addresses(const uint8_t start[static HEADER_START_SIZE])
{
	return load32(start + HEADER_NUM_ADDRESSES_OFF, load32(start, false) != GSYM_MAGIC);
}

/*
 * Decodes the header of @file. Of the tables, those of addresses are within the file, and in version 2 all
 * are; the others are checked with header_check_table(). In version 1 the file table ranges up to the end of
 * the file, as its size is not stated, and so do the records. -EBADMSG for damage, -ENOTSUP for an unknown
 * version or string encoding.
 */
int header_decode(struct span file, struct gsym_header *ret, struct gsym_diag *diag);

/* Whether table @type lies within a file of @file_size bytes: 0 or -EBADMSG. */
int header_check_table(const struct gsym_header *header, enum global_info type, uint64_t file_size,
		       struct gsym_diag *diag);

/* "string table" and the like, for messages. */
const char *header_table_name(enum global_info type);

/* Appends the header, in version 2 with the directory of all tables that are not empty, and the UUID. */
void header_encode(struct buf *out, const struct gsym_header *header);

#endif

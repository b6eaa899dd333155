/*
 * index.h - the images of each file of SOURCE, kept across mounts so that files need not be opened again.
 *
 * A record belongs to a device and inode and is valid while size and times are unchanged. The table is used
 * by the scan thread only. On disk it is one file in the cache directory, all little endian:
 *
 *	magic               8 bytes
 *	revision            32 bits: of this layout, and IDENTITY_REVISION
 *	reserved            32 bits, 0
 *	number of records   64 bits
 *	records             best in the order of a walk: dev, ino, size, mtime, ctime, time to look again
 *	                    (64 bits each); readers (16 bits); state, number of images, size of the reason
 *	                    (8 bits each); of each image kind, flags, sizes of id, arch, name and Go's
 *	                    build id (8 bits each); htlhash (16 bytes); id, arch, name, Go's build id; the
 *	                    reason why there are none, or what they lack
 *	checksum            64 bits: XXH3 of everything before it
 */
#ifndef FS_SCAN_INDEX_H
#define FS_SCAN_INDEX_H

#include <stdbool.h>
#include <sys/stat.h>

#include "work/cache/cache.h"
#include "work/cache/file_state.h"
#include "work/types/image_identity.h"
#include "gsym/base/bytes.h"
#include "gsym/base/hash_table.h"

enum record_state {
	RECORD_IDENTIFIED,
	RECORD_BAD,     /* malformed: has no images as long as it does not change */
	RECORD_GAVE_UP, /* a limit was reached: what it holds is unknown, and not asked again until @again */
	RECORD_STATE_LAST = RECORD_GAVE_UP, /* of those that are saved */
	RECORD_HASHING,                     /* it is being hashed for an id, see hash_lane.h */
};

struct file_record {
	struct table_link table;
	struct file_key key;
	uint32_t pass;    /* of the scan that saw it last */
	uint16_t readers; /* of record_set_readers() */
	uint8_t state;    /* enum record_state */
	uint8_t n_images; /* 0: it is no object file, or not identified */
	int64_t again;    /* in RECORD_GAVE_UP: seconds since the epoch */
	uint8_t *images;  /* as on disk, followed by the reason; owned */
	uint32_t order;   /* of the last walk: how many files it had visited before */
	uint8_t reason_size;
	uint8_t root; /* of the last scan: which of several sources has the file */
};

/*
 * Notes the permissions to read, at most 0444, that the access control list leaves to the file in the state
 * of its record. Only once the file is older than a step of the clock, so that another change shows in its
 * times: whether it is.
 */
bool record_set_readers(struct file_record *record, mode_t readers);

/* Those permissions; false if they are not known. */
bool record_readers(const struct file_record *record, mode_t *ret);

/* Makes the state of the file unknown, so that it is looked at again. */
void record_forget(struct file_record *record);

/* Zero-initialised is empty. */
struct index {
	struct table files;
};

void index_deinit(struct index *index);

/* The record of this device and inode, whatever its size and time; or NULL. */
struct file_record *index_find(const struct index *index, uint64_t dev, uint64_t ino);

/* Likewise, and creates a record of unknown state if there is none; NULL without memory. */
struct file_record *index_get(struct index *index, uint64_t dev, uint64_t ino);

/* Image @number of the file, below n_images. */
void record_image(const struct file_record *record, size_t number, struct image_identity *ret);

/*
 * Replaces what is known of the images in a file by a copy of @images, at most IDENTITIES_MAX. 0 or -ENOMEM.
 */
int record_set_images(struct file_record *record, const struct image_identity *images, size_t n);

enum { RECORD_REASON_MAX = 200 /* bytes; a longer one is cut */ };

/* Why the file has no images, or not those it had, or not all of them; forgotten with them. 0 or -ENOMEM. */
int record_set_reason(struct file_record *record, const char *reason);
/* "": none is known. */
void record_reason(const struct file_record *record, char ret[static RECORD_REASON_MAX + 1]);

/* Drops the record of this device and inode, if there is one. */
void index_remove(struct index *index, uint64_t dev, uint64_t ino);

/* Drops records that scan @pass did not see; whether there were any. */
bool index_sweep(struct index *index, uint32_t pass);

/* How many images all files have. */
size_t index_count_images(const struct index *index);

/* What the index has of source @root as bytes the caller frees: 0 or -ENOMEM. */
int index_encode(const struct index *index, unsigned root, void **ret_data, size_t *ret_size);

enum {
	INDEX_HEADER_SIZE = 8 + 4 + 4 + 8,
	INDEX_SIZE_MAX = 512 << 20, /* bytes; some millions of files */
};

/*
 * Whether a file of @file_size bytes that begins with @header (INDEX_HEADER_SIZE bytes) can be an index of
 * this revision, before the rest is read: 0 or -EBADMSG.
 */
int index_check_header(struct span header, uint64_t file_size);

/* Fills an empty index. Bytes that are not a whole index of this revision: -EBADMSG, and it stays empty. */
int index_decode(struct index *index, struct span data);

/* Adds the records of @part, those of source @root, which gets empty. A file that is there already stays. */
void index_merge(struct index *index, struct index *part, unsigned root);

/* ---- On disk: one file in the cache directory for each SOURCE ---- */

/*
 * Adds what is known of @source, an absolute path, the one with the number @root. A corrupt file is logged
 * and ignored, as is a missing one.
 */
void index_load(struct index *index, unsigned root, const struct cache *cache, const char *source);

/* Saves what is known of that source. A failure is logged; the next mount then identifies all files again. */
void index_save(const struct index *index, unsigned root, struct cache *cache, const char *source);

#endif

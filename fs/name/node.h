/*
 * node.h - inode numbers, and the table of inodes that exist because their names were looked up.
 *
 * An inode number never stands for two things within a mount. What the daemon knows anyway (directories of
 * images, fixed files, links) has a number computed from what it is, and needs no entry anywhere. Address
 * files have an entry here until the kernel forgets them.
 *
 * A file handle, as NFS servers keep it, is an inode number and a generation of 32 bits, and the kernel asks
 * with the number alone for what it has forgotten, or what a daemon before this one has told it. So numbers
 * are made of names and contents, not in the order of lookups: a number of an answer says of which image,
 * what was asked, and where. Generations tell apart what has the same number, before and after a restart: the
 * kernel compares them, and a handle is stale if they differ. What has no such number (sym/, base/, why/,
 * addresses far from their image) gets the next one of a counter, with the generation of the mount.
 */
#ifndef FS_NAME_NODE_H
#define FS_NAME_NODE_H

#include "gsym/base/hash_table.h"
#include "work/os/mutex.h"
#include <stdbool.h>
#include <stdint.h>

#include "fs/name/name.h"
#include "fs/sys/content.h"

/*
 * Keys of what inode numbers stand for, which do not depend on the order in which things were found, so that
 * a daemon finds again what another one gave out.
 *
 * A key is the end of the hash by which a table finds the object anyway: no other table is needed to find it
 * by its key. The second of two objects with the same end has its number as key instead, so that a key means
 * one thing. After a restart that may be the other one: the generation that goes with the inode number is
 * made of the beginning of the hash, and tells.
 */
enum { INODE_KEY_BITS = 28 };

#define INODE_KEY_ODD (1U << 29) /* and a number */

/* Whether an object with @hash, not yet in @table, needs its number as key. Key 0 is no object's. */
static inline bool inode_key_is_taken(const struct table *table, uint64_t hash)
{
	return !(hash & ((1U << INODE_KEY_BITS) - 1)) || table_first_end(table, hash, INODE_KEY_BITS);
}

/* @odd: it needed @number. */
static inline uint32_t inode_key(uint64_t hash, bool odd, uint32_t number)
{
	return odd ? INODE_KEY_ODD | number : (uint32_t)hash & ((1U << INODE_KEY_BITS) - 1);
}

/* What the key leaves out of @hash. Not 0. */
static inline uint32_t inode_generation(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

struct revision;

enum node_kind {
	NODE_FIXED, /* INO_ROOT; INO_FIXED and following: see fs/tree/fixed.c; INO_BATCH and following: q, by
		       batch_code(); INO_BUILD_ID and following */
	/* a is the key of an image, name or path, see inode_numbers.h; b of the first four: the version of
	 * the image and a code */
	NODE_IMAGE,      /* directory of an image; code: 0 */
	NODE_IMAGE_FILE, /* code: its row, see fs/tree/fixed.c */
	NODE_CONTEXT,    /* base, rva, off, ra, approximate, sym below an image; code: context_code() */
	NODE_BATCH,      /* q below an image; code: batch_code() */
	NODE_NAME,       /* by-name/<basename>; a: name */
	NODE_NAME_LINK,  /* by-name/<basename>/<id>; a: name, b: image */
	/* Another spelling of an id, or a link to a directory in an image; a: image, b: alias_code() */
	NODE_ALIAS,
	NODE_PATH_DIR,  /* by-path and the directories below it; a: path_dir */
	NODE_PATH_LINK, /* by-path/<path>; a: path_file, b: image */
	/* by-path/<path> of several images, a directory; a: path_file, the first of the chain */
	NODE_PATH_FAT,
	NODE_PATH_MEMBER, /* by-path/<path>/<id> in that; a: path_file, b: image */
	NODE_ADDRESS,     /* and the kinds above: in the table, see enum table_ino */
};

/* The two bits below those of NODE_ADDRESS. */
enum table_ino {
	INO_COUNTED,  /* and a counter */
	INO_SNAPSHOT, /* and the number of a file in the root, and a counter */
	INO_PLAIN,    /* and where, as struct answer_place has it, in an image: its text */
	INO_VARIANT,  /* and what was asked, and likewise */
};

enum {
	INO_ROOT = 1,
	INO_FIXED = 2,
	INO_BY_NAME = INO_FIXED,
	INO_WHY,
	INO_BATCH = 0x100,
	INO_BUILD_ID = 0x10000, /* and following: xx, the first byte of ids, by its value */
};

#define INO_ADDRESS ((uint64_t)NODE_ADDRESS << 60)
static_assert((int)NODE_ADDRESS == 12, "two bits say that a number is in the table");

/* ino_make() as a constant expression. */
#define INO_MAKE(kind, a, b) ((uint64_t)(kind) << 60 | (uint64_t)(a) << 30 | (b))
#define INO_BY_PATH          INO_MAKE(NODE_PATH_DIR, 0, 0)

/* The bits of b in numbers that belong to an image's version, and below them the code. */
enum { VERSION_BITS = 21, CODE_BITS = 9, CODE_MASK = (1 << CODE_BITS) - 1 };
static_assert((int)BATCH_CODES <= 1 << CODE_BITS, "the largest code");

/* Bits of a key in numbers of answers: of plain ones, which is all of a key, and of variants. */
enum { PLAIN_KEY_BITS = INODE_KEY_BITS, VARIANT_KEY_BITS = 21 };

static inline uint64_t ino_make(enum node_kind kind, uint32_t a, uint32_t b)
{
	return INO_MAKE(kind, a, b);
}

static inline enum node_kind ino_kind(uint64_t ino)
{
	return ino >= INO_ADDRESS ? NODE_ADDRESS : (enum node_kind)(ino >> 60);
}

static inline uint32_t ino_a(uint64_t ino)
{
	return ino >> 30 & ((1U << 30) - 1);
}

static inline uint32_t ino_b(uint64_t ino)
{
	return ino & ((1U << 30) - 1);
}

/* The text of a link to an image, or to a directory below it in which addresses mean something else. */
struct alias {
	unsigned up;     /* how many directories it is below the root */
	unsigned inside; /* the index of the directory in named_contexts[] plus one; 0: the image itself */
};

static inline uint32_t alias_code(struct alias alias)
{
	return alias.up | alias.inside << 4;
}

static inline struct alias alias_of(uint32_t code)
{
	return (struct alias){code & 15, code >> 4};
}

/* The directory of an image, or something in it that has a code. */
static inline bool ino_is_of_image(uint64_t ino)
{
	return (ino >> 60) - NODE_IMAGE <= NODE_BATCH - NODE_IMAGE;
}

/* What an inode number of an image says besides its code: which version of which image. */
static inline uint64_t ino_place(uint64_t ino)
{
	return (ino & ((UINT64_C(1) << 60) - 1)) >> CODE_BITS;
}

static inline uint32_t ino_code(uint64_t ino)
{
	return ino & CODE_MASK;
}

/* Of an inode number in the table. */
static inline enum table_ino ino_table(uint64_t ino)
{
	return (enum table_ino)(ino >> 60 & 3);
}

/* The file of the root that a snapshot is of: its number, which is small. */
static inline uint64_t ino_of_snapshot(uint64_t ino)
{
	return ino >> 52 & 0xff;
}

/* What the number of an answer says. */
struct answer_place {
	uint64_t key;           /* of the image: its last bits, */
	unsigned bits;          /* so many */
	int32_t distance;       /* of the address from the image's base, or from 0 if it counts from there */
	struct request request; /* but for the address */
};

/* Tells what the number of an answer says; false for other numbers. Pure, as all about these numbers. */
bool ino_answer_place(uint64_t ino, struct answer_place *ret);

/* The address at a distance from @base. */
uint64_t answer_place_address(const struct answer_place *place, uint64_t base);

/* ino_of_answer() of what is not the plain text of an address. */
uint64_t ino_of_variant(uint32_t key, const struct request *request, uint64_t base);

/* @kept: the bits above those of the distance. */
static inline uint64_t ino_at_distance(enum table_ino kind, uint64_t kept, uint64_t distance)
{
	bool fits = (int64_t)distance == (int32_t)distance;
	return fits ? INO_ADDRESS | (uint64_t)kind << 60 | kept << 32 | (uint32_t)distance : 0;
}

/*
 * The inode number of the answer to @request about the image whose key ends with PLAIN_KEY_BITS bits of @key,
 * and which is linked to @base; 0 if no number can say that. Each lookup of an address needs one.
 */
static inline uint64_t ino_of_answer(uint32_t key, const struct request *request, uint64_t base)
{
	const struct context *c = &request->context;
	if (request->kind != REQUEST_ADDRESS)
		return 0;
	if (c->space | c->is_return | c->near | c->why | request->raw | request->format)
		return ino_of_variant(key, request, base);
	return ino_at_distance(INO_PLAIN, key & ((1U << PLAIN_KEY_BITS) - 1), request->address - base);
}

static inline bool ino_is_build_id(uint64_t ino)
{
	return ino >= INO_BUILD_ID && ino < INO_BUILD_ID + 256;
}

/* A file q of the root. */
static inline bool ino_is_root_batch(uint64_t ino)
{
	return ino >= INO_BATCH && ino < INO_BATCH + BATCH_CODES;
}

/* What a node of the table is. */
enum node_is {
	NODE_IS_ADDRESS,  /* or a symbol */
	NODE_IS_CONTEXT,  /* a directory base/<load> */
	NODE_IS_BATCH,    /* q below one */
	NODE_IS_SNAPSHOT, /* a file of the root as it was when it was looked up */
};

/* An address file, or something below base. */
struct node {
	uint64_t ino;
	uint64_t number;           /* in the order of lookups */
	uint64_t lookups;          /* how many the kernel must forget before the node can go; 0: it has */
	struct node *next;         /* with the same hash */
	struct revision *revision; /* of the image it belongs to, pinned; NULL for a snapshot */
	uint64_t address;          /* of a snapshot: the inode number that stat(2) shows */
	struct context context;
	uint32_t generation; /* 0: that of the mount */
	uint32_t size;       /* of its content */
	uid_t reader;        /* of a snapshot: the only user who may read it, or NODE_ALL_READ */
	uint8_t is;          /* enum node_is */
	uint8_t format;      /* enum render_format */
	bool raw;
	char *symbol; /* of REQUEST_SYMBOL, terminated; its own */
	/* The content; NULL when memory for it ran short: made again when read, but a snapshot is lost. */
	struct content *content;
};

#define NODE_ALL_READ ((uid_t)-1)

enum {
	NODE_PAGE = 1024,
	NODE_CHUNK = 8, /* nodes allocated together: one that stays keeps the memory of as many, a kilobyte */
};

struct node_page;

struct nodes_counts {
	uint64_t used, made; /* now, and since the start */
	uint64_t content_bytes;
};

/* The table of address files. Numbers ascend, so that consecutive ones mostly go together. */
struct nodes {
	struct mutex lock; /* guards the nodes, too */
	uint64_t content_max;
	void (*unpin)(struct revision *revision); /* set after nodes_init(), before the first revision */
	struct node_page **pages GUARDED_BY(&lock);
	size_t n_pages GUARDED_BY(&lock), cap_pages GUARDED_BY(&lock);
	struct node **buckets GUARDED_BY(&lock); /* by inode number */
	size_t n_buckets GUARDED_BY(&lock);      /* a power of two, or 0 */
	size_t used GUARDED_BY(&lock);
	uint64_t next GUARDED_BY(&lock);          /* number of the next node */
	uint64_t content_bytes GUARDED_BY(&lock); /* bytes of content kept */
	uint64_t oldest GUARDED_BY(&lock);        /* all nodes before it have lost their content */
	struct nodes_counts snapshots GUARDED_BY(&lock);
};

/* What was asked for; a symbol is borrowed from the node. */
struct request node_request(const struct node *node);

/* @content_max: bytes of content kept for all nodes together. */
void nodes_init(struct nodes *nodes, uint64_t content_max);
void nodes_deinit(struct nodes *nodes);

/* What the kernel knows a node by. */
struct node_id {
	uint64_t ino;
	uint32_t generation; /* 0: that of the mount */
};

/*
 * Adds a node that the kernel knows once, or once more if it is there: one of that number and revision.
 * @revision: of the image; a pin of it is taken over
 * @request: what the node is about
 * @content: of its file, whose reference is taken over; NULL for a directory or a q
 * @id: what it should have; becomes what the counter says next if its number is in use, or 0
 * 0, or -ENOMEM, then @content is put, and @revision unpinned.
 */
int nodes_add(struct nodes *nodes, struct revision *revision, const struct request *request,
	      struct content *content, struct node_id *id) EXCLUDES(&nodes->lock);

/*
 * Likewise, a snapshot. Its content stays at least until the next node is added.
 *
 * @shown:   the inode number that stat(2) shows
 * @reader:  the only user who may read it, or NODE_ALL_READ
 * @ino:     its own number, 0 for a new one
 * @content: as nodes_add()
 * @ret:     its own number
 *
 * 0 or -ENOMEM.
 */
int nodes_add_snapshot(struct nodes *nodes, uint64_t shown, uid_t reader, uint64_t ino,
		       struct content *content, uint64_t *ret) EXCLUDES(&nodes->lock);

/*
 * A copy of the node, with a reference to its content if it has one. Its symbol is borrowed: it stays while
 * the kernel knows the node, which it does as long as a request for it is not answered. False when there is
 * no such node.
 */
bool nodes_get(struct nodes *nodes, uint64_t ino, struct node *ret) EXCLUDES(&nodes->lock);

/* The kernel has looked the node up once more. False when there is no such node. */
bool nodes_remember(struct nodes *nodes, uint64_t ino) EXCLUDES(&nodes->lock);

/* The kernel forgets @count lookups. */
void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count) EXCLUDES(&nodes->lock);

/* What there is of them, snapshots not counted. */
struct nodes_counts nodes_count(struct nodes *nodes) EXCLUDES(&nodes->lock);

#endif

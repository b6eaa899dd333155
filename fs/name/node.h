/*
 * node.h - inode numbers, and the table of inodes that exist because their names were looked up.
 *
 * Inode numbers are never used twice within a mount. What the daemon knows anyway (directories of images,
 * fixed files, links) has a number computed from what it is, and needs no entry anywhere. Address files get
 * the next number of a counter, and an entry here until the kernel forgets them; so do directories below
 * base/.
 */
#ifndef FS_NAME_NODE_H
#define FS_NAME_NODE_H

#include "convert/os/mutex.h"
#include <stdbool.h>
#include <stdint.h>

#include "fs/name/name.h"
#include "fs/sys/content.h"

struct revision;

enum node_kind {
	NODE_FIXED, /* INO_ROOT; INO_FIXED and following: see fs/tree/fixed.c; INO_BATCH and following: q, by
		       batch_code(); INO_BUILD_ID and following */
	NODE_IMAGE, /* directory of an image; a: image, b: its generation */
	NODE_IMAGE_FILE, /* a: revision, b: its row, see fs/tree/fixed.c */
	NODE_NAME,       /* by-name/<basename>; a: name */
	NODE_NAME_LINK,  /* by-name/<basename>/<id>; a: name, b: image */
	NODE_ALIAS,      /* another spelling of an id; a: image, b: how many directories below the root */
	NODE_CONTEXT,    /* base, rva, off, ra, approximate below an image; a: revision, b: context_code() */
	NODE_BATCH,      /* q below an image; a: revision, b: batch_code() */
	NODE_PATH_DIR,   /* by-path and the directories below it; a: path_dir */
	NODE_PATH_LINK,  /* by-path/<path>; a: path_file */
	/* by-path/<path> of several images, a directory; a: path_file, the first of the chain */
	NODE_PATH_FAT,
	NODE_PATH_MEMBER, /* by-path/<path>/<id> in that; a: path_file */
	NODE_ADDRESS,     /* and the kinds above: what is left are the bits of a counter */
};

enum {
	INO_ROOT = 1,
	INO_FIXED = 2,
	INO_BY_NAME = INO_FIXED,
	INO_BATCH = 0x100,
	INO_BUILD_ID = 0x10000, /* and following: xx, the first byte of ids, by its value */
};

#define INO_ADDRESS ((uint64_t)NODE_ADDRESS << 60)

/* ino_make() as a constant expression. */
#define INO_MAKE(kind, a, b) ((uint64_t)(kind) << 60 | (uint64_t)(a) << 30 | (b))
#define INO_BY_PATH          INO_MAKE(NODE_PATH_DIR, 0, 0)

/* What fits for a and b. */
#define INO_B_MAX ((1U << 30) - 1)

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
	uint64_t lookups;          /* how many the kernel must forget before the node can go; 0: it has */
	struct revision *revision; /* of the image it belongs to, pinned; NULL for a snapshot */
	uint64_t address;          /* of a snapshot: the inode number that stat(2) shows */
	struct context context;
	uint8_t is;     /* enum node_is */
	uint32_t size;  /* of its content */
	uint8_t format; /* enum render_format */
	bool raw;
	char *symbol; /* of REQUEST_SYMBOL, terminated; its own */
	/* The content; NULL when memory for it ran short: made again when read, but a snapshot is lost. */
	struct content *content;
};

enum {
	NODE_PAGE = 1024,
	NODE_CHUNK = 8, /* nodes allocated together: one that stays keeps the memory of as many, a kilobyte */
};

struct node_page;

struct nodes_counts {
	uint64_t used, made; /* now, and since the start */
	uint64_t content_bytes;
};

/* The table of address files. Inode numbers ascend, so that consecutive ones mostly go together. */
struct nodes {
	struct mutex lock; /* guards the nodes, too */
	uint64_t content_max;
	void (*unpin)(struct revision *revision); /* set after nodes_init(), before the first revision */
	struct node_page **pages GUARDED_BY(&lock);
	size_t n_pages GUARDED_BY(&lock), cap_pages GUARDED_BY(&lock);
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

/*
 * Adds what @request on @revision asks for, known to the kernel once, with content @content, whose reference
 * it takes; NULL for a directory or a q. Takes over a pin of @revision, too. Returns its inode number, 0
 * without memory (@content is then put, @revision unpinned).
 */
uint64_t nodes_add(struct nodes *nodes, struct revision *revision, const struct request *request,
		   struct content *content) EXCLUDES(&nodes->lock);

/* Likewise, a snapshot, which stat(2) shows with the number @shown. */
uint64_t nodes_add_snapshot(struct nodes *nodes, uint64_t shown, struct content *content)
	EXCLUDES(&nodes->lock);

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

/* image_identity.h - what a file is, without converting it: its kind, its ids, and what it has. */
#ifndef WORK_TYPES_IMAGE_IDENTITY_H
#define WORK_TYPES_IMAGE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work/types/image_kind.h"

enum {
	IMAGE_ID_MAX = 64,
	IMAGE_NAME_SIZE = 256,
	HTLHASH_SIZE = 16,
	GO_ID_SIZE = 84,     /* four parts of 20 characters, slashes between them, and the NUL */
	IDENTITIES_MAX = 30, /* of one file */
};

/* Bytes that are hashed at most for a file that has no id, see identity.h. */
#define IMAGE_HASH_MAX (4ULL << 30)

struct image_identity {
	enum image_kind kind;
	uint8_t id[IMAGE_ID_MAX]; /* build id, or XXH3-128 of the file when it has none (identity.h) */
	size_t id_size;
	bool id_is_hash;
	/* Text symbols name only the first 16 bytes of a build id, or all of it and zeros. */
	bool id_is_truncated;
	bool has_dwarf;  /* .debug_info with content */
	bool has_symtab; /* .symtab with content */
	bool has_gsym;   /* a section with GSYM, or nothing else */
	bool has_go;     /* Go's function table, or in a PE file the id of Go's linker, which writes one */
	bool has_text;   /* the file has its code, which a separate debug file lacks */
	bool has_lost;   /* the file lacks bytes of it */
	char arch[16];   /* "x86_64", "aarch64", ... */
	/* Further ids, by which profiles name it: */
	uint8_t htlhash[HTLHASH_SIZE]; /* of the file, see htlhash.h; all 0: not known */
	char go_id[GO_ID_SIZE];        /* Go's build id, as go_id.h takes it; "": none */
	/* That the file gives itself, whatever it is called: valid (valid_name.h), or "" when it has none. */
	char name[IMAGE_NAME_SIZE];
};

#endif

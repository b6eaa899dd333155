/*
 * store_key.h - what a conversion in a store is named after: everything that its content depends on.
 *
 * The key record is text, one fact a line, in this order:
 *
 *	gsymfs-key 3
 *	format <revision of store_object.h>
 *	converter <convert_revision() of both files>
 *	cache <CACHE_LAYOUT_REVISION>
 *	gsym <version>
 *	merged <0 or 1>
 *	servers <0, or 16 hex digits: debuginfod's servers were allowed, and which>
 *	id <id>
 *	arch <name>
 *	source <size> <what tells its content from others: see file_print.h>
 *	binary ...                                                likewise, if there is one
 *
 * Numbers are decimal, text is escaped (ESCAPE_TSV). The name is the SHA-256 of the record. So a host finds
 * a conversion wherever it keeps the file: that it may be read there is checked before.
 */
#ifndef STORE_CLIENT_STORE_KEY_H
#define STORE_CLIENT_STORE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/client/file_print.h"
#include "store/client/store.h"
#include "work/types/image_kind.h"
#include "gsym/base/text_buf.h"

enum {
	STORE_DIGEST = 32,   /* bytes, of SHA-256 */
	OBJECT_REVISION = 1, /* of store_object.h */
};

/* A file that was converted. */
struct store_file {
	uint64_t size;
	char print[FILE_PRINT_SIZE]; /* "": there is no file */
	enum image_kind kind;
};

struct store_facts {
	const char *id, *arch;
	unsigned version;
	bool merged;
	uint64_t servers; /* hash of debuginfod's; 0: none */
	struct store_file source, binary;
};

struct store_key {
	uint8_t digest[STORE_DIGEST]; /* SHA-256 of the record */
};

/* Appends the record of @facts to @out, which the caller checks for failure. */
void store_record(const struct store_facts *facts, struct text_buf *out);

/* 0; -ENOMEM; -ELIBACC if libsodium cannot be loaded. */
int store_key_make(const struct store_facts *facts, struct store_key *ret);

/* What an object is. */
enum store_kind {
	STORE_CONVERSION, /* or a failure: gsymfs1/<2 hex>/<64 hex>.gsym */
	STORE_LEASE,      /* gsymfs1/<2 hex>/<64 hex>.lease */
};

/* The name of the object of @key. Pure. */
void store_name(const struct store_key *key, enum store_kind kind, char ret[static STORE_NAME_SIZE]);

/* The key of a conversion by the name of its object; false if it is none. Pure. */
bool store_name_parse(const char *name, struct store_key *ret);

#endif

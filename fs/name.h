/*
 * name.h - what a name in the mounted tree means. Pure: text in, request out; no files, no tables.
 *
 * The grammar is that of gsymfs(1). A name means nothing (REQUEST_NONE) unless it is spelled exactly so.
 */
#ifndef FS_NAME_H
#define FS_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	NAME_BYTES_MAX = 255,
	/* "xxh3-" and 32 digits, or a build id of up to 64 bytes, and the NUL. */
	ID_TEXT_SIZE = 129,
	ID_PREFIX_MIN = 8, /* fewer digits do not name an image by its beginning */
};

/* The directory a name is looked up in. */
enum name_place {
	PLACE_ROOT,
	PLACE_IMAGE,
};

enum request_kind {
	REQUEST_NONE,    /* no such name in this place */
	REQUEST_BY_NAME, /* root: the directory by-name */
	REQUEST_ID,      /* root: an image id or a spelling of one */
	REQUEST_STATUS,  /* image: the file status */
	REQUEST_INFO,    /* image: the file info.json */
	REQUEST_GSYM,    /* image: the file image.gsym */
	REQUEST_ADDRESS, /* image: the frames of an address */
};

enum request_format {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON,
};

/* A small value that says all of a name: requests for the same thing are equal. */
struct request {
	enum request_kind kind;
	/* REQUEST_ADDRESS */
	enum request_format format;
	bool raw; /* names as they are stored, not demangled */
	uint64_t address;
	/* REQUEST_ID */
	bool alias;            /* not spelled as @id: an alias even if such an image exists */
	char id[ID_TEXT_SIZE]; /* lower case, no dashes; may be the beginning of an id */
};

/* Never fails; @ret is filled completely. */
void name_parse(enum name_place place, const char *name, struct request *ret);

/* Whether @id is long enough to name an image whose id it begins. */
bool id_may_be_prefix(const char *id);

#endif

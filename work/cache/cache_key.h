/* cache_key.h - names of converted files: which file, in which state, converted how. */
#ifndef WORK_CACHE_CACHE_KEY_H
#define WORK_CACHE_CACHE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "work/cache/file_state.h"
#include "work/cache/image_id.h"
#include "work/types/image_kind.h"

#define CACHE_LINK_PREFIX "id-"

enum {
	OWNER_DIGITS = 8,    /* the user id of the object file's owner, hexadecimal */
	FILE_DIGITS = 16,    /* the hash of what identifies the object file */
	CONTENT_DIGITS = 16, /* the hash of what identifies the content and the options */
	FINGERPRINT_DIGITS = OWNER_DIGITS + FILE_DIGITS + CONTENT_DIGITS,
	CACHE_KEY_SIZE = ID_TEXT_SIZE + 1 + FINGERPRINT_DIGITS, /* id, dash, fingerprint, and the id's NUL */
	CACHE_LINK_SIZE = sizeof(CACHE_LINK_PREFIX) + OWNER_DIGITS + FILE_DIGITS, /* prefix, digits, NUL */
	CACHE_LAYOUT_REVISION = 6, /* of what handle.h describes, and of the notes */
};

/*
 * Two names: for a conversion of a file with its neighbours, and for one of the file alone. The latter does
 * not depend on the search path, so that all mounts and commands of a user share it.
 */
struct cache_key {
	char text[CACHE_KEY_SIZE];
	char alone[CONTENT_DIGITS + 1]; /* replaces the last digits of @text */
};

/*
 * All that determines the bytes of a converted file except the converter and the neighbours (see inputs.h).
 */
struct cache_input {
	const char *id; /* canonical */
	/* The object file, and the file with its code or all 0. Their states include read permissions, on
	 * which it depends which neighbours may be read. */
	struct file_state file, binary;
	enum image_kind kind,
		binary_kind; /* by which it is known what may read them: see convert_revision.h */
	uint64_t places;     /* search_path_fingerprint() */
	uint16_t version;    /* of GSYM */
	bool merged;
};

/*
 * Pure. Id, size and mtime can be forged; device, inode and ctime cannot be chosen by the author of a file.
 * Hosts with a common cache directory see different devices and therefore do not share entries.
 */
void cache_key_make(const struct cache_input *input, struct cache_key *ret);

/*
 * The name of the link (cache_find()) for the file that an entry is of. @key: the entry's key, or the name of
 * its file.
 */
void cache_link_name(char name[static CACHE_LINK_SIZE], const char *key);

#endif

/* cache_key.h - names of converted files: which file, in which state, converted how. */
#ifndef CONVERT_CACHE_CACHE_KEY_H
#define CONVERT_CACHE_CACHE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "convert/cache/file_state.h"
#include "convert/cache/image_id.h"

enum {
	FINGERPRINT_DIGITS = 32,
	CONTENT_DIGITS = 16, /* the last of them: what was made of the file */
	CACHE_KEY_SIZE = ID_TEXT_SIZE + 1 + FINGERPRINT_DIGITS, /* id, dash, fingerprint, and the id's NUL */
	CACHE_LAYOUT_REVISION = 5, /* of what handle.h describes, and of the notes */
};

/*
 * A name for what is made of a file and its neighbours, and another for what is made of the file alone. The
 * latter is the same wherever neighbours may be, so that all mounts and commands of a user share it.
 */
struct cache_key {
	char text[CACHE_KEY_SIZE];
	char alone[CONTENT_DIGITS + 1]; /* stands in the place of the last digits of @text */
};

/* What the bytes of a converted file depend on, beside the converter and the neighbours (see inputs.h). */
struct cache_input {
	const char *id; /* canonical */
	/* The object file; the one with its code, all 0 when there is none. Who may read the answers is part
	 * of their states: what else may be read for them depends on it. */
	struct file_state file, binary;
	uint64_t places;  /* fingerprint of where neighbours may be, and which may be read */
	uint16_t version; /* of GSYM */
	bool merged;
};

/*
 * Pure. Id, size and mtime are public and anybody can make a file that has the same; device, inode and ctime
 * nobody can choose. Hosts that share a cache directory see different devices and so do not share what is in
 * it.
 */
void cache_key_make(const struct cache_input *input, struct cache_key *ret);

#endif

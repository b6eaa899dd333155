/*
 * handle.h - a file of the cache, verified, mapped and open for lookups.
 *
 * Reference-counted: the image holds one reference while it is ready, every lookup and every open image.gsym
 * another, so that a file which is evicted or replaced stays readable for its current readers.
 *
 * A cache file is a GSYM file with a trailer after it, which GSYM readers ignore:
 *
 *	GSYM bytes          gsym_size
 *	notes               notes_size; "key<TAB>value" lines for status
 *	inputs              inputs_size; the neighbours it depends on, see inputs.h
 *	key                 key_size; the name of the entry without suffix
 *	gsym_size           64 bits, little endian, as are all
 *	notes_size          64 bits
 *	inputs_size         64 bits
 *	key_size            64 bits
 *	magic               8 bytes
 *	checksum            64 bits: XXH3 of everything before it
 *
 * The key binds the content to its name: an intact file that was renamed is of no use under its new name.
 */
#ifndef WORK_CACHE_HANDLE_H
#define WORK_CACHE_HANDLE_H

#include <stdatomic.h>

#include "gsym/base/bytes.h"
#include "gsym/gsym.h"
#include "work/cache/cache_key.h"
#include "work/cache/notes.h"
#include "gsym/render/demangle/demangle.h"
#include "gsym/base/text_buf.h"

enum {
	TRAILER_SIZE = 48,
	INPUTS_MAX = 16 << 20, /* bytes; at 80 a path these are 200,000 files */
	HANDLE_SLOTS = 4,
};

/* Data that a client derives from an image once and caches with it. */
struct handle_slot {
	_Atomic(void *) value; /* NULL: not made yet */
	void (*_Atomic destroy)(void *value);
};

struct handle {
	atomic_uint refs;
	uint64_t ino;                /* of the file */
	bool pending;                /* see cache_mark() */
	uint64_t stamp;              /* a hash of what sets it apart from other results for its key; not 0 */
	_Atomic uint64_t *in_memory; /* borrowed: a sum that has map_size in it, see cache_keep(); or NULL */
	void *map;
	size_t map_size;
	struct span gsym;  /* borrowed from the map */
	struct span notes; /* likewise */
	struct span inputs;
	struct gsym_reader *reader;
	struct address_map addresses;
	struct handle_slot slots[HANDLE_SLOTS]; /* numbered by the client */
};

/* The demangler for the image's names. */
static inline enum demangle_mode handle_demangle(const struct handle *handle)
{
	return handle->addresses.has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO;
}

/*
 * Verifies and maps the cache file @fd, which stays the caller's, as the entry @key. Returns one reference in
 * @ret; -EBADMSG if the file is corrupt or truncated, the entry of another key, or of another image than the
 * id at the start of @key says.
 */
int handle_open(int fd, const char *key, struct handle **ret, struct gsym_diag *diag);

/*
 * The size of the GSYM in @fd, the entry @key, according to its trailer; appends the notes to @notes unless
 * that is NULL. Does not verify the checksum. 0 or -EBADMSG.
 */
int handle_peek(int fd, const char *key, uint64_t *ret_size, struct text_buf *notes);

/* How many functions the GSYM in @fd, the entry @key, has, as its header says: likewise. */
int handle_peek_functions(int fd, const char *key, uint32_t *ret);

/* The key that it was opened as, which is in the file: 0, or -EFAULT if that was cut short. */
int handle_key(const struct handle *handle, char ret[static CACHE_KEY_SIZE]);

/*
 * Stores @value in the empty @slot; it is destroyed with the handle. All callers of a slot pass the same
 * @destroy. False if another thread stored one first: @value stays the caller's.
 */
bool handle_attach(struct handle *handle, unsigned slot, void *value, void (*destroy)(void *value));

/* The value of @slot, or NULL. */
static inline void *handle_attached(const struct handle *handle, unsigned slot)
{
	return atomic_load_explicit(&((struct handle *)handle)->slots[slot].value, memory_order_acquire);
}

/*
 * Calls @work, which reads the file, and returns its value; -EFAULT if the file was truncated, whether or not
 * the lost pages were accessed: the rest of the last page reads as zeros. See guard_run() for what @work must
 * not do.
 */
int handle_run(const struct handle *handle, int (*work)(void *arg), void *arg);

/* 0, or -EFAULT if the file was truncated. */
int handle_check(const struct handle *handle);

struct handle *handle_get(struct handle *handle);
/* NULL is allowed. */
void handle_put(struct handle *handle);

/* The size of the GSYM in the entry of @size bytes in @fd, which may be hostile: 0, -EBADMSG, or an errno. */
int handle_gsym_size(int fd, uint64_t size, uint64_t *ret, struct gsym_diag *diag);

/*
 * Appends notes, inputs and trailer to the @gsym_size bytes of @fd.
 *
 * @fd:        open for reading and writing
 * @key:       of the entry that it is going to be
 * @gsym_size: bytes
 * @notes:     see notes.h
 * @inputs:    see inputs.h
 *
 * 0; -EINVAL when a part is too large; or a negative errno, -ENOSPC on a full disk.
 */
int trailer_write(int fd, const char *key, uint64_t gsym_size, struct span notes, struct span inputs);

#endif

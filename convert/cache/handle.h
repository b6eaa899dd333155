/*
 * handle.h - one file of the cache, checked, mapped and open for lookups.
 *
 * Counted: the image holds one reference while it is ready, every lookup and every open image.gsym another,
 * so that a file evicted or replaced meanwhile stays readable for those who already read it.
 *
 * A cache file is a GSYM file with a trailer after it, which GSYM readers ignore:
 *
 *	GSYM bytes          gsym_size
 *	notes               notes_size; "key<TAB>value" lines for status
 *	inputs              inputs_size; what else it was made of, see inputs.h
 *	gsym_size           64 bits, little endian, as are all
 *	notes_size          64 bits
 *	inputs_size         64 bits
 *	magic               8 bytes
 *	checksum            64 bits: XXH3 of everything before it
 */
#ifndef CONVERT_CACHE_HANDLE_H
#define CONVERT_CACHE_HANDLE_H

#include <stdatomic.h>

#include "gsym/base/bytes.h"
#include "gsym/gsym.h"
#include "convert/cache/notes.h"
#include "gsym/render/demangle/demangle.h"
#include "gsym/base/text_buf.h"

enum {
	TRAILER_SIZE = 40,
	INPUTS_MAX = 16 << 20, /* bytes; at 80 a path these are 200,000 files */
	HANDLE_SLOTS = 4,
};

/* What a client makes of an image once and keeps with it. */
struct handle_slot {
	_Atomic(void *) value; /* NULL: not made yet */
	void (*_Atomic destroy)(void *value);
};

struct handle {
	atomic_uint refs;
	void *map;
	size_t map_size;
	struct span gsym;  /* borrowed from the map */
	struct span notes; /* likewise */
	struct span inputs;
	struct gsym_reader *reader;
	struct address_map addresses;
	struct handle_slot slots[HANDLE_SLOTS]; /* the client says which is which */
};

/* How the names of the image are demangled where they are. */
static inline enum demangle_mode handle_demangle(const struct handle *handle)
{
	return handle->addresses.has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO;
}

/*
 * Checks and maps the cache file @fd, which stays the caller's; @name is for messages. -EBADMSG when it is
 * not whole. With one reference.
 */
int handle_open(int fd, const char *name, struct handle **ret, struct gsym_diag *diag);

/*
 * The size of the GSYM in @fd as its trailer claims, and with @notes, to which they are appended, the notes.
 * Reads only these and checks no sum. 0 or -EBADMSG.
 */
int handle_peek(int fd, uint64_t *ret_size, struct text_buf *notes);

/*
 * Puts @value into the empty @slot; it is destroyed with the handle. All callers of a slot give the same
 * @destroy. False when another thread was faster: @value stays the caller's.
 */
bool handle_attach(struct handle *handle, unsigned slot, void *value, void (*destroy)(void *value));

/* What was put there, or NULL. */
static inline void *handle_attached(const struct handle *handle, unsigned slot)
{
	return atomic_load_explicit(&((struct handle *)handle)->slots[slot].value, memory_order_acquire);
}

struct handle *handle_get(struct handle *handle);
/* NULL is allowed. */
void handle_put(struct handle *handle);

/*
 * Appends notes, inputs and trailer to the @gsym_size bytes that @fd holds. 0 or the errno of what failed:
 * -ENOSPC on a full disk.
 */
int trailer_write(int fd, uint64_t gsym_size, struct span notes, struct span inputs);

#endif

/*
 * context.h - what a number means: addresses as an image was linked, as it was loaded, counted, stored.
 *
 * The directories below that of an image say it in the mounted tree, and what stands before a number in lines
 * of text: "ID/base/0x7f3a10000000 0x7f3a1002a3f0".
 */
#ifndef WORK_CACHE_CONTEXT_H
#define WORK_CACHE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_map;

enum { NAME_BYTES_MAX = 255 };

/* What numbers are. */
enum address_space {
	SPACE_LINK,    /* addresses as the image was linked */
	SPACE_RUNTIME, /* base/<load>: where it was loaded */
	SPACE_RVA,     /* rva: counted from the image base */
	SPACE_FILE,    /* off: in the file */
	SPACE_SYMBOL,  /* sym: no numbers, names of functions */
};

/* What the directories below that of the image have said so far. All zero: nothing. */
struct context {
	uint8_t space;   /* enum address_space */
	bool is_return;  /* ra: the return address of a call */
	bool near;       /* approximate: a line nearby, where there is none */
	bool why;        /* why: the reason for an answer that is unknown, or has no line */
	bool wants_load; /* base: the next name is the load address */
	uint64_t load;   /* of SPACE_RUNTIME */
};

/* The directories that give addresses another meaning, in the order of listings. */
struct named_context {
	const char *name;
	struct context context;
};
enum { NAMED_CONTEXTS = 7 };
extern const struct named_context named_contexts[NAMED_CONTEXTS];

bool context_equal(const struct context *a, const struct context *b);

/*
 * What numbers mean after the @size bytes of @path, a directory as lines of the root's q name it: an id, and
 * directories below that of the image in which there is a q, as in a path. The id is the first *ret_id_size
 * bytes, and not looked at. False when there is no q in such a directory.
 */
bool context_parse_place(const char *path, size_t size, size_t *ret_id_size, struct context *ret);

/*
 * Adds to @context what the directory @name below it says; in "base" that is a load address. False, and
 * @context is undefined, when there is none of that name: a q, an address, a symbol.
 */
bool context_enter(struct context *context, const char *name);

/*
 * The distance of the runtime address @n from where the image is loaded; false if it is below. An image that
 * is loaded below 2^48 ends there, so that other upper bits than a kernel's are a tag: of pointer
 * authentication, of memory, or of the top byte.
 */
static inline bool context_distance(const struct context *context, uint64_t n, uint64_t *ret)
{
	if (n >> 48 != 0xffff && !(context->load >> 48))
		n &= (1ULL << 48) - 1;
	*ret = n - context->load;
	return n >= context->load;
}

/* The link-time address of @n; of a return address, one byte before it. False when there is none. Pure. */
bool context_to_link(const struct context *context, const struct address_map *map, uint64_t n, uint64_t *ret);

#endif

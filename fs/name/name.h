/*
 * name.h - what a name in the mounted tree means. Pure: text in, request out; no files, no tables.
 *
 * The grammar is that of gsymfs(1). A name means nothing (REQUEST_NONE) unless it is spelled exactly so.
 */
#ifndef FS_NAME_NAME_H
#define FS_NAME_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsym/render/render_options.h"
#include "work/cache/context.h"
#include "work/cache/image_id.h"

struct convert_address;

enum {
	BREAKPAD_ID_SIZE = 33, /* without its age, and the NUL */
	ID_PREFIX_MIN = 8,     /* fewer digits do not name an image by its beginning */
};

/* The directory a name is looked up in. */
enum name_place {
	PLACE_ROOT,
	PLACE_IMAGE, /* of an image, or one of those below it that give its addresses another meaning */
};

/* What names mean that have a grammar; those of fixed nodes have none (fs/tree/fixed.h). */
enum request_kind {
	REQUEST_NONE,    /* no such name in this place */
	REQUEST_ID,      /* root: an image id or a spelling of one */
	REQUEST_ADDRESS, /* image: the frames of an address */
	REQUEST_SYMBOL,  /* sym: the frames of a place in a function */
	REQUEST_BATCH,   /* root and image: the file q */
	REQUEST_CONTEXT, /* image: a directory in which addresses mean something else */
};

/* A small value that says all of a name: requests for the same thing are equal. */
struct request {
	enum request_kind kind;
	/* REQUEST_ADDRESS, REQUEST_SYMBOL, REQUEST_BATCH */
	enum render_format format;
	bool raw;         /* names as they are stored, not demangled */
	uint64_t address; /* not of REQUEST_BATCH; of a symbol: counted from its start */
	/* REQUEST_SYMBOL: a name of a function, borrowed from what was parsed; not terminated */
	const char *symbol;
	size_t symbol_size;
	struct context context; /* of an address or addresses; of REQUEST_CONTEXT: that inside */
	/* REQUEST_ID */
	bool alias; /* not spelled as @id: an alias even if such an image exists */
	/* Lower case, no dashes; may be the beginning of an id. Or Go's, with slashes. */
	char id[ID_TEXT_SIZE];
};

/* Never fails; @ret is filled completely and may point into @name. @context is of PLACE_IMAGE. */
void name_parse(enum name_place place, const struct context *context, const char *name, struct request *ret);

/* The number of a context without a load address, below CONTEXT_CODES where there is a q; and back. */
enum { CONTEXT_CODES = 64 };
uint32_t context_code(const struct context *context);
struct context context_of(uint32_t code);

/* The number of the file q for what is in @request, below BATCH_CODES; and back. */
enum { BATCH_CODES = 8 * CONTEXT_CODES };
uint32_t batch_code(const struct request *request);
struct request batch_of(uint32_t code);

/*
 * Whether @id, as in a request, may be the id that Breakpad gives a module: 32 digits and an age. @as_is
 * becomes its digits without the age, which is the beginning of a UUID (Apple) or what a GUID looks like
 * (Windows); @swapped the beginning of the build id (ELF) of which it was made, as if that were a GUID in
 * memory.
 */
bool id_from_breakpad(const char *id, char as_is[static BREAKPAD_ID_SIZE],
		      char swapped[static BREAKPAD_ID_SIZE]);

/* Whether @id is long enough to name an image whose id it begins. */
bool id_may_be_prefix(const char *id);

/*
 * What to ask of an image that is not open, whose address map is not known: the link-time address of @n, its
 * distance from the image base, or its offset in the file. False when that needs more. Pure.
 */
bool place_to_ask(const struct context *context, uint64_t n, struct convert_address *ret);

#endif

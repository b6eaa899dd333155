/*
 * The names of the tree, read one component at a time: the kernel asks for one at a time, and what the
 * components before it mean is in the place the question comes from.
 */
#include "fs/name/name.h"

#include "work/types/convert_address.h"
#include "work/types/go_id.h"
#include "gsym/base/address.h"
#include "gsym/base/ascii.h"
#include "gsym/render/render.h"

#include <stddef.h>
#include <string.h>

static const char hash_prefix[] = "xxh3-";
enum {
	HASH_PREFIX_SIZE = sizeof(hash_prefix) - 1,
	HASH_DIGITS = 32,
	AGE_DIGITS_MAX = 7, /* with 8, which no tool makes, it would look like a build id */
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t count_digits(const char *text)
{
	size_t n = 0;
	while (hex_value(text[n]) >= 0)
		n++;
	return n;
}

/* ---- Ids ---- */

/*
 * A UUID or GUID as it is printed, 8-4-4-4-12 digits, perhaps in braces; and after another dash the age that
 * goes with it in the debug ids of PE files. With braces or an age the digits need no dashes. @id becomes the
 * digits.
 */
static bool parse_guid(const char *name, char *id)
{
	static const size_t groups[] = {8, 4, 4, 4, 12};
	bool braced = *name == '{';
	name += braced;
	bool dashed = count_digits(name) == groups[0];
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (dashed && i > 0 && *name++ != '-')
			return false;
		for (size_t k = 0; k < groups[i]; k++, name++) {
			if (hex_value(*name) < 0)
				return false;
			*id++ = lower(*name);
		}
	}
	if (braced && *name++ != '}')
		return false;
	size_t age = *name == '-' ? count_digits(++name) : 0;
	if (age > AGE_DIGITS_MAX || (!age && name[-1] == '-'))
		return false;
	for (size_t k = 0; k < age; k++)
		*id++ = lower(*name++);
	*id = 0;
	return *name == 0;
}

static bool is_hash_id(const char *name)
{
	for (size_t i = 0; i < HASH_PREFIX_SIZE; i++)
		if (lower(name[i]) != hash_prefix[i])
			return false;
	size_t n = count_digits(name + HASH_PREFIX_SIZE);
	return n >= 1 && n <= HASH_DIGITS && name[HASH_PREFIX_SIZE + n] == 0;
}

static bool is_hex_id(const char *name)
{
	size_t n = count_digits(name);
	return n >= 2 && n < ID_TEXT_SIZE && name[n] == 0;
}

static bool parse_digits(const char *name, char *id)
{
	if (!is_hash_id(name) && !is_hex_id(name))
		return false;
	while (*name)
		*id++ = lower(*name++);
	*id = 0;
	return true;
}

static void parse_id(const char *name, struct request *ret)
{
	char id[ID_TEXT_SIZE];
	static_assert((int)GO_ID_SIZE <= (int)ID_TEXT_SIZE, "room for Go's");
	if (!parse_digits(name, id) && !parse_guid(name, id) && !go_id_parse(name, strlen(name), id))
		return;
	ret->kind = REQUEST_ID;
	strcpy(ret->id, id);
	ret->alias = strcmp(name, id) != 0;
}

bool id_may_be_prefix(const char *id)
{
	if (strncmp(id, hash_prefix, HASH_PREFIX_SIZE) == 0)
		id += HASH_PREFIX_SIZE;
	return strlen(id) >= ID_PREFIX_MIN;
}

bool id_from_breakpad(const char *id, char as_is[static BREAKPAD_ID_SIZE],
		      char swapped[static BREAKPAD_ID_SIZE])
{
	/* Bytes of the first three fields, from the last to the first. */
	static const unsigned char order[] = {3, 2, 1, 0, 5, 4, 7, 6};
	size_t n = count_digits(id);
	if (id[n] != 0 || n < BREAKPAD_ID_SIZE || n > BREAKPAD_ID_SIZE - 1 + AGE_DIGITS_MAX)
		return false;
	memcpy(as_is, id, BREAKPAD_ID_SIZE - 1);
	as_is[BREAKPAD_ID_SIZE - 1] = 0;
	memcpy(swapped, as_is, BREAKPAD_ID_SIZE);
	for (size_t i = 0; i < sizeof(order); i++)
		memcpy(swapped + 2 * i, as_is + 2 * (size_t)order[i], 2);
	return true;
}

/* ---- Addresses ---- */

/* What follows the name of an answer: ".raw" or not, and a format. */
static bool parse_suffix(const char *suffix, struct request *ret)
{
	static const char raw[] = ".raw";
	ret->raw = strncmp(suffix, raw, sizeof(raw) - 1) == 0;
	return !render_format_by_suffix(ret->raw ? suffix + sizeof(raw) - 1 : suffix, &ret->format);
}

static void parse_address(const char *name, struct request *ret)
{
	struct request request = *ret;
	const char *suffix = address_begin(name, &request.address);
	if (!suffix || !parse_suffix(suffix, &request))
		return;
	*ret = request;
	ret->kind = REQUEST_ADDRESS;
}

/* Takes @suffix off the end of the @size bytes of @text. */
static bool cut_suffix(const char *text, size_t *size, const char *suffix)
{
	size_t n = strlen(suffix);
	if (*size < n || memcmp(text + *size - n, suffix, n) != 0)
		return false;
	*size -= n;
	return true;
}

/* A function's name, an offset, and what follows the name of an answer, read from the end: names have dots
 * and more. */
static void parse_symbol(const char *name, struct request *ret)
{
	size_t size = strlen(name);
	for (int i = 0; i < RENDER_FORMATS && ret->format == RENDER_TEXT; i++) {
		const char *suffix = render_format_of((enum render_format)i)->suffix;
		if (suffix && cut_suffix(name, &size, suffix))
			ret->format = (enum render_format)i;
	}
	ret->raw = cut_suffix(name, &size, ".raw");
	ret->address = address_cut_offset(name, &size);
	ret->symbol = name;
	ret->symbol_size = size;
	ret->kind = size ? REQUEST_SYMBOL : REQUEST_NONE;
}

/* "q" and a format. */
static bool parse_batch(const char *name, struct request *ret)
{
	struct request request = *ret;
	if (name[0] != 'q' || !parse_suffix(name + 1, &request))
		return false;
	*ret = request;
	ret->kind = REQUEST_BATCH;
	return true;
}

/* ---- Places ---- */

static void parse_in_image(const char *name, const struct context *context, struct request *ret)
{
	ret->context = *context;
	if (context->space == SPACE_SYMBOL && !context->wants_load) {
		parse_symbol(name, ret);
	} else if (context_enter(&ret->context, name)) {
		ret->kind = REQUEST_CONTEXT;
	} else {
		ret->context = *context;
		if (!context->wants_load && (context->why || !parse_batch(name, ret)))
			parse_address(name, ret);
		if (context->why && (ret->raw || ret->format != RENDER_TEXT)) /* reasons have one format */
			ret->kind = REQUEST_NONE;
	}
}

enum {
	CODE_SPACE = 7,
	CODE_RETURN = 8,
	CODE_WANTS_LOAD = 16,
	CODE_NEAR = 32,
	CODE_WHY = CONTEXT_CODES,
};

uint32_t context_code(const struct context *context)
{
	return context->space | (context->is_return ? CODE_RETURN : 0) |
	       (context->wants_load ? CODE_WANTS_LOAD : 0) | (context->near ? CODE_NEAR : 0) |
	       (context->why ? CODE_WHY : 0);
}

struct context context_of(uint32_t code)
{
	return (struct context){
		.space = code & CODE_SPACE,
		.is_return = code & CODE_RETURN,
		.wants_load = code & CODE_WANTS_LOAD,
		.near = code & CODE_NEAR,
		.why = code & CODE_WHY,
	};
}

enum { CODE_RAW = 4 }; /* above the format */

uint32_t batch_code(const struct request *request)
{
	return context_code(&request->context) * 8 | request->format | (request->raw ? CODE_RAW : 0);
}

struct request batch_of(uint32_t code)
{
	return (struct request){
		.kind = REQUEST_BATCH,
		.format = code & 3,
		.raw = code & CODE_RAW,
		.context = context_of(code / 8),
	};
}

static void parse_in_root(const char *name, struct request *ret)
{
	if (!parse_batch(name, ret))
		parse_id(name, ret);
}

void name_parse(enum name_place place, const struct context *context, const char *name, struct request *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (place == PLACE_IMAGE)
		parse_in_image(name, context, ret);
	else
		parse_in_root(name, ret);
}

bool place_to_ask(const struct context *context, uint64_t n, struct convert_address *ret)
{
	switch ((enum address_space)context->space) {
	case SPACE_LINK: ret->origin = ADDRESS_LINKED; break;
	case SPACE_RVA: ret->origin = ADDRESS_FROM_BASE; break;
	case SPACE_RUNTIME:
		if (!context_distance(context, n, &n))
			return false;
		ret->origin = ADDRESS_FROM_BASE;
		break;
	case SPACE_FILE: ret->origin = ADDRESS_IN_FILE; break;
	case SPACE_SYMBOL: return false;
	}
	ret->value = n - context->is_return;
	return !context->is_return || n;
}

#include "work/cache/context.h"

#include <string.h>

#include "work/cache/notes.h"
#include "gsym/base/address.h"

/* Says so for the first time. */
static bool say(bool *what)
{
	bool said = *what;
	*what = true;
	return !said;
}

const struct named_context named_contexts[NAMED_CONTEXTS] = {
	{"approximate", {.near = true}}, {"base", {.space = SPACE_RUNTIME, .wants_load = true}},
	{"off", {.space = SPACE_FILE}},  {"ra", {.is_return = true}},
	{"rva", {.space = SPACE_RVA}},   {"sym", {.space = SPACE_SYMBOL}},
	{"why", {.why = true}},
};

/*
 * Adds @to to @context: ra, approximate and why combine with everything, once; of the address spaces there is
 * one.
 */
static bool add_context(const struct context *to, struct context *context)
{
	if (to->is_return)
		return say(&context->is_return);
	if (to->near)
		return say(&context->near);
	if (to->why)
		return say(&context->why);
	bool first = context->space == SPACE_LINK;
	context->space = to->space;
	context->wants_load = to->wants_load;
	return first;
}

static bool enter_named(struct context *context, const char *name)
{
	for (size_t i = 0; i < NAMED_CONTEXTS; i++)
		if (name[0] == named_contexts[i].name[0] && strcmp(name, named_contexts[i].name) == 0)
			return add_context(&named_contexts[i].context, context);
	return false;
}

/* A load address. */
static bool enter_base(struct context *context, const char *name)
{
	const char *rest = address_begin(name, &context->load);
	context->wants_load = false;
	return rest && !*rest;
}

bool context_enter(struct context *context, const char *name)
{
	if (context->wants_load)
		return enter_base(context, name);
	return context->space != SPACE_SYMBOL && enter_named(context, name);
}

bool context_equal(const struct context *a, const struct context *b)
{
	return a->space == b->space && a->is_return == b->is_return && a->near == b->near &&
	       a->why == b->why && a->wants_load == b->wants_load && a->load == b->load;
}

/* One of the directories below that of an image. */
static bool enter_part(struct context *context, const char *name, size_t size)
{
	char text[NAME_BYTES_MAX + 1];
	if (size > NAME_BYTES_MAX || memchr(name, 0, size))
		return false;
	memcpy(text, name, size);
	text[size] = 0;
	return context_enter(context, text);
}

bool context_parse_place(const char *path, size_t size, size_t *ret_id_size, struct context *ret)
{
	const char *slash = memchr(path, '/', size), *end = path + size;
	*ret = (struct context){0};
	*ret_id_size = slash ? (size_t)(slash - path) : size;
	while (slash) {
		const char *at = slash + 1;
		slash = memchr(at, '/', (size_t)(end - at));
		size_t n = (size_t)((slash ? slash : end) - at);
		if (n && !enter_part(ret, at, n)) /* "//" and a "/" at the end are as good as none */
			return false;
	}
	return !ret->wants_load && ret->space != SPACE_SYMBOL && !ret->why;
}

static bool offset_to_link(const struct address_map *map, uint64_t off, uint64_t *ret)
{
	for (size_t i = 0; i < map->n; i++) {
		uint64_t from = map->segments[i].off;
		if (off < from || off - from >= map->segments[i].size)
			continue;
		*ret = map->segments[i].addr + (off - from);
		return true;
	}
	return false;
}

bool context_to_link(const struct context *context, const struct address_map *map, uint64_t n, uint64_t *ret)
{
	switch ((enum address_space)context->space) {
	case SPACE_SYMBOL: /* a link-time address since the symbol was looked up */
	case SPACE_LINK: *ret = address_from_usual_base(n, map->relative_end); break;
	case SPACE_RUNTIME:
		if (!context_distance(context, n, &n) || __builtin_add_overflow(n, map->base, ret))
			return false;
		break;
	case SPACE_RVA:
		if (__builtin_add_overflow(n, map->base, ret))
			return false;
		break;
	case SPACE_FILE:
		if (!offset_to_link(map, n, ret))
			return false;
		break;
	}
	return !context->is_return || (*ret)-- != 0;
}

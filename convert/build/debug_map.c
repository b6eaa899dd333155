/*
 * debug_map.c - functions of unlinked object files, moved to their addresses in the binary.
 *
 * The functions of each object file in the map are sorted by name. Its symbol table then gives the address of
 * each in the object file: the moves, sorted by address. Each unit is built as usual and its records are
 * moved, by binary search; those of functions that the linker dropped are discarded.
 */
#include "convert/build/builder.h"

#include "convert/build/unit_builder.h"
#include "convert/object/macho/macho.h"
#include "convert/companion/mapped_object.h"
#include "gsym/base/search.h"

#include <string.h>

enum {
	N_SO = 0x64,
	N_FUN = 0x24,
	N_OSO = 0x66,
};

/* ---- Reading the map ---- */

static int add_object(struct debug_map *map, const struct object_file *object, const struct macho_symbol *s)
{
	struct mapped_object mapped = {
		.path = macho_symbol_text(object, s),
		.mtime = s->value,
		.first = map->functions.n,
		.end = map->functions.n,
	};
	return vec_push(&map->objects, mapped);
}

/* A function is two entries: name and address, then its size with an empty name. */
static int add_function(struct debug_map *map, const struct object_file *object, const struct macho_symbol *s)
{
	const char *name = macho_symbol_name(object, s);
	if (!map->objects.n)
		return 0;
	struct mapped_object *mapped = &map->objects.v[map->objects.n - 1];
	if (!*name) {
		if (mapped->end > mapped->first && !map->functions.v[map->functions.n - 1].size)
			map->functions.v[map->functions.n - 1].size = s->value;
		return 0;
	}
	if (vec_push(&map->functions, (struct mapped_function){.name = name, .addr = s->value}))
		return -ENOMEM;
	mapped->end = map->functions.n;
	return 0;
}

static int compare_name(const void *a, const void *b)
{
	const struct mapped_function *x = a, *y = b;
	return strcmp(x->name, y->name);
}

int debug_map_read(const struct object_file *object, struct debug_map *ret)
{
	struct macho_symbol s;
	int err = 0;
	for (uint64_t i = 0; !err && macho_read_symbol(object, i, &s); i++) {
		if (s.type == N_OSO)
			err = add_object(ret, object, &s);
		else if (s.type == N_FUN)
			err = add_function(ret, object, &s);
	}
	for (size_t i = 0; i < ret->objects.n; i++) {
		const struct mapped_object *o = &ret->objects.v[i];
		if (o->end > o->first)
			qsort(ret->functions.v + o->first, o->end - o->first, sizeof(*ret->functions.v),
			      compare_name);
	}
	return err;
}

void debug_map_free(struct debug_map *map)
{
	for (size_t i = 0; i < map->objects.n; i++)
		free(map->objects.v[i].results);
	vec_free(&map->objects);
	vec_free(&map->functions);
}

/* ---- One object ---- */

/* The address of a function in the object file and in the binary. */
struct move {
	uint64_t from, to, size;
};

typedef VEC(struct move) move_vec;

static int compare_move(const void *a, const void *b)
{
	const struct move *x = a, *y = b;
	return COMPARE(x->from, y->from);
}

/* The moves of all functions of @object that the binary has, by address in the object. */
static int collect_moves(const struct debug_map *map, const struct mapped_object *mapped,
			 const struct object_file *object, move_vec *ret)
{
	struct macho_symbol s;
	for (uint64_t i = 0; mapped->end > mapped->first && macho_read_symbol(object, i, &s); i++) {
		struct mapped_function key = {.name = macho_symbol_name(object, &s)};
		if (!macho_is_defined(&s) || !*key.name)
			continue;
		const struct mapped_function *f =
			bsearch(&key, map->functions.v + mapped->first, mapped->end - mapped->first,
				sizeof(key), compare_name);
		if (f && vec_push(ret, (struct move){s.value, f->addr, f->size}))
			return -ENOMEM;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_move);
	return 0;
}

/* The move of the function that @addr lies in, or NULL. */
static const struct move *find_move(const move_vec *moves, uint64_t addr)
{
	size_t lo = PARTITION_POINT(0, moves->n, mid, moves->v[mid].from <= addr);
	const struct move *m = lo ? &moves->v[lo - 1] : NULL;
	return m && addr - m->from < m->size ? m : NULL;
}

/*
 * Moves the records to their addresses in the binary; those of functions that it does not have are discarded.
 */
static void move_records(struct unit_result *result, const move_vec *moves)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < result->n_records; i++) {
		struct func_record r = result->records[i];
		const struct move *m = find_move(moves, r.start);
		uint64_t size = r.end - r.start;
		if (!m || r.kind != RECORD_DWARF || m->to > UINT64_MAX - (r.start - m->from) - size)
			continue;
		r.start = m->to + (r.start - m->from);
		r.end = r.start + size;
		result->records[kept++] = r;
	}
	result->n_records = kept;
}

static bool is_moved(const void *moves, uint64_t addr)
{
	return find_move(moves, addr) != NULL;
}

/* @context is that of an object whose functions @moves has. */
static int build_units(struct mapped_object *mapped, const struct build_context *context,
		       const move_vec *moves, struct unit_builder *builder)
{
	const struct build_context *before = builder->context;
	size_t n = context->dwarf->n_units;
	mapped->results = calloc(n + 1, sizeof(*mapped->results));
	if (!mapped->results)
		return -ENOMEM;
	mapped->n_results = n;
	builder->context = context;
	for (size_t i = 0; i < n; i++) {
		builder_unit(builder, i, &mapped->results[i]);
		move_records(&mapped->results[i], moves);
	}
	builder_forget(builder, context->dwarf);
	builder->context = before;
	return 0;
}

static int build_object(const struct debug_map *map, struct mapped_object *mapped, struct object_file *object,
			const struct build_context *like, struct unit_builder *builder)
{
	struct dwarf dwarf = {0};
	struct build_context context = *like;
	move_vec moves = {0};
	int err = collect_moves(map, mapped, object, &moves);
	if (!err && moves.n)
		err = dwarf_open(&dwarf, object, false, 1, &builder->warnings);
	mapped->input = dwarf.bytes;
	context.dwarf = &dwarf;
	context.text = &object->text;
	context.closes = true;
	context.wanted = is_moved;
	context.wanted_user = &moves;
	if (!err && dwarf.n_units)
		err = build_units(mapped, &context, &moves, builder);
	dwarf_close(&dwarf);
	vec_free(&moves);
	return err;
}

int debug_map_build(const struct debug_map *map, struct mapped_object *mapped,
		    const struct object_file *binary, const struct build_context *like,
		    struct unit_builder *builder)
{
	CLEANUP(object_closep) struct object_file *object = NULL;
	int err =
		mapped_object_open(mapped->path, binary->opener, binary->arch, mapped->mtime, &object, NULL);
	if (!err)
		return build_object(map, mapped, object, like, builder);
	mapped->trouble = mapped->path;
	return err == -ENOMEM ? err : 0;
}

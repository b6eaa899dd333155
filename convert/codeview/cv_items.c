#include "convert/codeview/cv_parts.h"

#include "convert/codeview/cv_format.h"
#include "gsym/base/cursor.h"
#include "gsym/base/parallel.h"

#include <stdatomic.h>

enum {
	HEADER_SIZE = 20, /* bytes of the header of TPI and IPI streams that are read */
	TABLE_VERSION = 20040203,
};

/* ---- Tables of records ---- */

static int open_table(const struct object_file *pdb, uint32_t stream, struct cv_record_table *t,
		      struct warnings *warnings)
{
	int err = pdb_stream(pdb, stream, &t->stream);
	if (err == -ENOMEM)
		return err;
	if (err)
		return 0; /* files without debug data have none */
	const struct span bytes = t->stream.bytes;
	struct cursor c = cursor_new(bytes.data, bytes.size < UINT32_MAX ? bytes.size : UINT32_MAX, false);
	if (cursor_u32(&c) != TABLE_VERSION)
		return 0; /* of old files without inlined calls: stream 4 is anything there */
	uint32_t header = cursor_u32(&c);
	t->first = cursor_u32(&c);
	uint32_t end = cursor_u32(&c), size = cursor_u32(&c);
	cursor_seek(&c, header);
	struct cursor records = cursor_window(&c, size);
	if (!cursor_ok(&records) || end < t->first || header < HEADER_SIZE) {
		warning_count(warnings, WARN_CV_TYPES, "types", 0);
		return 0;
	}
	uint64_t claimed = end - t->first;
	uint64_t most = cursor_left(&records) / 4 < claimed ? cursor_left(&records) / 4 : claimed;
	t->offs = malloc((most + 1) * sizeof(*t->offs));
	if (!t->offs)
		return -ENOMEM;
	while (t->n < most) {
		uint32_t off = (uint32_t)cursor_off(&records);
		cursor_skip(&records, cursor_u16(&records));
		if (!cursor_ok(&records))
			break;
		t->offs[t->n++] = off;
	}
	if (t->n < claimed)
		warning_count(warnings, WARN_CV_TYPES, "types", cursor_off(&records));
	return 0;
}

struct tables_opening {
	const struct object_file *pdb;
	struct cv_items *items;
	struct warnings warnings[2];
	int err[2];
};

static void open_one(void *user, size_t index, unsigned thread)
{
	(void)thread;
	struct tables_opening *o = user;
	struct cv_record_table *table = index ? &o->items->types : &o->items->items;
	o->err[index] =
		open_table(o->pdb, index ? PDB_STREAM_TYPES : PDB_STREAM_IDS, table, &o->warnings[index]);
}

int cv_items_open(const struct object_file *pdb, unsigned threads, struct warnings *warnings,
		  struct cv_items *ret)
{
	struct tables_opening o = {.pdb = pdb, .items = ret};
	parallel_for(threads, 2, open_one, &o);
	warnings_merge(warnings, &o.warnings[0]);
	warnings_merge(warnings, &o.warnings[1]);
	ret->names = calloc((size_t)ret->items.n + 1, sizeof(*ret->names));
	return o.err[0] || o.err[1] || !ret->names ? -ENOMEM : 0;
}

static void close_table(struct cv_record_table *t)
{
	pdb_bytes_free(&t->stream);
	free(t->offs);
	*t = (struct cv_record_table){0};
}

void cv_items_close(struct cv_items *items)
{
	close_table(&items->items);
	close_table(&items->types);
	free(items->names);
	items->names = NULL;
}

/* Record @number, after its kind; fails where there is none. */
static struct cursor record_at(const struct cv_record_table *t, uint32_t number, uint16_t *ret_kind)
{
	struct cursor c = cursor_new(t->stream.bytes.data, t->stream.bytes.size, false);
	if (number < t->first || number - t->first >= t->n) {
		cursor_fail(&c);
		*ret_kind = 0;
		return c;
	}
	cursor_seek(&c, t->offs[number - t->first]);
	struct cursor record = cursor_window(&c, cursor_u16(&c));
	*ret_kind = cursor_u16(&record);
	return record;
}

/* ---- Names ---- */

/* Takes @size bytes and the NUL of a name from the budget. */
static bool take_name_bytes(struct name_budget *b, uint64_t size)
{
	bool enough = size < b->left;
	b->exceeded |= !enough;
	b->left -= enough ? size + 1 : b->left;
	return enough;
}

/* The terminated name at the cursor; none is empty. What is searched in vain is paid for, too. */
static struct span read_name(struct cursor *c, struct name_budget *budget)
{
	uint64_t left = cursor_left(c), most = left < budget->left ? left : budget->left;
	const uint8_t *at = cursor_take(c, left);
	const uint8_t *end = most ? memchr(at, 0, most) : NULL;
	if (!take_name_bytes(budget, end ? (uint64_t)(end - at) : most) || !end)
		return (struct span){0};
	return (struct span){at, (size_t)(end - at)};
}

/* Skips the size of a type, a number of several forms. */
static void skip_number(struct cursor *c)
{
	uint16_t form = cursor_u16(c);
	if (form < LF_NUMERIC)
		return;
	switch (form) {
	case LF_CHAR: cursor_skip(c, 1); break;
	case LF_SHORT:
	case LF_USHORT: cursor_skip(c, 2); break;
	case LF_LONG:
	case LF_ULONG: cursor_skip(c, 4); break;
	case LF_QUADWORD:
	case LF_UQUADWORD: cursor_skip(c, 8); break;
	default: cursor_fail(c);
	}
}

/* The name of a class, union or enumeration; none is empty. */
static struct span type_name(const struct cv_record_table *types, uint32_t type, struct name_budget *budget)
{
	uint16_t kind;
	struct cursor c = record_at(types, type, &kind);
	cursor_skip(&c, 4); /* number of members and properties; these alone in newer records */
	switch (kind) {
	case LF_CLASS:
	case LF_STRUCTURE:
	case LF_INTERFACE:
		cursor_skip(&c, 12); /* members, derived classes, virtual functions */
		skip_number(&c);
		break;
	case LF_CLASS2:
	case LF_STRUCTURE2:
	case LF_INTERFACE2:
		cursor_skip(&c, 14); /* the same, and the number of members */
		skip_number(&c);
		break;
	case LF_UNION:
		cursor_skip(&c, 4);
		skip_number(&c);
		break;
	case LF_ENUM: cursor_skip(&c, 8); break;
	default: cursor_fail(&c);
	}
	return read_name(&c, budget);
}

/* The text of a scope, which may be in parts. */
typedef VEC(char) scope_text;

static int append_scope_text(scope_text *to, struct span part)
{
	if (vec_reserve(to, part.size))
		return -ENOMEM;
	if (part.size)
		memcpy(to->v + to->n, part.data, part.size);
	to->n += part.size;
	return 0;
}

/* Appends the strings of list @list, which have no lists themselves. */
static int append_list(const struct cv_record_table *items, uint32_t list, struct name_budget *budget,
		       scope_text *to)
{
	uint16_t kind;
	struct cursor c = record_at(items, list, &kind);
	uint32_t n = kind == LF_SUBSTR_LIST ? cursor_u32(&c) : 0;
	int err = 0;
	for (uint32_t i = 0; i < n && cursor_left(&c) && !err; i++) {
		struct cursor part = record_at(items, cursor_u32(&c), &kind);
		if (cursor_u32(&part) || kind != LF_STRING_ID)
			break;
		err = append_scope_text(to, read_name(&part, budget));
	}
	return err;
}

/* The name of a scope: a namespace, or a function. Empty: there is none. */
static int scope_name(const struct cv_record_table *items, uint32_t item, struct name_budget *budget,
		      scope_text *to)
{
	uint16_t kind;
	struct cursor c = record_at(items, item, &kind);
	uint32_t list = cursor_u32(&c);
	cursor_skip(&c, kind == LF_STRING_ID ? 0 : 4);
	if (kind != LF_STRING_ID && kind != LF_FUNC_ID && kind != LF_MFUNC_ID)
		cursor_fail(&c);
	int err = kind == LF_STRING_ID && list ? append_list(items, list, budget, to) : 0;
	return err ? err : append_scope_text(to, read_name(&c, budget));
}

static const struct cv_item_name *make_name(struct arena *arena, const scope_text *scope, struct span name)
{
	static const char between[] = {':', ':'};
	size_t head = scope->n ? scope->n + sizeof(between) : 0;
	struct cv_item_name *made = arena_alloc(arena, sizeof(*made));
	char *text = arena_alloc(arena, head + name.size + 1);
	if (!made || !text)
		return NULL;
	if (head) {
		memcpy(text, scope->v, scope->n);
		memcpy(text + scope->n, between, sizeof(between));
	}
	memcpy(text + head, name.data, name.size);
	text[head + name.size] = '\0';
	made->string = pool_string_of(text, head + name.size);
	made->scope = (uint32_t)scope->n;
	return made;
}

static void scope_text_free(scope_text *text)
{
	vec_free(text);
}

/* *ret_simple: the name costs what pay_again() takes. */
static int read_item(const struct cv_items *items, uint32_t item, struct arena *arena,
		     struct name_budget *budget, const struct cv_item_name **ret, bool *ret_simple)
{
	CLEANUP(scope_text_free) scope_text outer = {0};
	uint64_t before = budget->left;
	uint16_t kind;
	int err = 0;
	struct cursor c = record_at(&items->items, item, &kind);
	uint32_t scope = cursor_u32(&c);
	cursor_skip(&c, 4); /* the type of the function */
	if (kind != LF_FUNC_ID && kind != LF_MFUNC_ID)
		cursor_fail(&c);
	struct span name = read_name(&c, budget);
	if (name.size && scope)
		err = kind == LF_FUNC_ID ? scope_name(&items->items, scope, budget, &outer)
					 : append_scope_text(&outer, type_name(&items->types, scope, budget));
	if (err || !name.size || budget->exceeded)
		return err ? err : -ENOENT;
	*ret = make_name(arena, &outer, name);
	*ret_simple = before - budget->left == name.size + 1 + (outer.n ? outer.n + 1 : 0);
	return *ret ? 0 : -ENOMEM;
}

int cv_item_name(struct cv_items *items, uint32_t item, struct arena *arena, struct name_budget *budget,
		 const struct cv_item_name **ret)
{
	bool simple = false;
	if (budget->exceeded || item < items->items.first || item - items->items.first >= items->items.n)
		return -ENOENT;
	_Atomic(const struct cv_item_name *) *slot = &items->names[item - items->items.first];
	const struct cv_item_name *made = atomic_load_explicit(slot, memory_order_acquire), *none = NULL;
	if (made) {
		*ret = made;
		uint32_t name = made->string.size - (made->scope ? made->scope + 2 : 0);
		bool paid = take_name_bytes(budget, name) &&
			    (!made->scope || take_name_bytes(budget, made->scope));
		return paid ? 0 : -ENOENT;
	}
	int err = read_item(items, item, arena, budget, ret, &simple);
	if (!err && simple)
		atomic_compare_exchange_strong_explicit(slot, &none, *ret, memory_order_release,
							memory_order_relaxed);
	return err;
}

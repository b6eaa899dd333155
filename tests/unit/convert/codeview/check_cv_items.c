/* Names of inlined functions of PDB files: items, their scopes and classes, and what they cost. */

#include "convert/codeview/cv_format.h"
#include "convert/codeview/cv_parts.h"
#include "gsym/base/arena.h"
#include "gsym/base/bytes.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 0x1000, RECORDS_MAX = 32, STREAM_MAX = 4096 };

/* A stream of records that a test writes. */
struct writer {
	uint8_t bytes[STREAM_MAX];
	size_t size;
	uint32_t offs[RECORDS_MAX], n;
};

struct fixture {
	struct writer items, types;
	struct cv_items table;
	struct arena arena;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	free((void *)f->table.names);
	arena_free(&f->arena);
	free(f);
	return 0;
}

/* Appends a record of @kind: @payload, and @name if there is one; returns its number. */
static uint32_t add_record(struct writer *w, uint16_t kind, const void *payload, size_t size,
			   const char *name)
{
	size_t tail = name ? strlen(name) + 1 : 0;
	w->offs[w->n] = (uint32_t)w->size;
	store16(w->bytes + w->size, (uint16_t)(2 + size + tail), false);
	store16(w->bytes + w->size + 2, kind, false);
	memcpy(w->bytes + w->size + 4, payload, size);
	memcpy(w->bytes + w->size + 4 + size, name ? name : "", tail);
	w->size += 4 + size + tail;
	return FIRST + w->n++;
}

static uint32_t add_item(struct fixture *f, uint16_t kind, const char *name, const uint32_t *numbers,
			 size_t n)
{
	uint8_t payload[64];
	for (size_t i = 0; i < n; i++)
		store32(payload + 4 * i, numbers[i], false);
	return add_record(&f->items, kind, payload, 4 * n, name);
}

#define ITEM(f, kind, name, ...)                                 \
	add_item(f, kind, name, (const uint32_t[]){__VA_ARGS__}, \
		 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static struct cv_record_table table_of(struct writer *w)
{
	return (struct cv_record_table){
		.stream.bytes = {w->bytes, w->size}, .first = FIRST, .n = w->n, .offs = w->offs};
}

static void finish(struct fixture *f)
{
	f->table.items = table_of(&f->items);
	f->table.types = table_of(&f->types);
	f->table.names = calloc(f->items.n + 1, sizeof(*f->table.names));
}

/* Asks three times; the costs must be the same, and are returned. */
static uint64_t assert_name(struct fixture *f, uint32_t item, const char *want, uint32_t scope)
{
	uint64_t cost = 0;
	for (int round = 0; round < 3; round++) {
		struct name_budget budget = {.left = 100000};
		const struct cv_item_name *name = NULL;
		assert_int_equal(cv_item_name(&f->table, item, &f->arena, &budget, &name), 0);
		assert_int_equal(name->string.size, strlen(want));
		assert_memory_equal(name->string.text, want, strlen(want) + 1);
		assert_int_equal(name->string.hash, pool_string_of(want, strlen(want)).hash);
		assert_int_equal(name->scope, scope);
		assert_false(budget.exceeded);
		if (round)
			assert_int_equal(cost, 100000 - budget.left);
		cost = 100000 - budget.left;
	}
	/* With so much it can be had, made before or not; with a byte less it cannot. */
	for (int made = 0; made < 2; made++)
		for (int enough = 0; enough < 2; enough++) {
			struct name_budget budget = {.left = cost - !enough};
			const struct cv_item_name *name = NULL;
			if (!made)
				memset((void *)f->table.names, 0, f->items.n * sizeof(*f->table.names));
			assert_int_equal(cv_item_name(&f->table, item, &f->arena, &budget, &name),
					 enough ? 0 : -ENOENT);
			assert_int_equal(budget.exceeded, !enough);
		}
	return cost;
}

static void assert_no_name(struct fixture *f, uint32_t item)
{
	struct name_budget budget = {.left = 100000};
	const struct cv_item_name *name = NULL;
	assert_int_equal(cv_item_name(&f->table, item, &f->arena, &budget, &name), -ENOENT);
	assert_null(name);
	assert_false(budget.exceeded);
}

TEST_OF(functions_and_scopes, struct fixture, f)
{
	uint32_t plain = ITEM(f, LF_FUNC_ID, "plain", 0, 7);
	uint32_t space = ITEM(f, LF_STRING_ID, "ns", 0);
	uint32_t inside = ITEM(f, LF_FUNC_ID, "inside", space, 7);
	uint32_t nested = ITEM(f, LF_FUNC_ID, "nested", inside, 7);
	uint32_t nameless = ITEM(f, LF_FUNC_ID, "", 0, 7);
	uint32_t nowhere = ITEM(f, LF_FUNC_ID, "nowhere", FIRST + 99, 7);
	uint32_t list = ITEM(f, LF_SUBSTR_LIST, NULL, 2, space, space);
	uint32_t listed = ITEM(f, LF_STRING_ID, "::last", list);
	uint32_t deep = ITEM(f, LF_FUNC_ID, "deep", listed, 7);
	uint32_t in_list = ITEM(f, LF_FUNC_ID, "f", list, 7);
	finish(f);
	assert_int_equal(assert_name(f, plain, "plain", 0), 6);
	assert_int_equal(assert_name(f, inside, "ns::inside", 2), 10);
	assert_int_equal(assert_name(f, nested, "inside::nested", 6), 14);
	assert_int_equal(assert_name(f, nowhere, "nowhere", 0), 9);
	assert_int_equal(assert_name(f, deep, "nsns::last::deep", 10), 18);
	assert_int_equal(assert_name(f, in_list, "f", 0), 3);
	assert_no_name(f, nameless);
	assert_no_name(f, space);
	assert_no_name(f, list);
	assert_no_name(f, FIRST - 1);
	assert_no_name(f, FIRST + f->items.n);
	assert_no_name(f, 0);
	assert_no_name(f, UINT32_MAX);
}

/* The parts of a list have no lists themselves, and are strings. */
TEST_OF(lists_of_strings, struct fixture, f)
{
	uint32_t one = ITEM(f, LF_STRING_ID, "one", 0), two = ITEM(f, LF_STRING_ID, "two", 0);
	uint32_t inner = ITEM(f, LF_STRING_ID, "inner", FIRST + 3);
	uint32_t list = ITEM(f, LF_SUBSTR_LIST, NULL, 3, one, inner, two);
	uint32_t short_list = ITEM(f, LF_SUBSTR_LIST, NULL, 9, one, two);
	uint32_t cut = ITEM(f, LF_SUBSTR_LIST, NULL, 1, one, two);
	uint32_t function = ITEM(f, LF_SUBSTR_LIST, NULL, 2, one, FIRST + 7);
	uint32_t f0 = ITEM(f, LF_FUNC_ID, "f", ITEM(f, LF_STRING_ID, "", list), 7);
	uint32_t f1 = ITEM(f, LF_FUNC_ID, "f", ITEM(f, LF_STRING_ID, "", short_list), 7);
	uint32_t f2 = ITEM(f, LF_FUNC_ID, "f", ITEM(f, LF_STRING_ID, "", cut), 7);
	uint32_t f3 = ITEM(f, LF_FUNC_ID, "f", ITEM(f, LF_STRING_ID, "", function), 7);
	finish(f);
	assert_name(f, f0, "one::f", 3);
	assert_name(f, f1, "onetwo::f", 6);
	assert_name(f, f2, "one::f", 3);
	assert_name(f, f3, "one::f", 3);
}

/* A class of @kind with @before bytes before the number of its size, which has a form and @more bytes. */
static uint32_t add_type(struct fixture *f, uint16_t kind, size_t before, uint16_t form, size_t more,
			 const char *name)
{
	uint8_t bytes[64] = {0};
	bool sized = kind != LF_ENUM;
	memset(bytes, 0xee, before);
	if (sized)
		store16(bytes + before, form, false);
	memset(bytes + before + 2, 0xee, more);
	return add_record(&f->types, kind, bytes, before + (sized ? 2 : 0) + more, name);
}

TEST_OF(classes, struct fixture, f)
{
	static const struct {
		uint16_t kind;
		size_t before;
	} kinds[] = {{LF_CLASS, 16},      {LF_STRUCTURE, 16},  {LF_INTERFACE, 16}, {LF_CLASS2, 18},
		     {LF_STRUCTURE2, 18}, {LF_INTERFACE2, 18}, {LF_UNION, 8},      {LF_ENUM, 12}};
	static const struct {
		uint16_t form;
		size_t more;
	} forms[] = {{0, 0},       {0x7fff, 0},   {LF_CHAR, 1},     {LF_SHORT, 2},    {LF_USHORT, 2},
		     {LF_LONG, 4}, {LF_ULONG, 4}, {LF_QUADWORD, 8}, {LF_UQUADWORD, 8}};
	uint32_t methods[8 + 9], n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		methods[n++] = ITEM(f, LF_MFUNC_ID, "m",
				    add_type(f, kinds[i].kind, kinds[i].before, 4, 0, "Class"), 7);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		methods[n++] = ITEM(f, LF_MFUNC_ID, "m",
				    add_type(f, LF_CLASS, 16, forms[i].form, forms[i].more, "Class"), 7);
	uint32_t odd_form = ITEM(f, LF_MFUNC_ID, "m", add_type(f, LF_CLASS, 16, 0x8005, 4, "Class"), 7);
	uint32_t no_class = ITEM(f, LF_MFUNC_ID, "m", add_type(f, 0x1201, 16, 4, 0, "Class"), 7);
	uint32_t none = ITEM(f, LF_MFUNC_ID, "m", 0, 7), far = ITEM(f, LF_MFUNC_ID, "m", FIRST + 100, 7);
	uint32_t item = ITEM(f, LF_MFUNC_ID, "m", FIRST - 1, 7);
	finish(f);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(assert_name(f, methods[i], "Class::m", 5), 8);
	assert_name(f, odd_form, "m", 0);
	assert_name(f, no_class, "m", 0);
	assert_name(f, none, "m", 0);
	assert_name(f, far, "m", 0);
	assert_name(f, item, "m", 0);
}

/* A name without an end is none; what was searched for it is paid. */
TEST_OF(endless_names, struct fixture, f)
{
	const uint8_t payload[] = {0, 0, 0, 0, 7, 0, 0, 0, 'a', 'b', 'c', 'd'};
	uint32_t endless = add_record(&f->items, LF_FUNC_ID, payload, sizeof(payload), NULL);
	uint32_t cut = add_record(&f->items, LF_FUNC_ID, payload, 6, NULL);
	uint32_t empty = add_record(&f->items, LF_FUNC_ID, payload, 8, NULL);
	finish(f);
	struct name_budget budget = {.left = 100};
	const struct cv_item_name *name = NULL;
	assert_int_equal(cv_item_name(&f->table, endless, &f->arena, &budget, &name), -ENOENT);
	assert_int_equal(budget.left, 100 - 5);
	assert_no_name(f, cut);
	assert_no_name(f, empty);
	budget = (struct name_budget){.left = 100, .exceeded = true};
	assert_int_equal(cv_item_name(&f->table, endless, &f->arena, &budget, &name), -ENOENT);
	assert_int_equal(budget.left, 100);
}

EACH_TEST(setup, teardown)

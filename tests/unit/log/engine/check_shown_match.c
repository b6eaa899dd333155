/* The function that a shown name and an offset mean, of many with that name. */
#include "log/engine/symbol_match.h"

#include "tests/unit/gsym/sample.h"

#include "gsym/render/shown_names.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 64, /* functions of one name that are examined */
	SMALL = 0x10,
	LARGE = 0x20,
};

struct file {
	struct sample s;
	uint64_t off;
	struct gsym_reader *reader;
	struct shown_builder shown;
	void *data;
};

static int set_up(void **state)
{
	struct file *f = calloc(1, sizeof(*f));
	sample_init(&f->s, sample_kinds[0], 0x1000);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct file *f = *state;
	name_table_free(f->shown.names.table);
	f->shown.names.table = NULL;
	shown_builder_deinit(&f->shown);
	gsym_reader_close(f->reader);
	free(f->data);
	free(f);
	return 0;
}

/* Adds @n functions, one after the other. */
static void add(struct file *f, size_t n, uint32_t size, const char *name)
{
	for (; n; n--, f->off += LARGE)
		sample_func(&f->s, f->off, size, name, 1);
}

static int match(struct file *f, const char *name, uint64_t off, struct symbol_match *ret)
{
	if (!f->reader) {
		f->reader = sample_open(&f->s, &f->data);
		assert_int_equal(shown_builder_run(&f->shown, f->reader), 0);
	}
	const struct filter_image image = {.reader = f->reader, .shown = f->shown.names.table};
	const struct kernel_symbol symbol = {.name = name, .name_size = strlen(name), .off = off};
	return shown_match(&image, &symbol, ret);
}

/* The offset says which. */
TEST_OF(by_offset, struct file, f)
{
	struct symbol_match found;
	add(f, 3, SMALL, "_ZN1f3oneEv");
	add(f, 1, LARGE, "_ZN1f3oneEv");
	add(f, 1, LARGE, "_ZN1f3twoEv");
	assert_int_equal(match(f, "f::one()", SMALL, &found), 0);
	assert_int_equal(found.address, 0x1000 + 3 * LARGE + SMALL);
	assert_int_equal(found.size, LARGE);
	assert_int_equal(match(f, "f::one()", LARGE - 1, &found), 0);
	assert_int_equal(match(f, "f::one()", LARGE, &found), -ENOENT);
	assert_int_equal(match(f, "f::one()", SMALL - 1, &found), -ENOTUNIQ);
	assert_int_equal(match(f, "f::two()", 4, &found), 0);
	assert_int_equal(found.address, 0x1000 + 4 * LARGE + 4);
	assert_int_equal(match(f, "f::three()", 0, &found), -ENOENT);
}

/* Of a function without a size only the start is known to be its own. */
TEST_OF(without_size, struct file, f)
{
	struct symbol_match found;
	add(f, 1, SMALL, "_ZN1f3twoEv");
	add(f, 1, 0, "_ZN1f3oneEv");
	add(f, 1, SMALL, "_ZN1f3twoEv");
	assert_int_equal(match(f, "f::one()", 0, &found), 0);
	assert_int_equal(found.address, 0x1000 + LARGE);
	assert_int_equal(match(f, "f::one()", 1, &found), -ENOENT);
}

TEST_OF(as_many_as_are_examined, struct file, f)
{
	struct symbol_match found;
	add(f, MANY - 1, SMALL, "_ZN1f3oneEv");
	add(f, 1, LARGE, "_ZN1f3oneEv");
	assert_int_equal(match(f, "f::one()", SMALL, &found), 0);
	assert_int_equal(found.address, 0x1000 + (MANY - 1) * LARGE + SMALL);
}

/* It would take too long to look which of them it is. */
TEST_OF(too_many, struct file, f)
{
	struct symbol_match found;
	add(f, 1, LARGE, "_ZN1f3oneEv");
	add(f, MANY, SMALL, "_ZN1f3oneEv");
	assert_int_equal(match(f, "f::one()", SMALL, &found), -ENOTUNIQ);
	assert_int_equal(match(f, "f::one()", LARGE, &found), -ENOTUNIQ);
}

/* As WinDbg and others write it. */
TEST_OF(spelt_differently, struct file, f)
{
	struct symbol_match found;
	add(f, 1, SMALL, "_ZN1g5twiceEic");
	assert_int_equal(match(f, "g::twice(int, char)", 2, &found), 0);
	assert_int_equal(match(f, "g::twice(int,char)", 2, &found), 0);
	assert_int_equal(found.address, 0x1002);
	assert_int_equal(match(f, "g::twice", 2, &found), 0);
	assert_int_equal(match(f, "twice(int, char)", 2, &found), -ENOENT);
	assert_int_equal(match(f, "g::twice(int, char", 2, &found), -ENOENT);
	assert_int_equal(match(f, "g::twice(long)", 2, &found), -ENOENT);
}

EACH_TEST(set_up, tear_down)

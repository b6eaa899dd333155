/* Interning files: pairs, each once, in order; entry 0 is no file. */
#include "gsym/codec/strtab.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static uint32_t add(struct filetab *t, uint64_t dir, uint64_t base)
{
	uint32_t index;
	assert_int_equal(filetab_add(t, dir, base, &index), 0);
	assert_int_equal(t->entries.v[index].dir, dir);
	assert_int_equal(t->entries.v[index].base, base);
	return index;
}

TEST(entry_zero_is_no_file)
{
	struct filetab t;
	assert_int_equal(filetab_init(&t), 0);
	assert_int_equal(t.entries.n, 1);
	assert_int_equal(add(&t, 0, 0), 0);
	assert_int_equal(t.entries.n, 1);
	filetab_deinit(&t);
}

TEST(pairs_are_shared)
{
	struct filetab t;
	assert_int_equal(filetab_init(&t), 0);
	assert_int_equal(add(&t, 1, 2), 1);
	assert_int_equal(add(&t, 2, 1), 2);
	assert_int_equal(add(&t, 0, 2), 3);
	assert_int_equal(add(&t, 1, 0), 4);
	assert_int_equal(add(&t, 1, 2), 1);
	assert_int_equal(add(&t, 2, 1), 2);
	filetab_deinit(&t);
}

TEST(many_files)
{
	enum { N = 5000 };
	struct filetab t;
	assert_int_equal(filetab_init(&t), 0);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 1; i <= N; i++)
			assert_int_equal(add(&t, i % 7, i), i);
	}
	assert_int_equal(t.entries.n, N + 1);
	filetab_deinit(&t);
}

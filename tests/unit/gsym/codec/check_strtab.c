/* Interning strings: each once, in order, within a limit. */
#include "gsym/codec/strtab.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void setup(struct strtab *t, uint64_t limit)
{
	assert_int_equal(strtab_init(t, limit), 0);
}

static uint64_t add(struct strtab *t, const char *text)
{
	uint64_t strp;
	assert_int_equal(strtab_add(t, text, strlen(text), &strp), 0);
	assert_string_equal(t->bytes + strp, text);
	return strp;
}

TEST(empty_string_is_zero)
{
	struct strtab t;
	setup(&t, UINT32_MAX);
	assert_int_equal(t.n, 1);
	assert_int_equal(add(&t, ""), 0);
	assert_int_equal(t.n, 1);
	strtab_deinit(&t);
}

TEST(duplicates_are_shared_suffixes_are_not)
{
	struct strtab t;
	setup(&t, UINT32_MAX);
	assert_int_equal(add(&t, "work"), 1);
	assert_int_equal(add(&t, "rk"), 6);
	assert_int_equal(add(&t, "work"), 1);
	assert_int_equal(add(&t, "rk"), 6);
	assert_int_equal(t.n, 9);
	strtab_deinit(&t);
}

/* Enough strings to grow slots and bytes several times; every one keeps its offset. */
TEST(many_strings)
{
	enum { N = 20000 };
	static uint64_t offsets[N];
	struct strtab t;
	char text[32];
	setup(&t, UINT32_MAX);
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < N; i++) {
			snprintf(text, sizeof(text), "function_%d", i);
			uint64_t strp = add(&t, text);
			if (pass)
				assert_int_equal(strp, offsets[i]);
			offsets[i] = strp;
		}
	}
	assert_int_equal(t.used, N);
	strtab_deinit(&t);
}

TEST(nul_inside_is_refused)
{
	struct strtab t;
	uint64_t strp;
	setup(&t, UINT32_MAX);
	assert_int_equal(strtab_add(&t, "a\0b", 3, &strp), -EINVAL);
	assert_int_equal(t.n, 1);
	strtab_deinit(&t);
}

/* A table of exactly the limit is fine, one byte more is not, and what is there can still be found. */
TEST(limit_is_exact)
{
	struct strtab t;
	uint64_t strp;
	setup(&t, 10);
	assert_int_equal(add(&t, "abc"), 1);
	assert_int_equal(strtab_add(&t, "123456", 6, &strp), -EOVERFLOW);
	assert_int_equal(add(&t, "1234"), 5);
	assert_int_equal(t.n, 10);
	assert_int_equal(strtab_add(&t, "x", 1, &strp), -EOVERFLOW);
	assert_int_equal(add(&t, "abc"), 1);
	strtab_deinit(&t);
}

TEST(space_is_filled_by_the_caller)
{
	struct strtab t;
	char *at;
	setup(&t, 10);
	assert_int_equal(strtab_extend(&t, 4, &at), 0);
	memcpy(at, "a\0b", 4);
	assert_int_equal(t.n, 5);
	assert_int_equal(strtab_extend(&t, 6, &at), -EOVERFLOW);
	assert_int_equal(add(&t, "cdef"), 5);
	assert_memory_equal(t.bytes, "\0a\0b\0cdef", 10);
	strtab_deinit(&t);
}

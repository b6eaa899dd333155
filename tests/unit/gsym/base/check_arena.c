/* An arena: what it gives stays apart and as it was, of every size, until all of it is freed. */
#include "gsym/base/arena.h"

#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

static unsigned large; /* chunks of huge pages */

int __real_posix_memalign(void **ret, size_t alignment, size_t size);

int __wrap_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int err = allocation_fails() ? 12 : __real_posix_memalign(ret, alignment, size);
	live += !err;
	large += !err;
	return err;
}

TEST(every_size)
{
	enum { N = 600 };
	struct arena arena = {0};
	unsigned char *at[N];
	for (size_t i = 0; i < N; i++) {
		at[i] = arena_alloc(&arena, i * 7);
		assert_non_null(at[i]);
		assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
		memset(at[i], (int)i, i * 7);
	}
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < i * 7; k++)
			assert_int_equal(at[i][k], i & 0xff);
	assert_true(arena.size >= N * (N - 1) / 2 * 7 && arena.size < 3 << 20);
	arena_free(&arena);
	assert_int_equal(arena.size, 0);
	assert_int_equal(live, 0);
	assert_non_null(arena_alloc(&arena, 0)); /* it can be used again */
	arena_free(&arena);
	assert_int_equal(live, 0);
}

/* Once it has megabytes its chunks are of huge pages. */
TEST(large_ones)
{
	enum { PIECE = 100000, N = 200 };
	struct arena arena = {0};
	unsigned char *at[N];
	large = 0;
	for (size_t i = 0; i < N; i++) {
		at[i] = arena_alloc(&arena, PIECE);
		assert_non_null(at[i]);
		memset(at[i], (int)i, PIECE);
		assert_int_equal(large > 0, arena.size >= 12 << 20);
	}
	for (size_t i = 0; i < N; i++)
		assert_true(at[i][0] == (i & 0xff) && at[i][PIECE - 1] == (i & 0xff));
	assert_in_range(large, 2, 3);
	/* One that is larger than a chunk has its own. */
	unsigned char *alone = arena_alloc(&arena, 30 << 20);
	assert_non_null(alone);
	alone[0] = alone[(30 << 20) - 1] = 1;
	arena_free(&arena);
	assert_int_equal(live, 0);
}

TEST(refused)
{
	struct arena arena = {0};
	assert_null(arena_alloc(&arena, SIZE_MAX / 2 + 1));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_array(&arena, SIZE_MAX / 4, 8));
	assert_null(arena_array(&arena, SIZE_MAX, SIZE_MAX));
	assert_non_null(arena_array(&arena, 3, 8));
	arena_free(&arena);
	/* Without memory, for a small chunk and a large one; what was there stays. */
	allowed = 0;
	assert_null(arena_alloc(&arena, 1));
	allowed = 0;
	assert_null(arena_alloc(&arena, 0));
	allowed = -1;
	char *text = arena_strdup(&arena, "text, and more", 4);
	assert_string_equal(text, "text");
	allowed = 0;
	assert_null(arena_alloc(&arena, 20 << 20));
	allowed = 0;
	assert_null(arena_strdup(&arena, text, 1 << 20));
	allowed = -1;
	assert_string_equal(text, "text");
	assert_string_equal(arena_strdup(&arena, "", 0), "");
	arena_free(&arena);
	assert_int_equal(live, 0);
}

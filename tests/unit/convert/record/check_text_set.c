/* Texts that are kept once. */
#include "convert/record/pool.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { TEXTS = 5000 }; /* the table grows several times */

static const char *keep(struct text_set *set, struct arena *arena, const char *text, size_t size)
{
	struct pool_string string = pool_string_of(text, size);
	assert_int_equal(text_set_keep(set, arena, &string), 0);
	assert_int_equal(string.size, size);
	assert_memory_equal(string.text, text, size);
	assert_int_equal(string.text[size], 0);
	return string.text;
}

TEST(equal_texts_are_one)
{
	struct text_set set = {0};
	struct arena arena = {0};
	const char *kept[TEXTS];
	char text[32];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < TEXTS; i++) {
			int size = snprintf(text, sizeof(text), "scope::%d", i);
			const char *at = keep(&set, &arena, text, (size_t)size);
			assert_ptr_not_equal(at, text);
			if (round)
				assert_ptr_equal(at, kept[i]);
			kept[i] = at;
		}
	assert_int_equal(set.texts.n, TEXTS);
	text_set_deinit(&set);
	assert_string_equal(kept[TEXTS - 1], text); /* it is in the arena */
	arena_free(&arena);
}

TEST(sizes_tell_texts_apart)
{
	struct text_set set = {0};
	struct arena arena = {0};
	const char *whole = keep(&set, &arena, "work", 4);
	const char *part = keep(&set, &arena, "work", 3);
	const char *empty = keep(&set, &arena, "", 0);
	assert_string_equal(whole, "work");
	assert_string_equal(part, "wor");
	assert_string_equal(empty, "");
	assert_ptr_equal(keep(&set, &arena, "worm", 3), part);
	assert_int_equal(set.texts.n, 3);
	text_set_deinit(&set);
	arena_free(&arena);
}

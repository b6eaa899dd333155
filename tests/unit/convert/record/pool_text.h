/* pool_text.h - strings of records that tests make. */
#ifndef TESTS_UNIT_CONVERT_POOL_TEXT_H
#define TESTS_UNIT_CONVERT_POOL_TEXT_H

#include "convert/record/pool.h"
#include "tests/lib/unit.h"

/* The number of the string @text, which has to stay. */
static inline uint32_t pool_text(struct pool *pool, const char *text)
{
	struct pool_string s = pool_string_of(text, strlen(text));
	uint32_t number;
	assert_int_equal(pool_add_string(pool, &s, &number), 0);
	return number;
}

#endif

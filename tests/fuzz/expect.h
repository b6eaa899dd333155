/* expect.h - like assert(), but in release builds too. */
#ifndef TESTS_FUZZ_EXPECT_H
#define TESTS_FUZZ_EXPECT_H

#include <stdbool.h>
#include <stdlib.h>

static inline void expect(bool promise)
{
	if (!promise)
		abort();
}

#endif

/* captured_stderr.h - what the code under test writes to standard error. */
#ifndef TESTS_CAPTURED_STDERR_H
#define TESTS_CAPTURED_STDERR_H

#include <stdio.h>
#include <unistd.h>

#include "tests/lib/unit.h"

struct captured_stderr {
	FILE *file;
	int before;
};

static inline struct captured_stderr capture_begin(void)
{
	struct captured_stderr captured = {.file = tmpfile(), .before = dup(STDERR_FILENO)};
	assert_non_null(captured.file);
	assert_true(dup2(fileno(captured.file), STDERR_FILENO) >= 0);
	return captured;
}

/* Ends it; the text, of which @size - 1 bytes are kept. */
static inline void capture_end(struct captured_stderr *captured, char *ret, size_t size)
{
	dup2(captured->before, STDERR_FILENO);
	close(captured->before);
	rewind(captured->file);
	ret[fread(ret, 1, size - 1, captured->file)] = 0;
	fclose(captured->file);
}

#endif

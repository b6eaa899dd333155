/*
 * What libgsym offers for printing frames: names demangled, paths joined.
 */
#include "gsym/base/path.h"
#include "gsym/gsym.h"
#include "gsym/render/demangle/demangle.h"

#include <string.h>

/* Copies to @at of the buffer as much of @text as there is room for, terminated. Gives the end of all. */
static size_t put_text(char *buf, size_t size, size_t at, const char *text, size_t n)
{
	if (at < size) {
		size_t kept = n < size - at ? n : size - at - 1;
		memcpy(buf + at, text, kept);
		buf[at + kept] = 0;
	}
	return at + n;
}

size_t gsym_demangle(const char *name, unsigned flags, char *buf, size_t size)
{
	enum demangle_mode mode = flags & GSYM_DEMANGLE_ADA ? DEMANGLE_ADA : DEMANGLE_AUTO;
	struct text_buf text = {0};
	bool demangled = demangle_applies(name, mode) && demangle_append(&text, name, mode) && !text.failed;
	size_t n = demangled ? put_text(buf, size, 0, text.v, text.n)
			     : put_text(buf, size, 0, name, strlen(name));
	text_deinit(&text);
	return n;
}

size_t gsym_path(const char *dir, const char *base, char *buf, size_t size)
{
	const char *separator = *base ? path_separator(dir) : "";
	size_t n = put_text(buf, size, 0, dir, strlen(dir));
	n = put_text(buf, size, n, separator, strlen(separator));
	return put_text(buf, size, n, base, strlen(base));
}

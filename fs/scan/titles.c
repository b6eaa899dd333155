#include "fs/scan/titles.h"

#include <stdio.h>
#include <string.h>

#include "work/types/packed_name.h"
#include "work/types/valid_name.h"
#include "gsym/base/ascii.h"

enum { DIGITS_MIN = 16 /* of an id; shorter names may be words */ };

static const char suffix[] = ".debug";

static size_t without_suffix(const char *path, size_t n)
{
	size_t size = sizeof(suffix) - 1;
	return n > size && memcmp(path + n - size, suffix, size) == 0 ? n - size : n;
}

/* Whether the @n bytes of @path end with the digits of @id, and a component begins with the first of them. */
static bool ends_with_id(const char *path, size_t n, const char *id)
{
	size_t left = strlen(id);
	while (n && left) {
		char c = path[--n];
		if (c == '/' || c == '-')
			continue;
		if (hex_value(c) < 0 || hex_value(c) != hex_value(id[--left]))
			return false;
	}
	return !left && (!n || path[n - 1] == '/');
}

bool path_is_called_by_id(const char *path, const char *id)
{
	const char *slash = strrchr(path, '/');
	if (strlen(id) < DIGITS_MIN || strspn(id, "0123456789abcdef") != strlen(id))
		return false;
	return ends_with_id(path, without_suffix(path, strlen(path)), id) ||
	       (slash && ends_with_id(path, (size_t)(slash - path), id));
}

static bool are_digits(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hex_value(text[i]) < 0 || (text[i] >= 'A' && text[i] <= 'F'))
			return false;
	return true;
}

bool path_build_id(const char *path, char ret[static ID_TEXT_SIZE])
{
	const char *rest = strrchr(path, '/');
	if (!rest || rest - path < 2)
		return false;
	const char *first = rest - 2;
	size_t n = without_suffix(rest + 1, strlen(rest + 1));
	if ((first > path && first[-1] != '/') || n + 2 < DIGITS_MIN || n + 2 >= ID_TEXT_SIZE ||
	    !are_digits(first, 2) || !are_digits(rest + 1, n))
		return false;
	snprintf(ret, ID_TEXT_SIZE, "%.2s%.*s", first, (int)n, rest + 1);
	return true;
}

const char *title_of_link(char *target)
{
	char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
	size_t n = without_suffix(name, strlen(name));
	name[n] = 0;
	return (n >= DIGITS_MIN - 2 && are_digits(name, n)) || !image_name_valid(name) ? NULL : name;
}

bool title_of_compressed(const char *name, char ret[static IMAGE_NAME_SIZE])
{
	size_t size = unpacked_size(name);
	if (!name[size] || size >= IMAGE_NAME_SIZE)
		return false;
	snprintf(ret, IMAGE_NAME_SIZE, "%.*s", (int)size, name);
	return true;
}

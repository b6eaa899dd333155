/*
 * go_id.h - build ids of Go: two to four hashes of 20 characters of base64url, "action/../content".
 *
 * Other texts, which linkers accept instead ("redacted"), are the same in many programs and no ids.
 */
#ifndef WORK_TYPES_GO_ID_H
#define WORK_TYPES_GO_ID_H

#include <stdbool.h>
#include <string.h>

#include "work/types/image_identity.h"

enum { GO_ID_PART = 20, GO_ID_PARTS_MIN = 2, GO_ID_PARTS_MAX = 4 };

static inline bool go_id_has(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_';
}

/* The size of the separator at the start of the @size bytes of @text: 0 if there is none. */
static inline size_t go_id_separator(const char *text, size_t size)
{
	if (size && (*text == '/' || *text == '_'))
		return 1;
	return size >= 3 && text[0] == '%' && text[1] == '2' && (text[2] | 0x20) == 'f' ? 3 : 0;
}

/*
 * Whether the @size bytes of @text are such an id, with slashes, or in their place '_' or "%2F", since a file
 * name can have none. @ret becomes the id with slashes.
 */
static inline bool go_id_parse(const char *text, size_t size, char ret[static GO_ID_SIZE])
{
	for (size_t part = 1; part <= GO_ID_PARTS_MAX && size >= GO_ID_PART; part++) {
		for (size_t i = 0; i < GO_ID_PART; i++)
			if (!go_id_has(*ret++ = text[i]))
				return false;
		text += GO_ID_PART;
		size -= GO_ID_PART;
		*ret = 0;
		size_t separator = go_id_separator(text, size);
		if (!separator)
			return !size && part >= GO_ID_PARTS_MIN;
		*ret++ = '/';
		text += separator;
		size -= separator;
	}
	return false;
}

/* Whether @text is one with slashes, or empty: terminated in its @size bytes. */
static inline bool go_id_is_valid(const char text[static GO_ID_SIZE])
{
	char same[GO_ID_SIZE];
	size_t n = strnlen(text, GO_ID_SIZE);
	return !n || (n < GO_ID_SIZE && go_id_parse(text, n, same) && memcmp(text, same, n) == 0);
}

#endif

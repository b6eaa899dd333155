/* valid_name.h - names that object files give themselves, which may be anything. */
#ifndef WORK_TYPES_VALID_NAME_H
#define WORK_TYPES_VALID_NAME_H

#include <stdbool.h>
#include <string.h>

/* Whether a file may be called @name, and a terminal shows it as it is. */
static inline bool image_name_valid(const char *name)
{
	for (const char *at = name; *at; at++)
		if (*at == '/' || (unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

#endif

#include "gsym/base/path.h"

#include <string.h>

const char *path_separator(const char *dir)
{
	size_t size = strlen(dir);
	if (size == 0 || dir[size - 1] == '/' || dir[size - 1] == '\\')
		return "";
	return memchr(dir, '\\', size) && !memchr(dir, '/', size) ? "\\" : "/";
}

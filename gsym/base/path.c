#include "gsym/base/path.h"

#include <string.h>

bool path_is_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (!n || dir[n - 1] == '/' || !path[n] || path[n] == '/');
}

const char *path_separator(const char *dir)
{
	size_t size = strlen(dir);
	if (size == 0 || dir[size - 1] == '/' || dir[size - 1] == '\\')
		return "";
	return memchr(dir, '\\', size) && !memchr(dir, '/', size) ? "\\" : "/";
}

#include "log/engine/source_root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of @root that are a directory of @dir, too. */
static size_t shared(const char *root, size_t size, const char *dir)
{
	size_t n = 0, last = 0;
	for (; n < size && dir[n] == root[n]; n++)
		last = root[n] == '/' ? n : last;
	bool whole = (n == size || root[n] == '/') && (!dir[n] || dir[n] == '/');
	return whole ? n : last;
}

int source_root_find(const struct gsym_reader *reader, char **ret)
{
	const char *root = NULL, *dir, *base;
	size_t size = 0;
	for (uint32_t i = 1; i < gsym_reader_info(reader)->num_files; i++) {
		if (gsym_reader_file(reader, i, &dir, &base) || dir[0] != '/' ||
		    strncmp(dir, "/usr/", 5) == 0)
			continue;
		size = root ? shared(root, size, dir) : strlen(dir);
		root = root ? root : dir;
	}
	*ret = size > 1 ? strndup(root, size) : NULL;
	return size > 1 && !*ret ? -ENOMEM : 0;
}

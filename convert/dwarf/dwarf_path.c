/*
 * dwarf_path.c - paths of line-table files (DWARF 5, 6.2.4).
 *
 * A path is compilation directory + include directory + name; an absolute part replaces those before it.
 * Paths are not normalised: "." and ".." stay.
 */
#include "convert/dwarf/dwarf.h"

#include <string.h>

enum { PATH_BYTES_MAX = 16 * 1024 }; /* longer parts are dropped: many files may share one long string */

/* Also the Windows forms "C:\x", "C:/x" and "\\host": cross compilers write them. */
static bool is_absolute(const char *path)
{
	if (path[0] == '/' || (path[0] == '\\' && path[1] == '\\'))
		return true;
	bool letter = (path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z';
	return letter && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

bool line_table_has_file(const struct line_table *table, uint64_t index)
{
	return table->version >= 5 ? index < table->files.n : index - 1 < table->files.n;
}

static char *append_path(char *path, char *at, const char *part)
{
	if (!*part)
		return at;
	if (at > path && at[-1] == '/')
		while (*part == '/')
			part++;
	else if (at > path && *part != '/')
		*at++ = '/';
	return stpcpy(at, part);
}

static struct span span_between(const char *from, const char *to)
{
	return (struct span){(const uint8_t *)from, (size_t)(to - from)};
}

/* The separator after the directory of a path, or NULL. Readers join by a backslash where the directory has
 * one, so "C:\a.c" is not split. */
static const char *directory_end(const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);
	if (slash || size < 3 || !is_absolute(path))
		return slash;
	const char *first = memchr(path, '\\', size), *last = memrchr(path, '\\', size);
	return first != last ? last : NULL;
}

void path_split(const char *path, const char *end, struct span *ret_dir, struct span *ret_base)
{
	const char *cut = directory_end(path, (size_t)(end - path));
	*ret_base = span_between(cut ? cut + 1 : path, end);
	while (cut > path && cut[-1] == *cut)
		cut--;
	*ret_dir = span_between(path, !cut ? path : cut == path ? cut + 1 : cut);
}

size_t line_table_comp_size(const struct line_table *table, const struct unit *unit, uint64_t index)
{
	if (!line_table_has_file(table, index))
		return 0;
	const struct line_file *file = &table->files.v[table->version >= 5 ? index : index - 1];
	uint64_t i = table->version >= 5 ? file->dir : file->dir - 1;
	const char *dir = i < table->dirs.n ? table->dirs.v[i] : "";
	bool is_listed = table->version >= 5 && file->dir == 0;
	const char *comp = is_listed ? dir : unit->comp_dir;
	size_t size = comp ? strlen(comp) : 0;
	if (is_absolute(file->name) || (!is_listed && is_absolute(dir)) || !size)
		return 0;
	return size + (comp[size - 1] != '/');
}

int line_table_path(const struct line_table *table, struct unit *unit, uint64_t index, struct text_buf *made,
		    struct span *ret_dir, struct span *ret_base)
{
	*ret_dir = *ret_base = (struct span){(const uint8_t *)"", 0};
	if (!line_table_has_file(table, index))
		return 0;
	const struct line_file *file = &table->files.v[table->version >= 5 ? index : index - 1];
	const char *name = file->name, *dir = "", *comp = "";
	if (!is_absolute(name)) {
		/* Version 5 lists the compilation directory as number 0; before, 0 meant it, unlisted. */
		uint64_t i = table->version >= 5 ? file->dir : file->dir - 1;
		dir = i < table->dirs.n ? table->dirs.v[i] : "";
		if (!is_absolute(dir) && (table->version < 5 || file->dir != 0))
			comp = unit->comp_dir;
	}
	size_t dir_size = strnlen(comp, PATH_BYTES_MAX + 1) + strnlen(dir, PATH_BYTES_MAX + 1),
	       name_size = strnlen(name, PATH_BYTES_MAX + 1);
	if (!budget_work(&unit->budget, ACCOUNT_FILES, (dir_size + name_size) / NAME_STEP + 1))
		return -EDQUOT;
	if (dir_size > PATH_BYTES_MAX) {
		comp = dir = "";
		dir_size = 0;
	}
	if (name_size > PATH_BYTES_MAX) {
		name = "";
		name_size = 0;
	}
	if (!budget_memory(&unit->budget, ACCOUNT_FILES, dir_size + name_size + 3))
		return -EDQUOT;
	text_reset(made);
	if (!text_reserve(made, dir_size + name_size + 3))
		return -ENOMEM;
	char *path = made->v;
	char *end = append_path(path, append_path(path, append_path(path, path, comp), dir), name);
	*end = 0;
	path_split(path, end, ret_dir, ret_base);
	return 0;
}

/*
 * verify_line.c - the line table of a unit from libdwarf: sequences sorted by start address, each a range of
 * rows.
 */
#include "convert/verify/verify_parts.h"
#include "gsym/base/search.h"

#include <stdio.h>
#include <string.h>

/* On Windows, a path with both a root name, "C:" or "\\host", and a root directory. */
static bool is_absolute(const char *path)
{
	if (path[0] == '/')
		return true;
	if (path[0] == '\\' && path[1] == '\\')
		return true;
	return path[0] && path[1] == ':' && (path[2] == '/' || path[2] == '\\');
}

static const char *include_dir(struct dw *dw, Dwarf_Line_Context context, Dwarf_Unsigned index)
{
	const char *dir = NULL;
	Dwarf_Error error = NULL;
	int result = dwarf_srclines_include_dir_data(context, (Dwarf_Signed)index, &dir, &error);
	return dw_ok(dw, result, &error) && dir ? dir : "";
}

/*
 * Directory 0 is the compilation directory: spelled out in the table from DWARF 5 on (6.2.4), where it may be
 * relative and then stays so; implied before.
 */
static char *file_path(struct dw *dw, Dwarf_Line_Context context, unsigned version, const char *comp_dir,
		       const char *name, Dwarf_Unsigned dir_index)
{
	const char *dir = "";
	if (is_absolute(name))
		return strdup(name);
	if (version >= 5 || dir_index > 0)
		dir = include_dir(dw, context, dir_index);
	bool based = is_absolute(dir) || (version >= 5 && dir_index == 0);
	/* As llvm's tools join them: a slash between parts unless one is there. Empty parts vanish. */
	const char *parts[] = {based ? "" : comp_dir, dir, name};
	size_t size = 0;
	char *path = malloc(strlen(parts[0]) + strlen(dir) + strlen(name) + 3);
	for (size_t i = 0; path && i < ARRAY_SIZE(parts); i++) {
		size_t part = strlen(parts[i]);
		if (part && size && path[size - 1] != '/')
			path[size++] = '/';
		memcpy(path + size, parts[i], part);
		size += part;
	}
	if (path)
		path[size] = '\0';
	return path;
}

static int read_files(struct verify_lines *lines, struct dw *dw, Dwarf_Line_Context context, unsigned version,
		      const char *comp_dir)
{
	Dwarf_Signed base = 0, count = 0, end = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_srclines_files_indexes(context, &base, &count, &end, &error), &error))
		return 0;
	lines->first_file = base;
	for (Dwarf_Signed i = base; i < end; i++) {
		const char *name = NULL;
		Dwarf_Unsigned dir, mtime, size;
		Dwarf_Form_Data16 *md5;
		char *path = NULL;
		int result =
			dwarf_srclines_files_data_b(context, i, &name, &dir, &mtime, &size, &md5, &error);
		if (dw_ok(dw, result, &error) && name) {
			path = file_path(dw, context, version, comp_dir, name, dir);
			if (!path)
				return -ENOMEM;
		}
		if (vec_push(&lines->files, path)) {
			free(path);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Rows come in the order of the program; an end_sequence row closes what began after the one before. */
static int close_sequence(struct verify_lines *lines, size_t first, uint64_t high)
{
	size_t count = lines->rows.n - first;
	if (count == 0)
		return 0;
	struct verify_sequence sequence = {lines->rows.v[first].addr, high, first, count};
	return vec_push(&lines->sequences, sequence);
}

static int read_row(struct verify_lines *lines, struct dw *dw, Dwarf_Line line, size_t *first)
{
	Dwarf_Addr addr = 0;
	Dwarf_Unsigned number = 0, file = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(dw, dwarf_lineaddr(line, &addr, &error), &error))
		return 0;
	addr &= ~dw->mode_bits;
	if (dw_end_sequence(dw, line)) {
		int err = close_sequence(lines, *first, addr);
		*first = lines->rows.n;
		return err;
	}
	if (!dw_ok(dw, dwarf_lineno(line, &number, &error), &error) ||
	    !dw_ok(dw, dwarf_line_srcfileno(line, &file, &error), &error))
		return 0;
	struct verify_row row = {addr, number, (uint32_t)file, (uint32_t)file};
	if (file == 0 && lines->first_file == 0 && !DW_FILE_ZERO_IS_SURE)
		row.file2 = 1;
	return vec_push(&lines->rows, row);
}

static int by_low(const void *a, const void *b)
{
	const struct verify_sequence *x = a, *y = b;
	return COMPARE(x->low, y->low) ?: COMPARE(x->first, y->first);
}

static int read_rows(struct verify_lines *lines, struct dw *dw, Dwarf_Line_Context context)
{
	Dwarf_Line *list = NULL;
	Dwarf_Signed count = 0;
	Dwarf_Error error = NULL;
	size_t first = 0;
	if (!dw_ok(dw, dwarf_srclines_from_linecontext(context, &list, &count, &error), &error))
		return 0;
	for (Dwarf_Signed i = 0; i < count; i++) {
		int err = read_row(lines, dw, list[i], &first);
		if (err)
			return err;
	}
	if (lines->sequences.n)
		qsort(lines->sequences.v, lines->sequences.n, sizeof(*lines->sequences.v), by_low);
	return 0;
}

static const char *comp_dir_of(struct dw *dw, Dwarf_Die cu_die)
{
	Dwarf_Attribute attr;
	Dwarf_Error error = NULL;
	char *text = NULL;
	if (!dw_ok(dw, dwarf_attr(cu_die, DW_AT_comp_dir, &attr, &error), &error))
		return "";
	bool ok = dw_ok(dw, dwarf_formstring(attr, &text, &error), &error);
	dwarf_dealloc_attribute(attr);
	return ok && text ? text : "";
}

int verify_lines_read(struct verify_lines *lines, struct dw *dw, Dwarf_Die cu_die)
{
	Dwarf_Unsigned version = 0;
	Dwarf_Small tables = 0;
	Dwarf_Line_Context context = NULL;
	Dwarf_Error error = NULL;
	*lines = (struct verify_lines){0};
	if (!dw_ok(dw, dwarf_srclines_b(cu_die, &version, &tables, &context, &error), &error))
		return 0;
	int err = read_files(lines, dw, context, (unsigned)version, comp_dir_of(dw, cu_die));
	if (!err && tables == 1)
		err = read_rows(lines, dw, context);
	dwarf_srclines_dealloc_b(context);
	return err;
}

void verify_lines_deinit(struct verify_lines *lines)
{
	for (size_t i = 0; i < lines->files.n; i++)
		free(lines->files.v[i]);
	vec_free(&lines->files);
	vec_free(&lines->sequences);
	vec_free(&lines->rows);
}

const char *verify_lines_file(const struct verify_lines *lines, uint64_t index)
{
	uint64_t at = index - (uint64_t)lines->first_file;
	return at < lines->files.n ? lines->files.v[at] : NULL;
}

/*
 * The last row at or before @addr. Rows of a sequence should ascend; the search may miss one that does not.
 */
static const struct verify_row *find_row(const struct verify_row *rows, size_t count, uint64_t addr)
{
	size_t low = PARTITION_POINT(0, count, mid, rows[mid].addr <= addr);
	return low ? &rows[low - 1] : NULL;
}

const struct verify_row *verify_lines_find(const struct verify_lines *lines, uint64_t addr, size_t nth)
{
	for (size_t i = 0; i < lines->sequences.n; i++) {
		const struct verify_sequence *s = &lines->sequences.v[i];
		if (s->low > addr)
			break;
		if (addr < s->high && nth-- == 0)
			return find_row(lines->rows.v + s->first, s->count, addr);
	}
	return NULL;
}

/*
 * go_names.c - numbers of names and source files in the result.
 */
#include "convert/golang/go_reader.h"

#include "convert/dwarf/dwarf.h"

int go_name_number(struct go_reader *r, const char *name, uint32_t *ret)
{
	const struct pclntab *t = &r->table;
	int64_t size = name_budget_take(&r->names, name,
					(uint64_t)(t->names.data + t->names.size - (const uint8_t *)name));
	*ret = 0;
	if (size < 0)
		return 0;
	struct pool_string string = pool_string_of(name, (size_t)size);
	return pool_add_string(r->pool, &string, ret);
}

static int add_path(struct go_reader *r, const char *path, uint32_t *ret)
{
	const struct pclntab *t = &r->table;
	int64_t size = name_budget_take(&r->paths, path,
					(uint64_t)(t->files.data + t->files.size - (const uint8_t *)path));
	struct span dir, base;
	struct pool_file file;
	*ret = 0;
	if (size < 0)
		return 0;
	path_split(path, path + size, &dir, &base);
	struct pool_string dir_name = pool_string_of((const char *)dir.data, dir.size),
			   base_name = pool_string_of((const char *)base.data, base.size);
	int err = pool_add_string(r->pool, &dir_name, &file.dir);
	if (!err)
		err = pool_add_string(r->pool, &base_name, &file.base);
	return err ? err : pool_add_file(r->pool, file, ret);
}

int go_file_number(struct go_reader *r, const struct go_function *f, int32_t value, uint32_t *ret)
{
	uint64_t index = (uint64_t)f->unit + (uint32_t)value;
	*ret = 0;
	if (value < 0 || index >= r->n_files)
		return 0;
	if (!r->files[index]) {
		const char *path = pclntab_file(&r->table, index);
		uint32_t number = 0;
		int err = path ? add_path(r, path, &number) : 0;
		if (err)
			return err;
		r->files[index] = number + 1;
	}
	*ret = r->files[index] - 1;
	return 0;
}

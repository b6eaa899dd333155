/*
 * pdb_find.c - the PDB file of a PE file: searched for by the base name of the path that the linker recorded,
 * beside the PE file and in the debug directories, each of which may be a symbol store:
 * NAME.pdb/GUIDage/NAME.pdb.
 *
 * It belongs to the PE file if its GUID is the same, and its age: a linker that rewrites a PDB file keeps the
 * GUID and counts the age up, and code may have moved since. The age is that of the DBI stream; tools that
 * only add streams count up another, that of the PDB stream.
 */
#include "convert/companion/debug_files.h"

#include "convert/object/object_open.h"
#include "convert/object/pe/pe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	PATH_SIZE = 4096,
	KEY_SIZE = 2 * GUID_SIZE + 8 + 1, /* GUID and age in hexadecimal digits */
};

/* What follows the last slash of either kind; NULL if that is no name. */
static const char *base_name(const struct object_file *pe)
{
	const char *name = pe_of(pe)->pdb_path;
	for (const char *at = name; at && *at; at++)
		if (*at == '/' || *at == '\\')
			name = at + 1;
	return name && *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : NULL;
}

static void write_key(const struct object_file *pe, char ret[static KEY_SIZE])
{
	for (size_t i = 0; i < pe->id_size; i++)
		snprintf(ret + 2 * i, KEY_SIZE - 2 * i, "%02X", pe->id[i]);
	snprintf(ret + 2 * pe->id_size, KEY_SIZE - 2 * pe->id_size, "%X", pe_of(pe)->pdb_age);
}

/* @why is that of the first candidate. */
static struct object_file *open_if_ours(const struct object_file *pe, const char *path, struct gsym_diag *why)
{
	struct object_file *pdb = NULL;
	struct gsym_diag diag = {""};
	int err = object_open(path, pe->opener, &pdb, &diag);
	if (!err && (pdb->format != &pdb_format || pdb->id_size != pe->id_size ||
		     memcmp(pdb->id, pe->id, pe->id_size)))
		err = -ENOENT;
	if (!err)
		err = pe_check_age(pe, pdb, &diag);
	if ((err == -ENOTSUP || err == -EINVAL) && !*why->text)
		*why = diag;
	if (!err)
		return pdb;
	object_close(pdb);
	return NULL;
}

/* The file in @dir, of @size bytes, itself or in a symbol store there. */
static struct object_file *find_below(const struct object_file *pe, const char *dir, size_t size,
				      const char *name, const char *key, struct gsym_diag *why)
{
	char path[PATH_SIZE];
	struct object_file *pdb = NULL;
	if (snprintf(path, PATH_SIZE, "%.*s/%s", (int)size, dir, name) < PATH_SIZE)
		pdb = open_if_ours(pe, path, why);
	if (!pdb && snprintf(path, PATH_SIZE, "%.*s/%s/%s/%s", (int)size, dir, name, key, name) < PATH_SIZE)
		pdb = open_if_ours(pe, path, why);
	return pdb;
}

struct object_file *pdb_find(const struct object_file *pe, const char *const *dirs, struct gsym_diag *why)
{
	const char *name = pe->format == &pe_format && pe->id_size ? base_name(pe) : NULL;
	const char *slash = strrchr(pe->path, '/');
	char key[KEY_SIZE];
	if (!name)
		return NULL;
	write_key(pe, key);
	struct object_file *pdb = slash ? find_below(pe, pe->path, (size_t)(slash - pe->path), name, key, why)
					: find_below(pe, ".", 1, name, key, why);
	for (const char *const *d = dirs; d && *d && !pdb; d++)
		pdb = find_below(pe, *d, strlen(*d), name, key, why);
	return pdb;
}

const char *pdb_path(const struct object_file *object)
{
	const char *path = object->format == &pe_format ? pe_of(object)->pdb_path : NULL;
	return path && *path ? path : NULL;
}

bool pdb_store_name(const struct object_file *pe, char *ret, size_t size)
{
	const char *name = pe->format == &pe_format && pe->id_size ? base_name(pe) : NULL;
	char key[KEY_SIZE];
	if (!name)
		return false;
	write_key(pe, key);
	snprintf(ret, size, "%s/%s/%s", name, key, name);
	return true;
}

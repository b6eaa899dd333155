/*
 * pdb.c - PDB files as a source format. What is not read of them is refused by its name.
 */
#include "convert/object/pdb/pdb.h"

#include "gsym/base/diag.h"

#include <errno.h>

struct refused_format {
	const char *magic;
	size_t size; /* of the magic number */
	const char *what;
};

static const struct refused_format refused[] = {
	{"BSJB", 4,
	 "a portable PDB, which has lines of .NET's intermediate language and no addresses of code"},
	{"Microsoft MSFZ Container", 24,
	 "a compressed PDB (MSFZ), which is not read: use the PDB that it was made of"},
	{"Microsoft C/C++ program database 2.00", 37,
	 "a PDB of version 2.00, before Visual C++ 7.0: only MSF 7.00 is read"},
};

static const struct refused_format *find_refused(struct span file)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (file.size >= refused[i].size && !memcmp(file.data, refused[i].magic, refused[i].size))
			return &refused[i];
	return NULL;
}

static bool pdb_probe(struct span file)
{
	return msf_probe(file) || find_refused(file);
}

static int pdb_read(struct object_file *object, struct gsym_diag *diag)
{
	const struct span file = {object->map, object->map_size};
	const struct refused_format *other = find_refused(file);
	if (other)
		return diag_set(diag, -ENOTSUP, "%s: %s", object->path, other->what);
	if (object_new_own(object, sizeof(struct pdb), diag))
		return -ENOMEM;
	int err = msf_open(file, &pdb_of(object)->msf, diag);
	if (err)
		return diag_prefix(diag, err, "%s", object->path);
	err = pdb_read_info(object, diag);
	if (!err)
		err = pdb_read_dbi_header(object, diag);
	object->has_base = true;
	return err;
}

static void pdb_close(struct object_file *object)
{
	struct pdb *pdb = pdb_of(object);
	msf_close(&pdb->msf);
	pdb_bytes_free(&pdb->module_bytes);
	pdb_bytes_free(&pdb->symbol_bytes);
	vec_free(&pdb->modules);
	vec_free(&pdb->sections);
	vec_free(&pdb->original);
	vec_free(&pdb->omap);
	vec_free(&pdb->blocks);
}

static bool pdb_has_symbols(struct object_file *object)
{
	return pdb_of(object)->symbols_stream != STREAM_NONE;
}

const struct source_format pdb_format = {
	.kind = IMAGE_PDB,
	.functions = FUNCTIONS_CODEVIEW,
	.probe = pdb_probe,
	.read = pdb_read,
	.close = pdb_close,
	.has_symbols = pdb_has_symbols,
	.load_symbols = pdb_load_symbols,
	.load = pdb_load,
};

/*
 * pdb.c - PDB files as a source format. What is not read of them is refused by its name.
 */
#include "convert/object/pdb/pdb.h"

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"

#include <errno.h>

/* ---- The PDB stream ---- */

/*
 * It has version, GUID, named streams and features. Named streams are a hash table from offsets of names to
 * stream numbers: its size, its capacity, bit vectors of used and of deleted buckets, then the used ones.
 * Numbers that name features follow.
 */

enum {
	VERSION_VC70 = 20000404, /* the first with a GUID */
	FEATURE_MINIMAL_DEBUG_INFO = 0x494e494d,
	INFO_SIZE_MAX = 4 << 20, /* bytes looked at; the names of injected sources are in it */
};

static bool is_minimal(struct cursor *c)
{
	while (cursor_can_hold(c, 1, 4))
		if (cursor_u32(c) == FEATURE_MINIMAL_DEBUG_INFO)
			return true;
	return false;
}

static uint32_t count_bits(struct cursor *c)
{
	uint32_t words = cursor_u32(c), n = 0;
	if (!cursor_can_hold(c, words, 4)) {
		cursor_fail(c);
		return 0;
	}
	for (uint32_t i = 0; i < words; i++)
		n += (uint32_t)__builtin_popcount(cursor_u32(c));
	return n;
}

static void read_names(struct pdb *pdb, struct cursor *c)
{
	uint32_t size = cursor_u32(c);
	const uint8_t *texts = cursor_take(c, size);
	cursor_skip(c, 8); /* entries, buckets */
	uint32_t n = count_bits(c);
	(void)count_bits(c);
	for (uint32_t i = 0; texts && i < n && cursor_can_hold(c, 1, 8); i++) {
		uint32_t off = cursor_u32(c), stream = cursor_u32(c);
		if (off <= size && sizeof("/names") <= size - off &&
		    !memcmp(texts + off, "/names", sizeof("/names")))
			pdb->names_stream = stream;
	}
}

int pdb_read_info(struct object_file *object, struct gsym_diag *diag)
{
	struct pdb *pdb = pdb_of(object);
	CLEANUP(pdb_bytes_free) struct pdb_bytes info = {.copy = NULL};
	uint32_t size = 0;
	pdb->names_stream = STREAM_NONE;
	int err = msf_stream_size(&pdb->msf, PDB_STREAM_INFO, &size);
	if (!err)
		err = msf_read(&pdb->msf, PDB_STREAM_INFO, 0, size < INFO_SIZE_MAX ? size : INFO_SIZE_MAX,
			       &info);
	if (err == -ENOMEM)
		return diag_set(diag, err, "%s: out of memory", object->path);
	struct cursor c = cursor_new(info.bytes.data, info.bytes.size, false);
	uint32_t version = cursor_u32(&c);
	cursor_skip(&c, 8); /* time, age */
	const uint8_t *guid = cursor_take(&c, GUID_SIZE);
	if (!guid)
		return diag_set(diag, -EBADMSG, "%s: the PDB stream (1) is damaged", object->path);
	if (version < VERSION_VC70)
		return diag_set(diag, -ENOTSUP,
				"%s: a PDB of version %u, before Visual C++ 7.0, which has no GUID",
				object->path, version);
	(void)object_set_guid(object, guid);
	read_names(pdb, &c);
	if (is_minimal(&c))
		return diag_set(
			diag, -ENOTSUP,
			"%s: a PDB linked with /DEBUG:FASTLINK, which leaves debug data in the object "
			"files: link with /DEBUG:FULL, or run mspdbcmf",
			object->path);
	return 0;
}

/* ---- The format ---- */

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
	object->has_base = object->is_relative = true;
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
	.own_name = pdb_own_name,
};

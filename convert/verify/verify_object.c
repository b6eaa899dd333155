#include "convert/verify/verify_parts.h"

#include "convert/object/object_open.h"
#include "gsym/base/diag.h"
#include "gsym/base/search.h"

#include <string.h>

/* ---- libdwarf's object access interface ---- */

enum {
	ELF_PROGBITS = 1, /* SHT_PROGBITS */
	LOAD_FAILED = DW_DLE_SECTION_SIZE_ERROR,
};

static const struct verify_section *section_at(const void *user, uint64_t index)
{
	const struct verify_object *object = user;
	return index < object->sections.n ? &object->sections.v[index] : NULL;
}

static Dwarf_Unsigned section_count(void *user)
{
	const struct verify_object *object = user;
	return object->sections.n;
}

/* The default; each unit has its own. */
static Dwarf_Small length_size(void *user)
{
	(void)user;
	return 4;
}

static Dwarf_Small pointer_size(void *user)
{
	const struct verify_object *object = user;
	return object->file->addr_size;
}

static int load_section(void *user, dw_section_index index, Dwarf_Small **ret, int *error)
{
	const struct verify_section *section = section_at(user, index);
	if (!section)
		return DW_DLV_NO_ENTRY;
	if (!section->data.data) {
		*error = LOAD_FAILED;
		return DW_DLV_ERROR;
	}
	*ret = (Dwarf_Small *)section->data.data; /* only relocation would write, and there is none */
	return DW_DLV_OK;
}

#ifdef DW_LIBDWARF_VERSION_MAJOR

static int section_info(void *user, dw_section_index index, Dwarf_Obj_Access_Section_a *ret, int *error)
{
	const struct verify_section *section = section_at(user, index);
	(void)error;
	if (!section)
		return DW_DLV_NO_ENTRY;
	*ret = (Dwarf_Obj_Access_Section_a){.as_name = section->name,
					    .as_type = ELF_PROGBITS,
					    .as_size = section->data.size,
					    .as_addralign = 1};
	return DW_DLV_OK;
}

static Dwarf_Small byte_order(void *user)
{
	const struct verify_object *object = user;
	return object->file->big_endian ? DW_END_big : DW_END_little;
}

static Dwarf_Unsigned file_size(void *user)
{
	const struct verify_object *object = user;
	uint64_t size = object->file->map_size;
	for (size_t i = 0; i < object->sections.n; i++)
		size += object->sections.v[i].data.size;
	return size;
}

static const Dwarf_Obj_Access_Methods_a methods = {
	.om_get_section_info = section_info,
	.om_get_byte_order = byte_order,
	.om_get_length_size = length_size,
	.om_get_pointer_size = pointer_size,
	.om_get_filesize = file_size,
	.om_get_section_count = section_count,
	.om_load_section = load_section,
};

static void access_init(struct verify_object *object)
{
	object->access.interface = (Dwarf_Obj_Access_Interface_a){object, &methods};
}

#else

static int section_info(void *user, dw_section_index index, Dwarf_Obj_Access_Section *ret, int *error)
{
	const struct verify_section *section = section_at(user, index);
	(void)error;
	if (!section)
		return DW_DLV_NO_ENTRY;
	*ret = (Dwarf_Obj_Access_Section){
		.name = section->name, .type = ELF_PROGBITS, .size = section->data.size};
	return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *user)
{
	const struct verify_object *object = user;
	return object->file->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static const Dwarf_Obj_Access_Methods methods = {
	.get_section_info = section_info,
	.get_byte_order = byte_order,
	.get_length_size = length_size,
	.get_pointer_size = pointer_size,
	.get_section_count = section_count,
	.load_section = load_section,
};

static void access_init(struct verify_object *object)
{
	object->access.interface = (Dwarf_Obj_Access_Interface){object, &methods};
}

#endif

/* ---- Sections and symbols ---- */

/* ".zdebug_info" is ".debug_info" once it is decompressed. */
static int section_name(struct verify_object *object, const char *name, const char **ret)
{
	char *plain;
	*ret = name;
	if (name[1] != 'z')
		return 0;
	plain = strdup(name + 1);
	if (!plain || vec_push(&object->names, plain)) {
		free(plain);
		return -ENOMEM;
	}
	plain[0] = '.';
	*ret = plain;
	return 0;
}

static int add_section(struct verify_object *object, struct object_section *section)
{
	struct verify_section made = {0};
	if (strncmp(section->name, ".debug_", 7) != 0 && strncmp(section->name, ".zdebug_", 8) != 0)
		return 0;
	uint64_t skipped = 0;
	int err = section_load(section);
	if (!err && object->file->relocatable)
		err = section_relocate(object->file, section, &skipped);
	if (err)
		return err == -ENOMEM ? err : 0; /* libdwarf reports missing sections */
	err = section_name(object, section->name, &made.name);
	made.data = section->data;
	return err ? err : vec_push(&object->sections, made);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return COMPARE(x->addr, y->addr);
}

static int read_symbols(struct verify_object *object)
{
	int err = object_load_symbols(object->file, &object->file, 1);
	if (!err)
		err = object_load_plt(object->file, NULL);
	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < object->file->symbols.n; i++)
		if (vec_push(&object->symbols, object->file->symbols.v[i]))
			return -ENOMEM;
	if (object->symbols.n)
		qsort(object->symbols.v, object->symbols.n, sizeof(*object->symbols.v), by_address);
	return 0;
}

static int read_sections(struct verify_object *object)
{
	int err = vec_push(&object->sections, (struct verify_section){.name = ""});
	for (size_t i = 0; !err && i < object->file->sections.n; i++)
		err = add_section(object, &object->file->sections.v[i]);
	return err;
}

static int open_dwarf(const char *path, struct verify_object *object, struct gsym_diag *diag)
{
	Dwarf_Error error = NULL;
	access_init(object);
	int result = dwarf_object_init_b(&object->access.interface, NULL, NULL, DW_GROUPNUMBER_ANY,
					 &object->dbg, &error);
	if (result == DW_DLV_OK)
		return 0;
	object->dbg = NULL;
	if (result == DW_DLV_NO_ENTRY)
		return diag_set(diag, -ENODATA, "%s: no DWARF to compare with", path);
	diag_set(diag, -ENOEXEC, "%s: libdwarf cannot read the DWARF: %s", path, dwarf_errmsg(error));
	dwarf_dealloc_error(NULL, error);
	return -ENOEXEC;
}

/* Of several images the one with the id of the GSYM file. */
static int open_image(const char *path, const struct gsym_info *info, struct object_file **ret,
		      struct gsym_diag *diag)
{
	const struct object_pick pick = {.id = info->uuid, .id_size = info->uuid_size};
	int err = object_open(path, NULL, ret, diag);
	if (err != -ENOEXEC || !pick.id_size)
		return err;
	return object_open_slice(path, NULL, &pick, ret, NULL) ? err : 0;
}

int verify_object_open(const char *path, const struct gsym_info *info, struct verify_object *ret,
		       struct gsym_diag *diag)
{
	*ret = (struct verify_object){0};
	int err = open_image(path, info, &ret->file, diag);
	if (err)
		return err;
	if (!object_section(ret->file, ".debug_info"))
		err = diag_set(diag, -ENODATA, "%s: no DWARF to compare with", path);
	if (!err)
		err = read_sections(ret);
	if (!err)
		err = read_symbols(ret);
	if (!err)
		err = open_dwarf(path, ret, diag);
	if (err)
		verify_object_close(ret);
	return err;
}

void verify_object_close(struct verify_object *object)
{
	if (object->dbg)
		dw_object_finish(object->dbg);
	vec_free(&object->symbols);
	vec_free(&object->sections);
	for (size_t i = 0; i < object->names.n; i++)
		free(object->names.v[i]);
	vec_free(&object->names);
	object_close(object->file);
	*object = (struct verify_object){0};
}

bool verify_object_is_code(const struct verify_object *object, uint64_t addr)
{
	return object->file->text.n == 0 || ranges_find(&object->file->text, addr);
}

bool verify_object_has_symbol(const struct verify_object *object, uint64_t addr, const char *name)
{
	size_t low = PARTITION_POINT(0, object->symbols.n, mid, object->symbols.v[mid].addr < addr);
	for (; low < object->symbols.n && object->symbols.v[low].addr == addr; low++)
		if (strcmp(object->symbols.v[low].name, name) == 0)
			return true;
	return false;
}

enum { HOLDERS_MAX = 64 }; /* symbols of one address that are examined */

uint64_t verify_object_holder(const struct verify_object *object, uint64_t low, uint64_t high)
{
	const struct symbol *v = object->symbols.v;
	size_t at = PARTITION_POINT(0, object->symbols.n, mid, v[mid].addr < low);
	uint64_t start = low;
	for (unsigned left = HOLDERS_MAX; at-- > 0 && left; left--) {
		if (v[at].type != SYMBOL_FUNC)
			continue;
		if (start != low && v[at].addr != start)
			break;
		start = v[at].addr;
		if (v[at].size >= high - start)
			return start;
	}
	return low;
}

/*
 * breakpad_module.c - the head of Breakpad's text symbols: which architecture and id they are for. Their
 * functions are read by convert/breakpad/.
 */
#include "convert/object/breakpad_text.h"
#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/base/diag.h"

#include <stdio.h>

enum {
	MODULE_ID_SIZE = 16, /* bytes; an age of up to 8 hexadecimal digits follows */
	AGE_DIGITS_MAX = 8,
	INFO_LINES_MAX = 64, /* searched for the code id */
	LINE_SIZE_MAX = 64 * 1024,
};

static const char magic[] = "MODULE ";

/* Architecture names of dump_syms that differ from ours. On Apple's systems they are those of Mach-O. */
static const struct {
	const char *name, *arch;
} machines[] = {
	{"x86", "i386"},        {"arm64", "aarch64"},         {"ppc", "powerpc"},
	{"ppc64", "powerpc64"}, {"riscv64", "riscv"},         {"mips64", "mips"},
	{"s390", "s390x"},      {"loongarch64", "loongarch"}, {"armv7", "arm"},
};

struct module_line {
	struct text_line os, arch, id, name;
};

static bool is_word(struct text_line field, const char *word)
{
	size_t size = (size_t)(field.end - field.at);
	return size == strlen(word) && memcmp(field.at, word, size) == 0;
}

static bool is_apple(struct text_line os)
{
	return is_word(os, "mac") || is_word(os, "ios");
}

static bool is_windows(struct text_line os)
{
	return is_word(os, "windows");
}

static bool all_hex(struct text_line field)
{
	for (const char *at = field.at; at < field.end; at++)
		if (hex_digit(*at) < 0)
			return false;
	return true;
}

/* "MODULE os arch id name" */
static bool take_module(struct span file, struct module_line *ret, const char **ret_next)
{
	const char *at = (const char *)file.data;
	size_t size = file.size < LINE_SIZE_MAX ? file.size : LINE_SIZE_MAX;
	struct text_line l = line_at(at, at + size, ret_next);
	if (!LINE_TAKE(&l, "MODULE"))
		return false;
	ret->os = line_take_field(&l);
	ret->arch = line_take_field(&l);
	ret->id = line_take_field(&l);
	ret->name = l;
	size_t digits = (size_t)(ret->id.end - ret->id.at);
	return ret->arch.end > ret->arch.at && digits >= (size_t)MODULE_ID_SIZE * 2 &&
	       digits <= (size_t)MODULE_ID_SIZE * 2 + AGE_DIGITS_MAX && all_hex(ret->id) && l.at < l.end;
}

static bool breakpad_probe(struct span file)
{
	struct module_line module;
	const char *next;
	return file.size >= sizeof(magic) && !memcmp(file.data, magic, sizeof(magic) - 1) &&
	       take_module(file, &module, &next);
}

static void set_arch(struct object_file *object, const struct module_line *m)
{
	size_t size = (size_t)(m->arch.end - m->arch.at);
	size = size < sizeof(object->arch) ? size : sizeof(object->arch) - 1;
	memcpy(object->arch, m->arch.at, size);
	object->arch[size] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		bool known = !is_apple(m->os) ||
			     i == 0; /* of these only "x86" has another name on Apple's systems, too */
		if (known && is_word(m->arch, machines[i].name))
			snprintf(object->arch, sizeof(object->arch), "%s", machines[i].arch);
	}
}

/* ---- The id ---- */

static void decode(struct text_line digits, uint8_t *ret, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ret[i] = (uint8_t)(hex_digit(digits.at[2 * i]) << 4 | hex_digit(digits.at[2 * i + 1]));
}

/*
 * "INFO CODE_ID id [name]": on ELF systems the whole build id. It is accepted if the module's id was made
 * from it: the same first 16 bytes, or all of a shorter id padded with zeros.
 */
static bool take_code_id(struct text_line l, struct object_file *object)
{
	uint8_t id[IMAGE_ID_MAX] = {0};
	if (!LINE_TAKE(&l, "INFO") || !LINE_TAKE(&l, "CODE_ID"))
		return false;
	struct text_line field = line_take_field(&l);
	size_t digits = (size_t)(field.end - field.at);
	if (!digits || digits % 2 || digits > sizeof(id) * 2 || !all_hex(field))
		return false;
	decode(field, id, digits / 2);
	if (memcmp(id, object->id, MODULE_ID_SIZE) != 0)
		return false;
	object_set_id(object, id, digits / 2);
	object->id_is_truncated = false;
	return true;
}

static void read_infos(struct object_file *object, const char *at, const char *end)
{
	for (unsigned n = 0; at < end && n < INFO_LINES_MAX; n++) {
		size_t left = (size_t)(end - at);
		struct text_line l = line_at(at, at + (left < LINE_SIZE_MAX ? left : LINE_SIZE_MAX), &at);
		if ((size_t)(l.end - l.at) < 5 || memcmp(l.at, "INFO ", 5) != 0 || take_code_id(l, object))
			return;
	}
}

static int breakpad_read(struct object_file *object, struct gsym_diag *diag)
{
	static const uint8_t none[MODULE_ID_SIZE];
	const struct span file = {object->map, object->map_size};
	struct module_line module;
	const char *next;
	if (!take_module(file, &module, &next))
		return diag_set(diag, -ENOEXEC,
				"%s: line 1: no MODULE record with system, architecture, id and name",
				object->path);
	object->has_base = true;
	set_arch(object, &module);
	decode(module.id, object->id, MODULE_ID_SIZE);
	if (!memcmp(object->id, none, sizeof(none)))
		return 0; /* the program had no id */
	object->id_size = MODULE_ID_SIZE;
	if (is_apple(module.os) || is_windows(module.os))
		return 0;
	/* A GUID's first three fields are numbers, printed as a little-endian machine reads them. */
	static const uint8_t order[8] = {3, 2, 1, 0, 5, 4, 7, 6};
	uint8_t old[8];
	memcpy(old, object->id, sizeof(old));
	for (size_t i = 0; i < sizeof(old); i++)
		object->id[i] = old[order[i]];
	object->id_is_truncated = true;
	read_infos(object, next, (const char *)file.data + file.size);
	return 0;
}

/* ---- The name ---- */

/* "INFO CODE_ID id name": of the program, where that of the module is its PDB file. */
static struct text_line program_of(struct span file, const char *at, struct text_line module)
{
	const char *end = (const char *)file.data + file.size;
	for (unsigned n = 0; at < end && n < INFO_LINES_MAX; n++) {
		size_t left = (size_t)(end - at);
		struct text_line l = line_at(at, at + (left < LINE_SIZE_MAX ? left : LINE_SIZE_MAX), &at);
		if (!LINE_TAKE(&l, "INFO"))
			break;
		if (!LINE_TAKE(&l, "CODE_ID"))
			continue;
		line_take_field(&l);
		return l.at < l.end ? l : module;
	}
	return module;
}

static bool breakpad_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	const struct span file = {object->map, object->map_size};
	struct module_line module;
	char name[IMAGE_NAME_SIZE];
	const char *next;
	if (!take_module(file, &module, &next))
		return false;
	struct text_line l = program_of(file, next, module.name);
	for (const char *at = l.at; at < l.end; at++)
		if (*at == '/' || *at == '\\')
			l.at = at + 1;
	size_t size = (size_t)(l.end - l.at);
	if (size >= sizeof(name))
		return false;
	memcpy(name, l.at, size);
	name[size] = 0;
	return object_take_name(name, ret);
}

const struct source_format breakpad_format = {
	.kind = IMAGE_BREAKPAD,
	.functions = FUNCTIONS_TEXT,
	.ranks_below_dwarf = true,
	.probe = breakpad_probe,
	.read = breakpad_read,
	.own_name = breakpad_own_name,
};

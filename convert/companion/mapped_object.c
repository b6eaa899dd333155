#include "convert/companion/mapped_object.h"

#include "convert/object/macho/macho.h"
#include "convert/object/object_open.h"
#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "work/types/machine_fault.h"

#include <stdlib.h>
#include <string.h>

/* ---- Members of static libraries ---- */

/*
 * They are found by a linear scan over the headers (ar(5)): 16 bytes name, 12 date, 6 owner, 6 group, 8 mode,
 * 10 size, "`\n"; content is padded to an even offset.
 */

enum {
	NAME_SIZE = 16,
	DATE_SIZE = 12,
	SIZE_SIZE = 10,
};

struct member {
	struct span name, bytes;
	uint64_t date;
};

/* A decimal number, padded with spaces. */
static uint64_t field(struct cursor *c, size_t size)
{
	char text[NAME_SIZE + 1] = "";
	const uint8_t *at = cursor_take(c, size);
	if (at)
		memcpy(text, at, size);
	return strtoull(text, NULL, 10);
}

static struct span trimmed(const uint8_t *at, size_t size, char stop)
{
	const uint8_t *end = memchr(at, stop, size);
	return (struct span){at, end ? (size_t)(end - at) : size};
}

/* GNU: "/12" is an offset in the table of long names; BSD: "#1/12" is the size of a name that precedes the
 * content. */
static void resolve_name(struct member *m, struct span long_names)
{
	char text[NAME_SIZE + 1] = "";
	memcpy(text, m->name.data, NAME_SIZE);
	if (strncmp(text, "#1/", 3) == 0) {
		uint64_t size = strtoull(text + 3, NULL, 10);
		size = size < m->bytes.size ? size : m->bytes.size;
		m->name = trimmed(m->bytes.data, size, 0);
		m->bytes = (struct span){m->bytes.data + size, m->bytes.size - size};
	} else if (text[0] == '/' && text[1] >= '0' && text[1] <= '9') {
		uint64_t off = strtoull(text + 1, NULL, 10);
		if (off < long_names.size)
			m->name = trimmed(long_names.data + off, long_names.size - off, '/');
	} else {
		m->name = trimmed(m->name.data, NAME_SIZE, strchr(text, '/') ? '/' : ' ');
	}
}

/* Reads the member at the cursor and moves the cursor past it. */
static bool next_member(struct cursor *c, struct member *ret)
{
	const uint8_t *name = cursor_take(c, NAME_SIZE);
	ret->date = field(c, DATE_SIZE);
	cursor_skip(c, 20); /* owner, group, mode */
	uint64_t size = field(c, SIZE_SIZE);
	const uint8_t *end = cursor_take(c, 2), *bytes = cursor_take(c, size);
	if (!cursor_ok(c) || memcmp(end, "`\n", 2) != 0)
		return false;
	ret->name = (struct span){name, NAME_SIZE};
	ret->bytes = (struct span){bytes, size};
	if (size & 1 && cursor_left(c))
		cursor_skip(c, 1);
	return true;
}

bool archive_find(struct span file, const char *name, uint64_t mtime, struct span *ret)
{
	struct cursor c = cursor_new(file.data, file.size, false);
	const uint8_t *magic = cursor_take(&c, 8);
	struct span long_names = {0};
	struct member m;
	bool found = false;
	if (!magic || memcmp(magic, "!<arch>\n", 8) != 0)
		return false;
	while (cursor_left(&c) && next_member(&c, &m)) {
		if (memcmp(m.name.data, "// ", 3) == 0) {
			long_names = m.bytes;
			continue;
		}
		resolve_name(&m, long_names);
		if (m.name.size != strlen(name) || memcmp(m.name.data, name, m.name.size) != 0)
			continue;
		if (!found || m.date == mtime)
			*ret = m.bytes;
		found = true;
		if (m.date == mtime)
			break;
	}
	return found;
}

/* ---- Opening ---- */

/* "dir/lib.a(x.o)": truncates it after the library and returns the member's name; NULL for other paths. */
static char *cut_member(char *path)
{
	size_t n = strlen(path);
	char *open = n && path[n - 1] == ')' ? strrchr(path, '(') : NULL;
	if (!open)
		return NULL;
	path[n - 1] = *open = 0;
	return open + 1;
}

static int read_member(struct object_file *object, const char *member, const char *arch, uint64_t mtime,
		       struct gsym_diag *diag)
{
	struct span bytes;
	if (!archive_find(fat_part_for(object->file, arch), member, mtime, &bytes))
		return diag_set(diag, -ENOENT, "%s: no member '%s' in this static library", object->path,
				member);
	object->map = bytes.data;
	object->map_size = bytes.size;
	return object_read(object, NULL, diag);
}

int mapped_object_open(const char *path, const struct convert_opener *opener, const char *arch,
		       uint64_t mtime, struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(freep) char *file = strdup(path);
	CLEANUP(object_closep) struct object_file *object = NULL;
	if (!file)
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	const char *member = cut_member(file);
	int err = object_map(file, opener, &object, diag);
	if (err)
		return err;
	if (member)
		err = read_member(object, member, arch, mtime, diag);
	else if (mtime && object->mtime != mtime)
		err = diag_set(diag, -ESTALE, "%s: modified after the binary was linked: rebuild the binary",
			       path);
	else
		err = object_read(object, &(struct object_pick){.arch = arch}, diag);
	if (!err && (object->format != &macho_format || strcmp(object->arch, arch)))
		err = diag_set(diag, -ENOEXEC, "%s: not a Mach-O file for %s", path, arch);
	if (!err)
		*ret = TAKE(object);
	return memory_fault_note(opener, err);
}

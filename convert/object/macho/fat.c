/*
 * fat.c - fat files: one Mach-O file, or static library, for each of several architectures (<mach-o/fat.h>;
 * always big-endian).
 */
#include "convert/object/macho/macho.h"
#include "convert/object/source_format.h"

#include <string.h>
#include <unistd.h>

enum {
	FAT_MAGIC = 0xcafebabe,
	FAT_MAGIC_64 = 0xcafebabf,
	FAT_HEADER_SIZE = 8,
	FAT_ARCH_SIZE = 20,
	FAT_ARCH_64_SIZE = 32,
};

/* The table of a fat file: fat_header and the fat_arch entries at the cursor. */
struct fat_table {
	struct cursor c;
	uint32_t n;
	bool wide;
};

/*
 * A Java class has the same magic number; where the count is, it has its version: at least 43 > SLICES_MAX.
 */
static bool open_table(struct span file, struct fat_table *ret)
{
	ret->c = cursor_new(file.data, file.size, true);
	uint32_t magic = cursor_u32(&ret->c);
	ret->n = cursor_u32(&ret->c);
	ret->wide = magic == FAT_MAGIC_64;
	return cursor_ok(&ret->c) && (magic == FAT_MAGIC || ret->wide) && ret->n <= SLICES_MAX &&
	       cursor_can_hold(&ret->c, ret->n, ret->wide ? FAT_ARCH_64_SIZE : FAT_ARCH_SIZE);
}

/* The next entry, with its architecture as in the table. False when it lies outside of the file. */
static bool next_entry(struct fat_table *table, struct span file, struct object_slice *ret)
{
	struct cursor *c = &table->c;
	uint32_t type = cursor_u32(c), subtype = cursor_u32(c);
	macho_machine_name(type, subtype, ret->arch);
	ret->off = table->wide ? cursor_u64(c) : cursor_u32(c);
	ret->size = table->wide ? cursor_u64(c) : cursor_u32(c);
	cursor_skip(c, table->wide ? 8 : 4); /* align, reserved */
	return cursor_ok(c) && ret->off <= file.size && ret->size <= file.size - ret->off;
}

bool begins_like_fat_file(int fd)
{
	uint8_t magic[4];
	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       (load32(magic, true) == FAT_MAGIC || load32(magic, true) == FAT_MAGIC_64);
}

static size_t fat_slices(struct span data, struct object_slice ret[static SLICES_MAX])
{
	struct fat_table table;
	struct object_slice slice;
	size_t found = 0;
	if (!open_table(data, &table))
		return 0;
	for (uint32_t i = 0; i < table.n; i++) {
		if (!next_entry(&table, data, &slice))
			continue;
		struct span bytes = {data.data + slice.off, slice.size};
		if (!macho_is_thin(bytes))
			continue;                   /* an archive, or bitcode */
		macho_arch_name(bytes, slice.arch); /* the slice's own header takes precedence */
		ret[found++] = slice;
	}
	return found;
}

/* Notes slices that the file does not have whole; their number. */
static size_t expect_slices(struct object_file *object, struct span file)
{
	struct fat_table table;
	struct object_slice slice;
	size_t lost = 0;
	if (!open_table(file, &table))
		return 0;
	for (uint32_t i = 0; i < table.n; i++) {
		if (next_entry(&table, file, &slice))
			continue;
		lost++;
		if (object)
			object_expect(object, "slice", i + 1, slice.off, slice.size);
	}
	return lost;
}

static void fat_expect(struct object_file *object)
{
	expect_slices(object, (struct span){object->map, object->map_size});
}

/* One that broke off before its first slice is known by its table; of static libraries we want nothing. */
static bool fat_probe(struct span file)
{
	struct object_slice slices[SLICES_MAX];
	struct fat_table table;
	return fat_slices(file, slices) != 0 ||
	       (open_table(file, &table) && table.n && expect_slices(NULL, file) == table.n);
}

const struct source_format fat_format = {
	.probe = fat_probe,
	.slices = fat_slices,
	.expect = fat_expect,
};

struct span fat_part_for(struct span file, const char *arch)
{
	struct fat_table table;
	struct object_slice slice;
	if (!open_table(file, &table))
		return file;
	for (uint32_t i = 0; i < table.n; i++)
		if (next_entry(&table, file, &slice) && !strcmp(slice.arch, arch))
			return (struct span){file.data + slice.off, slice.size};
	return (struct span){0};
}

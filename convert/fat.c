/*
 * fat.c - files with one Mach-O image for each of several architectures (<mach-o/fat.h>; always big-endian).
 */
#include "macho.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	FAT_MAGIC = 0xcafebabe,
	FAT_MAGIC_64 = 0xcafebabf,
	FAT_HEADER_SIZE = 8,
	FAT_ARCH_SIZE = 20,
	FAT_ARCH_64_SIZE = 32,
};

static bool read_arch(struct cursor *c, bool wide, struct span file, struct macho_slice *ret)
{
	cursor_skip(c, 8); /* cputype, cpusubtype: the slice itself says */
	ret->off = wide ? cursor_u64(c) : cursor_u32(c);
	ret->size = wide ? cursor_u64(c) : cursor_u32(c);
	cursor_skip(c, wide ? 8 : 4); /* align, reserved */
	return cursor_ok(c) && ret->off <= file.size && ret->size <= file.size - ret->off;
}

bool begins_like_fat_file(int fd)
{
	uint8_t magic[4];
	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       (load32(magic, true) == FAT_MAGIC || load32(magic, true) == FAT_MAGIC_64);
}

size_t macho_slices(struct span data, struct macho_slice *ret, size_t max)
{
	struct cursor c = cursor_new(data.data, data.size, true);
	uint32_t magic = cursor_u32(&c), n = cursor_u32(&c);
	bool wide = magic == FAT_MAGIC_64;
	size_t found = 0;
	if (!cursor_ok(&c) || (magic != FAT_MAGIC && !wide) || n > SLICES_MAX ||
	    !cursor_can_hold(&c, n, wide ? FAT_ARCH_64_SIZE : FAT_ARCH_SIZE))
		return 0;
	for (uint32_t i = 0; i < n && found < max; i++) {
		struct macho_slice slice;
		if (!read_arch(&c, wide, data, &slice))
			continue;
		struct span bytes = {data.data + slice.off, slice.size};
		if (!macho_is_thin(bytes))
			continue; /* an archive, or bitcode */
		macho_arch_name(bytes, slice.arch);
		ret[found++] = slice;
	}
	return found;
}

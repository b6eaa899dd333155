/* Fat files: their table of slices, of both widths, whole and cut anywhere. */
#include "convert/object/macho/macho.h"
#include "convert/object/source_format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { FAT = 0xcafebabe, FAT_64 = 0xcafebabf, FILE_SIZE = 1200, SLICE = 40 };

struct made_slice {
	uint32_t type, subtype; /* in the table */
	uint64_t off, size;
};

/* A file of exactly @size bytes, in which each slice begins like a Mach-O file for arm64. */
static struct span make_file(uint32_t magic, const struct made_slice *v, uint32_t n, size_t size)
{
	uint8_t *bytes = calloc(1, FILE_SIZE);
	size_t at = 8, word = magic == FAT_64 ? 8 : 4;
	assert_non_null(bytes);
	store32(bytes, magic, true);
	store32(bytes + 4, n, true);
	for (uint32_t i = 0; i < n && at + 32 < FILE_SIZE; i++) {
		store32(bytes + at, v[i].type, true);
		store32(bytes + at + 4, v[i].subtype, true);
		if (word == 8) {
			store64(bytes + at + 8, v[i].off, true);
			store64(bytes + at + 16, v[i].size, true);
		} else {
			store32(bytes + at + 8, (uint32_t)v[i].off, true);
			store32(bytes + at + 12, (uint32_t)v[i].size, true);
		}
		at += 8 + 2 * word + (word == 8 ? 8 : 4);
		if (v[i].off + 12 > FILE_SIZE)
			continue;
		store32(bytes + v[i].off, 0xfeedfacf, false);
		store32(bytes + v[i].off + 4, 0x0100000c, false);
	}
	uint8_t *exact = malloc(size + !size);
	memcpy(exact, bytes, size);
	free(bytes);
	return (struct span){exact, size};
}

static const struct made_slice three[] = {
	{7, 3, 1000, SLICE}, {0x0100000c, 2, 1100, SLICE}, {0x01000007, 3, 1160, SLICE}};

/* Each cut of the file has those slices that end before it. */
TEST(cut_files)
{
	static const char *const arches[] = {"i386", "arm64e", "x86_64"};
	struct object_slice found[SLICES_MAX];
	for (int wide = 0; wide < 2; wide++)
		for (size_t size = 0; size <= FILE_SIZE; size++) {
			struct span file = make_file(wide ? FAT_64 : FAT, three, 3, size);
			struct object_file object = {.map = file.data, .map_size = file.size};
			bool table = size >= (size_t)(wide ? 8 + 3 * 32 : 8 + 3 * 20);
			size_t n = 0, lost = 3;
			for (size_t i = 0; table && i < 3; i++) {
				n += three[i].off + SLICE <= size;
				lost = lost == 3 && three[i].off + SLICE > size ? i : lost;
			}
			assert_int_equal(fat_format.slices(file, found), n);
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(found[i].off, three[i].off);
				assert_int_equal(found[i].size, SLICE);
				assert_string_equal(found[i].arch, "arm64"); /* as its own header says */
			}
			assert_int_equal(fat_format.probe(file), table);
			fat_format.expect(&object);
			assert_int_equal(object.lost.number, table && lost < 3 ? lost + 1 : 0);
			if (object.lost.number) {
				assert_int_equal(object.lost.off, three[lost].off);
				assert_int_equal(object.lost.end, three[lost].off + SLICE);
			}
			for (size_t i = 0; i < 3; i++) {
				struct span part = fat_part_for(file, arches[i]);
				bool has = table && three[i].off + SLICE <= size;
				assert_ptr_equal(part.data, has     ? file.data + three[i].off
							    : table ? NULL
								    : file.data);
				assert_int_equal(part.size, has ? SLICE : table ? 0 : size);
			}
			free((void *)(uintptr_t)file.data);
		}
}

/* Which tables are one: up to as many slices as may be, and not a Java class, whose version is there. */
TEST(counts)
{
	static struct made_slice many[60];
	struct object_slice found[SLICES_MAX];
	for (uint32_t n = 0; n < 60; n++)
		for (int wide = 0; wide < 2; wide++) {
			for (uint32_t i = 0; i < n; i++)
				many[i] = (struct made_slice){7, 3, 1100, SLICE};
			struct span file = make_file(wide ? FAT_64 : FAT, many, n, FILE_SIZE);
			assert_int_equal(fat_format.slices(file, found), n <= SLICES_MAX ? n : 0);
			assert_int_equal(fat_format.probe(file), n && n <= SLICES_MAX);
			free((void *)(uintptr_t)file.data);
		}
	for (uint32_t magic = FAT - 1; magic <= FAT_64 + 1; magic++) {
		struct span file = make_file(magic, three, 3, FILE_SIZE);
		bool is_fat = magic == FAT || magic == FAT_64;
		assert_int_equal(fat_format.probe(file), is_fat);
		int fd = memfd_create("file", MFD_CLOEXEC);
		assert_int_equal(write(fd, file.data, 3), 3);
		assert_false(begins_like_fat_file(fd));
		assert_int_equal(write(fd, file.data + 3, 1), 1);
		assert_int_equal(begins_like_fat_file(fd), is_fat);
		close(fd);
		free((void *)(uintptr_t)file.data);
	}
}

/* Static libraries, and what is outside of the file: of those we want nothing, of lost slices we tell. */
TEST(other_slices)
{
	static const struct {
		struct made_slice v[2];
		size_t slices;
		bool probed;
		unsigned lost;
	} table[] = {
		{{{7, 3, 1100, 27}, {7, 3, 1150, 31}}, 0, false, 0}, /* too short for a header */
		{{{7, 3, 1100, 31}, {7, 3, 1150, 32}}, 1, true, 0},
		{{{7, 3, 1100, 31}, {7, 3, 1190, 11}}, 0, false, 2},
		{{{7, 3, 1190, 11}, {7, 3, 1100, 31}}, 0, false, 1},
		{{{7, 3, FILE_SIZE, 1}, {7, 3, 5000, 10}}, 0, true, 1},
		{{{7, 3, FILE_SIZE, 0}, {7, 3, 5000, 10}}, 0, false, 2},
		{{{7, 3, 4000000000, 4000000000}, {7, 3, 1100, 40}}, 1, true, 1},
	};
	struct object_slice found[SLICES_MAX];
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		for (int wide = 0; wide < 2; wide++) {
			struct span file = make_file(wide ? FAT_64 : FAT, table[i].v, 2, FILE_SIZE);
			struct object_file object = {.map = file.data, .map_size = file.size};
			assert_int_equal(fat_format.slices(file, found), table[i].slices);
			assert_int_equal(fat_format.probe(file), table[i].probed);
			fat_format.expect(&object);
			assert_int_equal(object.lost.number, table[i].lost);
			free((void *)(uintptr_t)file.data);
		}
}

/* Where companions of an object file are searched for: every path, in its order, and which file is taken. */
#include "convert/companion/debug_files.h"

#include "convert/object/object_open.h"
#include "convert/object/source_format.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Files that exist only here ---- */

enum { FILES_MOST = 4 };

struct virtual_file {
	const char *path;
	uint8_t id[4];
	size_t id_size;
	bool dwarf;
	const char *sup; /* its .debug_sup has this id; NULL: none */
};

static struct virtual_file files[FILES_MOST];
static char opened[8192]; /* paths, one a line */

/* An ELF file with an id and debug data, if it has them. */
struct image {
	Elf64_Ehdr head;
	Elf64_Nhdr note;
	char owner[4];
	uint8_t id[4];
	char names[40], sup[16];
	Elf64_Shdr sections[5];
};

static struct image image_of(const struct virtual_file *f)
{
	static const char names[] = "\0.note\0.debug_info\0.debug_sup\0.names";
	struct image i = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
					       HOST_BIG_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_shoff = offsetof(struct image, sections),
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 5,
				   .e_shstrndx = 4},
			  .note = {4, (Elf64_Word)f->id_size, NT_GNU_BUILD_ID},
			  .owner = "GNU"};
	memcpy(i.id, f->id, sizeof(i.id));
	memcpy(i.names, names, sizeof(names));
	if (f->sup)
		snprintf(i.sup, sizeof(i.sup), "%c%c%c%c%c%s", 5, 1, 1, 1, (int)strlen(f->sup), f->sup);
	i.sup[1] = i.sup[3] = 0;
	i.sections[1] = (Elf64_Shdr){.sh_name = 1,
				     .sh_type = f->id_size ? SHT_NOTE : SHT_PROGBITS,
				     .sh_offset = offsetof(struct image, note),
				     .sh_size = 16 + (f->id_size ? 4 : 0),
				     .sh_addralign = 4};
	i.sections[2] = (Elf64_Shdr){.sh_name = f->dwarf ? 7 : 0,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = offsetof(struct image, owner),
				     .sh_size = 4};
	i.sections[3] = (Elf64_Shdr){.sh_name = f->sup ? 19 : 0,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = offsetof(struct image, sup),
				     .sh_size = f->sup ? 5 + strlen(f->sup) : 0};
	i.sections[4] = (Elf64_Shdr){.sh_name = 30,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct image, names),
				     .sh_size = sizeof(names)};
	return i;
}

static int descriptor_of(const struct virtual_file *f)
{
	struct image image = image_of(f);
	int fd = memfd_create("companion", MFD_CLOEXEC);
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	return fd;
}

static int open_virtual(void *user, const char *path, bool packed)
{
	size_t n = strlen(opened);
	(void)user;
	snprintf(opened + n, sizeof(opened) - n, "%s%s\n", packed ? "" : "plain ", path);
	for (size_t i = 0; i < FILES_MOST; i++)
		if (files[i].path && !strcmp(files[i].path, path))
			return descriptor_of(&files[i]);
	return -ENOENT;
}

static int fetched; /* the errno, or the number of a file */

static int fetch_virtual(void *user, const uint8_t *id, size_t size)
{
	(void)user;
	snprintf(opened, sizeof(opened), "%02x %zu", id[0], size);
	return fetched < 0 ? fetched : descriptor_of(&files[fetched]);
}

static const struct convert_opener opener = {.open = open_virtual, .fetch = fetch_virtual};

/* ---- The file whose companions are wanted ---- */

static const uint8_t own_id[4] = {0xab, 0xcd, 0xef, 0x12};
static uint8_t link_bytes[16];
static struct object_section own_sections[2];

static struct object_file own_file(const char *path, size_t id_size)
{
	struct object_file o = {.path = (char *)(uintptr_t)path,
				.opener = &opener,
				.format = &elf_format,
				.id_size = id_size,
				.sections = {own_sections, 0, 2}};
	memcpy(o.id, own_id, sizeof(own_id));
	memset(files, 0, sizeof(files));
	*opened = 0;
	return o;
}

/* .gnu_debuglink with the file's checksum: 12 bytes. */
static void add_link(struct object_file *o, const char *name, const struct virtual_file *of)
{
	struct image image = of ? image_of(of) : (struct image){.id = {0}};
	memset(link_bytes, 0, sizeof(link_bytes));
	strcpy((char *)link_bytes, name);
	store32(link_bytes + 8, libdeflate_crc32(0, &image, sizeof(image)), false);
	own_sections[0] = (struct object_section){.name = ".gnu_debuglink", .raw = {link_bytes, 12}};
	o->sections.n = 1;
}

static void forget(struct object_file *o)
{
	for (size_t i = 0; i < o->sections.n; i++)
		section_unload(&o->sections.v[i]);
}

static void assert_debug_file(struct object_file *o, const char *const *dirs, const char *path,
			      const char *paths)
{
	struct object_file *found = (void *)1;
	*opened = 0;
	assert_int_equal(find_debug_file(o, dirs, &found, NULL), 0);
	assert_string_equal(found ? found->path : "(none)", path ? path : "(none)");
	assert_string_equal(opened, paths);
	object_close(found);
	forget(o);
}

static const char *const dirs[] = {"/d", "/e", NULL};

#define IN_BUILD_ID "/d/.build-id/ab/cdef12.debug\n/e/.build-id/ab/cdef12.debug\n"

TEST(by_id)
{
	struct object_file o = own_file("/x/prog", 4);
	assert_debug_file(&o, dirs, NULL, IN_BUILD_ID "/d/x/prog\n/e/x/prog\n");
	assert_debug_file(&o, NULL, NULL, "");
	files[0] = (struct virtual_file){
		"/e/.build-id/ab/cdef12.debug", {0xab, 0xcd, 0xef, 0x12}, 4, true, NULL};
	assert_debug_file(&o, dirs, files[0].path, IN_BUILD_ID);
	/* One without DWARF is taken if there is no better one; one with another id is not. */
	files[0].dwarf = false;
	assert_debug_file(&o, dirs, files[0].path, IN_BUILD_ID "/d/x/prog\n/e/x/prog\n");
	files[1] = (struct virtual_file){
		"/d/.build-id/ab/cdef12.debug", {0xab, 0xcd, 0xef, 0x12}, 4, false, NULL};
	assert_debug_file(&o, dirs, files[1].path, IN_BUILD_ID "/d/x/prog\n/e/x/prog\n");
	files[1].dwarf = true;
	assert_debug_file(&o, dirs, files[1].path, "/d/.build-id/ab/cdef12.debug\n");
	files[1].id[3]++;
	assert_debug_file(&o, dirs, files[0].path, IN_BUILD_ID "/d/x/prog\n/e/x/prog\n");
	files[0].id_size = files[1].id_size = 3;
	assert_debug_file(&o, dirs, NULL, IN_BUILD_ID "/d/x/prog\n/e/x/prog\n");
	/* An id of one byte has no such name, one of two has. */
	o = own_file("/x/prog", 1);
	assert_debug_file(&o, dirs, NULL, "/d/x/prog\n/e/x/prog\n");
	o = own_file("prog", 2);
	assert_debug_file(&o, dirs, NULL, "/d/.build-id/ab/cd.debug\n/e/.build-id/ab/cd.debug\n");
	o = own_file("/x/prog", 0);
	assert_debug_file(&o, dirs, NULL, "");
}

#define BESIDE "/x/a.dbg\n/x/.debug/a.dbg\n/d/x/a.dbg\n/e/x/a.dbg\n"

TEST(by_link)
{
	struct object_file o = own_file("/x/prog", 0);
	add_link(&o, "a.dbg", NULL);
	assert_debug_file(&o, dirs, NULL, BESIDE);
	assert_debug_file(&o, NULL, NULL, "/x/a.dbg\n/x/.debug/a.dbg\n");
	/* Without an id on both sides the checksum tells. */
	files[0] = (struct virtual_file){"/x/.debug/a.dbg", {9, 9, 9, 9}, 4, true, NULL};
	add_link(&o, "a.dbg", &files[0]);
	assert_debug_file(&o, dirs, files[0].path, "/x/a.dbg\n/x/.debug/a.dbg\n");
	link_bytes[8] ^= 1;
	assert_debug_file(&o, dirs, NULL, BESIDE);
	o.id_size = 4;
	assert_debug_file(&o, NULL, NULL, "/x/a.dbg\n/x/.debug/a.dbg\n");
	link_bytes[8] ^= 1;
	assert_debug_file(&o, NULL, NULL, "/x/a.dbg\n/x/.debug/a.dbg\n");
	memcpy(files[0].id, own_id, 4);
	assert_debug_file(&o, NULL, files[0].path, "/x/a.dbg\n/x/.debug/a.dbg\n");
	/* The last place, and the file itself, which is none. */
	files[0].path = "/e/x/a.dbg";
	assert_debug_file(&o, dirs, files[0].path, IN_BUILD_ID BESIDE);
	o.path = (char *)(uintptr_t) "/x/a.dbg";
	files[0].path = "/x/a.dbg";
	assert_debug_file(&o, NULL, NULL, "/x/a.dbg\n/x/.debug/a.dbg\n");
	/* One without DWARF does not end the search, but that by the path of a module is left out then. */
	o.path = (char *)(uintptr_t) "/x/prog";
	files[0].dwarf = false;
	assert_debug_file(&o, dirs, files[0].path, IN_BUILD_ID BESIDE "/d/x/prog\n/e/x/prog\n");
	o.path = (char *)(uintptr_t) "prog";
	assert_debug_file(&o, NULL, NULL, "./a.dbg\n./.debug/a.dbg\n");
	o.path = (char *)(uintptr_t) "/prog";
	assert_debug_file(&o, NULL, NULL, "//a.dbg\n//.debug/a.dbg\n");
	/* Names with a directory, of no bytes, and without a checksum are none. */
	link_bytes[1] = '/';
	assert_debug_file(&o, NULL, NULL, "");
	link_bytes[0] = 0;
	assert_debug_file(&o, NULL, NULL, "");
	add_link(&o, "a.dbg", NULL);
	own_sections[0].raw.size = 11;
	assert_debug_file(&o, NULL, NULL, "");
	own_sections[0].raw.size = 12;
	own_sections[0].compression = COMPRESSION_UNKNOWN;
	assert_debug_file(&o, NULL, NULL, "");
}

/* A kernel module, which may be compressed: its path below the debug directories, with /usr and without. */
TEST(by_path)
{
	struct object_file o = own_file("/usr/lib/m/mod.ko.xz", 4);
	static const char *const one[] = {"/d", NULL};
#define BEFORE "/d/.build-id/ab/cdef12.debug\n"
	assert_debug_file(&o, one, NULL, BEFORE "/d/usr/lib/m/mod.ko.xz\n/d/lib/m/mod.ko.xz\n");
	o.inflated.size = 1;
	assert_debug_file(&o, one, NULL, BEFORE "/d/usr/lib/m/mod.ko\n/d/lib/m/mod.ko\n");
	files[0] = (struct virtual_file){"/d/lib/m/mod.ko", {0xab, 0xcd, 0xef, 0x12}, 4, true, NULL};
	assert_debug_file(&o, one, files[0].path, BEFORE "/d/usr/lib/m/mod.ko\n/d/lib/m/mod.ko\n");
	files[0].dwarf = false;
	assert_debug_file(&o, one, NULL, BEFORE "/d/usr/lib/m/mod.ko\n/d/lib/m/mod.ko\n");
	files[0].dwarf = true;
	files[0].id[0] = 0;
	assert_debug_file(&o, one, NULL, BEFORE "/d/usr/lib/m/mod.ko\n/d/lib/m/mod.ko\n");
	files[0].id[0] = 0xab;
	files[0].path = "/d/usr/lib/m/mod.ko";
	assert_debug_file(&o, one, files[0].path, BEFORE "/d/usr/lib/m/mod.ko\n");
	o.path = (char *)(uintptr_t) "/usr/libx/mod.ko";
	assert_debug_file(&o, one, NULL, BEFORE "/d/usr/libx/mod.ko\n");
	/* The file that a link of a compressed module names is not the module. */
	o.path = (char *)(uintptr_t) "/m/a.dbg.gz";
	add_link(&o, "a.dbg", NULL);
	files[0].path = "/m/a.dbg";
	assert_debug_file(&o, NULL, NULL, "/m/a.dbg\n/m/.debug/a.dbg\n");
	o.inflated.size = 0;
	assert_debug_file(&o, NULL, files[0].path, "/m/a.dbg\n");
}

/* A path that has no room for what follows is not opened. */
TEST(long_paths)
{
	static char path[5000], want[8192];
	for (size_t size = 4070; size < 4090; size++) {
		struct object_file o = own_file(path, 0);
		memset(path, 'x', size);
		strcpy(path + size, "/prog");
		path[0] = '/';
		add_link(&o, "a.dbg", NULL);
		path[size] = 0;
		*want = 0;
		if (size + 6 < 4096)
			snprintf(want, sizeof(want), "%s/a.dbg\n", path);
		path[size] = '/';
		struct object_file *found = NULL;
		assert_int_equal(find_debug_file(&o, NULL, &found, NULL), 0);
		size_t n = strlen(want);
		assert_true(!strncmp(opened, want, n));
		assert_int_equal(strlen(opened) - n, size + 13 < 4096 ? size + 14 : 0);
		forget(&o);
	}
}

/* ---- Fetched files ---- */

TEST(fetched_files)
{
	for (int k = 0; k < 6; k++) {
		struct object_file o = own_file("/x/prog", k == 4 ? 1 : 4), *found = (void *)1;
		struct convert_opener none = {.open = open_virtual};
		files[0] = (struct virtual_file){
			"f", {0xab, 0xcd, 0xef, (uint8_t)(k == 1 ? 0 : 0x12)}, 4, k != 2, NULL};
		fetched = k == 3 ? -EIO : 0;
		if (k == 5)
			o.opener = &none;
		static const int want[] = {0, -EBADMSG, -EBADMSG, -EIO, -ENOSYS, -ENOSYS};
		assert_int_equal(fetch_debug_file(&o, &found), want[k]);
		assert_string_equal(opened, k < 4 ? "ab 4" : "");
		assert_int_equal(found != NULL, k == 0);
		object_close(found);
	}
}

/* Ids of two bytes and of 64 are asked for, too. */
TEST(shortest_and_longest_id)
{
	struct object_file o = own_file("/x/prog", 2), *found = NULL;
	files[0] = (struct virtual_file){"f", {0xab, 0xcd}, 2, true, NULL};
	fetched = 0;
	assert_int_equal(fetch_debug_file(&o, &found), 0);
	assert_string_equal(opened, "ab 2");
	object_close(found);
	o.id_size = IMAGE_ID_MAX;
	assert_int_equal(fetch_debug_file(&o, &found), -EBADMSG);
	assert_string_equal(opened, "ab 64");
	assert_null(found);
}

/* Any number is that of a file, also that of standard input where this was closed. */
TEST(lowest_descriptor)
{
	struct object_file o = own_file("/x/prog", 4), *found = NULL;
	int kept = dup(STDIN_FILENO);
	files[0] = (struct virtual_file){"f", {0xab, 0xcd, 0xef, 0x12}, 4, true, NULL};
	fetched = 0;
	close(STDIN_FILENO);
	assert_int_equal(fetch_debug_file(&o, &found), 0);
	object_close(found);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* it was closed again */
	if (kept >= 0) {
		dup2(kept, STDIN_FILENO);
		close(kept);
	}
}

/* ---- Names ---- */

TEST(link_names)
{
	struct object_file o = own_file("/x/prog", 4);
	char name[64];
	assert_false(debug_link_name(&o, name, sizeof(name)));
	assert_true(debug_file_name(&o, name, sizeof(name)));
	assert_string_equal(name, ".build-id/ab/cdef12.debug");
	o.id_size = 1;
	assert_false(debug_file_name(&o, name, sizeof(name)));
	add_link(&o, "a.dbg", NULL);
	assert_true(debug_link_name(&o, name, 6));
	assert_string_equal(name, "a.dbg");
	assert_false(debug_link_name(&o, name, 5));
	assert_true(debug_file_name(&o, name, sizeof(name)));
	assert_string_equal(name, "a.dbg");
	o.sections.n = 0; /* no Mach-O file has such a link */
	o.format = &macho_format;
	assert_true(debug_file_name(&o, name, sizeof(name)));
	assert_string_equal(name, "prog.dSYM");
	forget(&o);
}

/* ---- The alternate file ---- */

/* .gnu_debugaltlink, or .debug_sup of DWARF 5. */
static void add_alternate(struct object_file *o, const char *name, bool sup, const char *id)
{
	static uint8_t bytes[64];
	size_t n = 0;
	if (sup) {
		memcpy(bytes, "\5\0\0", 3);
		n = 3;
	}
	strcpy((char *)bytes + n, name);
	n += strlen(name) + 1;
	if (sup)
		bytes[n++] = (uint8_t)strlen(id);
	memcpy(bytes + n, id, strlen(id));
	own_sections[0] = (struct object_section){.name = sup ? ".debug_sup" : ".gnu_debugaltlink",
						  .raw = {bytes, n + strlen(id)}};
	o->sections.n = 1;
}

static void assert_alternate(struct object_file *o, const char *path, const char *paths)
{
	struct object_file *found = (void *)1;
	*opened = 0;
	assert_int_equal(find_alternate(o, dirs, &found), 0);
	assert_string_equal(found ? found->path : "(none)", path ? path : "(none)");
	assert_string_equal(opened, paths);
	object_close(found);
	forget(o);
}

TEST(alternate_files)
{
	for (int sup = 0; sup < 2; sup++) {
		struct object_file o = own_file("/x/prog", 4);
		assert_null(alternate_name(&o));
		assert_alternate(&o, NULL, "");
		add_alternate(&o, "../dwz/alt", sup, "\x61\x62\x63");
		assert_string_equal(alternate_name(&o), "../dwz/alt");
		forget(&o);
		assert_alternate(
			&o, NULL,
			"plain /x/../dwz/alt\nplain /x/alt\n/d/.build-id/61/6263.debug\nplain /d/.dwz/alt\n"
			"/e/.build-id/61/6263.debug\nplain /e/.dwz/alt\n");
		files[0] = (struct virtual_file){"/d/.dwz/alt", {0x61, 0x62, 0x63}, 3, false, NULL};
		assert_alternate(
			&o, files[0].path,
			"plain /x/../dwz/alt\nplain /x/alt\n/d/.build-id/61/6263.debug\nplain /d/.dwz/alt\n");
		files[0].path = "/x/alt";
		assert_alternate(&o, files[0].path, "plain /x/../dwz/alt\nplain /x/alt\n");
		/* An id of its own .debug_sup does, too. */
		files[0].id_size = 0;
		files[0].sup = "abc";
		assert_alternate(&o, files[0].path, "plain /x/../dwz/alt\nplain /x/alt\n");
		for (int k = 0; k < 3; k++) {
			files[0].sup = k == 0 ? "abd" : k == 1 ? "abcd" : "ab";
			assert_alternate(&o, NULL,
					 "plain /x/../dwz/alt\nplain "
					 "/x/alt\n/d/.build-id/61/6263.debug\nplain /d/.dwz/alt\n"
					 "/e/.build-id/61/6263.debug\nplain /e/.dwz/alt\n");
		}
		files[0].sup = "abc";
		files[0].path = "/y/alt";
		add_alternate(&o, "/y/alt", sup, "abc");
		assert_alternate(&o, files[0].path, "plain /y/alt\n");
		fetched = 0;
		struct object_file *found = NULL;
		assert_int_equal(fetch_alternate(&o, &found), 0);
		assert_string_equal(opened, "61 3");
		object_close(found);
		files[0].sup = NULL;
		assert_int_equal(fetch_alternate(&o, &found), -EBADMSG);
		assert_null(found);
		forget(&o);
		/* Without a name or an id it names none, nor does the supplementary file itself. */
		for (int k = 0; k < 3; k++) {
			if (k == 2 && !sup)
				continue;
			add_alternate(&o, k == 0 ? "" : "alt", sup, k == 1 ? "" : "abc");
			if (k == 2)
				((uint8_t *)(uintptr_t)own_sections[0].raw.data)[2] = 1;
			assert_null(alternate_name(&o));
			assert_int_equal(fetch_alternate(&o, &found), -ENOSYS);
			forget(&o);
		}
	}
}

/* Every file that was opened is closed. */
static int all_closed(void **state)
{
	char line[512];
	int open = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	(void)state;
	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps))
		open += strstr(line, "memfd:companion") != NULL;
	fclose(maps);
	return open;
}

EACH_TEST(NULL, all_closed)

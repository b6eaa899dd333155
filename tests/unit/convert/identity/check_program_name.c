/* What files say of themselves when they are identified: a name, an id, whether they have symbols. */

#include "convert/identity/identity.h"
#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_MAX = 8192, PARTS_MAX = 4 };

static struct image_identity identify(const void *data, size_t size)
{
	struct identities found;
	struct gsym_diag diag = {""};
	int fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	assert_int_equal(identify_descriptor(fd, "image", UINT64_MAX, &found, &diag), 0);
	close(fd);
	assert_int_equal(found.n, 1);
	return found.list[0];
}

/* ---- ELF ---- */

struct part {
	const char *name;
	uint32_t type;
	const void *data;
	size_t size;
};

static struct image_identity identify_elf(const struct part *parts)
{
	static uint8_t file[FILE_MAX];
	Elf64_Shdr headers[PARTS_MAX + 2] = {{0}};
	char names[256] = "";
	size_t at = sizeof(Elf64_Ehdr), n_names = 1, n = 0;
	memset(file, 0, sizeof(file));
	for (; n < PARTS_MAX && parts[n].name; n++) {
		headers[n + 1] = (Elf64_Shdr){.sh_name = (uint32_t)n_names,
					      .sh_type = parts[n].type,
					      .sh_offset = at,
					      .sh_size = parts[n].size,
					      .sh_addralign = 1};
		memcpy(names + n_names, parts[n].name, strlen(parts[n].name) + 1);
		n_names += strlen(parts[n].name) + 1;
		memcpy(file + at, parts[n].data, parts[n].size);
		at += parts[n].size;
	}
	headers[n + 1] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = n_names, .sh_addralign = 1};
	memcpy(file + at, names, n_names);
	at = (at + n_names + 7) & ~(size_t)7;
	memcpy(file + at, headers, (n + 2) * sizeof(*headers));
	const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
					     HOST_BIG_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT},
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = EV_CURRENT,
				 .e_shoff = at,
				 .e_ehsize = sizeof(Elf64_Ehdr),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = (uint16_t)(n + 2),
				 .e_shstrndx = (uint16_t)(n + 1)};
	memcpy(file, &head, sizeof(head));
	return identify(file, at + (n + 2) * sizeof(*headers));
}

#define STRINGS "\0libx.so.1\0a/b\0last"

/* The name of a library with these entries of .dynamic; @strings: .dynstr, @link: of .gnu_debuglink. */
static void check_soname(const uint64_t *entries, size_t n, const char *strings, size_t size,
			 const char *link, const char *want)
{
	char debuglink[IMAGE_NAME_SIZE + 16] = "";
	size_t link_size = ((link ? strlen(link) + 1 : 0) + 3) & ~(size_t)3;
	memcpy(debuglink, link ? link : "", link ? strlen(link) : 0);
	const struct part parts[PARTS_MAX + 1] = {
		{".dynamic", SHT_DYNAMIC, entries, n * sizeof(*entries)},
		{".dynstr", SHT_STRTAB, strings, size},
		{link ? ".gnu_debuglink" : NULL, SHT_PROGBITS, debuglink, link_size + 4},
	};
	assert_string_equal(identify_elf(parts).name, want);
}

TEST(names_of_libraries)
{
	static const struct {
		uint64_t entries[6];
		size_t n;
		const char *want;
	} rows[] = {
		{{DT_SONAME, 1, DT_NULL, 0}, 4, "libx.so.1"},
		{{DT_NEEDED, 5, DT_SONAME, 1, DT_NULL, 0}, 6, "libx.so.1"},
		{{DT_SONAME, 1}, 2, "libx.so.1"},
		{{DT_SONAME, 5, DT_SONAME, 1}, 4, ".so.1"},
		{{DT_SONAME}, 1, ""},
		{{DT_NULL, 0, DT_SONAME, 1}, 4, ""},
		{{DT_NEEDED, 1}, 2, ""},
		{{DT_SONAME, 0}, 2, ""},
		{{DT_SONAME, 11}, 2, ""},                  /* names no file */
		{{DT_SONAME, 15}, 2, ""},                  /* has no end */
		{{DT_SONAME, sizeof(STRINGS) - 1}, 2, ""}, /* lies outside */
		{{DT_SONAME, UINT64_MAX}, 2, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint64_t *v = rows[i].entries;
		const char *want = rows[i].want;
		check_soname(v, rows[i].n, STRINGS, sizeof(STRINGS) - 1, NULL, want);
		check_soname(v, rows[i].n, STRINGS, sizeof(STRINGS) - 1, "prog.debug", *want ? want : "prog");
	}
}

TEST(long_names)
{
	static const uint64_t entries[] = {DT_SONAME, 1};
	char strings[IMAGE_NAME_SIZE + 2] = "";
	for (size_t n = IMAGE_NAME_SIZE - 2; n <= IMAGE_NAME_SIZE; n++) {
		memset(strings + 1, 'x', n);
		strings[n + 1] = 0;
		check_soname(entries, 2, strings, n + 2, NULL, n < IMAGE_NAME_SIZE ? strings + 1 : "");
		check_soname(entries, 0, "", 1, strings + 1, n < IMAGE_NAME_SIZE ? strings + 1 : "");
	}
}

TEST(names_of_debug_links)
{
	static const char *const rows[][2] = {
		{"prog.debug", "prog"},
		{"prog", "prog"},
		{"prog.debug.debug", "prog.debug"},
		{"p.debug", "p"},
		{".debug", ".debug"},
		{"prog.debugs", "prog.debugs"},
		{"prog-debug", "prog-debug"},
		{"0123456789abcdef.debug", ""},
		{"0123456789abcdef0", ""},
		{"0123456789abcde.debug", "0123456789abcde"},
		{"0123456789abcdeg.debug", "0123456789abcdeg"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_soname((const uint64_t[]){DT_NULL, 0}, 2, "", 1, rows[i][0], rows[i][1]);
}

TEST(symbols_of_elf)
{
	static const uint8_t bytes[48];
	const struct part with[PARTS_MAX + 1] = {{".symtab", SHT_SYMTAB, bytes, sizeof(bytes)}},
					   empty[PARTS_MAX + 1] = {{".symtab", SHT_SYMTAB, bytes, 0}},
					   dynamic[PARTS_MAX + 1] = {
						   {".dynsym", SHT_DYNSYM, bytes, sizeof(bytes)}};
	assert_true(identify_elf(with).has_symtab);
	assert_false(identify_elf(empty).has_symtab);
	assert_false(identify_elf(dynamic).has_symtab);
}

/* ---- Mach-O ---- */

enum {
	MAGIC_64 = 0xfeedfacf,
	ARM64 = 0x100000c,
	DYLIB = 6,
	LC_SYMTAB = 2,
	LC_ID_DYLIB = 0xd,
	LC_UUID = 0x1b
};

struct commands {
	uint8_t bytes[1024];
	size_t size;
	uint32_t n;
};

static void add_command(struct commands *c, uint32_t command, const void *content, size_t size)
{
	size_t whole = (8 + size + 7) & ~(size_t)7;
	store32(c->bytes + c->size, command, false);
	store32(c->bytes + c->size + 4, (uint32_t)whole, false);
	memcpy(c->bytes + c->size + 8, content, size);
	c->size += whole;
	c->n++;
}

static struct image_identity identify_macho(const struct commands *c)
{
	uint8_t file[32 + sizeof(c->bytes)] = {0};
	const uint32_t head[] = {MAGIC_64, ARM64, 0, DYLIB, c->n, (uint32_t)c->size, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		store32(file + 4 * i, head[i], false);
	memcpy(file + 32, c->bytes, c->size);
	return identify(file, 32 + c->size);
}

/* Where the name is in the command, its bytes after the numbers, and what is taken of it. */
TEST(install_names)
{
	static const struct {
		uint32_t at;
		char bytes[24];
		size_t size;
		const char *want;
	} rows[] = {
		{24, "/usr/lib/libz.dylib", 24, "libz.dylib"},
		{24, "libz.dylib", 16, "libz.dylib"},
		{24, "@rpath/X.framework/X", 24, "X"},
		{30, "short\0later", 16, "later"},
		{24, "", 8, ""},
		{24, "/usr/lib/", 16, ""},
		{24, "endless!", 8, ""},
		{32, "outside", 8, ""},
		{33, "outside", 8, ""},
		{UINT32_MAX, "outside", 8, ""},
		{11, "numbers", 8, ""},
		{0, "numbers", 8, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct commands c = {.n = 0};
		uint8_t content[64] = {0};
		store32(content, rows[i].at, false);
		memcpy(content + 4, "\1\1\1\1\1\1\1\1\1\1\1\1", 12);
		memcpy(content + 16, rows[i].bytes, rows[i].size);
		add_command(&c, LC_ID_DYLIB, content, 16 + rows[i].size);
		assert_string_equal(identify_macho(&c).name, rows[i].want);
	}
	/* The first byte where a name may be is a number's. */
	struct commands c = {.n = 0};
	add_command(&c, LC_ID_DYLIB, "\14\0\0\0abc", 8);
	assert_string_equal(identify_macho(&c).name, "abc");
}

TEST(ids_and_symbols_of_macho)
{
	static const char first[] = "0123456789abcdef", second[] = "fedcba9876543210";
	for (uint32_t n = 0; n < 3; n++) {
		struct commands c = {.n = 0};
		uint8_t symtab[16] = {0};
		store32(symtab + 4, n, false);
		add_command(&c, LC_SYMTAB, symtab, sizeof(symtab));
		for (uint32_t i = 0; i < n; i++)
			add_command(&c, LC_UUID, i ? second : first, 16);
		struct image_identity id = identify_macho(&c);
		assert_int_equal(id.kind, IMAGE_MACHO);
		assert_string_equal(id.arch, "arm64");
		assert_int_equal(id.has_symtab, n != 0);
		assert_int_equal(id.id_is_hash, n == 0);
		assert_int_equal(id.id_size, 16);
		if (n)
			assert_memory_equal(id.id, first, 16);
	}
}

/* The id of a file that has none: the hash of all of it, or if it is very large, of what sections load. */

#include "convert/identity/identity.h"
#include "gsym/base/bytes.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

/* A program with two sections that are loaded, one that is not, and one without bytes. */
struct image {
	Elf64_Ehdr head;
	char text[64], data[32], comment[16], names[48];
	Elf64_Shdr sections[6];
};

static Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t flags, size_t off, size_t size)
{
	return (Elf64_Shdr){.sh_name = name,
			    .sh_type = type,
			    .sh_flags = flags,
			    .sh_addr = flags & SHF_ALLOC ? 0x1000 + off : 0,
			    .sh_offset = off,
			    .sh_size = size,
			    .sh_addralign = 1};
}

static struct image make_image(void)
{
	struct image i = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
					       HOST_BIG_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_shoff = offsetof(struct image, sections),
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 6,
				   .e_shstrndx = 5}};
	static const char names[] = "\0.text\0.data\0.comment\0.bss\0.shstrtab";
	memset(i.text, 't', sizeof(i.text));
	memset(i.data, 'd', sizeof(i.data));
	memset(i.comment, 'c', sizeof(i.comment));
	memcpy(i.names, names, sizeof(names));
	i.sections[1] = section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, offsetof(struct image, text),
				sizeof(i.text));
	i.sections[2] =
		section(7, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, offsetof(struct image, data), sizeof(i.data));
	i.sections[3] = section(13, SHT_PROGBITS, 0, offsetof(struct image, comment), sizeof(i.comment));
	i.sections[4] = section(22, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, offsetof(struct image, names), 4096);
	i.sections[5] = section(27, SHT_STRTAB, 0, offsetof(struct image, names), sizeof(i.names));
	return i;
}

/* A sparse file; ends a test where RLIMIT_FSIZE refuses one. */
static int file_of(const struct image *image, uint64_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, sizeof(*image)), sizeof(*image));
	if (ftruncate(fd, (off_t)size)) {
		assert_int_equal(errno, EFBIG);
		print_message("skipped: the size of files is limited to less than %" PRIu64 "\n", size);
		close(fd);
		skip();
	}
	return fd;
}

static void assert_hash(int fd, uint64_t to_hash, XXH128_hash_t want)
{
	struct identities found;
	struct gsym_diag diag = {""};
	XXH128_canonical_t canonical;
	XXH128_canonicalFromHash(&canonical, want);
	assert_int_equal(identify_descriptor(fd, "image", to_hash, &found, &diag), 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.to_hash, to_hash);
	assert_true(found.list[0].id_is_hash);
	assert_int_equal(found.list[0].id_size, sizeof(canonical));
	assert_memory_equal(found.list[0].id, canonical.digest, sizeof(canonical));
	/* One that may hash less is told how much it would be. */
	assert_int_equal(identify_descriptor(fd, "image", to_hash - 1, &found, &diag), 0);
	assert_int_equal(found.to_hash, to_hash);
	assert_int_equal(found.n ? found.list[0].id_size : 0, 0);
}

TEST(whole_file)
{
	struct image image = make_image();
	int fd = file_of(&image, sizeof(image));
	assert_hash(fd, sizeof(image), XXH3_128bits(&image, sizeof(image)));
	close(fd);
}

TEST(loaded_sections)
{
	struct image image = make_image();
	char loaded[2 * 16 + sizeof(image.text) + sizeof(image.data)];
	if (sizeof(size_t) < 8)
		skip(); /* such a file cannot be mapped */
	int fd = file_of(&image, IMAGE_HASH_MAX + 1);
	for (size_t i = 0, at = 0; i < 2; i++) { /* where each is, and its bytes */
		const Elf64_Shdr *section = &image.sections[i + 1];
		store64((uint8_t *)loaded + at, section->sh_addr, false);
		store64((uint8_t *)loaded + at + 8, section->sh_size, false);
		memcpy(loaded + at + 16, (const char *)&image + section->sh_offset, section->sh_size);
		at += 16 + section->sh_size;
	}
	assert_hash(fd, sizeof(image.text) + sizeof(image.data), XXH3_128bits(loaded, sizeof(loaded)));
	close(fd);
	/* Nor is there one if the sections are as large as the file. */
	image.sections[1].sh_size = IMAGE_HASH_MAX + 1 - sizeof(image.data) - image.sections[1].sh_offset;
	image.sections[2].sh_size = IMAGE_HASH_MAX;
	fd = file_of(&image, IMAGE_HASH_MAX + sizeof(image));
	struct identities found;
	struct gsym_diag diag = {""};
	assert_int_equal(identify_descriptor(fd, "image", UINT64_MAX, &found, &diag), -ENOTSUP);
	close(fd);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	return unit_run();
}

/*
 * elf.c - ELF files through libelf: sections, segments, notes, symbols.
 *
 * libelf checks headers and converts byte order; the bytes of sections are taken from our own mapping, so
 * that debug data is neither copied nor converted. Sources: System V gABI chapters 4 and 5.
 */
#include "image.h"

#include "../gsym/base/diag.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const struct {
	uint16_t machine;
	const char *arch;
} machines[] = {
	{EM_386, "i386"},     {EM_X86_64, "x86_64"}, {EM_ARM, "arm"},      {EM_AARCH64, "aarch64"},
	{EM_PPC, "powerpc"},  {EM_PPC64, "powerpc64"}, {EM_S390, "s390x"}, {EM_MIPS, "mips"},
	{EM_RISCV, "riscv"},  {EM_SPARC, "sparc"},   {EM_SPARCV9, "sparcv9"}, {EM_68K, "m68k"},
	{EM_LOONGARCH, "loongarch"}, {EM_BPF, "bpf"}, {EM_ALPHA, "alpha"}, {EM_PARISC, "hppa"},
};

static void image_set_arch(struct image *image, uint16_t machine)
{
	snprintf(image->arch, sizeof(image->arch), "em-%u", machine);
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			snprintf(image->arch, sizeof(image->arch), "%s", machines[i].arch);
}

/* ---- Opening ---- */

static int map_descriptor(struct image *image, int fd, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "%s: cannot stat: %s", image->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -ENOEXEC, "%s: not a regular file", image->path);
	if (st.st_size < EI_NIDENT)
		return diag_set(diag, -ENOEXEC, "%s: too short for an object file: %lld bytes", image->path,
				(long long)st.st_size);
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return diag_set(diag, -errno, "%s: cannot map: %s", image->path, strerror(errno));
	image->map = map;
	image->map_size = (size_t)st.st_size;
	image->mapped = true;
	return 0;
}

static int image_map(struct image *image, struct gsym_diag *diag)
{
	/* O_NONBLOCK: a fifo must not hold us up before fstat() can tell. */
	int fd = open(image->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return diag_set(diag, -errno, "%s: cannot open: %s", image->path, strerror(errno));
	int err = map_descriptor(image, fd, diag);
	close(fd);
	return err;
}

static int image_read_header(struct image *image, struct gsym_diag *diag)
{
	if (image->map_size < EI_NIDENT || memcmp(image->map, ELFMAG, SELFMAG))
		return diag_set(diag, -ENOEXEC, "%s: not an ELF file", image->path);
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)(uintptr_t)image->map, image->map_size);
	GElf_Ehdr ehdr;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		elf_end(elf);
		return diag_set(diag, -EBADMSG, "%s: damaged ELF header: %s", image->path, elf_errmsg(-1));
	}
	image->elf = elf;
	image->big_endian = ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	image->addr_size = ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	image->relocatable = ehdr.e_type == ET_REL;
	image_set_arch(image, ehdr.e_machine);
	return 0;
}

/* The first PT_LOAD in table order, not the lowest: upstream's choice, and what readers expect. */
static void image_read_segments(struct image *image)
{
	size_t n = 0;
	if (elf_getphdrnum(image->elf, &n))
		return;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(image->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		image->base_address = phdr.p_vaddr;
		image->has_base = true;
		return;
	}
}

/* ---- Sections ---- */

static bool span_inside(const struct image *image, uint64_t off, uint64_t size)
{
	return off <= image->map_size && size <= image->map_size - off;
}

/* SHF_COMPRESSED: Elf32_Chdr is type, size, align; Elf64_Chdr has a reserved word after the type. */
static void section_read_chdr(struct section *s, const struct image *image)
{
	size_t header = image->addr_size == 8 ? 24 : 12;
	if (s->raw.size < header) {
		s->compression = COMPRESSION_UNKNOWN;
		return;
	}
	uint32_t type = load32(s->raw.data, image->big_endian);
	s->full_size = image->addr_size == 8 ? load64(s->raw.data + 8, image->big_endian)
					     : load32(s->raw.data + 4, image->big_endian);
	s->compression = type == ELFCOMPRESS_ZLIB   ? COMPRESSION_ZLIB
			 : type == ELFCOMPRESS_ZSTD ? COMPRESSION_ZSTD
						    : COMPRESSION_UNKNOWN;
	s->raw.data += header;
	s->raw.size -= header;
}

/* The older way of GNU tools: name ".zdebug_", content "ZLIB" and the size in eight bytes, big-endian. */
static void section_read_zdebug(struct section *s)
{
	if (s->raw.size < 12 || memcmp(s->raw.data, "ZLIB", 4))
		return;
	s->full_size = load64(s->raw.data + 4, true);
	s->compression = COMPRESSION_ZLIB;
	s->raw.data += 12;
	s->raw.size -= 12;
}

static int image_add_section(struct image *image, const char *name, const GElf_Shdr *shdr)
{
	struct section s = {
		.name = name,
		.addr = shdr->sh_addr,
		.size = shdr->sh_size,
		.code = (shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR),
	};
	if (shdr->sh_type != SHT_NOBITS && shdr->sh_size && span_inside(image, shdr->sh_offset, shdr->sh_size))
		s.raw = (struct span){image->map + shdr->sh_offset, shdr->sh_size};
	s.full_size = s.raw.size;
	if (s.raw.size && (shdr->sh_flags & SHF_COMPRESSED))
		section_read_chdr(&s, image);
	else if (s.raw.size && !strncmp(name, ".zdebug_", 8))
		section_read_zdebug(&s);
	uint64_t end;
	if (s.code && s.size && !__builtin_add_overflow(s.addr, s.size, &end) &&
	    vec_push(&image->text, (struct range){s.addr, end}))
		return -ENOMEM;
	return vec_push(&image->sections, s);
}

static int image_read_sections(struct image *image, struct gsym_diag *diag)
{
	size_t names = 0;
	if (elf_getshdrstrndx(image->elf, &names))
		return 0; /* no section names: nothing to find by name */
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr))
			continue;
		const char *name = elf_strptr(image->elf, names, shdr.sh_name);
		if (image_add_section(image, name ? name : "", &shdr))
			return diag_set(diag, -ENOMEM, "%s: out of memory", image->path);
	}
	ranges_normalize(&image->text);
	return 0;
}

struct section *image_section(struct image *image, const char *name)
{
	struct section *found = NULL;
	for (size_t i = 0; i < image->sections.n && !found; i++) {
		struct section *s = &image->sections.v[i];
		bool same = !strcmp(s->name, name) || (!strncmp(name, ".debug_", 7) && s->name[0] == '.' &&
						       s->name[1] == 'z' && !strcmp(s->name + 2, name + 1));
		if (same && s->raw.size)
			found = s;
	}
	return found;
}

/* ---- Build id ---- */

static bool notes_find_build_id(struct image *image, Elf_Data *notes)
{
	GElf_Nhdr nhdr;
	size_t name, desc;
	for (size_t off = 0; notes && (off = gelf_getnote(notes, off, &nhdr, &name, &desc));) {
		const uint8_t *bytes = notes->d_buf;
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")) || !nhdr.n_descsz || nhdr.n_descsz > IMAGE_ID_MAX)
			continue;
		memcpy(image->id, bytes + desc, nhdr.n_descsz);
		image->id_size = nhdr.n_descsz;
		return true;
	}
	return false;
}

static Elf_Type note_type(uint64_t align)
{
	return align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

/* Any note of any SHT_NOTE section: a kernel keeps its build id in .notes, behind others. */
static bool sections_find_build_id(struct image *image)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    !span_inside(image, shdr.sh_offset, shdr.sh_size))
			continue;
		if (notes_find_build_id(image, elf_getdata_rawchunk(image->elf, (int64_t)shdr.sh_offset,
								    shdr.sh_size, note_type(shdr.sh_addralign))))
			return true;
	}
	return false;
}

static bool segments_find_build_id(struct image *image)
{
	size_t n = 0;
	if (elf_getphdrnum(image->elf, &n))
		return false;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(image->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE ||
		    !span_inside(image, phdr.p_offset, phdr.p_filesz))
			continue;
		if (notes_find_build_id(image, elf_getdata_rawchunk(image->elf, (int64_t)phdr.p_offset,
								    phdr.p_filesz, note_type(phdr.p_align))))
			return true;
	}
	return false;
}

/* ---- Symbols ---- */

/* Targets whose function symbols carry a mode in bit 0 (Thumb, MIPS16 and microMIPS). */
static uint64_t code_address(const struct image *image, uint64_t value)
{
	bool mode_bit = !strcmp(image->arch, "arm") || !strcmp(image->arch, "mips");
	return mode_bit ? value & ~(uint64_t)1 : value;
}

static int image_add_symbol(struct image *image, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	bool func = type == STT_FUNC || type == STT_GNU_IFUNC;
	if (sym->st_shndx == SHN_UNDEF || !name || !*name || (!func && type != STT_NOTYPE))
		return 0;
	struct symbol s = {
		.addr = func ? code_address(image, sym->st_value) : sym->st_value,
		.size = sym->st_size,
		.name = name,
		.type = func ? SYMBOL_FUNC : SYMBOL_NOTYPE,
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
	};
	if (image->text.n ? !ranges_find(&image->text, s.addr) : !func)
		return 0;
	return vec_push(&image->symbols, s);
}

/* Adds what one table of @source names in @image. */
static int load_table(struct image *image, struct image *source, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !shdr->sh_entsize || !data->d_buf) {
		image->symbols_damaged |= shdr->sh_type == SHT_SYMTAB && shdr->sh_size;
		return 0;
	}
	size_t n = data->d_size / gelf_fsize(source->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; i < n && i < INT32_MAX; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym))
			break;
		unsigned type = GELF_ST_TYPE(sym.st_info);
		if (type == STT_OBJECT || type == STT_SECTION || type == STT_FILE)
			continue; /* most of the table: spare the look at their names */
		if (image_add_symbol(image, &sym, elf_strptr(source->elf, shdr->sh_link, sym.st_name)))
			return -ENOMEM;
	}
	return 0;
}

static int compare_addr(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Drops the symbols from index @first on whose address one of the first @first symbols has. */
static int symbols_drop_known(struct image *image, size_t first)
{
	uint64_t *known = malloc((first + 1) * sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < first; i++)
		known[i] = image->symbols.v[i].addr;
	qsort(known, first, sizeof(*known), compare_addr);
	size_t kept = first;
	for (size_t i = first; i < image->symbols.n; i++)
		if (!bsearch(&image->symbols.v[i].addr, known, first, sizeof(*known), compare_addr))
			image->symbols.v[kept++] = image->symbols.v[i];
	image->symbols.n = kept;
	free(known);
	return 0;
}

static int load_tables(struct image *image, struct image *source, uint32_t type)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(source->elf, scn));) {
		GElf_Shdr shdr;
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type && shdr.sh_size &&
		    load_table(image, source, scn, &shdr))
			return -ENOMEM;
	}
	return 0;
}

int image_load_symbols(struct image *image, struct image *const *sources, size_t n_sources)
{
	int err = 0;
	for (size_t i = 0; i < n_sources && !err && !image->symbols.n; i++)
		err = load_tables(image, sources[i], SHT_SYMTAB);
	if (err)
		return err;
	size_t first = image->symbols.n;
	err = load_tables(image, image, SHT_DYNSYM);
	return err ? err : symbols_drop_known(image, first);
}

/* ---- Life ---- */

/* Everything after the bytes are there. */
static int image_read(struct image *image, struct gsym_diag *diag)
{
	int err = image_read_header(image, diag);
	if (!err)
		err = image_read_sections(image, diag);
	if (err)
		return err;
	image_read_segments(image);
	if (!sections_find_build_id(image))
		segments_find_build_id(image);
	return 0;
}

int image_open(const char *path, struct image **ret, struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(path)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	int err = image_map(image, diag);
	if (!err)
		err = image_read(image, diag);
	if (!err)
		*ret = TAKE(image);
	return err;
}

int image_open_memory(const void *data, size_t size, const char *name, struct image **ret, struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(name)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", name);
	image->map = data;
	image->map_size = size;
	int err = image_read(image, diag);
	if (!err)
		*ret = TAKE(image);
	return err;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->sections.n; i++)
		if (image->sections.v[i].owned)
			munmap((void *)(uintptr_t)image->sections.v[i].data.data, image->sections.v[i].data.size);
	vec_free(&image->sections);
	vec_free(&image->symbols);
	vec_free(&image->text);
	elf_end(image->elf);
	if (image->mapped)
		munmap((void *)(uintptr_t)image->map, image->map_size);
	free(image->owned);
	free(image->path);
	free(image);
}

void image_closep(struct image **image)
{
	image_close(*image);
}

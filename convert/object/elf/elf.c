/*
 * elf.c - ELF files through libelf: sections, segments, notes, symbols.
 *
 * libelf checks headers and converts byte order; section contents are spans of our own mapping, so that debug
 * data is neither copied nor converted. Source: System V gABI, chapters 4 and 5.
 */
#include "convert/object/elf/elf.h"

#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "gsym/base/search.h"
#include "work/types/go_id.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const struct machine_name machines[] = {
	{EM_386, "i386"},
	{EM_X86_64, "x86_64"},
	{EM_ARM, "arm"},
	{EM_AARCH64, "aarch64"},
	{EM_PPC, "powerpc"},
	{EM_PPC64, "powerpc64"},
	{EM_S390, "s390x"},
	{EM_MIPS, "mips"},
	{EM_RISCV, "riscv"},
	{EM_SPARC, "sparc"},
	{EM_SPARCV9, "sparcv9"},
	{EM_68K, "m68k"},
	{EM_LOONGARCH, "loongarch"},
	{EM_BPF, "bpf"},
	{EM_ALPHA, "alpha"},
	{EM_PARISC, "hppa"},
};

static int read_header(struct object_file *object, struct gsym_diag *diag)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)(uintptr_t)object->map, object->map_size);
	GElf_Ehdr ehdr;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		int number = elf_errno();
		elf_end(elf);
		if (errno == ENOMEM)
			return diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
		return diag_set(diag, -EBADMSG, "%s: damaged ELF header: %s", object->path,
				number ? elf_errmsg(number)
				       : "unknown class, byte order or version, at offset 0x4");
	}
	if (!ehdr.e_shoff && !ehdr.e_phoff) {
		elf_end(elf);
		return diag_set(diag, -EBADMSG, "%s: damaged ELF header: neither section nor program headers",
				object->path);
	}
	if (object_new_own(object, sizeof(struct elf), diag)) {
		elf_end(elf);
		return -ENOMEM;
	}
	elf_of(object)->handle = elf;
	object->big_endian = ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	object->addr_size = ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	object->relocatable = ehdr.e_type == ET_REL;
	object->machine = ehdr.e_machine;
	object->mode_bits = object->machine == EM_MIPS || object->machine == EM_ARM;
	char other[sizeof(object->arch)];
	snprintf(other, sizeof(other), "em-%u", ehdr.e_machine);
	object_set_arch(object, machines, ARRAY_SIZE(machines), ehdr.e_machine, other);
	return 0;
}

/* The base is the first PT_LOAD in table order, not the lowest, as in llvm-gsymutil. */
static int read_segments(struct object_file *object)
{
	size_t n = 0;
	if (elf_getphdrnum(elf_of(object)->handle, &n))
		return 0;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (!object->has_base)
			object->base_address = phdr.p_vaddr;
		object->has_base = true;
		if (!object->sections.n && phdr.p_flags & PF_X &&
		    phdr.p_vaddr + phdr.p_memsz > phdr.p_vaddr &&
		    vec_push(&object->text, (struct range){phdr.p_vaddr, phdr.p_vaddr + phdr.p_memsz}))
			return -ENOMEM;
		if (phdr.p_filesz &&
		    vec_push(&object->segments,
			     (struct object_segment){phdr.p_offset, phdr.p_vaddr, phdr.p_filesz}))
			return -ENOMEM;
	}
	ranges_normalize(&object->text);
	return 0;
}

/* ---- Sections ---- */

/* SHF_COMPRESSED: Elf32_Chdr is type, size, align; Elf64_Chdr has a reserved word after the type. */
static void section_read_chdr(struct object_section *s, const struct object_file *object)
{
	size_t header = object->addr_size == 8 ? 24 : 12;
	if (s->raw.size < header) {
		s->compression = COMPRESSION_UNKNOWN;
		return;
	}
	uint32_t type = load32(s->raw.data, object->big_endian);
	s->full_size = object->addr_size == 8 ? load64(s->raw.data + 8, object->big_endian)
					      : load32(s->raw.data + 4, object->big_endian);
	s->compression = type == ELFCOMPRESS_ZLIB   ? COMPRESSION_ZLIB
			 : type == ELFCOMPRESS_ZSTD ? COMPRESSION_ZSTD
						    : COMPRESSION_UNKNOWN;
	s->raw.data += header;
	s->raw.size -= header;
}

/*
 * A relocatable file has no addresses. Its sections are laid out one after the other from 0, in file order
 * and with their alignment, as elfutils does, so that both give the same addresses.
 */
static void lay_out(struct object_file *object, struct object_section *s, const GElf_Shdr *shdr)
{
	uint64_t align = shdr->sh_addralign ? shdr->sh_addralign : 1, at;
	if (!(shdr->sh_flags & SHF_ALLOC) || align & (align - 1) ||
	    __builtin_add_overflow(elf_of(object)->laid_out, align - 1, &at))
		return;
	s->addr = at & -align;
	if (__builtin_add_overflow(s->addr, s->size, &elf_of(object)->laid_out))
		elf_of(object)->laid_out = UINT64_MAX;
}

static int add_section(struct object_file *object, const char *name, const GElf_Shdr *shdr)
{
	struct object_section s = {
		.name = name,
		.addr = shdr->sh_addr,
		.size = shdr->sh_size,
		.grouped = shdr->sh_flags & SHF_GROUP,
		.allocated = shdr->sh_flags & SHF_ALLOC,
		.code = (shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR),
	};
	if (shdr->sh_type != SHT_NOBITS && shdr->sh_size)
		s.raw = object_span(object, shdr->sh_offset, shdr->sh_size);
	s.outside = shdr->sh_type != SHT_NOBITS && shdr->sh_size && !s.raw.data;
	s.full_size = s.raw.size;
	if (s.raw.size && (shdr->sh_flags & SHF_COMPRESSED))
		section_read_chdr(&s, object);
	if (object->relocatable)
		lay_out(object, &s, shdr);
	return object_add_section(object, &s);
}

/* Recorded, because every relocation table needs the one of its symbol table. */
static void note_index_table(struct object_file *object, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	if (shdr->sh_type != SHT_SYMTAB_SHNDX ||
	    elf_of(object)->n_index_tables == ARRAY_SIZE(elf_of(object)->index_tables))
		return;
	elf_of(object)->index_tables[elf_of(object)->n_index_tables].symtab = shdr->sh_link;
	elf_of(object)->index_tables[elf_of(object)->n_index_tables++].section = elf_ndxscn(scn);
}

static int read_sections(struct object_file *object, struct gsym_diag *diag)
{
	size_t names = 0;
	GElf_Shdr first;
	/*
	 * The index of the section with the names may be in section 0. In a file of the other byte order
	 * libelf takes it from the headers if it has read them, else from a descriptor, and a file in memory
	 * has none.
	 */
	gelf_getshdr(elf_getscn(elf_of(object)->handle, 0), &first);
	object->unnamed = elf_getshdrstrndx(elf_of(object)->handle, &names);
	if (object->unnamed)
		return 0; /* no section names: nothing can be found */
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_of(object)->handle, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr)) /* keep the index of later sections */
			shdr = (GElf_Shdr){0};
		note_index_table(object, scn, &shdr);
		const char *name = elf_strptr(elf_of(object)->handle, names, shdr.sh_name);
		object->unnamed |= !name && shdr.sh_name;
		if (add_section(object, name ? name : "", &shdr))
			return diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
	}
	ranges_normalize(&object->text);
	return 0;
}

/* ---- Code that headers of sections and of segments disagree about ---- */

/* A PT_LOAD segment that is executable. */
struct code_segment {
	struct range range; /* first, for range_compare() */
	uint64_t moved;     /* its address less its offset */
	uint64_t headers;   /* bytes at its start that are the file's headers */
};

typedef VEC(struct code_segment) code_segments;

static void code_segments_free(code_segments *segments)
{
	vec_free(segments);
}

static int list_code_segments(struct object_file *object, code_segments *ret)
{
	size_t n = 0;
	GElf_Ehdr ehdr;
	if (!gelf_getehdr(elf_of(object)->handle, &ehdr) || elf_getphdrnum(elf_of(object)->handle, &n))
		return 0;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		uint64_t end;
		if (!gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X) || __builtin_add_overflow(phdr.p_vaddr, phdr.p_memsz, &end))
			continue;
		/* Program headers follow, unless a tool has moved them elsewhere. */
		uint64_t headers = ehdr.e_ehsize;
		if (ehdr.e_phoff == headers)
			headers += n * ehdr.e_phentsize;
		struct code_segment segment = {{phdr.p_vaddr, end}, phdr.p_vaddr - phdr.p_offset, 0};
		if (!phdr.p_offset)
			segment.headers = headers < phdr.p_memsz ? headers : phdr.p_memsz;
		if (vec_push(ret, segment))
			return -ENOMEM;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), range_compare);
	return 0;
}

/* Returns whether one segment holds the section, both by address and by place in the file. */
static bool is_loaded(const struct object_file *object, const code_segments *segments,
		      const struct object_section *s)
{
	size_t n = PARTITION_POINT(0, segments->n, mid, segments->v[mid].range.lo <= s->addr);
	const struct code_segment *segment = n ? &segments->v[n - 1] : NULL;
	return segment && s->addr < segment->range.hi && s->size <= segment->range.hi - s->addr &&
	       (!s->raw.data || s->addr - (uint64_t)(s->raw.data - object->file.data) == segment->moved);
}

static int list_data(const struct object_file *object, range_vec *ret)
{
	for (size_t i = 0; i < object->sections.n; i++) {
		const struct object_section *s = &object->sections.v[i];
		uint64_t end;
		if (s->allocated && !s->code && !__builtin_add_overflow(s->addr, s->size, &end) &&
		    vec_push(ret, (struct range){s->addr, end}))
			return -ENOMEM;
	}
	ranges_normalize(ret);
	return 0;
}

/*
 * Adds the parts of executable segments that no section of data holds to object->text, without the file's
 * headers: linkers leave addresses of 0 or little more for dropped code.
 */
static int add_code_of_segments(struct object_file *object, const code_segments *segments)
{
	CLEANUP(range_vec_free) range_vec loaded = {0}, data = {0};
	for (size_t i = 0; i < segments->n; i++) {
		struct range r = segments->v[i].range;
		r.lo += segments->v[i].headers;
		if (vec_push(&loaded, r))
			return -ENOMEM;
	}
	ranges_normalize(&loaded);
	int err = list_data(object, &data);
	for (size_t i = 0, d = 0; i < loaded.n && !err; i++) {
		struct range r = loaded.v[i];
		while (d < data.n && data.v[d].hi <= r.lo)
			d++;
		for (; d < data.n && data.v[d].lo < r.hi && !err; d++) {
			if (data.v[d].lo > r.lo)
				err = vec_push(&object->text, (struct range){r.lo, data.v[d].lo});
			r.lo = data.v[d].hi;
			if (r.lo >= r.hi)
				break; /* it may reach into the next segment */
		}
		if (!err && r.lo < r.hi)
			err = vec_push(&object->text, r);
	}
	ranges_normalize(&object->text);
	return err;
}

/*
 * Takes the code from segments where a section of code lies outside them. The loader reads segments alone, so
 * that such a section header is damaged; trusting it would cost all functions of the file.
 */
static int check_code(struct object_file *object)
{
	CLEANUP(code_segments_free) code_segments segments = {0};
	int err = object->relocatable ? 0 : list_code_segments(object, &segments);
	if (err || !segments.n)
		return err;
	for (size_t i = 0; i < object->sections.n && !object->misplaced; i++) {
		const struct object_section *s = &object->sections.v[i];
		if (s->code && s->size && !is_loaded(object, &segments, s))
			object->misplaced = s->name;
	}
	return object->misplaced ? add_code_of_segments(object, &segments) : 0;
}

/* ---- Bytes that headers place ---- */

/*
 * Linkers write the section headers last, so that nearly every copy that broke off lacks them. Files without
 * any, as some packers leave them, have only segments to compare with. The segments of a separate debug file
 * are those of its program and say nothing of it, but it has section headers.
 */

/* Whether the table can be read, so that there are sections to look at. */
static bool expect_sections(struct object_file *object, const GElf_Ehdr *ehdr)
{
	size_t n = 0;
	if (!ehdr->e_shoff)
		return false;
	/* The number of very many sections is in the first header. */
	if (elf_getshdrnum(elf_of(object)->handle, &n) || n < 1)
		n = ehdr->e_shnum ? ehdr->e_shnum : 1;
	object_expect(object, "section headers", 0, ehdr->e_shoff, n * ehdr->e_shentsize);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_of(object)->handle, scn));) {
		GElf_Shdr shdr;
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS && shdr.sh_type != SHT_NULL)
			object_expect(object, "section", (unsigned)elf_ndxscn(scn), shdr.sh_offset,
				      shdr.sh_size);
	}
	return true;
}

static void expect_segments(struct object_file *object)
{
	size_t n = 0;
	if (elf_getphdrnum(elf_of(object)->handle, &n))
		return;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) && phdr.p_type != PT_NULL)
			object_expect(object, "segment", (unsigned)i + 1, phdr.p_offset, phdr.p_filesz);
	}
}

/* Looks whether the file has the bytes that headers place: see object_expect(). */
static void elf_expect(struct object_file *object)
{
	GElf_Ehdr ehdr;
	if (!gelf_getehdr(elf_of(object)->handle, &ehdr))
		return;
	if (ehdr.e_phoff && ehdr.e_phnum != PN_XNUM)
		object_expect(object, "program headers", 0, ehdr.e_phoff,
			      (uint64_t)ehdr.e_phnum * ehdr.e_phentsize);
	if (!expect_sections(object, &ehdr))
		expect_segments(object);
}

/* ---- Build ids ---- */

enum { NT_GO_BUILD_ID = 4 };

static const char go_owner[4] = "Go";

static bool is_note(const GElf_Nhdr *note, uint32_t type, const char *name, const char owner[static 4])
{
	return note->n_type == type && note->n_namesz == 4 && !memcmp(name, owner, 4);
}

static void take_notes(struct object_file *object, Elf_Data *notes)
{
	GElf_Nhdr note;
	size_t name_off, desc_off;
	for (size_t off = 0; notes && (off = gelf_getnote(notes, off, &note, &name_off, &desc_off));) {
		/* The first of each kind counts. */
		const char *name = (const char *)notes->d_buf + name_off;
		const char *desc = (const char *)notes->d_buf + desc_off;
		if (!object->id_size && is_note(&note, NT_GNU_BUILD_ID, name, "GNU"))
			object_set_id(object, desc, note.n_descsz);
		if (!*object->go_id && is_note(&note, NT_GO_BUILD_ID, name, go_owner) &&
		    !go_id_parse(desc, note.n_descsz, object->go_id))
			*object->go_id = 0;
	}
}

static Elf_Type note_type(uint64_t align)
{
	return align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

static void take_notes_of_segments(struct object_file *object)
{
	size_t n = 0;
	if (elf_getphdrnum(elf_of(object)->handle, &n))
		return;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) || phdr.p_type != PT_NOTE ||
		    !object_span(object, phdr.p_offset, phdr.p_filesz).data)
			continue;
		take_notes(object, elf_getdata_rawchunk(elf_of(object)->handle, (int64_t)phdr.p_offset,
							phdr.p_filesz, note_type(phdr.p_align)));
	}
}

/* ---- The name that the file gives itself ---- */

/* Debug files have no bytes for it. */
static bool elf_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	struct object_section *dynamic = object_section(object, ".dynamic"),
			      *strings = object_section(object, ".dynstr");
	uint64_t offset, addr;
	struct span entries = {0}, names = {0};
	if (!object->sections.n) {
		entries = elf_segment(object, PT_DYNAMIC, &addr);
		names = elf_dynamic_strings(object);
	} else if (dynamic && strings && !section_load(dynamic) && !section_load(strings)) {
		entries = dynamic->data;
		names = strings->data;
	}
	if (!elf_soname(object, entries, &offset))
		return false;
	struct cursor c = cursor_new(names.data, names.size, object->big_endian);
	cursor_seek(&c, offset);
	const char *name = cursor_str(&c);
	return cursor_ok(&c) && object_take_name(name, ret);
}

/* ---- The format ---- */

static bool elf_probe(struct span file)
{
	return file.size >= EI_NIDENT && !memcmp(file.data, ELFMAG, SELFMAG);
}

/*
 * Whether libelf has failed since errno was cleared because memory was short. A section or note that is
 * missing for that reason must not look like a property of the file. Its own error numbers are not public.
 */
static bool ran_out_of_memory(void)
{
	return errno == ENOMEM && elf_errno() != 0;
}

static int elf_read(struct object_file *object, struct gsym_diag *diag)
{
	(void)elf_errno();
	errno = 0;
	int err = read_header(object, diag);
	if (!err)
		err = read_sections(object, diag);
	if (err)
		return err;
	bool failed = read_segments(object) || check_code(object);
	elf_expect(object);
	/* Any note of any SHT_NOTE section: a kernel has its build id in .notes, after others. */
	for (Elf_Scn *scn = NULL; !failed && (scn = elf_nextscn(elf_of(object)->handle, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    !object_span(object, shdr.sh_offset, shdr.sh_size).data)
			continue;
		take_notes(object, elf_getdata_rawchunk(elf_of(object)->handle, (int64_t)shdr.sh_offset,
							shdr.sh_size, note_type(shdr.sh_addralign)));
	}
	if (!failed && !object->id_size)
		take_notes_of_segments(object);
	if (failed || ran_out_of_memory())
		return diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
	return 0;
}

static void elf_close(struct object_file *object)
{
	elf_end(elf_of(object)->handle);
}

static bool elf_has_symbols(struct object_file *object)
{
	return object_section(object, ".symtab") != NULL;
}

const struct source_format elf_format = {
	.kind = IMAGE_ELF,
	.companion = COMPANION_DEBUG_FILE,
	.has_fragments = true,
	.probe = elf_probe,
	.read = elf_read,
	.close = elf_close,
	.has_symbols = elf_has_symbols,
	.load_symbols = elf_load_symbols,
	.load_plt = elf_load_plt,
	.relocate = elf_relocate,
	.own_name = elf_own_name,
};

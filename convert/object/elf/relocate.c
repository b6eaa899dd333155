/*
 * relocate.c - relocations of debug sections in relocatable files, kernel modules among them.
 *
 * Debug data needs few kinds: an address or offset of 8 to 64 bits; a difference that is added and subtracted
 * in place (RISC-V and LoongArch, whose linkers relax code, so that the assembler knows no distances); and
 * thread-local offsets, which are ignored. Types are those of the processor supplements of the System V ABI.
 * The relocations of a section are applied in table order to a private copy; time is linear in the tables'
 * size, which is bounded by that of the file because each byte is applied once.
 */
#include "convert/object/elf/elf.h"
#include "work/types/memory_limit.h"

#include <string.h>
#include <sys/mman.h>

enum action {
	ACT_SET,
	ACT_PCREL, /* minus the place */
	ACT_ADD,
	ACT_SUB,
	ACT_SUB6, /* in the low six bits of a byte */
	ACT_ADD6,
	ACT_SET6,
	ACT_SET_LEB, /* in a ULEB128, which keeps its length */
	ACT_ADD_LEB,
	ACT_SUB_LEB,
	ACT_NONE,
};

struct howto {
	uint16_t machine, type;
	uint8_t size; /* bytes; 0 for LEB128 */
	uint8_t action;
};

static const struct howto howtos[] = {
	{EM_X86_64, R_X86_64_64, 8, ACT_SET},
	{EM_X86_64, R_X86_64_32, 4, ACT_SET},
	{EM_X86_64, R_X86_64_32S, 4, ACT_SET},
	{EM_X86_64, R_X86_64_16, 2, ACT_SET},
	{EM_X86_64, R_X86_64_8, 1, ACT_SET},
	{EM_X86_64, R_X86_64_PC32, 4, ACT_PCREL},
	{EM_X86_64, R_X86_64_PC64, 8, ACT_PCREL},
	{EM_X86_64, R_X86_64_DTPOFF32, 4, ACT_NONE},
	{EM_X86_64, R_X86_64_DTPOFF64, 8, ACT_NONE},
	{EM_386, R_386_32, 4, ACT_SET},
	{EM_386, R_386_16, 2, ACT_SET},
	{EM_386, R_386_PC32, 4, ACT_PCREL},
	{EM_386, R_386_TLS_LDO_32, 4, ACT_NONE},
	{EM_AARCH64, R_AARCH64_ABS64, 8, ACT_SET},
	{EM_AARCH64, R_AARCH64_ABS32, 4, ACT_SET},
	{EM_AARCH64, R_AARCH64_ABS16, 2, ACT_SET},
	{EM_AARCH64, R_AARCH64_PREL64, 8, ACT_PCREL},
	{EM_AARCH64, R_AARCH64_PREL32, 4, ACT_PCREL},
	{EM_ARM, R_ARM_ABS32, 4, ACT_SET},
	{EM_ARM, R_ARM_ABS16, 2, ACT_SET},
	{EM_ARM, R_ARM_REL32, 4, ACT_PCREL},
	{EM_ARM, R_ARM_TLS_LDO32, 4, ACT_NONE},
	{EM_RISCV, R_RISCV_32, 4, ACT_SET},
	{EM_RISCV, R_RISCV_64, 8, ACT_SET},
	{EM_RISCV, R_RISCV_ADD8, 1, ACT_ADD},
	{EM_RISCV, R_RISCV_ADD16, 2, ACT_ADD},
	{EM_RISCV, R_RISCV_ADD32, 4, ACT_ADD},
	{EM_RISCV, R_RISCV_ADD64, 8, ACT_ADD},
	{EM_RISCV, R_RISCV_SUB6, 1, ACT_SUB6},
	{EM_RISCV, R_RISCV_SUB8, 1, ACT_SUB},
	{EM_RISCV, R_RISCV_SUB16, 2, ACT_SUB},
	{EM_RISCV, R_RISCV_SUB32, 4, ACT_SUB},
	{EM_RISCV, R_RISCV_SUB64, 8, ACT_SUB},
	{EM_RISCV, R_RISCV_SET6, 1, ACT_SET6},
	{EM_RISCV, R_RISCV_SET8, 1, ACT_SET},
	{EM_RISCV, R_RISCV_SET16, 2, ACT_SET},
	{EM_RISCV, R_RISCV_SET32, 4, ACT_SET},
	{EM_RISCV, R_RISCV_32_PCREL, 4, ACT_PCREL},
	{EM_RISCV, 60, 0, ACT_SET_LEB}, /* R_RISCV_SET_ULEB128 */
	{EM_RISCV, 61, 0, ACT_SUB_LEB}, /* R_RISCV_SUB_ULEB128 */
	{EM_PPC64, R_PPC64_ADDR64, 8, ACT_SET},
	{EM_PPC64, R_PPC64_ADDR32, 4, ACT_SET},
	{EM_PPC64, R_PPC64_REL32, 4, ACT_PCREL},
	{EM_PPC64, R_PPC64_DTPREL64, 8, ACT_NONE},
	{EM_PPC, R_PPC_ADDR32, 4, ACT_SET},
	{EM_PPC, R_PPC_REL32, 4, ACT_PCREL},
	{EM_PPC, R_PPC_UADDR32, 4, ACT_SET},
	{EM_S390, R_390_64, 8, ACT_SET},
	{EM_S390, R_390_32, 4, ACT_SET},
	{EM_S390, R_390_16, 2, ACT_SET},
	{EM_S390, R_390_PC32, 4, ACT_PCREL},
	{EM_S390, R_390_TLS_LDO64, 8, ACT_NONE},
	{EM_MIPS, R_MIPS_32, 4, ACT_SET},
	{EM_MIPS, R_MIPS_64, 8, ACT_SET},
	{EM_SPARC, R_SPARC_32, 4, ACT_SET},
	{EM_SPARC, R_SPARC_UA32, 4, ACT_SET},
	{EM_SPARCV9, R_SPARC_32, 4, ACT_SET},
	{EM_SPARCV9, R_SPARC_UA32, 4, ACT_SET},
	{EM_SPARCV9, R_SPARC_64, 8, ACT_SET},
	{EM_SPARCV9, R_SPARC_UA64, 8, ACT_SET},
	{EM_LOONGARCH, R_LARCH_32, 4, ACT_SET},
	{EM_LOONGARCH, R_LARCH_64, 8, ACT_SET},
	{EM_LOONGARCH, R_LARCH_ADD8, 1, ACT_ADD},
	{EM_LOONGARCH, R_LARCH_ADD16, 2, ACT_ADD},
	{EM_LOONGARCH, R_LARCH_ADD32, 4, ACT_ADD},
	{EM_LOONGARCH, R_LARCH_ADD64, 8, ACT_ADD},
	{EM_LOONGARCH, R_LARCH_SUB8, 1, ACT_SUB},
	{EM_LOONGARCH, R_LARCH_SUB16, 2, ACT_SUB},
	{EM_LOONGARCH, R_LARCH_SUB32, 4, ACT_SUB},
	{EM_LOONGARCH, R_LARCH_SUB64, 8, ACT_SUB},
	{EM_LOONGARCH, 99, 4, ACT_PCREL},    /* R_LARCH_32_PCREL */
	{EM_LOONGARCH, 105, 1, ACT_ADD6},    /* R_LARCH_ADD6 */
	{EM_LOONGARCH, 106, 1, ACT_SUB6},    /* R_LARCH_SUB6 */
	{EM_LOONGARCH, 107, 0, ACT_ADD_LEB}, /* R_LARCH_ADD_ULEB128 */
	{EM_LOONGARCH, 108, 0, ACT_SUB_LEB}, /* R_LARCH_SUB_ULEB128 */
	{EM_LOONGARCH, 109, 8, ACT_PCREL},   /* R_LARCH_64_PCREL */
	{EM_BPF, 2, 8, ACT_SET},             /* R_BPF_64_ABS64 */
	{EM_BPF, 3, 4, ACT_SET},             /* R_BPF_64_ABS32 */
	{EM_BPF, 4, 4, ACT_SET},             /* R_BPF_64_NODYLD32 */
	{EM_68K, R_68K_32, 4, ACT_SET},
	{EM_68K, R_68K_16, 2, ACT_SET},
	{EM_68K, R_68K_PC32, 4, ACT_PCREL},
	{EM_ALPHA, R_ALPHA_REFLONG, 4, ACT_SET},
	{EM_ALPHA, R_ALPHA_REFQUAD, 8, ACT_SET},
	{EM_PARISC, R_PARISC_DIR32, 4, ACT_SET},
	{EM_PARISC, R_PARISC_DIR64, 8, ACT_SET},
	{EM_SH, R_SH_DIR32, 4, ACT_SET},
	{EM_IA_64, R_IA64_DIR32LSB, 4, ACT_SET},
	{EM_IA_64, R_IA64_DIR64LSB, 8, ACT_SET},
	{EM_IA_64, R_IA64_SECREL32LSB, 4, ACT_SET}, /* of debug sections, which are at 0 */
	{EM_IA_64, R_IA64_SECREL64LSB, 8, ACT_SET},
	{EM_CSKY, R_CKCORE_ADDR32, 4, ACT_SET},
	{EM_QDSP6, 6, 4, ACT_SET},  /* R_HEX_32 */
	{EM_MSP430, 1, 4, ACT_SET}, /* R_MSP430_32 */
	{EM_MSP430, 5, 2, ACT_SET}, /* R_MSP430_16_BYTE */
	{EM_XTENSA, 1, 4, ACT_SET}, /* R_XTENSA_32 */
	{EM_AVR, 1, 4, ACT_SET},    /* R_AVR_32 */
	{EM_AVR, 4, 2, ACT_SET},    /* R_AVR_16 */
};

static bool is_known(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(howtos); i++)
		if (howtos[i].machine == machine)
			return true;
	return false;
}

static const struct howto *find_howto(uint16_t machine, uint64_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(howtos); i++)
		if (howtos[i].machine == machine && howtos[i].type == type)
			return &howtos[i];
	return NULL;
}

/* ---- One place ---- */

static uint64_t load_place(const uint8_t *at, unsigned size, bool big)
{
	return size == 1 ? *at : size == 2 ? load16(at, big) : size == 4 ? load32(at, big) : load64(at, big);
}

static void store_place(uint8_t *at, unsigned size, uint64_t v, bool big)
{
	switch (size) {
	case 1: *at = (uint8_t)v; break;
	case 2: store16(at, (uint16_t)v, big); break;
	case 4: store32(at, (uint32_t)v, big); break;
	default: store64(at, v, big); break;
	}
}

/* A ULEB128 keeps its length, which the assembler made large enough. */
static void patch_leb(uint8_t *at, const uint8_t *end, uint64_t value, enum action action)
{
	uint64_t old = 0;
	unsigned shift = 0;
	const uint8_t *p = at;
	for (; p < end && shift < 64; shift += 7) {
		old |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80))
			break;
	}
	value = action == ACT_SUB_LEB ? old - value : action == ACT_ADD_LEB ? old + value : value;
	for (; at < p; at++, value >>= 7)
		*at = (uint8_t)((*at & 0x80) | (value & 0x7f));
}

static void patch(const struct howto *how, uint8_t *at, const uint8_t *end, uint64_t value, uint64_t place,
		  bool big)
{
	uint64_t old = how->size ? load_place(at, how->size, big) : 0;
	switch ((enum action)how->action) {
	case ACT_SET: store_place(at, how->size, value, big); break;
	case ACT_PCREL: store_place(at, how->size, value - place, big); break;
	case ACT_ADD: store_place(at, how->size, old + value, big); break;
	case ACT_SUB: store_place(at, how->size, old - value, big); break;
	case ACT_SET6: *at = (uint8_t)((old & 0xc0) | (value & 0x3f)); break;
	case ACT_SUB6: *at = (uint8_t)((old & 0xc0) | ((old - value) & 0x3f)); break;
	case ACT_ADD6: *at = (uint8_t)((old & 0xc0) | ((old + value) & 0x3f)); break;
	case ACT_SET_LEB:
	case ACT_ADD_LEB:
	case ACT_SUB_LEB: patch_leb(at, end, value, (enum action)how->action); break;
	case ACT_NONE: break;
	}
}

/* ---- One table ---- */

struct relocation_table {
	struct object_file *object;
	Elf_Data *relocations, *symbols, *indexes;
	bool rela; /* addends are in the table, not in place */
	uint8_t *data;
	size_t size;
	uint64_t *skipped;
};

struct relocation {
	uint64_t off, symbol, type;
	int64_t addend;
};

/* The 64-bit MIPS little-endian form keeps three types in the high half, the symbol in the low one. */
static void mend_mips64(const struct object_file *object, uint64_t info, struct relocation *r)
{
	if (object->machine != EM_MIPS || object->addr_size != 8 || object->big_endian)
		return;
	r->symbol = info & 0xffffffff;
	r->type = info >> 56;
}

static bool read_relocation(const struct relocation_table *t, size_t i, struct relocation *ret)
{
	GElf_Rela rela;
	GElf_Rel rel;
	*ret = (struct relocation){0};
	if (t->rela ? !gelf_getrela(t->relocations, (int)i, &rela)
		    : !gelf_getrel(t->relocations, (int)i, &rel))
		return false;
	uint64_t info = t->rela ? rela.r_info : rel.r_info;
	ret->off = t->rela ? rela.r_offset : rel.r_offset;
	ret->addend = t->rela ? rela.r_addend : 0;
	ret->symbol = GELF_R_SYM(info);
	ret->type = GELF_R_TYPE(info);
	if (t->object->machine == EM_SPARCV9)
		ret->type &= 0xff;
	if (t->object->machine == EM_MIPS && t->object->addr_size == 8)
		ret->type &= 0xff; /* big-endian: the first of three types is in the lowest byte */
	mend_mips64(t->object, info, ret);
	return true;
}

static bool find_symbol(const struct relocation_table *t, const struct relocation *r, uint64_t *ret_value)
{
	GElf_Sym sym = {0};
	uint64_t section = 0;
	if (r->symbol &&
	    (!t->symbols || !symbol_read(t->object, t->symbols, t->indexes, r->symbol, &sym, &section)))
		return false;
	*ret_value = sym.st_value + section;
	return true;
}

static bool apply(const struct relocation_table *t, const struct relocation *r)
{
	const struct howto *how = find_howto(t->object->machine, r->type);
	bool big = t->object->big_endian;
	uint64_t value;
	if (!r->type)
		return true;
	if (!how || r->off >= t->size || how->size > t->size - r->off)
		return false;
	if (!find_symbol(t, r, &value)) {
		/* All ones: the tombstone address of dropped code (DWARF 6 issue 200609.1). */
		if (how->action == ACT_SET)
			store_place(t->data + r->off, how->size, UINT64_MAX, big);
		return false;
	}
	value += (uint64_t)r->addend;
	if (!t->rela && (how->action == ACT_SET || how->action == ACT_PCREL))
		value += load_place(t->data + r->off, how->size, big);
	patch(how, t->data + r->off, t->data + t->size, value, r->off, big);
	return true;
}

/* ---- The section ---- */

/* Replaces a span of the mapping by a private copy. */
static int make_writable(struct object_section *section)
{
	if (section->owned)
		return 0;
	void *copy =
		mmap(NULL, section->data.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED) {
		memory_limit_note(section->data.size);
		return -ENOMEM;
	}
	memcpy(copy, section->data.data, section->data.size);
	section->data.data = copy;
	section->owned = true;
	return 0;
}

/* Whether a table may be applied: tables that share their bytes could multiply the work. */
static bool take_table(struct object_file *object, const GElf_Shdr *shdr)
{
	if (shdr->sh_size > object->map_size - elf_of(object)->relocations)
		return false;
	elf_of(object)->relocations += shdr->sh_size;
	return true;
}

int elf_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped)
{
	size_t index = (size_t)(section - object->sections.v) + 1;
	for (Elf_Scn *scn = NULL; section->data.size && (scn = elf_nextscn(elf_of(object)->handle, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_RELA && shdr.sh_type != SHT_REL) ||
		    shdr.sh_info != index)
			continue;
		if (!is_known(object->machine)) { /* without them all code would be at 0 */
			++*ret_skipped;
			return -ENOTSUP;
		}
		if (!take_table(object, &shdr)) {
			++*ret_skipped;
			continue;
		}
		Elf_Scn *symtab = elf_getscn(elf_of(object)->handle, shdr.sh_link);
		struct relocation_table t = {
			.object = object,
			.relocations = elf_table(object, scn),
			.symbols = symtab ? elf_table(object, symtab) : NULL,
			.indexes = symtab ? extended_indexes(object, symtab) : NULL,
			.rela = shdr.sh_type == SHT_RELA,
			.skipped = ret_skipped,
		};
		if (!t.relocations)
			continue;
		if (make_writable(section))
			return -ENOMEM;
		t.data = (uint8_t *)(uintptr_t)section->data.data;
		t.size = section->data.size;
		struct relocation r;
		for (size_t i = 0; i < INT32_MAX && read_relocation(&t, i, &r); i++)
			if (!apply(&t, &r))
				++*t.skipped;
	}
	return 0;
}

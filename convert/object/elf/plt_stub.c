/*
 * plt_stub.c - one decoder for each machine.
 *
 * A decoder matches instructions at the cursor one by one, with optional ones in brackets in the comment
 * above it, and computes the slot's address from their immediates. The cursor is passed by value and fails
 * past the end of the section, so that a decoder neither consumes bytes nor reads beyond them; each looks at
 * a constant number of instructions. Patterns are those of the linkers in use.
 */
#include "convert/object/elf/elf.h"

#include <elf.h>

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

/* The low @bits bits of @v as a signed number. */
static uint64_t sign_extend(uint64_t v, unsigned bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1);
	return ((v & ((sign << 1) - 1)) ^ sign) - sign;
}

/* The next instruction word, if it is @value in the bits of @mask. */
static bool take_word(struct cursor *c, uint32_t mask, uint32_t value, uint32_t *ret)
{
	struct cursor next = *c;
	uint32_t word = cursor_u32(&next);
	if (!cursor_ok(&next) || (word & mask) != value)
		return false;
	*c = next;
	if (ret)
		*ret = word;
	return true;
}

/* ---- x86: byte strings ---- */

static bool take_bytes(struct cursor *c, const char *bytes, size_t n)
{
	if (cursor_left(c) < n || memcmp(c->pos, bytes, n))
		return false;
	c->pos += n;
	return true;
}

/*
 * [endbr64] [bnd] jmp *slot(%rip). With retpolines: mov slot(%rip), %r11, and an indirect jump through %r11.
 */
static bool decode_x86_64(struct cursor c, uint64_t addr, struct stub *ret)
{
	const uint8_t *start = c.pos;
	ret->size = 16;
	(void)take_bytes(&c, "\xf3\x0f\x1e\xfa", 4);
	bool retpoline = take_bytes(&c, "\x4c\x8b\x1d", 3);
	if (!retpoline) {
		(void)take_bytes(&c, "\xf2", 1);
		if (!take_bytes(&c, "\xff\x25", 2))
			return false;
	}
	if (retpoline)
		ret->size = 32;
	uint64_t off = sign_extend(cursor_u32(&c), 32);
	ret->slot = addr + (uint64_t)(c.pos - start) + off;
	return cursor_ok(&c);
}

/* The slot is absolute (non-PIC), or relative to %ebx, which holds the address of the GOT. */
static bool decode_i386(const struct stub_machine *m, struct cursor c, struct stub *ret)
{
	ret->size = 16;
	(void)take_bytes(&c, "\xf3\x0f\x1e\xfb", 4);
	bool absolute = take_bytes(&c, "\xff\x25", 2), retpoline = false;
	if (!absolute && !take_bytes(&c, "\xff\xa3", 2)) {
		retpoline = take_bytes(&c, "\x50", 1); /* push %eax, then mov slot, %eax */
		absolute = retpoline && take_bytes(&c, "\xa1", 1);
		if (!absolute && !(retpoline && take_bytes(&c, "\x8b\x83", 2)))
			return false;
	}
	if (retpoline)
		ret->size = 32;
	uint32_t off = cursor_u32(&c);
	ret->slot = absolute ? off : (uint32_t)(m->base + off);
	return cursor_ok(&c) && (absolute || m->base);
}

/* ---- AArch64 ---- */

/* [bti c]; adrp x16, slot; ldr x17, [x16, slot]; add x16, x16, slot; [autia1716]; br x17 */
static bool decode_aarch64(struct cursor c, uint64_t addr, struct stub *ret)
{
	const uint8_t *start = c.pos;
	uint32_t adrp, ldr;
	(void)take_word(&c, UINT32_MAX, 0xd503245f, NULL);
	ret->prefix = (unsigned)(c.pos - start);
	uint64_t page = (addr + ret->prefix) & ~(uint64_t)0xfff;
	if (!take_word(&c, 0x9f00001f, 0x90000010, &adrp) || !take_word(&c, 0xffc003ff, 0xf9400211, &ldr) ||
	    !take_word(&c, 0xff8003ff, 0x91000210, NULL))
		return false;
	(void)take_word(&c, UINT32_MAX, 0xd503219f, NULL);
	if (!take_word(&c, UINT32_MAX, 0xd61f0220, NULL))
		return false;
	uint64_t pages = sign_extend((adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2, 21);
	ret->slot = page + (pages << 12) + ((ldr >> 10 & 0xfff) << 3);
	ret->size = 24;
	return true;
}

/* ---- Arm ---- */

/* A data-processing immediate: eight bits, rotated right by twice the upper four. */
static uint32_t arm_immediate(uint32_t word)
{
	unsigned rotate = (word >> 8 & 15) * 2;
	uint32_t v = word & 0xff;
	return rotate ? v >> rotate | v << (32 - rotate) : v;
}

/* add ip, pc, #x; add ip, ip, #x, up to two times; ldr pc, [ip, #x]! */
static bool decode_arm_short(struct cursor c, uint64_t addr, uint32_t *ret)
{
	uint32_t word, slot;
	if (!take_word(&c, 0xfffff000, 0xe28fc000, &word))
		return false;
	slot = (uint32_t)addr + 8 + arm_immediate(word);
	for (int i = 0; i < 2 && take_word(&c, 0xfffff000, 0xe28cc000, &word); i++)
		slot += arm_immediate(word);
	if (!take_word(&c, 0xff7ff000, 0xe53cf000, &word))
		return false;
	*ret = word & 0x00800000 ? slot + (word & 0xfff) : slot - (word & 0xfff);
	return true;
}

/* ldr ip, [pc, #4]; add ip, ip, pc; ldr pc, [ip]; the distance */
static bool decode_arm_long(const struct stub_machine *m, struct cursor c, uint64_t addr, uint32_t *ret)
{
	if (!take_word(&c, UINT32_MAX, 0xe59fc004, NULL))
		return false;
	if ((!take_word(&c, UINT32_MAX, 0xe08cc00f, NULL) && !take_word(&c, UINT32_MAX, 0xe08fc00c, NULL)) ||
	    !take_word(&c, UINT32_MAX, 0xe59cf000, NULL))
		return false;
	c.big = m->big_data;
	*ret = (uint32_t)addr + 12 + cursor_u32(&c);
	return cursor_ok(&c);
}

/* The immediate of MOVW and MOVT, encoding T3: imm4:i:imm3:imm8 across two halfwords. */
static bool take_thumb_move(struct cursor *c, uint16_t opcode, uint32_t *ret)
{
	uint16_t high = cursor_u16(c), low = cursor_u16(c);
	*ret = (uint32_t)(high & 15) << 12 | (high >> 10 & 1u) << 11 | (low >> 12 & 7u) << 8 | (low & 0xff);
	return cursor_ok(c) && (high & 0xfbf0) == opcode && (low & 0x8f00) == 0x0c00;
}

/* For cores without Arm instructions: movw ip, #x; movt ip, #x; add ip, pc; ldr.w pc, [ip] */
static bool decode_thumb(struct cursor c, uint64_t addr, uint32_t *ret)
{
	uint32_t low, high;
	if (!take_thumb_move(&c, 0xf240, &low) || !take_thumb_move(&c, 0xf2c0, &high) ||
	    cursor_u16(&c) != 0x44fc || cursor_u16(&c) != 0xf8dc || cursor_u16(&c) != 0xf000)
		return false;
	*ret = (uint32_t)addr + 12 + (high << 16 | low);
	return cursor_ok(&c);
}

/* A Thumb entry may precede it by four bytes: bx pc; nop (or a branch to itself). */
static bool decode_arm(const struct stub_machine *m, struct cursor c, uint64_t addr, struct stub *ret)
{
	struct cursor thumb = c;
	uint16_t first = cursor_u16(&thumb), second = cursor_u16(&thumb);
	uint32_t slot;
	ret->size = 16;
	if (cursor_ok(&thumb) && first == 0x4778 && (second == 0x46c0 || second == 0xe7fd)) {
		c = thumb;
		addr += 4;
		ret->prefix = 4;
		ret->size += 4;
	}
	if (!decode_arm_short(c, addr, &slot) && !decode_arm_long(m, c, addr, &slot) &&
	    !decode_thumb(c, addr, &slot))
		return false;
	ret->slot = slot;
	return true;
}

/* ---- RISC-V and LoongArch ---- */

/* auipc t3, slot; l[wd] t3, slot(t3); jalr t1, t3 */
static bool decode_riscv(const struct stub_machine *m, struct cursor c, uint64_t addr, struct stub *ret)
{
	uint32_t auipc, load;
	if (!take_word(&c, 0xfff, 0xe17, &auipc) ||
	    !take_word(&c, 0xfffff, m->addr_size == 8 ? 0xe3e03 : 0xe2e03, &load) ||
	    !take_word(&c, UINT32_MAX, 0x000e0367, NULL))
		return false;
	ret->slot = addr + sign_extend(auipc & 0xfffff000, 32) + sign_extend(load >> 20, 12);
	ret->size = 16;
	return true;
}

/* pcaddu12i t3, slot; ld.[wd] t3, t3, slot; jirl t1, t3, 0 */
static bool decode_loongarch(const struct stub_machine *m, struct cursor c, uint64_t addr, struct stub *ret)
{
	uint32_t high, load;
	if (!take_word(&c, 0xfe00001f, 0x1c00000f, &high) ||
	    !take_word(&c, 0xffc003ff, m->addr_size == 8 ? 0x28c001ef : 0x288001ef, &load) ||
	    !take_word(&c, UINT32_MAX, 0x4c0001ed, NULL))
		return false;
	ret->slot = addr + (sign_extend(high >> 5, 20) << 12) + sign_extend(load >> 10, 12);
	ret->size = 16;
	return true;
}

/* ---- s390x ---- */

/* larl %r1, slot; lg %r1, 0(%r1); br %r1 */
static bool decode_s390(struct cursor c, uint64_t addr, struct stub *ret)
{
	uint16_t larl = cursor_u16(&c);
	uint64_t halves = sign_extend(cursor_u32(&c), 32);
	uint64_t rest = (uint64_t)cursor_u32(&c) << 32 | (uint64_t)cursor_u16(&c) << 16;
	rest |= cursor_u16(&c);
	ret->slot = addr + 2 * halves;
	ret->size = 32;
	return cursor_ok(&c) && larl == 0xc010 && rest == 0xe3101000000407f1;
}

/* ---- 64-bit PowerPC ---- */

/*
 * Whether bctr, or bnectr+ and a branch to the lazy entry, follows within 8 instructions; an indirect call
 * (bctrl) is no stub. Adds the bytes up to there to *size.
 */
static bool ends_in_jump(struct cursor c, unsigned *size)
{
	for (unsigned i = 0; i < 8; i++) {
		uint32_t word = cursor_u32(&c);
		*size += 4;
		if (word == 0x4e800420)
			return cursor_ok(&c);
		if (word == 0x4ce20420) {
			*size += 4;
			return cursor_ok(&c);
		}
		if (word == 0x4e800421)
			return false;
	}
	return false;
}

/* pld r12, slot: prefix and suffix, relative to the instruction (Power ISA 3.1). */
static bool take_prefixed_load(struct cursor *c, uint64_t addr, uint64_t *slot)
{
	uint32_t prefix, suffix;
	struct cursor at = *c;
	if (!take_word(&at, 0xfffc0000, 0x04100000, &prefix) ||
	    !take_word(&at, 0xffff0000, 0xe5800000, &suffix))
		return false;
	*slot = addr + sign_extend((uint64_t)(prefix & 0x3ffff) << 16 | (suffix & 0xffff), 34);
	*c = at;
	return true;
}

/* [addis rX, r2, slot;] ld r12, slot(rX or r2), or through addi rX, rX, slot; ld r12, 0(rX) */
static bool take_toc_load(const struct stub_machine *m, struct cursor *c, uint64_t *slot)
{
	uint32_t word, base = 2;
	uint64_t at = m->base;
	if (take_word(c, 0xffff0000, 0x3d620000, &word) || take_word(c, 0xffff0000, 0x3d820000, &word)) {
		base = word >> 21 & 31;
		at += sign_extend(word & 0xffff, 16) << 16;
		if (take_word(c, 0xffff0000, 0x38000000 | base << 21 | base << 16, &word))
			at += sign_extend(word & 0xffff, 16);
	}
	if (!take_word(c, 0xffff0003, 0xe9800000 | base << 16, &word))
		return false;
	*slot = at + sign_extend(word & 0xfffc, 16);
	return m->base != 0;
}

/*
 * Call stubs have no section of their own; linkers put them between functions. [std r2, save(r1);] the load
 * of the slot; mtctr r12; the callee's r2 and r11 under the first ABI; bctr.
 */
static bool decode_ppc64(const struct stub_machine *m, struct cursor c, uint64_t addr, struct stub *ret)
{
	const uint8_t *start = c.pos;
	if (!take_word(&c, UINT32_MAX, 0xf8410018, NULL))
		(void)take_word(&c, UINT32_MAX, 0xf8410028, NULL);
	ret->prefix = (unsigned)(c.pos - start);
	if (!take_prefixed_load(&c, addr + ret->prefix, &ret->slot) && !take_toc_load(m, &c, &ret->slot))
		return false;
	if (!take_word(&c, UINT32_MAX, 0x7d8903a6, NULL))
		return false;
	ret->size = (unsigned)(c.pos - start);
	return ends_in_jump(c, &ret->size);
}

/* ---- MIPS ---- */

/* lui t7, slot; l[wd] t9, slot(t7); jr t9 and addiu t8, t7, slot in either order */
static bool decode_mips_plt(const struct stub_machine *m, struct cursor c, struct stub *ret)
{
	uint32_t lui, load;
	if (!take_word(&c, 0xffff0000, 0x3c0f0000, &lui) ||
	    !take_word(&c, 0xffff0000, m->addr_size == 8 ? 0xddf90000 : 0x8df90000, &load))
		return false;
	ret->slot = sign_extend(lui << 16, 32) + sign_extend(load & 0xffff, 16);
	if (m->addr_size == 4)
		ret->slot = (uint32_t)ret->slot;
	ret->size = 16;
	return true;
}

/*
 * Lazy binding: l[wd] t9, resolver(gp); move t7, ra; [lui t8, index;] jalr t9; li t8, index. No slot: the
 * number of the symbol in .dynsym is in the code.
 */
static bool decode_mips_lazy(struct cursor c, struct stub *ret)
{
	uint32_t high = 0, low;
	if (!take_word(&c, 0xffff0000, 0x8f990000, NULL) && !take_word(&c, 0xffff0000, 0xdf990000, NULL))
		return false;
	if (!take_word(&c, UINT32_MAX, 0x03e07825, NULL) && !take_word(&c, UINT32_MAX, 0x03e07821, NULL) &&
	    !take_word(&c, UINT32_MAX, 0x03e0782d, NULL))
		return false;
	bool large = take_word(&c, 0xffff0000, 0x3c180000, &high);
	if (!take_word(&c, UINT32_MAX, 0x0320f809, NULL))
		return false;
	/* addiu, ori or daddiu from the zero register, or ori onto the upper half */
	if (large ? !take_word(&c, 0xffff0000, 0x37180000, &low)
		  : !take_word(&c, 0xffff0000, 0x24180000, &low) &&
			    !take_word(&c, 0xffff0000, 0x34180000, &low) &&
			    !take_word(&c, 0xffff0000, 0x64180000, &low))
		return false;
	ret->symbol = (uint64_t)(high & 0xffff) << 16 | (low & 0xffff);
	ret->by_symbol = true;
	ret->size = large ? 20 : 16;
	return true;
}

/* ---- All ---- */

unsigned stub_step(const struct stub_machine *m)
{
	switch (m->machine) {
	case EM_386:
	case EM_X86_64: return 8;
	case EM_AARCH64:
	case EM_ARM:
	case EM_RISCV:
	case EM_LOONGARCH:
	case EM_PPC64:
	case EM_MIPS: return 4;
	case EM_S390: return m->addr_size == 8 ? 4 : 0;
	}
	return 0;
}

bool stub_decode(const struct stub_machine *m, struct cursor code, uint64_t addr, struct stub *ret)
{
	*ret = (struct stub){0};
	code.big = m->big;
	switch (m->machine) {
	case EM_X86_64: return decode_x86_64(code, addr, ret);
	case EM_386: return decode_i386(m, code, ret);
	case EM_AARCH64: return decode_aarch64(code, addr, ret);
	case EM_ARM: return decode_arm(m, code, addr, ret);
	case EM_RISCV: return decode_riscv(m, code, addr, ret);
	case EM_LOONGARCH: return decode_loongarch(m, code, addr, ret);
	case EM_S390: return decode_s390(code, addr, ret);
	case EM_PPC64: return decode_ppc64(m, code, addr, ret);
	case EM_MIPS: return decode_mips_plt(m, code, ret) || decode_mips_lazy(code, ret);
	}
	return false;
}

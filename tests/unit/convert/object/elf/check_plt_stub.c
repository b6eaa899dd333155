/*
 * Stubs of procedure linkage tables, encoded here for many slots. A bit that is no part of an immediate makes
 * another instruction, and a stub that is cut is none.
 */
#include "convert/object/elf/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

enum { CODE_MOST = 64 };

/* Instructions, and what a decoder should make of them. */
struct encoded {
	uint8_t bytes[CODE_MOST];
	uint8_t fixed[CODE_MOST]; /* bits that are no immediate */
	size_t n;
	size_t optional; /* bytes at the beginning without which it is a stub, too */
	bool big;
	struct stub want;
};

static uint64_t seed = 1;

static uint64_t chance(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return seed >> 16 ^ seed << 24;
}

/* A number of @bits bits with sign; also the least and the greatest. */
static int64_t signed_number(unsigned bits)
{
	int64_t most = ((int64_t)1 << (bits - 1)) - 1;
	switch (chance() % 5) {
	case 0: return most;
	case 1: return -most - 1;
	case 2: return -1;
	}
	return (int64_t)(chance() << (64 - bits)) >> (64 - bits);
}

static void add_bytes(struct encoded *e, const char *bytes, size_t n, unsigned fixed)
{
	memcpy(e->bytes + e->n, bytes, n);
	memset(e->fixed + e->n, (int)fixed, n);
	e->n += n;
}

static void add32(struct encoded *e, uint64_t word, uint32_t fixed)
{
	store32(e->bytes + e->n, (uint32_t)word, e->big);
	store32(e->fixed + e->n, fixed, e->big);
	e->n += 4;
}

static void add16(struct encoded *e, uint64_t word, unsigned fixed)
{
	store16(e->bytes + e->n, (uint16_t)word, e->big);
	store16(e->fixed + e->n, (uint16_t)fixed, e->big);
	e->n += 2;
}

static bool decode(const struct stub_machine *m, const uint8_t *bytes, size_t n, uint64_t addr,
		   struct stub *ret)
{
	uint8_t *copy = malloc(n + !n); /* nothing is read past it */
	memcpy(copy, bytes, n);
	bool found = stub_decode(m, cursor_new(copy, n, m->big), addr, ret);
	free(copy);
	return found;
}

static void assert_same(const struct stub *got, const struct stub *want)
{
	assert_int_equal(got->by_symbol, want->by_symbol);
	assert_true(got->slot == want->slot || want->by_symbol);
	assert_true(got->symbol == want->symbol || !want->by_symbol);
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->prefix, want->prefix);
}

static void check(const struct stub_machine *m, const struct encoded *e, uint64_t addr)
{
	struct stub got;
	assert_true(decode(m, e->bytes, e->n, addr, &got));
	assert_same(&got, &e->want);
	for (size_t n = 0; n < e->n; n++)
		assert_false(decode(m, e->bytes, n, addr, &got));
	for (size_t bit = e->optional * 8; bit < e->n * 8; bit++) {
		uint8_t changed[CODE_MOST];
		if (!(e->fixed[bit / 8] >> bit % 8 & 1))
			continue;
		memcpy(changed, e->bytes, e->n);
		changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (decode(m, changed, e->n, addr, &got))
			fail_msg("a stub of machine %u without bit %zu", m->machine, bit);
	}
}

TEST(x86_64)
{
	const struct stub_machine m = {.machine = EM_X86_64, .addr_size = 8};
	assert_int_equal(stub_step(&m), 8);
	for (int round = 0; round < 40; round++) {
		struct encoded e = {.n = 0};
		uint64_t addr = chance() >> 20;
		int64_t off = signed_number(32);
		int kind = round % 6;
		if (kind & 1)
			add_bytes(&e, "\xf3\x0f\x1e\xfa", 4, 0xff);
		if (kind / 2 == 1)
			add_bytes(&e, "\xf2", 1, 0xff);
		e.optional = e.n;
		add_bytes(&e, kind / 2 == 2 ? "\x4c\x8b\x1d" : "\xff\x25", kind / 2 == 2 ? 3 : 2, 0xff);
		add32(&e, (uint64_t)off, 0);
		e.want = (struct stub){.slot = addr + e.n + (uint64_t)off, .size = kind / 2 == 2 ? 32 : 16};
		check(&m, &e, addr);
	}
}

TEST(x86_32)
{
	for (int round = 0; round < 40; round++) {
		static const char *const codes[] = {"\xff\x25", "\xff\xa3", "\x50\xa1", "\x50\x8b\x83"};
		struct stub_machine m = {
			.machine = EM_386, .addr_size = 4, .base = 0x8000 + (chance() & 0xffff)};
		struct encoded e = {.n = 0};
		uint32_t off = (uint32_t)chance();
		int kind = round % 4;
		bool absolute = kind % 2 == 0;
		if (round & 4)
			add_bytes(&e, "\xf3\x0f\x1e\xfb", 4, 0xff);
		e.optional = e.n;
		add_bytes(&e, codes[kind], kind == 3 ? 3 : 2, 0xff);
		add32(&e, off, 0);
		e.want = (struct stub){.slot = absolute ? off : (uint32_t)(off + m.base),
				       .size = kind < 2 ? 16 : 32};
		/* One bit is that between both forms. */
		if (kind < 2)
			e.fixed[e.n - 5] = 0;
		check(&m, &e, 0x1000);
		m.base = 0;
		struct stub got;
		assert_int_equal(decode(&m, e.bytes, e.n, 0x1000, &got), absolute);
	}
	assert_int_equal(stub_step(&(struct stub_machine){.machine = EM_386}), 8);
}

TEST(aarch64)
{
	for (int round = 0; round < 60; round++) {
		const struct stub_machine m = {.machine = EM_AARCH64, .addr_size = 8};
		struct encoded e = {.n = 0};
		uint64_t addr =
			(chance() >> 24 & ~(uint64_t)0xfff) + (round % 3 ? (chance() & 0xff0) : 0xffc);
		int64_t pages = signed_number(21);
		uint64_t low = chance() & 0xfff;
		if (round & 1)
			add32(&e, 0xd503245f, UINT32_MAX);
		e.optional = e.want.prefix = (unsigned)e.n;
		add32(&e, 0x90000010 | ((uint64_t)pages & 3) << 29 | ((uint64_t)pages >> 2 & 0x7ffff) << 5,
		      0x9f00001f);
		add32(&e, 0xf9400211 | low << 10, 0xffc003ff);
		add32(&e, 0x91000210 | (chance() & 0x1fff) << 10, 0xff8003ff);
		if (round & 2)
			add32(&e, 0xd503219f, UINT32_MAX);
		add32(&e, 0xd61f0220, UINT32_MAX);
		e.want.slot = ((addr + e.want.prefix) & ~(uint64_t)0xfff) + (uint64_t)pages * 4096 + low * 8;
		e.want.size = 24;
		check(&m, &e, addr);
		assert_int_equal(stub_step(&m), 4);
	}
}

static uint32_t arm_immediate(uint32_t word)
{
	uint32_t v = word & 0xff;
	for (unsigned i = 0; i < (word >> 8 & 15); i++)
		v = v >> 2 | v << 30;
	return v;
}

TEST(arm_short)
{
	for (int round = 0; round < 120; round++) {
		const struct stub_machine m = {.machine = EM_ARM, .addr_size = 4};
		struct encoded e = {.n = 0};
		uint32_t addr = (uint32_t)chance() & ~3U, at = addr, word = (uint32_t)chance() & 0xfff;
		if (round % 3) {
			add16(&e, 0x4778, 0xffff);
			add16(&e, round % 3 == 1 ? 0x46c0 : 0xe7fd, 0xffff);
			e.optional = 0;
			e.want.prefix = 4;
			at += 4;
		}
		add32(&e, 0xe28fc000 | word, 0xfffff000);
		uint32_t slot = at + 8 + arm_immediate(word);
		for (int i = 0; i < round / 3 % 3; i++) {
			word = (uint32_t)chance() & 0xfff;
			add32(&e, 0xe28cc000 | word, 0xfffff000);
			slot += arm_immediate(word);
		}
		word = (uint32_t)chance() & 0xfff;
		bool up = round & 1;
		add32(&e, (up ? 0xe5bcf000 : 0xe53cf000) | word, 0xff7ff000);
		e.want.slot = up ? slot + word : slot - word;
		e.want.size = 16 + e.want.prefix;
		check(&m, &e, addr);
	}
	/* Three additions are none of a linker's. */
	struct encoded e = {.n = 0};
	struct stub got;
	add32(&e, 0xe28fc000, 0);
	for (int i = 0; i < 3; i++)
		add32(&e, 0xe28cc000, 0);
	add32(&e, 0xe5bcf000, 0);
	assert_false(decode(&(struct stub_machine){.machine = EM_ARM}, e.bytes, e.n, 0, &got));
	assert_int_equal(stub_step(&(struct stub_machine){.machine = EM_ARM}), 4);
}

TEST(arm_long)
{
	for (int round = 0; round < 24; round++) {
		struct stub_machine m = {
			.machine = EM_ARM, .addr_size = 4, .big = round & 1, .big_data = round & 2};
		struct encoded e = {.big = m.big};
		uint32_t addr = (uint32_t)chance() & ~3U, distance = (uint32_t)chance();
		add32(&e, 0xe59fc004, UINT32_MAX);
		/* Either order of the same operands: they differ in two bits each. */
		add32(&e, round & 4 ? 0xe08cc00f : 0xe08fc00c, UINT32_MAX);
		add32(&e, 0xe59cf000, UINT32_MAX);
		e.big = m.big_data;
		add32(&e, distance, 0);
		e.want = (struct stub){.slot = (uint32_t)(addr + 12 + distance), .size = 16};
		check(&m, &e, addr);
	}
}

TEST(thumb)
{
	for (int round = 0; round < 60; round++) {
		const struct stub_machine m = {.machine = EM_ARM, .addr_size = 4};
		struct encoded e = {.n = 0};
		uint32_t addr = (uint32_t)chance() & ~3U, value = (uint32_t)chance();
		for (int i = 0; i < 2; i++) {
			uint32_t half = i ? value >> 16 : value & 0xffff;
			add16(&e, (i ? 0xf2c0 : 0xf240) | half >> 12 | (half >> 11 & 1) << 10, 0xfbf0);
			add16(&e, 0x0c00 | (half >> 8 & 7) << 12 | (half & 0xff), 0x8f00);
		}
		add16(&e, 0x44fc, 0xffff);
		add16(&e, 0xf8dc, 0xffff);
		add16(&e, 0xf000, 0xffff);
		e.want = (struct stub){.slot = (uint32_t)(addr + 12 + value), .size = 16};
		check(&m, &e, addr);
	}
}

TEST(riscv_and_loongarch)
{
	for (int round = 0; round < 80; round++) {
		bool riscv = round & 1, wide = round & 2;
		struct stub_machine m = {.machine = riscv ? EM_RISCV : EM_LOONGARCH,
					 .addr_size = wide ? 8 : 4};
		struct encoded e = {.n = 0};
		uint64_t addr = chance() >> 24;
		int64_t high = signed_number(20), low = signed_number(12);
		if (riscv) {
			add32(&e, 0xe17 | (uint64_t)high << 12, 0xfff);
			add32(&e, (wide ? 0xe3e03 : 0xe2e03) | (uint64_t)low << 20, 0xfffff);
			add32(&e, 0x000e0367, UINT32_MAX);
		} else {
			add32(&e, 0x1c00000f | ((uint64_t)high & 0xfffff) << 5, 0xfe00001f);
			add32(&e, (wide ? 0x28c001ef : 0x288001ef) | ((uint64_t)low & 0xfff) << 10,
			      0xffc003ff);
			add32(&e, 0x4c0001ed, UINT32_MAX);
		}
		e.want = (struct stub){.slot = addr + (uint64_t)(high * 4096) + (uint64_t)low, .size = 16};
		check(&m, &e, addr);
		assert_int_equal(stub_step(&m), 4);
	}
}

TEST(s390)
{
	for (int round = 0; round < 40; round++) {
		const struct stub_machine m = {.machine = EM_S390, .addr_size = 8, .big = true};
		struct encoded e = {.big = true};
		uint64_t addr = chance() >> 24;
		int64_t halves = signed_number(32);
		add16(&e, 0xc010, 0xffff);
		add32(&e, (uint64_t)halves, 0);
		add_bytes(&e, "\xe3\x10\x10\0\0\x04\x07\xf1", 8, 0xff);
		e.want = (struct stub){.slot = addr + (uint64_t)(2 * halves), .size = 32};
		check(&m, &e, addr);
	}
	assert_int_equal(stub_step(&(struct stub_machine){.machine = EM_S390, .addr_size = 8}), 4);
	assert_int_equal(stub_step(&(struct stub_machine){.machine = EM_S390, .addr_size = 4}), 0);
}

/* [std r2]; the load; mtctr r12; @others; bctr, or bnectr+ and a branch. */
TEST(ppc64)
{
	for (int round = 0; round < 240; round++) {
		struct stub_machine m = {.machine = EM_PPC64,
					 .addr_size = 8,
					 .big = round & 1,
					 .base = 0x100000 + (chance() & 0xffff)};
		struct encoded e = {.big = round & 1};
		uint64_t addr = chance() >> 24 & ~(uint64_t)3;
		int kind = round / 2 % 4, save = round / 8 % 3, others = round / 24 % 9;
		int64_t high = signed_number(16), low = signed_number(16), far = signed_number(34);
		uint32_t base = kind == 0 ? 2 : round / 3 % 2 ? 11 : 12;
		if (save)
			add32(&e, save == 1 ? 0xf8410018 : 0xf8410028, UINT32_MAX);
		e.optional = e.want.prefix = (unsigned)e.n;
		e.want.slot = m.base;
		if (kind == 3) {
			add32(&e, 0x04100000 | ((uint64_t)far >> 16 & 0x3ffff), 0xfffc0000);
			add32(&e, 0xe5800000 | ((uint64_t)far & 0xffff), 0xffff0000);
			e.want.slot = addr + e.want.prefix + (uint64_t)far;
		}
		if (kind == 1 || kind == 2) {
			/* The two registers differ in three bits. */
			add32(&e, 0x3c020000 | base << 21 | ((uint64_t)high & 0xffff), 0xffff0000);
			e.want.slot += (uint64_t)(high * 65536);
		}
		if (kind == 2) {
			add32(&e, 0x38000000 | base << 21 | base << 16 | ((uint64_t)low & 0xffff),
			      0xffff0000);
			e.want.slot += (uint64_t)low;
		}
		if (kind != 3) {
			int64_t last = kind == 2 ? 0 : low & ~(int64_t)3;
			add32(&e, 0xe9800000 | base << 16 | ((uint64_t)last & 0xfffc), 0xffff0003);
			e.want.slot += (uint64_t)last;
		}
		add32(&e, 0x7d8903a6, UINT32_MAX);
		if (e.n + 4 * (size_t)others + 4 > CODE_MOST)
			continue;
		for (int i = 0; i < others; i++)
			add32(&e, 0xe8420008, 0);
		bool lazy = round / 5 % 2;
		add32(&e, lazy ? 0x4ce20420 : 0x4e800420, others < 7 ? UINT32_MAX & ~1U : 0);
		e.want.size = (unsigned)e.n + (lazy ? 4 : 0);
		struct stub got;
		if (others > 7)
			assert_false(decode(&m, e.bytes, e.n, addr, &got));
		else
			check(&m, &e, addr);
		if (kind != 3) {
			m.base = 0;
			assert_false(decode(&m, e.bytes, e.n, addr, &got));
			m.base = 1;
		}
		store32(e.bytes + e.n - 4, 0x4e800421, m.big); /* a call, which returns */
		add32(&e, 0x4e800420, 0);
		assert_false(decode(&m, e.bytes, e.n, addr, &got));
	}
	assert_int_equal(stub_step(&(struct stub_machine){.machine = EM_PPC64}), 4);
}

TEST(mips_slots)
{
	for (int round = 0; round < 40; round++) {
		bool wide = round & 1;
		struct stub_machine m = {.machine = EM_MIPS, .addr_size = wide ? 8 : 4, .big = round & 2};
		struct encoded e = {.big = m.big};
		int64_t high = signed_number(16), low = signed_number(16);
		uint64_t slot = (uint64_t)(high * 65536 + low);
		add32(&e, 0x3c0f0000 | ((uint64_t)high & 0xffff), 0xffff0000);
		add32(&e, (wide ? 0xddf90000 : 0x8df90000) | ((uint64_t)low & 0xffff), 0xffff0000);
		e.want = (struct stub){.slot = wide ? slot : (uint32_t)slot, .size = 16};
		check(&m, &e, 0x1000);
		assert_int_equal(stub_step(&m), 4);
	}
}

TEST(mips_symbols)
{
	static const uint32_t moves[] = {0x03e07825, 0x03e07821, 0x03e0782d},
			      loads[] = {0x24180000, 0x34180000, 0x64180000};
	for (int round = 0; round < 72; round++) {
		bool large = round & 1;
		struct stub_machine m = {.machine = EM_MIPS, .addr_size = 8, .big = round & 2};
		struct encoded e = {.big = m.big};
		uint32_t symbol = (uint32_t)chance() & (large ? UINT32_MAX : 0xffff);
		add32(&e, (round & 4 ? 0x8f990000 : 0xdf990000) | (chance() & 0xffff), 0xaf7f0000);
		add32(&e, moves[round / 8 % 3], UINT32_MAX & ~0xcU);
		if (large)
			add32(&e, 0x3c180000 | symbol >> 16, 0xffff0000);
		add32(&e, 0x0320f809, UINT32_MAX);
		add32(&e, (large ? 0x37180000 : loads[round / 24]) | (symbol & 0xffff),
		      large ? 0xffff0000 : 0x0fff0000);
		e.want = (struct stub){.symbol = symbol, .by_symbol = true, .size = large ? 20 : 16};
		check(&m, &e, 0x1000);
	}
}

TEST(other_machines)
{
	static const uint8_t bytes[64];
	static const uint16_t machines[] = {EM_NONE, EM_68K, EM_SPARC, EM_X86_64 + 1};
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		struct stub_machine m = {.machine = machines[i], .addr_size = 8};
		struct stub got;
		assert_int_equal(stub_step(&m), 0);
		assert_false(decode(&m, bytes, sizeof(bytes), 0, &got));
	}
}

/* Stubs of procedure linkage tables: every layout that linkers are known to write, and what only looks like
 * one. */

#include <elf.h>

#include "convert/object/elf/elf.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static const struct stub_machine x86_64 = {.machine = EM_X86_64, .addr_size = 8};
static const struct stub_machine intel386 = {.machine = EM_386, .addr_size = 4, .base = 0x3ff4};
static const struct stub_machine aarch64 = {.machine = EM_AARCH64, .addr_size = 8};
static const struct stub_machine arm = {.machine = EM_ARM, .addr_size = 4};
static const struct stub_machine arm_be = {.machine = EM_ARM, .addr_size = 4, .big = true, .big_data = true};
static const struct stub_machine riscv64 = {.machine = EM_RISCV, .addr_size = 8};
static const struct stub_machine loongarch = {.machine = EM_LOONGARCH, .addr_size = 8};
static const struct stub_machine s390 = {.machine = EM_S390, .addr_size = 8, .big = true};
static const struct stub_machine ppc64 = {.machine = EM_PPC64, .addr_size = 8, .big = true, .base = 0x27f00};
static const struct stub_machine ppc64le = {.machine = EM_PPC64, .addr_size = 8, .base = 0x27f00};
static const struct stub_machine mips = {.machine = EM_MIPS, .addr_size = 4, .big = true};

/* Decodes, and again with every shorter window: those must fail or agree. */
static bool decode(const struct stub_machine *m, const uint8_t *bytes, size_t n, uint64_t addr,
		   struct stub *ret)
{
	bool found = stub_decode(m, cursor_new(bytes, n, false), addr, ret);
	for (size_t less = 0; less < n; less++) {
		struct stub part;
		if (stub_decode(m, cursor_new(bytes, less, false), addr, &part) && found)
			assert_int_equal(part.slot, ret->slot);
	}
	return found;
}

static void expect_slot(const struct stub_machine *m, const uint8_t *bytes, size_t n, uint64_t addr,
			uint64_t slot)
{
	struct stub stub;
	assert_true(decode(m, bytes, n, addr, &stub));
	assert_false(stub.by_symbol);
	assert_int_equal(stub.slot, slot);
	assert_true(stub.size > 0 && stub.prefix < stub.size);
}

static void expect_none(const struct stub_machine *m, const uint8_t *bytes, size_t n)
{
	struct stub stub;
	assert_false(decode(m, bytes, n, 0x1000, &stub));
}

#define SLOT(machine, addr, slot, ...) \
	expect_slot(machine, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), addr, slot)
#define NONE(machine, ...) \
	expect_none(machine, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* An instruction word in either byte order. */
#define LE(w) (uint8_t)(w), (uint8_t)((w) >> 8), (uint8_t)((w) >> 16), (uint8_t)((uint32_t)(w) >> 24)
#define BE(w) (uint8_t)((uint32_t)(w) >> 24), (uint8_t)((w) >> 16), (uint8_t)((w) >> 8), (uint8_t)(w)

TEST(x86)
{
	/* lazy; with endbr64; with bnd; with a retpoline; backwards */
	SLOT(&x86_64, 0x1030, 0x4000, 0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68, 0, 0, 0, 0);
	SLOT(&x86_64, 0x10d0, 0x4000, 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x26, 0x2f, 0, 0, 0x66, 0x0f);
	SLOT(&x86_64, 0x10d0, 0x4000, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x25, 0x2f, 0, 0);
	SLOT(&x86_64, 0x1ae0, 0x3e60, 0x4c, 0x8b, 0x1d, 0x79, 0x23, 0, 0, 0xe8);
	SLOT(&x86_64, 0x1006, 0x100b, 0xff, 0x25, 0xff, 0xff, 0xff, 0xff);
	/* the header, and the lazy half of an entry with endbr64 */
	NONE(&x86_64, 0xff, 0x35, 0xca, 0x2f, 0, 0, 0xff, 0x25, 0xcc, 0x2f, 0, 0);
	NONE(&x86_64, 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0);
	SLOT(&intel386, 0x1030, 0x4000, 0xff, 0xa3, 0x0c, 0, 0, 0, 0x68, 0, 0, 0, 0);
	SLOT(&intel386, 0x10e0, 0x3fe4, 0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0xa3, 0xf0, 0xff, 0xff, 0xff);
	SLOT(&intel386, 0x8049030, 0x804c000, 0xff, 0x25, 0, 0xc0, 0x04, 0x08);
	SLOT(&intel386, 0x1030, 0x4000, 0x50, 0x8b, 0x83, 0x0c, 0, 0, 0, 0xe8);
	SLOT(&intel386, 0x1030, 0x804c000, 0x50, 0xa1, 0, 0xc0, 0x04, 0x08, 0xe8);
	struct stub_machine lost = intel386;
	lost.base = 0;
	NONE(&lost, 0xff, 0xa3, 0x0c, 0, 0, 0);
	NONE(&intel386, 0x50, 0x8b, 0x84);
}

TEST(arm64)
{
	SLOT(&aarch64, 0x820, 0x20000, LE(0x90000110), LE(0xf9400211), LE(0x91000210), LE(0xd61f0220));
	SLOT(&aarch64, 0x10ba0, 0x30e88, LE(0x90000110), LE(0xf9474611), LE(0x913a2210), LE(0xd61f0220));
	/* bti and pointer authentication */
	SLOT(&aarch64, 0x8c0, 0x20008, LE(0xd503245f), LE(0x90000110), LE(0xf9400611), LE(0x91002210),
	     LE(0xd503219f), LE(0xd61f0220));
	/* below */
	SLOT(&aarch64, 0x20820, 0x1f000, LE(0xf0fffff0), LE(0xf9400211), LE(0x91000210), LE(0xd61f0220));
	/* the header saves a pair of registers first; blr is a call */
	NONE(&aarch64, LE(0xa9bf7bf0), LE(0x90000110), LE(0xf9400211), LE(0x91000210), LE(0xd61f0220));
	NONE(&aarch64, LE(0x90000110), LE(0xf9400211), LE(0x91000210), LE(0xd63f0220));
}

TEST(arm32)
{
	struct stub stub;
	const uint8_t thumb[] = {0x78, 0x47, 0xc0, 0x46, LE(0xe28fc600), LE(0xe28cca01), LE(0xe5bcfaf8)};
	SLOT(&arm, 0x50c, 0x200c, LE(0xe28fc600), LE(0xe28cca01), LE(0xe5bcfaf8));
	SLOT(&arm, 0x50c, 0x200c, LE(0xe28fc200), LE(0xe28cc600), LE(0xe28cca01), LE(0xe5bcfaf8));
	SLOT(&arm, 0x10880, 0x30a54, LE(0xe28fc600), LE(0xe28cca20), LE(0xe5bcf1cc));
	SLOT(&arm_be, 0x50c, 0x200c, BE(0xe28fc600), BE(0xe28cca01), BE(0xe5bcfaf8));
	/* downwards */
	SLOT(&arm, 0x2000, 0x1ffc, LE(0xe28fc600), LE(0xe28cca00), LE(0xe53cf00c));
	/* the distance in a word */
	SLOT(&arm, 0x1000, 0x200c, LE(0xe59fc004), LE(0xe08cc00f), LE(0xe59cf000), LE(0x1000));
	SLOT(&arm, 0x1000, 0x0ffc, LE(0xe59fc004), LE(0xe08fc00c), LE(0xe59cf000), LE(0xfffffff0));
	/* movw ip, #0x2345; movt ip, #1; add ip, pc; ldr.w pc, [ip] */
	SLOT(&arm, 0x1000, 0x13351, 0x42, 0xf2, 0x45, 0x3c, 0xc0, 0xf2, 0x01, 0x0c, 0xfc, 0x44, 0xdc, 0xf8,
	     0x00, 0xf0);
	assert_true(decode(&arm, thumb, sizeof(thumb), 0x508, &stub));
	assert_int_equal(stub.slot, 0x200c);
	assert_int_equal(stub.prefix, 4);
	/* the header; a load without write-back */
	NONE(&arm, LE(0xe52de004), LE(0xe59fe004), LE(0xe08fe00e), LE(0xe5bef008), LE(0x1af8));
	NONE(&arm, LE(0xe28fc600), LE(0xe28cca01), LE(0xe59cfaf8));
}

TEST(riscv_and_loongarch)
{
	SLOT(&riscv64, 0x800, 0x2028, LE(0x00002e17), LE(0x828e3e03), LE(0x000e0367), LE(0x13));
	struct stub_machine narrow = riscv64;
	narrow.addr_size = 4;
	SLOT(&narrow, 0x800, 0x2028, LE(0x00002e17), LE(0x828e2e03), LE(0x000e0367));
	NONE(&riscv64, LE(0x00002e17), LE(0x828e2e03), LE(0x000e0367));
	NONE(&riscv64, LE(0x00002397), LE(0x41c30333), LE(0x8383be03));
	/* pcaddu12i t3, 2; ld.d t3, t3, -2000; jirl t1, t3, 0 */
	SLOT(&loongarch, 0x800, 0x2030, LE(0x1c00004f), LE(0x28e0c1ef), LE(0x4c0001ed));
}

TEST(s390x)
{
	SLOT(&s390, 0x810, 0x2000, 0xc0, 0x10, 0, 0, 0x0b, 0xf8, 0xe3, 0x10, 0x10, 0, 0, 0x04, 0x07, 0xf1);
	SLOT(&s390, 0x2000, 0x1ffe, 0xc0, 0x10, 0xff, 0xff, 0xff, 0xff, 0xe3, 0x10, 0x10, 0, 0, 0x04, 0x07,
	     0xf1);
	NONE(&s390, 0xe3, 0x10, 0xf0, 0x38, 0, 0x24, 0xc0, 0x10, 0, 0, 0x0b, 0xe1);
	struct stub_machine narrow = s390;
	narrow.addr_size = 4;
	assert_int_equal(stub_step(&narrow), 0);
}

TEST(powerpc)
{
	struct stub stub;
	const uint8_t saved[] = {BE(0xf8410028), BE(0xe9828220), BE(0x7d8903a6), BE(0xe8428228),
				 BE(0x4e800420)};
	assert_true(decode(&ppc64, saved, sizeof(saved), 0xb60, &stub));
	assert_int_equal(stub.slot, 0x20120);
	assert_int_equal(stub.size, 20);
	SLOT(&ppc64le, 0x9a0, 0x20040, LE(0xf8410018), LE(0xe9828140), LE(0x7d8903a6), LE(0x4e800420));
	SLOT(&ppc64le, 0x9a0, 0x30040, LE(0x3d820001), LE(0xe98c8140), LE(0x7d8903a6), LE(0x4e800420));
	SLOT(&ppc64, 0x9a0, 0x40000, BE(0x3d620002), BE(0x396b8100), BE(0xe98b0000), BE(0x7d8903a6),
	     BE(0xe84b0008), BE(0xe96b0010), BE(0x4e800420));
	/* bnectr+ and a branch */
	SLOT(&ppc64, 0x860, 0x20098, BE(0xe9828198), BE(0x7d8903a6), BE(0xe84281a0), BE(0x28220000),
	     BE(0x4ce20420), BE(0x480002cc));
	/* pld r12, -4 */
	SLOT(&ppc64le, 0x1000, 0xffc, LE(0x0413ffff), LE(0xe580fffc), LE(0x7d8903a6), LE(0x4e800420));
	/* a call with the pointer inline */
	NONE(&ppc64le, LE(0xf8410018), LE(0xe9828140), LE(0x7d8903a6), LE(0x4e800421), LE(0x4e800420));
	NONE(&ppc64le, LE(0xe9828140), LE(0x7d8903a6), LE(0x60000000), LE(0x60000000));
}

TEST(mips32)
{
	struct stub stub;
	const uint8_t lazy[] = {BE(0x8f998010), BE(0x03e07825), BE(0x0320f809), BE(0x24180014)};
	const uint8_t large[] = {BE(0xdf998010), BE(0x03e0782d), BE(0x3c180001), BE(0x0320f809),
				 BE(0x37180014)};
	SLOT(&mips, 0x4009c0, 0x410a60, BE(0x3c0f0041), BE(0x8df90a60), BE(0x03200008), BE(0x25f80a60));
	SLOT(&mips, 0x4009c0, 0x408a60, BE(0x3c0f0041), BE(0x8df98a60), BE(0x25f88a60), BE(0x03200008));
	assert_true(decode(&mips, lazy, sizeof(lazy), 0xa00, &stub));
	assert_true(stub.by_symbol);
	assert_int_equal(stub.symbol, 20);
	assert_true(decode(&mips, large, sizeof(large), 0xa00, &stub));
	assert_int_equal(stub.symbol, 0x10014);
	NONE(&mips, BE(0x3c1c0041), BE(0x8f990a58), BE(0x279c0a58));
}

TEST(unknown_machine)
{
	struct stub_machine sparc = {.machine = EM_SPARC, .addr_size = 4, .big = true};
	assert_int_equal(stub_step(&sparc), 0);
	NONE(&sparc, 0xff, 0x25, 0, 0, 0, 0);
}

/* Any bytes whatever, for the sanitizers. */
TEST(noise)
{
	const struct stub_machine *all[] = {&x86_64,    &intel386, &aarch64, &arm,     &arm_be, &riscv64,
					    &loongarch, &s390,     &ppc64,   &ppc64le, &mips};
	uint64_t seed = 1;
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[40];
		struct stub stub;
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] =
				(uint8_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
		for (size_t m = 0; m < ARRAY_SIZE(all); m++)
			(void)stub_decode(all[m], cursor_new(bytes, (size_t)(seed >> 59), false), seed,
					  &stub);
	}
}

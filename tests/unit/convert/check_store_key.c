/* What a conversion in a store is named after: every fact changes the name, and no text poses as another. */
#include "store/client/store_key.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "work/cache/cache_key.h"
#include "convert/identity/sha256.h"
#include "work/types/convert_revision.h"

/* BLAKE2b-256 of "source" and of "binary", by another implementation: hashlib.blake2b(x, digest_size=32). */
static const uint8_t source_digest[STORE_DIGEST] = {
	0x24, 0x78, 0xcb, 0x8e, 0x80, 0xf0, 0x55, 0x3f, 0xc6, 0x84, 0x41, 0xca, 0xec, 0x93, 0xb1, 0x1f,
	0x33, 0xdb, 0x25, 0x9c, 0x40, 0x25, 0x27, 0xc1, 0x37, 0x5e, 0xd6, 0x00, 0x4a, 0x09, 0x37, 0xaf};
static const uint8_t binary_digest[STORE_DIGEST] = {
	0x27, 0x27, 0x3a, 0x8c, 0xfd, 0xfe, 0xdc, 0xf2, 0x1a, 0x7e, 0xe7, 0x47, 0x7e, 0xf4, 0x54, 0xa7,
	0x39, 0x17, 0x45, 0xc1, 0xd4, 0x28, 0x0f, 0x30, 0xe1, 0x0c, 0x93, 0x41, 0x54, 0x86, 0xb6, 0x91};
#define SOURCE_HEX "2478cb8e80f0553fc68441caec93b11f33db259c402527c1375ed6004a0937af"
#define BINARY_HEX "27273a8cfdfedcf21a7ee7477ef454a7391745c1d4280f30e10c93415486b691"

static struct store_facts known_facts(void)
{
	return (struct store_facts){
		.id = "0011223344556677",
		.arch = "x86_64",
		.source = {.path = "/usr/lib/debug/a.debug", .state = {.size = 6}, .digest = source_digest},
		.binary = {.path = "/usr/bin/a", .state = {.size = 6}, .digest = binary_digest},
	};
}

static struct text_buf record_of(const struct store_facts *facts)
{
	struct text_buf out = {0};
	store_record(facts, &out);
	text_char(&out, 0);
	assert_false(out.failed);
	return out;
}

static struct store_key key_of(const struct store_facts *facts)
{
	struct store_key key;
	assert_int_equal(store_key_make(facts, &key), 0);
	return key;
}

TEST(record)
{
	char expected[1024];
	struct store_facts facts = known_facts();
	int n = snprintf(expected, sizeof(expected),
			 "gsymfs-key 1\nformat 1\nconverter %d\ncache %d\ngsym 0\nmerged 0\nservers 0\n"
			 "id 0011223344556677\narch x86_64\nsource 6 content " SOURCE_HEX
			 "\nbinary 6 content " BINARY_HEX "\n",
			 CONVERT_REVISION, CACHE_LAYOUT_REVISION);
	struct text_buf made = record_of(&facts);
	assert_string_equal(made.v, expected);
	text_deinit(&made);

	/* Another implementation of the hash finds the same name. */
	uint8_t digest[32];
	struct store_key key = key_of(&facts);
	sha256(expected, (size_t)n, digest);
	assert_memory_equal(key.digest, digest, sizeof(digest));
	assert_true(key.is_content);
}

TEST(sample)
{
	struct store_facts facts = known_facts();
	facts.source.digest = NULL;
	facts.source.sample[0] = 0x12;
	facts.source.sample[1] = 0xfedcba9876543210;
	facts.source.state.uid = 1000;
	facts.source.state.gid = 100;
	facts.source.state.mode = 0444;
	facts.servers = 0x1f;
	facts.merged = true;
	facts.version = 2;
	facts.binary.path = NULL;
	struct text_buf made = record_of(&facts);
	assert_non_null(strstr(made.v, "\ngsym 2\nmerged 1\nservers 000000000000001f\nid "));
	assert_non_null(strstr(made.v, "\nsource 6 sample 0000000000000012fedcba9876543210 1000 100 292 "
				       "/usr/lib/debug/a.debug\n"));
	assert_null(strstr(made.v, "binary"));
	text_deinit(&made);
	assert_false(key_of(&facts).is_content);
}

/* With the content, it does not matter where a file is and whose it is; without, it does. */
TEST(place)
{
	struct store_facts facts = known_facts();
	for (int known = 1; known >= 0; known--) {
		facts.source.digest = known ? source_digest : NULL;
		struct store_key key = key_of(&facts);
		struct store_facts others[4] = {facts, facts, facts, facts};
		others[0].source.path = "/opt/a.debug";
		others[1].source.state.uid = 1;
		others[2].source.state.gid = 1;
		others[3].source.state.mode = 0400;
		for (size_t i = 0; i < 4; i++) {
			struct store_key other = key_of(&others[i]);
			assert_int_equal(memcmp(key.digest, other.digest, STORE_DIGEST) == 0, known);
		}
	}
}

TEST(every_fact)
{
	struct store_facts facts[12];
	struct store_key keys[12];
	size_t n = 0;
	for (size_t i = 0; i < 12; i++)
		facts[i] = known_facts();
	n++; /* the first as it is */
	facts[n++].id = "0011223344556678";
	facts[n++].arch = "aarch64";
	facts[n++].version = 1;
	facts[n++].merged = true;
	facts[n++].servers = 1;
	facts[n++].source.state.size = 7;
	facts[n++].source.digest = binary_digest;
	facts[n++].source.digest = NULL;
	facts[n++].binary.path = NULL;
	facts[n++].binary.state.size = 7;
	facts[n++].binary.digest = source_digest;
	assert_int_equal(n, 12);
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_of(&facts[i]);
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(keys[i].digest, keys[k].digest, STORE_DIGEST);
	}
}

/* A path may hold any byte: it cannot add a line. */
TEST(hostile_path)
{
	struct store_facts one = known_facts(), other = known_facts();
	one.source.digest = other.source.digest = NULL;
	other.binary.path = NULL;
	other.source.path = "/usr/lib/debug/a.debug\nbinary 6 content " BINARY_HEX;
	struct store_key first = key_of(&one), second = key_of(&other);
	assert_memory_not_equal(first.digest, second.digest, STORE_DIGEST);
	struct text_buf made = record_of(&other);
	assert_null(strstr(made.v, "\nbinary"));
	text_deinit(&made);
}

TEST(names)
{
	struct store_key key, parsed;
	char name[STORE_NAME_SIZE];
	memcpy(key.digest, source_digest, sizeof(key.digest));
	store_name(&key, STORE_CONVERSION, name);
	assert_string_equal(name, "gsymfs1/24/" SOURCE_HEX ".gsym");
	assert_true(store_name_parse(name, &parsed));
	assert_memory_equal(parsed.digest, key.digest, STORE_DIGEST);
	store_name(&key, STORE_LEASE, name);
	assert_string_equal(name, "gsymfs1/24/" SOURCE_HEX ".lease");
	assert_false(store_name_parse(name, &parsed));
}

TEST(other_names)
{
	static const char *const others[] = {
		"",
		"gsymfs1/",
		"GSYMFS1/24/" SOURCE_HEX ".gsym",
		"gsymfs1/zz/" SOURCE_HEX ".gsym",
		"gsymfs1/00/" SOURCE_HEX ".gsym",
		"gsymfs1/24/" SOURCE_HEX,
		"gsymfs1/24/" SOURCE_HEX "0.gsym",
		"gsymfs1/24/" SOURCE_HEX ".gsym.tmp",
		"gsymfs2/24/" SOURCE_HEX ".gsym",
		"gsymfs1/00/000102030405060708090A0b0c0d0e0f000102030405060708090a0b0c0d0e0f.gsym",
	};
	struct store_key parsed;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(store_name_parse(others[i], &parsed));
	for (size_t size = 0; size < strlen("gsymfs1/24/" SOURCE_HEX ".gsym"); size++) {
		char *cut = strndup("gsymfs1/24/" SOURCE_HEX ".gsym", size); /* exact, for AddressSanitizer */
		assert_non_null(cut);
		assert_false(store_name_parse(cut, &parsed));
		free(cut);
	}
}

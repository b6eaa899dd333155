/* What a conversion in a store is named after: every fact changes the name, and no text poses as another. */
#include "store/client/store_key.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "work/cache/cache_key.h"
#include "convert/identity/identity.h"
#include "work/types/convert_revision.h"

#define SOURCE_PRINT "b2478cb8e80f0553fc68441caec93b11f33db259c402527c1375ed6004a0937af"
#define BINARY_PRINT "s0000000000000012fedcba9876543210"

static struct store_facts known_facts(void)
{
	return (struct store_facts){
		.id = "0011223344556677",
		.arch = "x86_64",
		.source = {6, SOURCE_PRINT},
		.binary = {7, BINARY_PRINT},
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
	char expected[1024], revision[REVISION_TEXT_SIZE];
	struct store_facts facts = known_facts();
	int n = snprintf(expected, sizeof(expected),
			 "gsymfs-key 3\nformat 1\nconverter %s\ncache %d\ngsym 0\nmerged 0\nservers 0\n"
			 "id 0011223344556677\narch x86_64\nsource 6 " SOURCE_PRINT "\nbinary 7 " BINARY_PRINT
			 "\n",
			 convert_revision(IMAGE_OTHER, IMAGE_OTHER, revision), CACHE_LAYOUT_REVISION);
	struct text_buf made = record_of(&facts);
	assert_string_equal(made.v, expected);
	text_deinit(&made);

	/* Another implementation of the hash finds the same name. */
	uint8_t digest[32];
	struct store_key key = key_of(&facts);
	sha256(expected, (size_t)n, digest);
	assert_memory_equal(key.digest, digest, sizeof(digest));
}

TEST(options)
{
	struct store_facts facts = known_facts();
	facts.servers = 0x1f;
	facts.merged = true;
	facts.version = 2;
	facts.binary.print[0] = 0;
	struct text_buf made = record_of(&facts);
	assert_non_null(strstr(made.v, "\ngsym 2\nmerged 1\nservers 000000000000001f\nid "));
	assert_null(strstr(made.v, "binary"));
	text_deinit(&made);
}

TEST(every_fact)
{
	struct store_facts facts[11];
	struct store_key keys[11];
	size_t n = 0;
	for (size_t i = 0; i < 11; i++)
		facts[i] = known_facts();
	n++; /* the first as it is */
	facts[n++].id = "0011223344556678";
	facts[n++].arch = "aarch64";
	facts[n++].version = 1;
	facts[n++].merged = true;
	facts[n++].servers = 1;
	facts[n++].source.size = 7;
	facts[n++].source.print[64] = 'e';
	facts[n++].binary.print[0] = 0;
	facts[n++].binary.size = 8;
	facts[n++].binary.print[32] = '1';
	assert_int_equal(n, 11);
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_of(&facts[i]);
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(keys[i].digest, keys[k].digest, STORE_DIGEST);
	}
}

/* An id may hold any byte: it cannot add a line. */
TEST(hostile_text)
{
	struct store_facts facts = known_facts();
	facts.binary.print[0] = 0;
	facts.arch = "x86_64\nbinary 7 " BINARY_PRINT;
	struct text_buf made = record_of(&facts);
	assert_null(strstr(made.v, "\nbinary"));
	text_deinit(&made);
}

static struct store_key known_key(void)
{
	struct store_key key;
	for (size_t i = 0; i < STORE_DIGEST; i++)
		key.digest[i] = (uint8_t)(0x24 + i);
	return key;
}

#define HEX "2425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f40414243"

TEST(names)
{
	const struct store_key key = known_key();
	struct store_key parsed;
	char name[STORE_NAME_SIZE];
	store_name(&key, STORE_CONVERSION, name);
	assert_string_equal(name, "gsymfs1/24/" HEX ".gsym");
	assert_true(store_name_parse(name, &parsed));
	assert_memory_equal(parsed.digest, key.digest, STORE_DIGEST);
	store_name(&key, STORE_LEASE, name);
	assert_string_equal(name, "gsymfs1/24/" HEX ".lease");
	assert_false(store_name_parse(name, &parsed));
}

TEST(other_names)
{
	static const char *const others[] = {
		"",
		"gsymfs1/",
		"GSYMFS1/24/" HEX ".gsym",
		"gsymfs1/zz/" HEX ".gsym",
		"gsymfs1/00/" HEX ".gsym",
		"gsymfs1/24/" HEX,
		"gsymfs1/24/" HEX "0.gsym",
		"gsymfs1/24/" HEX ".gsym.tmp",
		"gsymfs2/24/" HEX ".gsym",
		"gsymfs1/00/000102030405060708090A0b0c0d0e0f000102030405060708090a0b0c0d0e0f.gsym",
	};
	struct store_key parsed;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(store_name_parse(others[i], &parsed));
	for (size_t size = 0; size < strlen("gsymfs1/24/" HEX ".gsym"); size++) {
		char *cut = strndup("gsymfs1/24/" HEX ".gsym", size); /* exact, for AddressSanitizer */
		assert_non_null(cut);
		assert_false(store_name_parse(cut, &parsed));
		free(cut);
	}
}

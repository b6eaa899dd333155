/* OpenTelemetry's id of a file, and the hash that it is made of. */
#include "convert/identity/identity.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

static void assert_hex(const uint8_t *bytes, size_t n, const char *hex)
{
	char text[2 * SHA256_SIZE + 1];
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	assert_string_equal(text, hex);
}

/* All ways in which the last block can be filled, by another implementation. */
TEST(digests)
{
	static const struct {
		size_t size;
		const char *hex;
	} table[] = {
		{0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{55, "bb19ed31351682363c6c5393f78e65a35738bd5e382207f1ecb56ff06d937044"},
		{56, "8a261744ce595c50431d19c6d4f68ed24995ed11f7e1d88fe353608f0655ee53"},
		{63, "afef201e0d59e9ae1c32e6a2a5658d4f3067146e876846ebfd8c451bfdc5492f"},
		{64, "606279ea3d1b4f964b5059cd7e96e6fb7c54a71919ed4380030d0a645d97edf7"},
		{65, "6e65dad17aa23e72798d5033a1aee59ee3352d3c496c18fb71e3a5372211fc6c"},
		{119, "9c5deef17ec425a1ae7d0673fa08669688a39eecf424f9a9c716a1a7f959a20c"},
		{120, "3341511f07ffc1efba2ab7cddbda7ccd94b7b5d1b67e546fb367bdae0ccf54ac"},
		{200, "e8f95cd468f4ea0d619de198655281597254ab91902c68967f8d31376516d2ac"},
	};
	char data[200];
	uint8_t digest[SHA256_SIZE];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = "abcdefgh"[i % 8];
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		sha256(data, table[i].size, digest);
		assert_hex(digest, sizeof(digest), table[i].hex);
	}
}

/* Head and tail overlap in short files. */
TEST(files)
{
	static const struct {
		size_t size;
		const char *hex;
	} table[] = {
		{1, "52807a4607ea5debf0b7d4ccb452f4af"},     {23, "af0f347e7bdedc7aaa1f8adf4db0a60c"},
		{24, "fe6c0edce997cfd184073a35cf9d7ef9"},    {4095, "c93eadb0c03d3ccefc8d3fdb6f98607d"},
		{4096, "7a2050c7d90d2cf08bfbfeb3886ffa1e"},  {4097, "ce2b62a4648c5c6501701c5fc31cf33e"},
		{5000, "35cfe5afede7a362b4d9237093292e7f"},  {8192, "c0e2fbd5fd4efaa422e4d8a78eaea634"},
		{10000, "371b5a7020f97fd0a7de174436c348bf"},
	};
	static uint8_t data[10000];
	uint8_t hash[HTLHASH_SIZE];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 % 251);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		htlhash((struct span){data, table[i].size}, hash);
		assert_hex(hash, sizeof(hash), table[i].hex);
	}
}

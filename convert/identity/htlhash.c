/*
 * htlhash.c - SHA-256 (FIPS 180-4), and the id that is made of it.
 */
#include "convert/identity/identity.h"

#include <string.h>

enum {
	BLOCK_SIZE = 64,
	LENGTH_OFF = 56, /* of the number of bits, in the last block */
	ROUNDS = 64,
	WORDS = 8,
};

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void expand(const uint8_t block[static BLOCK_SIZE], uint32_t w[static ROUNDS])
{
	for (size_t i = 0; i < 16; i++)
		w[i] = load32(block + 4 * i, true);
	for (size_t i = 16; i < ROUNDS; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

/*
 * One round, with the names of the specification. Instead of moving all variables by one, the next round
 * finds them one place before: 0 <= @turn < WORDS says where a is.
 */
static inline void add_word(uint32_t v[static WORDS], unsigned turn, uint32_t word)
{
	enum { MASK = WORDS - 1 };
	uint32_t a = v[turn & MASK], b = v[(turn + 1) & MASK], c = v[(turn + 2) & MASK];
	uint32_t e = v[(turn + 4) & MASK], f = v[(turn + 5) & MASK], g = v[(turn + 6) & MASK];
	uint32_t *h = &v[(turn + 7) & MASK];
	uint32_t t1 = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + word;
	v[(turn + 3) & MASK] += t1;
	*h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (c & (a ^ b)));
}

static void add_block(uint32_t hash[static WORDS], const uint8_t block[static BLOCK_SIZE])
{
	uint32_t w[ROUNDS], v[WORDS];
	expand(block, w);
	memcpy(v, hash, sizeof(v));
	for (size_t i = 0; i < ROUNDS; i += WORDS)
		for (unsigned k = 0; k < WORDS; k++)
			add_word(v, WORDS - k, w[i + k] + round_constants[i + k]);
	for (size_t i = 0; i < WORDS; i++)
		hash[i] += v[i];
}

void sha256(const void *data, size_t size, uint8_t ret[static SHA256_SIZE])
{
	uint32_t hash[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const uint8_t *at = data;
	uint8_t last[2 * BLOCK_SIZE] = {0};
	size_t left = size % BLOCK_SIZE, blocks = left < LENGTH_OFF ? 1 : 2;
	for (const uint8_t *end = at + (size - left); at < end; at += BLOCK_SIZE)
		add_block(hash, at);
	if (left)
		memcpy(last, at, left);
	last[left] = 0x80;
	store64(last + (blocks - 1) * BLOCK_SIZE + LENGTH_OFF, (uint64_t)size * 8, true);
	for (size_t i = 0; i < blocks; i++)
		add_block(hash, last + i * BLOCK_SIZE);
	for (size_t i = 0; i < WORDS; i++)
		store32(ret + 4 * i, hash[i], true);
}

/* ---- The id ---- */

enum { END_SIZE = 4096 };

void htlhash(struct span file, uint8_t ret[static HTLHASH_SIZE])
{
	uint8_t input[2 * END_SIZE + sizeof(uint64_t)], digest[SHA256_SIZE];
	size_t n = file.size < END_SIZE ? file.size : END_SIZE;
	memcpy(input, file.data, n);
	memcpy(input + n, file.data + (file.size - n), n); /* they may overlap */
	store64(input + 2 * n, file.size, true);
	sha256(input, 2 * n + sizeof(uint64_t), digest);
	memcpy(ret, digest, HTLHASH_SIZE);
}

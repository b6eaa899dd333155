#include "convert/identity/htlhash.h"

#include <string.h>

#include "convert/identity/sha256.h"

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

#include "store/client/file_digest.h"

#include <errno.h>

#include "store/client/sodium.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum { BLOCK = 1 << 20 };

int file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user, uint8_t ret[static STORE_DIGEST])
{
	const struct sodium *sodium = sodium_library(NULL);
	crypto_generichash_state state;
	if (!sodium)
		return -ELIBACC;
	size_t most = size < BLOCK ? (size_t)size : BLOCK;
	CLEANUP(freep) void *block = malloc(most ? most : 1);
	if (!block)
		return -ENOMEM;
	sodium->blake2b_init(&state, NULL, 0, STORE_DIGEST);
	for (uint64_t off = 0; off < size;) {
		size_t n = size - off < most ? (size_t)(size - off) : most;
		if (more && !more(user))
			return -ECANCELED;
		int err = read_all(fd, block, n, (off_t)off);
		if (err)
			return err == -EBADMSG ? -ESTALE : err;
		sodium->blake2b_update(&state, block, n);
		off += n;
	}
	sodium->blake2b_final(&state, ret, STORE_DIGEST);
	return 0;
}

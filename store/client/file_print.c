#include "store/client/file_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/cache/sampled_hash.h"
#include "store/client/sodium.h"
#include "gsym/base/ascii.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum { DIGEST_SIZE = 32, BLOCK = 1 << 20 };

static bool is_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static int print_whole(int fd, uint64_t size, char ret[static FILE_PRINT_SIZE])
{
	const struct sodium *sodium = sodium_library(NULL);
	crypto_generichash_state state;
	uint8_t digest[DIGEST_SIZE];
	size_t most = size < BLOCK ? (size_t)size : BLOCK;
	if (!sodium)
		return -ELIBACC;
	CLEANUP(freep) void *block = malloc(most ? most : 1);
	if (!block)
		return -ENOMEM;
	sodium->blake2b_init(&state, NULL, 0, sizeof(digest));
	for (uint64_t off = 0; off < size;) {
		size_t n = size - off < most ? (size_t)(size - off) : most;
		int err = read_all(fd, block, n, (off_t)off);
		if (err)
			return err == -EBADMSG ? -ESTALE : err;
		sodium->blake2b_update(&state, block, n);
		off += n;
	}
	sodium->blake2b_final(&state, digest, sizeof(digest));
	*ret = 'b';
	hex_write(ret + 1, digest, sizeof(digest));
	return 0;
}

static int print_sample(int fd, uint64_t size, char ret[static FILE_PRINT_SIZE])
{
	XXH128_hash_t sample;
	int err = sampled_hash(fd, size, &sample);
	if (!err)
		snprintf(ret, FILE_PRINT_SIZE, "s%016" PRIx64 "%016" PRIx64, (uint64_t)sample.high64,
			 (uint64_t)sample.low64);
	return err;
}

int file_print(int fd, uint64_t size, char ret[static FILE_PRINT_SIZE])
{
	const bool is_whole = size <= FILE_PRINT_WHOLE_MAX;
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size != size)
		return -ESTALE;
	if (!is_whole && !is_trusted(&st))
		return -EPERM;
	int err = (is_whole ? print_whole : print_sample)(fd, size, ret);
	return err == -EPERM ? -EIO : err;
}

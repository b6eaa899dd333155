#include "store/client/file_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/cache/sampled_hash.h"
#include "store/client/sodium.h"
#include "gsym/base/ascii.h"
#include "gsym/base/file_io.h"

enum { DIGEST_SIZE = 32 };

static bool is_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static int hash_block(void *state, const void *bytes, size_t n, uint64_t off)
{
	(void)off;
	sodium_library(NULL)->blake2b_update(state, bytes, n);
	return 0;
}

static int print_whole(int fd, uint64_t size, char ret[static FILE_PRINT_SIZE])
{
	const struct sodium *sodium = sodium_library(NULL);
	crypto_generichash_state state;
	uint8_t digest[DIGEST_SIZE];
	if (!sodium)
		return -ELIBACC;
	sodium->blake2b_init(&state, NULL, 0, sizeof(digest));
	int err = read_blocks(fd, size, hash_block, &state);
	if (err)
		return err == -EBADMSG ? -ESTALE : err;
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

#include "store/client/file_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/client/sodium.h"
#include "gsym/base/ascii.h"
#include "gsym/base/bytes.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"

enum {
	DIGEST_SIZE = 32,
	ENDS = 64 << 10, /* bytes: file headers and section header tables lie there */
	PAGE = 4096,
	PAGES = 64,
};

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

static int add_sample(XXH3_state_t *state, int fd, uint64_t off, size_t size)
{
	uint8_t block[PAGE];
	for (size_t done = 0; done < size;) {
		size_t wanted = size - done < sizeof(block) ? size - done : sizeof(block);
		int err = read_all(fd, block, wanted, (off_t)(off + done));
		if (err)
			return err;
		XXH3_128bits_update(state, block, wanted);
		done += wanted;
	}
	return 0;
}

static void free_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

/*
 * XXH3 of the size, the beginning, the end and evenly spaced pages between: the file may have gigabytes and
 * be on a remote file system. Its writer could make another one with the same hash, so it is for files of
 * trusted writers. 0 or a negative errno.
 */
static int sampled_hash(int fd, uint64_t size, XXH128_hash_t *ret)
{
	CLEANUP(free_state) XXH3_state_t *state = XXH3_createState();
	uint8_t field[8];
	int err = 0;
	if (!state)
		return -ENOMEM;
	XXH3_128bits_reset(state);
	store64(field, size, false);
	XXH3_128bits_update(state, field, sizeof(field));
	if (size <= 2 * ENDS + PAGES * PAGE) {
		err = add_sample(state, fd, 0, (size_t)size);
	} else {
		uint64_t step = (size - 2 * ENDS - PAGE) / PAGES;
		err = add_sample(state, fd, 0, ENDS);
		for (uint64_t i = 0; i < PAGES && !err; i++)
			err = add_sample(state, fd, ENDS + i * step, PAGE);
		if (!err)
			err = add_sample(state, fd, size - ENDS, ENDS);
	}
	*ret = XXH3_128bits_digest(state);
	return err;
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

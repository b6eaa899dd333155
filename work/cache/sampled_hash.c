#include "work/cache/sampled_hash.h"

#include <errno.h>

#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"
#include "gsym/base/file_io.h"

enum {
	ENDS = 64 << 10, /* bytes: file headers and section header tables lie there */
	PAGE = 4096,
	PAGES = 64,
};

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

int sampled_hash(int fd, uint64_t size, XXH128_hash_t *ret)
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

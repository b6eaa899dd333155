/*
 * Compressed bytes inflated in steps of two sizes, which the first bytes choose with the format: no step goes
 * beyond its room or its input, and what comes out does not depend on the steps. Whether damage is noticed
 * may: libzstd does not compare the size of a frame with its header's when it ends with an empty block.
 */
#include "convert/object/inflate/inflater.h"
#include "tests/fuzz/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 256 << 10 }; /* bytes inflated: a step of the converter */

struct result {
	uint8_t *bytes;
	size_t size;
	int err;
	bool ended;
};

static const struct inflater_kind *kind_of(uint8_t choice)
{
#ifdef HAVE_ISAL
	if (choice & 1)
		return &inflater_zlib;
#endif
	(void)choice;
	return &inflater_zstd;
}

/* Room of each step is allocated alone, so that a sanitizer sees what is written beyond it. */
static int64_t inflate_step(const struct inflater_kind *kind, void *inflater, size_t size, uint8_t *ret)
{
	uint8_t *room = malloc(size);
	expect(room != NULL);
	int64_t n = kind->inflate(inflater, room, size);
	expect(n <= (int64_t)size);
	if (n > 0)
		memcpy(ret, room, (size_t)n);
	free(room);
	return n;
}

static struct result inflate(const struct inflater_kind *kind, struct span in, size_t step)
{
	struct result r = {.bytes = malloc(MOST)};
	void *inflater = kind->open(in);
	uint64_t used = 0;
	bool more = true;
	expect(r.bytes && inflater);
	while (more && r.size < MOST) {
		size_t size = MOST - r.size < step ? MOST - r.size : step;
		int64_t n = inflate_step(kind, inflater, size, r.bytes + r.size);
		r.err = n < 0 ? (int)n : 0;
		uint64_t now = r.err ? used : kind->used(inflater);
		expect(now <= in.size && now >= used);
		used = now;
		r.size += n > 0 ? (size_t)n : 0;
		more = n == (int64_t)size;
	}
	expect(!r.err || r.err == -EBADMSG || r.err == -E2BIG || r.err == -ENOMEM);
	r.ended = !r.err && kind->ended(inflater);
	kind->close(inflater);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	const struct span in = {data + 3, size - 3};
	const struct inflater_kind *kind = kind_of(data[0]);
	(void)inflater_zstd_suits(in);
	struct result a = inflate(kind, in, 1 + data[1]), b = inflate(kind, in, 1 + ((size_t)data[2] << 10));
	size_t both = a.size < b.size ? a.size : b.size;
	expect(!memcmp(a.bytes, b.bytes, both));
	if (a.ended && b.ended)
		expect(a.size == b.size);
	free(a.bytes);
	free(b.bytes);
	return 0;
}

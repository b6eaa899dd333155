/* Digests by the state of a file, and the index that keeps them. */
#include "fs/images/digests.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <cmocka.h>

#include "fs/scan/index.h"
#include "tests/lib/unit.h"

static const struct file_key file = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = -4, .ctime_ns = 5};

/* The file with another value of a member. */
#define OTHER(member, value)              \
	({                                \
		struct file_key k = file; \
		k.member = value;         \
		k;                        \
	})

static const uint8_t *filled(uint8_t with)
{
	static uint8_t digest[STORE_DIGEST];
	memset(digest, with, sizeof(digest));
	return digest;
}

static void expect(struct digests *digests, struct file_key key, int with)
{
	uint8_t found[STORE_DIGEST];
	assert_int_equal(digests_find(digests, &key, found), with != 0);
	if (with)
		assert_memory_equal(found, filled((uint8_t)with), STORE_DIGEST);
}

TEST(states)
{
	struct digests digests;
	digests_init(&digests);
	expect(&digests, file, 0);
	assert_int_equal(digests_set(&digests, &file, filled(7), false), 0);
	expect(&digests, file, 7);
	expect(&digests, OTHER(dev, 9), 0);
	expect(&digests, OTHER(ino, 9), 0);
	expect(&digests, OTHER(size, 9), 0);
	expect(&digests, OTHER(mtime_ns, 9), 0);
	expect(&digests, OTHER(ctime_ns, 9), 0);
	/* It has changed. */
	const struct file_key later = OTHER(ctime_ns, 9);
	assert_int_equal(digests_set(&digests, &later, filled(8), false), 0);
	expect(&digests, later, 8);
	expect(&digests, file, 0);
	assert_int_equal(digests.files.n, 1);
	digests_forget(&digests, later.dev, later.ino);
	expect(&digests, later, 0);
	digests_forget(&digests, later.dev, later.ino);
	digests_deinit(&digests);
}

/* The index writes this for a file that it knows nothing of. */
TEST(no_such_state)
{
	struct digests digests;
	digests_init(&digests);
	const struct file_key unknown = OTHER(size, UINT64_MAX), huge = OTHER(size, UINT64_C(1) << 62);
	assert_int_equal(digests_set(&digests, &unknown, filled(1), false), -EINVAL);
	assert_int_equal(digests_set(&digests, &huge, filled(1), false), -EINVAL);
	assert_int_equal(digests.files.n, 0);
	digests_deinit(&digests);
}

TEST(due)
{
	struct digests digests;
	digests_init(&digests);
	assert_int_equal(digests_due(&digests, &file), 0);
	assert_int_equal(digests_fail(&digests, &file, 1234), 0);
	expect(&digests, file, 0);
	assert_int_equal(digests_due(&digests, &file), 1234);
	const struct file_key changed = OTHER(mtime_ns, 0);
	assert_int_equal(digests_due(&digests, &changed), 0);
	assert_int_equal(digests_set(&digests, &file, filled(1), false), 0);
	assert_int_equal(digests_due(&digests, &file), INT64_MAX);
	assert_int_equal(digests_fail(&digests, &file, 5), 0);
	expect(&digests, file, 0);
	digests_deinit(&digests);
}

/* What was loaded and is not asked for goes; what is new, or asked for, stays once more. */
TEST(sweeping)
{
	struct digests digests;
	digests_init(&digests);
	for (uint64_t i = 0; i < 100; i++) {
		const struct file_key key = OTHER(ino, i);
		assert_int_equal(digests_set(&digests, &key, filled(1), true), 0);
	}
	digests_sweep(&digests);
	assert_int_equal(digests.files.n, 100);
	const struct file_key kept = OTHER(ino, 50);
	digests_due(&digests, &kept);
	digests_sweep(&digests);
	assert_int_equal(digests.files.n, 1);
	expect(&digests, kept, 1);
	digests_sweep(&digests);
	assert_int_equal(digests.files.n, 0);
	digests_deinit(&digests);
}

TEST(worth_saving)
{
	struct digests digests;
	digests_init(&digests);
	atomic_store(&digests.pending, 100);
	for (uint64_t i = 0; i < 160; i++) {
		const struct file_key key = OTHER(ino, i);
		assert_int_equal(digests_set(&digests, &key, filled(1), true), 0);
	}
	assert_false(digests_worth_saving(&digests));
	for (uint64_t i = 0; i < 10; i++) {
		const struct file_key key = OTHER(ino, 1000 + i);
		assert_int_equal(digests_set(&digests, &key, filled(1), false), 0);
	}
	assert_int_equal(digests_unsaved(&digests), 10);
	assert_true(digests_worth_saving(&digests));
	digests_saved(&digests, 9);
	assert_int_equal(digests_unsaved(&digests), 1);
	assert_false(digests_worth_saving(&digests));
	atomic_store(&digests.pending, 0); /* there are no more to come */
	assert_true(digests_worth_saving(&digests));
	digests_saved(&digests, 1);
	assert_false(digests_worth_saving(&digests));
	digests_deinit(&digests);
}

/* ---- In the index ---- */

enum {
	FILES = 20,
	/* Of a record: the size of the digest, after six numbers, readers and three bytes. */
	DIGEST_SIZE_AT = INDEX_HEADER_SIZE + 6 * 8 + 2 + 3,
};

static struct file_key numbered(uint64_t i)
{
	return (struct file_key){.dev = 1, .ino = i, .size = i * 1000, .mtime_ns = 5, .ctime_ns = (int64_t)i};
}

/* Every third file has one, and every fourth an image and a reason besides. */
static struct span encoded(struct digests *digests, unsigned files)
{
	struct index index = {.digests = digests};
	const struct image_identity image = {.kind = IMAGE_ELF, .id_size = 20, .arch = "x86_64"};
	void *data;
	size_t size;
	for (uint64_t i = 0; i < files; i++) {
		struct file_record *r = index_get(&index, 1, i);
		r->key = numbered(i);
		r->order = (uint32_t)i;
		if (i % 4 == 0) {
			assert_int_equal(record_set_images(r, &image, 1), 0);
			assert_int_equal(record_set_reason(r, "damaged"), 0);
		}
		if (i % 3 == 0)
			assert_int_equal(digests_set(digests, &r->key, filled((uint8_t)(i + 1)), false), 0);
	}
	assert_int_equal(index_encode(&index, 0, &data, &size), 0);
	index_deinit(&index);
	return (struct span){data, size};
}

TEST(kept)
{
	struct digests before, after;
	digests_init(&before);
	digests_init(&after);
	struct span data = encoded(&before, FILES);
	struct index index = {.digests = &after}, plain = {.digests = NULL};
	assert_int_equal(index_decode(&index, data), 0);
	assert_int_equal(index.files.n, FILES);
	for (uint64_t i = 0; i < FILES; i++) {
		char reason[RECORD_REASON_MAX + 1];
		expect(&after, numbered(i), i % 3 == 0 ? (int)i + 1 : 0);
		record_reason(index_find(&index, 1, i), reason);
		assert_string_equal(reason, i % 4 == 0 ? "damaged" : "");
	}
	assert_int_equal(digests_unsaved(&after), 0);
	/* Without a place for them, all else is read. */
	assert_int_equal(index_decode(&plain, data), 0);
	assert_int_equal(plain.files.n, FILES);
	free((void *)data.data);
	index_deinit(&index);
	index_deinit(&plain);
	digests_deinit(&before);
	digests_deinit(&after);
}

/* A file that has changed since is not saved with the digest of before. */
TEST(of_another_state)
{
	struct digests digests, after;
	void *data;
	size_t size;
	digests_init(&digests);
	digests_init(&after);
	struct index a = {.digests = &digests}, b = {.digests = &after};
	struct file_record *changed = index_get(&a, 1, 1), *hashing = index_get(&a, 1, 2);
	changed->key = numbered(1);
	hashing->key = numbered(2);
	hashing->state = RECORD_HASHING;
	const struct file_key before = {.dev = 1, .ino = 1, .size = 7};
	assert_int_equal(digests_set(&digests, &before, filled(1), false), 0);
	assert_int_equal(digests_set(&digests, &hashing->key, filled(2), false), 0);
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	assert_int_equal(index_decode(&b, (struct span){data, size}), 0);
	assert_int_equal(b.files.n, 2);
	assert_int_equal(after.files.n, 0);
	free(data);
	index_deinit(&a);
	index_deinit(&b);
	digests_deinit(&digests);
	digests_deinit(&after);
}

static void sign(uint8_t *data, size_t size)
{
	store64(data + size - 8, XXH3_64bits(data, size - 8), false);
}

static void refused(const uint8_t *data, size_t size) NOT_ANALYZED
{
	struct digests digests;
	digests_init(&digests);
	struct index index = {.digests = &digests};
	uint8_t *copy = malloc(size);
	memcpy(copy, data, size);
	sign(copy, size);
	assert_int_equal(index_decode(&index, (struct span){copy, size}), -EBADMSG);
	assert_int_equal(index.files.n, 0);
	assert_int_equal(digests.files.n, 0);
	free(copy);
	digests_deinit(&digests);
}

/* Bytes whose checksum is right: cut at every place, and digests of wrong sizes. */
TEST(hostile)
{
	struct digests digests;
	digests_init(&digests);
	struct span all = encoded(&digests, FILES);
	for (size_t n = INDEX_HEADER_SIZE + 8; n < all.size; n++)
		refused(all.data, n);
	free((void *)all.data);
	struct span one = encoded(&digests, 1);
	uint8_t *data = (uint8_t *)one.data;
	assert_int_equal(data[DIGEST_SIZE_AT], STORE_DIGEST);
	for (unsigned size = 0; size < 256; size++) {
		data[DIGEST_SIZE_AT] = (uint8_t)size;
		if (size != STORE_DIGEST)
			refused(data, one.size);
	}
	/* Of a file whose state is unknown. */
	data[DIGEST_SIZE_AT] = STORE_DIGEST;
	store64(data + INDEX_HEADER_SIZE + 16, UINT64_MAX, false);
	refused(data, one.size);
	free(data);
	digests_deinit(&digests);
}

/* The index of files: what goes in comes out, and damaged bytes are refused. */
#include "fs/scan/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { RECORDS = 500 };

#define GO_ID "foh3mEXu7BLZjsN9pOwG/kATcXlDEFFyYpSUXsoOy/RwWTn9M0fGVxc1nDPCbR/BzQzzMsHyS7JEeFYS3Jc"
/* Twice as long as what is kept. */
static char long_reason[2 * RECORD_REASON_MAX + 1];

static void fill(struct index *index)
{
	memset(long_reason, 'x', sizeof(long_reason) - 1);
	for (unsigned i = 0; i < RECORDS; i++) {
		struct file_record *r = index_get(index, i % 3, i);
		assert_non_null(r);
		r->key.size = i * 1000ULL;
		r->key.mtime_ns = (int64_t)i * 1000000007 - 5;
		r->key.ctime_ns = (int64_t)i * 1000000009 - 7;
		r->state = (uint8_t)(i % (RECORD_STATE_LAST + 1));
		r->again = r->state == RECORD_GAVE_UP ? i * 10000000000LL : 0;
		struct image_identity images[3] = {0};
		for (unsigned k = 0; k < i % 4; k++) {
			images[k].kind = k ? IMAGE_MACHO : IMAGE_ELF;
			images[k].id_size = 1 + (i + k) % IMAGE_ID_MAX;
			memset(images[k].id, (int)(i + k), images[k].id_size);
			images[k].has_dwarf = i % 5 == 0;
			images[k].has_symtab = i % 3 == 0;
			images[k].has_go = i % 7 == 0;
			images[k].has_lost = i % 11 == 0;
			images[k].id_is_hash = i % 11 == 0;
			images[k].id_is_truncated = i % 13 == 0;
			strcpy(images[k].arch, i % 2 ? "x86_64" : "");
			memset(images[k].htlhash, (int)(i * k), sizeof(images[k].htlhash));
			strcpy(images[k].go_id, i % 6 ? "" : GO_ID);
			strcpy(images[k].name, i % 5 ? "libfoo.so.1" : "");
		}
		assert_int_equal(record_set_images(r, images, i % 4), 0);
		if (r->state != RECORD_IDENTIFIED)
			assert_int_equal(record_set_reason(r, i % 2 ? "damaged" : long_reason), 0);
		if (i % 7)
			assert_true(record_set_readers(r, i % 2 ? 0444 : 0400));
	}
}

static void assert_same(const struct file_record *a, const struct file_record *b)
{
	assert_int_equal(a->key.size, b->key.size);
	assert_int_equal(a->key.mtime_ns, b->key.mtime_ns);
	assert_int_equal(a->key.ctime_ns, b->key.ctime_ns);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->again, b->again);
	assert_int_equal(a->n_images, b->n_images);
	assert_int_equal(a->readers, b->readers);
	char why_a[RECORD_REASON_MAX + 1], why_b[RECORD_REASON_MAX + 1];
	record_reason(a, why_a);
	record_reason(b, why_b);
	assert_string_equal(why_a, why_b);
	assert_int_equal(*why_a != 0, a->state != RECORD_IDENTIFIED);
	for (size_t i = 0; i < a->n_images; i++) {
		struct image_identity of_a, of_b;
		const struct image_identity *x = &of_a, *y = &of_b;
		record_image(a, i, &of_a);
		record_image(b, i, &of_b);
		assert_int_equal(x->kind, y->kind);
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->id_size, y->id_size);
		assert_memory_equal(x->id, y->id, x->id_size);
		assert_int_equal(x->has_dwarf, y->has_dwarf);
		assert_int_equal(x->has_symtab, y->has_symtab);
		assert_int_equal(x->has_go, y->has_go);
		assert_int_equal(x->has_lost, y->has_lost);
		assert_int_equal(x->id_is_hash, y->id_is_hash);
		assert_int_equal(x->id_is_truncated, y->id_is_truncated);
		assert_string_equal(x->arch, y->arch);
		assert_memory_equal(x->htlhash, y->htlhash, sizeof(x->htlhash));
		assert_string_equal(x->go_id, y->go_id);
	}
}

TEST(round_trip)
{
	struct index a = {0}, b = {0};
	void *data;
	size_t size;
	fill(&a);
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	assert_int_equal(index_decode(&b, (struct span){data, size}), 0);
	assert_int_equal(b.files.n, RECORDS);
	for (unsigned i = 0; i < RECORDS; i++)
		assert_same(index_find(&a, i % 3, i), index_find(&b, i % 3, i));
	free(data);
	index_deinit(&a);
	index_deinit(&b);
}

TEST(empty)
{
	struct index a = {0}, b = {0};
	void *data;
	size_t size;
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	assert_int_equal(index_decode(&b, (struct span){data, size}), 0);
	assert_int_equal(b.files.n, 0);
	assert_null(index_find(&b, 1, 1));
	free(data);
	index_deinit(&b);
}

/* Each allocation fails once: that is no damage, and nothing is left. */
TEST(without_memory)
{
	const long before = live;
	struct index a = {0};
	void *data;
	size_t size;
	bool failed = true;
	const struct image_identity one = {
		.kind = IMAGE_ELF, .id_size = 20, .arch = "aarch64", .go_id = GO_ID};
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(record_set_images(index_get(&a, 1, i), &one, 1), 0);
	for (long n = 0; failed; n++) {
		allowed = n;
		int err = index_encode(&a, 0, &data, &size);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
	}
	failed = true;
	for (long n = 0; failed; n++) {
		struct index b = {0};
		allowed = n;
		int err = index_decode(&b, (struct span){data, size});
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(b.files.n, failed ? 0 : 3);
		index_deinit(&b);
	}
	free(data);
	index_deinit(&a);
	assert_int_equal(live, before);
}

/* Every length and every flipped byte of a small index. */
TEST(damaged)
{
	struct index a = {0}, b = {0};
	void *data;
	size_t size;
	const struct image_identity one = {
		.kind = IMAGE_ELF, .id_size = 20, .arch = "aarch64", .go_id = GO_ID};
	assert_int_equal(record_set_images(index_get(&a, 1, 2), &one, 1), 0);
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	for (size_t n = 0; n < size; n++) {
		uint8_t *copy = malloc(n + 1);
		memcpy(copy, data, n);
		assert_int_equal(index_decode(&b, (struct span){copy, n}), -EBADMSG);
		assert_int_equal(b.files.n, 0);
		free(copy);
	}
	for (size_t i = 0; i < size; i++) {
		((uint8_t *)data)[i] ^= 0x10;
		assert_int_equal(index_decode(&b, (struct span){data, size}), -EBADMSG);
		((uint8_t *)data)[i] ^= 0x10;
	}
	free(data);
	index_deinit(&a);
}

/* Records are written in the order of the walk, and read in the same. */
TEST(order)
{
	enum { FILES = 100 };
	struct index a = {0}, b = {0};
	void *data, *again;
	size_t size, same;
	for (unsigned i = 0; i < FILES; i++)
		index_get(&a, 1, i)->order = i * 37 % FILES;
	assert_int_equal(index_count_images(&a), 0);
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	assert_int_equal(index_decode(&b, (struct span){data, size}), 0);
	for (unsigned i = 0; i < FILES; i++)
		assert_int_equal(index_find(&b, 1, i)->order, i * 37 % FILES + 1);
	assert_int_equal(index_encode(&b, 0, &again, &same), 0);
	assert_int_equal(same, size);
	assert_memory_equal(data, again, size);
	free(data);
	free(again);
	index_deinit(&a);
	index_deinit(&b);
}

/* What is not an index is refused by its first bytes and its size. */
TEST(headers)
{
	struct index a = {0};
	void *data;
	size_t size;
	uint8_t zeros[INDEX_HEADER_SIZE] = {0};
	fill(&a);
	assert_int_equal(index_encode(&a, 0, &data, &size), 0);
	const struct span header = {data, INDEX_HEADER_SIZE};
	assert_int_equal(index_check_header(header, size), 0);
	assert_int_equal(index_check_header(header, size + (1 << 24)), -EBADMSG);
	assert_int_equal(index_check_header(header, INDEX_HEADER_SIZE + 8), -EBADMSG);
	assert_int_equal(index_check_header(header, 0), -EBADMSG);
	store64((uint8_t *)data + 16, (1ULL << 30) / 52, false);
	assert_int_equal(index_check_header(header, 3ULL << 29), -EBADMSG);
	store64((uint8_t *)data + 16, UINT64_MAX / 52, false);
	assert_int_equal(index_check_header(header, size), -EBADMSG);
	assert_int_equal(index_check_header((struct span){zeros, sizeof(zeros)}, 3ULL << 29), -EBADMSG);
	free(data);
	index_deinit(&a);
}

TEST(sweeping)
{
	struct index a = {0};
	fill(&a);
	for (unsigned i = 0; i < RECORDS; i += 2)
		index_find(&a, i % 3, i)->pass = 4;
	assert_true(index_sweep(&a, 4));
	assert_int_equal(a.files.n, RECORDS / 2);
	assert_null(index_find(&a, 1, 1));
	assert_non_null(index_find(&a, 2, 2));
	assert_false(index_sweep(&a, 4));
	index_deinit(&a);
}

/* The permissions of a file that changes right now may change again unseen. */
TEST(readers)
{
	struct index index = {.files = {0}};
	mode_t mode = 0777;
	struct file_record *r = index_get(&index, 1, 2);
	r->key.ctime_ns = time(NULL) * 1000000000LL;
	assert_false(record_set_readers(r, 0444));
	assert_false(record_readers(r, &mode));
	assert_int_equal(mode, 0777);
	r->key.ctime_ns = 0;
	assert_true(record_set_readers(r, 0440));
	assert_true(record_readers(r, &mode));
	assert_int_equal(mode, 0440);
	record_forget(r);
	assert_false(record_readers(r, &mode));
	index_deinit(&index);
}

/* Each source has its own; a file that two know is of the first that is loaded. */
TEST(sources)
{
	struct index all = {.files = {0}};
	for (unsigned root = 0; root < 2; root++) {
		struct index part = {.files = {0}};
		for (unsigned i = 0; i < 3; i++)
			index_get(&part, 1, root * 2 + i)->key.size = root + 1;
		index_merge(&all, &part, root);
		assert_int_equal(part.files.n, 0);
	}
	assert_int_equal(all.files.n, 5);
	assert_int_equal(index_find(&all, 1, 2)->key.size, 1);
	assert_int_equal(index_find(&all, 1, 2)->root, 0);
	assert_int_equal(index_find(&all, 1, 3)->root, 1);
	for (unsigned root = 0; root < 3; root++) {
		struct index again = {.files = {0}};
		void *data;
		size_t size;
		assert_int_equal(index_encode(&all, root, &data, &size), 0);
		assert_int_equal(index_decode(&again, (struct span){data, size}), 0);
		assert_int_equal(again.files.n, root == 0 ? 3 : root == 1 ? 2 : 0);
		free(data);
		index_deinit(&again);
	}
	index_deinit(&all);
}

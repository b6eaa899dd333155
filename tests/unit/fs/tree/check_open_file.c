/* What open files hold on to: how long, for whom, and what those that are used less free. */
#include "fs/tree/open_file.h"

#include <errno.h>
#include <string.h>

#include "fs/answer/answers.h"
#include "fs/answer/stream.h"
#include "fs/images/images.h"

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { OWNER = 1000, STREAMS = 3 };

static struct accounts accounts;
static struct open_files files;
static struct images images;
static struct answers answers;
static struct stream streams[STREAMS];
static unsigned freed[STREAMS], trimmed[STREAMS], refs_seen;
static struct open_file *last_put; /* by the client, while its stream is trimmed; NULL: none */

static void count_free(struct stream *stream)
{
	freed[stream - streams]++;
}

static void count_trim(struct stream *stream)
{
	trimmed[stream - streams]++;
	if (!last_put)
		return;
	refs_seen = atomic_load(&last_put->refs);
	open_file_put(last_put);
	last_put = NULL;
	assert_int_equal(freed[stream - streams], 0);
}

static const struct stream_kind kind = {.trim = count_trim, .free = count_free};

static void make_stream(unsigned i)
{
	assert_int_equal(stream_init(&streams[i], &kind, &answers, OWNER), 0);
}

static int set_up(void **state)
{
	(void)state;
	accounts_init(&accounts);
	mutex_init(&images.lock, LOCK_IMAGES);
	answers = (struct answers){.images = &images};
	accounts_init(&answers.accounts);
	open_files_init(&files, &accounts);
	memset(freed, 0, sizeof(freed));
	memset(trimmed, 0, sizeof(trimmed));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	open_files_deinit(&files);
	accounts_deinit(&accounts);
	accounts_deinit(&answers.accounts);
	mutex_destroy(&images.lock);
	assert_int_equal(live, 0);
	return 0;
}

static struct open_file *open_stream(unsigned i)
{
	struct open_file *file;
	const struct open_file holds = {.stream = &streams[i]};
	make_stream(i);
	assert_int_equal(open_file_new(&files, &holds, OWNER, &file), 0);
	assert_int_equal(atomic_load(&file->refs), 1);
	return file;
}

/* It goes with the last of those that use it. */
TEST(references)
{
	struct open_file *a = open_stream(0), *b = open_stream(1);
	assert_int_equal(open_files_count(&files), 2);
	assert_ptr_equal(open_file_get(a), a);
	assert_int_equal(atomic_load(&a->refs), 2);
	open_file_put(a);
	assert_int_equal(open_files_count(&files), 2);
	assert_int_equal(freed[0], 0);
	open_file_put(a);
	assert_int_equal(open_files_count(&files), 1);
	assert_int_equal(freed[0], 1);
	open_file_put(b);
	assert_int_equal(open_files_count(&files), 0);
	assert_int_equal(freed[1], 1);
}

/* What the kernel never releases. */
TEST(left)
{
	open_stream(0);
	open_stream(1);
	open_files_deinit(&files);
	assert_true(freed[0] == 1 && freed[1] == 1);
	open_files_init(&files, &accounts);
}

/* Each stream once, with a reference meanwhile, and none after it. */
TEST(rest)
{
	struct open_file *a = open_stream(0), *b = open_stream(1), *other;
	const struct open_file holds = {.direct = true};
	assert_int_equal(open_file_new(&files, &holds, OWNER, &other), 0);
	open_files_rest(&files);
	assert_true(trimmed[0] == 1 && trimmed[1] == 1 && trimmed[2] == 0);
	assert_int_equal(atomic_load(&a->refs), 1);
	assert_int_equal(atomic_load(&b->refs), 1);
	open_file_get(b);
	open_files_rest(&files);
	assert_int_equal(atomic_load(&a->refs), 1);
	assert_int_equal(atomic_load(&b->refs), 2);
	open_file_put(b);
	/* Closed by its client meanwhile. */
	last_put = a;
	open_files_rest(&files);
	assert_int_equal(refs_seen, 2);
	assert_int_equal(freed[0], 1);
	assert_int_equal(open_files_count(&files), 2);
	/* One whose last reference has just gone is not taken up again. */
	atomic_store(&b->refs, 0);
	open_files_rest(&files);
	assert_int_equal(trimmed[1], 3);
	assert_int_equal(atomic_load(&b->refs), 0);
	atomic_store(&b->refs, 1);
}

/* What it would have held on to is put, whichever allocation fails. */
TEST(without_memory)
{
	int err = -ENOMEM;
	const struct open_file holds = {.stream = &streams[2]};
	for (long n = 0; err; n++) {
		struct open_file *file = NULL;
		freed[2] = 0;
		make_stream(2);
		allowed = n;
		err = open_file_new(&files, &holds, OWNER, &file);
		allowed = -1;
		assert_true(!err || err == -ENOMEM);
		assert_int_equal(freed[2], err != 0);
		assert_int_equal(open_files_count(&files), !err);
	}
}

EACH_TEST(set_up, tear_down)

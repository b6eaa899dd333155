/*
 * A filter without memory: the first allocation fails, then the second, and so on until none does. It says
 * -ENOMEM and leaves nothing behind.
 */
#include "tests/unit/log/engine/filter_sample.h"

#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>

/* One filter from its beginning to its end; @out keeps its memory. */
static int filter_all(struct source *source, const char *in, size_t size, struct text_buf *out)
{
	const struct filter_images images = source_images(source);
	const char *const strip[] = {"/none", "/src/"};
	const struct filter_options options = {
		.demangle = DEMANGLE_AUTO, .mark_merged = true, .strip = strip, .n_strip = ARRAY_SIZE(strip)};
	const struct filter_module module = {.name = "app"};
	static const char mapping[] = "7f61c0000000-7f61c0001000 r-xp 0 fe:00 1 /opt/app\n";
	struct filter *filter = filter_new(&images, &options);
	size_t used;
	if (!filter)
		return -ENOMEM;
	int err = filter_add_mapping(filter, mapping, strlen(mapping));
	if (!err)
		err = filter_add_module(filter, &module, 0x7f71c0000000, 0x7f71c0001000, 0, false);
	if (!err)
		err = filter_write(filter, in, size, FILTER_END, out, &used);
	filter_free(filter);
	return err;
}

TEST(every_allocation_may_fail)
{
	struct source source;
	struct text_buf whole = {0}, out = {0};
	size_t size;
	char *in = everything(&size);
	source_make(&source);
	assert_int_equal(filter_all(&source, in, size, &whole), 0);
	assert_true(whole.n > size);
	const long before = live;
	bool failed = true;
	long rounds = 0;
	for (; failed; rounds++) {
		allowed = rounds;
		int err = filter_all(&source, in, size, &out);
		failed = end_allocations();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!failed) {
			assert_int_equal(out.n, whole.n);
			assert_memory_equal(out.v, whole.v, whole.n);
		}
		text_deinit(&out);
		out.failed = false;
		assert_int_equal(live, before);
	}
	assert_true(rounds > 50);
	text_deinit(&whole);
	free(in);
	source_drop(&source);
}

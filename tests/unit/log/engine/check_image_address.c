/* The link-time address of what a log says of an image's code: never one of two that may be meant. */
#include "tests/unit/log/engine/filter_sample.h"

#include "log/engine/pending_stack.h"
#include "tests/lib/unit.h"

enum { ALPHA = BASE, ONE = BASE + 0x40, TWIN = BASE + 0x80 };

static const struct filter_segment *segments; /* the last has no size */

static bool segment_of(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret)
{
	assert_null(user);
	assert_int_equal(image->base, BASE);
	*ret = segments[i];
	return segments[i].size;
}

/* The address, or 0 for none. */
static uint64_t address_of(const struct source *source, const struct filter_segment *of,
			   struct log_frame frame)
{
	const struct filter_images images = {.segment = of ? segment_of : NULL};
	const struct filter_image image = {.reader = source->reader, .base = BASE};
	uint64_t address = 0;
	segments = of;
	return image_address_of(&images, &image, &frame, &address) ? address : 0;
}

static bool lacks_segments(const struct source *source, const struct filter_segment *of,
			   enum frame_space space)
{
	const struct filter_images images = {.segment = of ? segment_of : NULL};
	const struct filter_image image = {.reader = source->reader, .base = BASE};
	segments = of;
	return image_address_lacks_segments(&images, &image, space);
}

#define FRAME(kind, at, ...) ((struct log_frame){.space = (kind), .address = (at), ##__VA_ARGS__})

TEST(link_and_relative)
{
	struct source source;
	source_make(&source);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_LINK, 0x77)), 0x77);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_RVA, 0x77)), BASE + 0x77);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_RVA, UINT64_MAX - BASE)), UINT64_MAX);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_RVA, UINT64_MAX - BASE + 1)), 0);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_FILE, 0x77)), 0);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_CODE, 0, .code_size = 0x1000)), 0);
	assert_true(lacks_segments(&source, NULL, FRAME_FILE) && lacks_segments(&source, NULL, FRAME_PERF) &&
		    lacks_segments(&source, NULL, FRAME_CODE));
	assert_false(lacks_segments(&source, NULL, FRAME_LINK) || lacks_segments(&source, NULL, FRAME_RVA) ||
		     lacks_segments(&source, NULL, FRAME_NAME));
	source_drop(&source);
}

TEST(in_the_file)
{
	static const struct filter_segment two[] = {
		{0x200, 0x9000, 0x100}, {0x400, BASE, 0x300}, {UINT64_MAX - 15, UINT64_MAX - 7, 16}, {0}};
	struct source source;
	source_make(&source);
	assert_false(lacks_segments(&source, two, FRAME_FILE) || lacks_segments(&source, two, FRAME_PERF));
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, 0x1ff)), 0);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, 0x200)), 0x9000);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, 0x2ff)), 0x90ff);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, 0x300)), 0);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, 0x444)), BASE + 0x44);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, UINT64_MAX - 15)), UINT64_MAX - 7);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_FILE, UINT64_MAX)), 0); /* it would wrap */
	source_drop(&source);
}

/* Offsets in the file, addresses in memory as a mapping has them, and those of a program at a fixed place. */
TEST(of_perf)
{
	static const struct filter_segment low[] = {{0x400, BASE, 0x300}, {0}};
	static const struct filter_segment moved[] = {{BASE, ONE, 0x300}, {0}};
	struct source source;
	source_make(&source);
	/* What only one of them explains. */
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, 0x444, .mapped = UINT64_MAX)), ONE + 4);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, 0x99999, .mapped = 0x444)), ONE + 4);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, ONE + 4, .mapped = UINT64_MAX)), ONE + 4);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, 0x99999, .mapped = UINT64_MAX)), 0);
	/* The same in two ways, and others. */
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, 0x444, .mapped = 0x444)), ONE + 4);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_PERF, 0x404, .mapped = 0x444)), 0);
	assert_int_equal(address_of(&source, moved, FRAME(FRAME_PERF, ONE + 4, .mapped = UINT64_MAX)), 0);
	source_drop(&source);
}

/* An offset in the file, where a function is there, and else a link-time address. */
TEST(of_bpf)
{
	static const struct filter_segment low[] = {{0x400, BASE, 0x300}, {0}};
	static const struct filter_segment moved[] = {{ONE, TWIN, 0x300}, {0}};
	struct source source;
	source_make(&source);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_BPF, 0x444)), ONE + 4);
	assert_int_equal(address_of(&source, low, FRAME(FRAME_BPF, ONE + 4)), ONE + 4);
	assert_int_equal(address_of(&source, moved, FRAME(FRAME_BPF, ONE + 4)), TWIN + 4);
	assert_int_equal(address_of(&source, NULL, FRAME(FRAME_BPF, ONE + 4)), ONE + 4);
	assert_false(lacks_segments(&source, NULL, FRAME_BPF));
	source_drop(&source);
}

/* Beside an id, where both readings are in functions, and not of one address. */
TEST(ambiguous)
{
	static const struct filter_segment low[] = {{0x400, BASE, 0x300}, {0}};
	static const struct filter_segment moved[] = {{ONE, TWIN, 0x300}, {0}};
	static const struct filter_segment same[] = {{ONE, ONE, 0x300}, {0}};
	static const struct {
		const struct filter_segment *segments;
		uint64_t number, taken;
		bool other, want;
	} table[] = {
		{moved, ONE + 4, TWIN + 4, false, true}, {moved, ONE + 4, ONE + 4, false, true},
		{moved, ONE + 4, ONE + 4, true, false},  {same, ONE + 4, ONE + 4, false, false},
		{low, 0x444, ONE + 4, false, false},     {low, ONE + 4, ONE + 4, false, false},
		{NULL, ONE + 4, ONE + 4, false, false},
	};
	struct source source;
	source_make(&source);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct filter_images images = {.segment = table[i].segments ? segment_of : NULL};
		const struct filter_image image = {.reader = source.reader, .base = BASE};
		const struct log_frame frame =
			FRAME(FRAME_LINK, table[i].number, .beside_id = !table[i].other);
		segments = table[i].segments;
		assert_int_equal(image_address_is_ambiguous(&images, &image, &frame, table[i].taken),
				 table[i].want);
	}
	source_drop(&source);
}

/* By the size of its mapping, for each size of pages. */
TEST(of_code)
{
	static const struct filter_segment one[] = {{0x40, ONE, 0x240}, {0}};
	static const struct filter_segment two[] = {{0x40, ONE, 0x240}, {0x5000, TWIN + 0x8000, 0x240}, {0}};
	static const struct filter_segment both[] = {{0, ALPHA, 0x240}, {0x40, ONE - 0x1000, 0x240}, {0}};
	static const struct filter_segment huge[] = {{0, ONE, UINT64_MAX - 0x20}, {0}};
	struct source source;
	source_make(&source);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, 0x44, .code_size = 0x1000)), ONE + 4);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, ONE + 4, .code_size = 0x4000)), ONE + 4);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, ONE + 4, .code_size = 0x10000)), ONE + 4);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, 0x44, .code_size = 0x2000)), 0);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, 0x44, .code_size = 0x1001)), 0);
	assert_int_equal(address_of(&source, one, FRAME(FRAME_CODE, 0x9044, .code_size = 0x1000)), 0);
	assert_int_equal(address_of(&source, two, FRAME(FRAME_CODE, 0x44, .code_size = 0x1000)), ONE + 4);
	assert_int_equal(address_of(&source, huge, FRAME(FRAME_CODE, 0x44, .code_size = 0x1000)), 0);
	/* Both segments have the size, and code at that offset. */
	assert_int_equal(address_of(&source, both, FRAME(FRAME_CODE, 0x1044, .code_size = 0x1000)), ONE + 4);
	source_drop(&source);
}

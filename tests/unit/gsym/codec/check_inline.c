/* Inline info: the worked example, trees of every shape, the walk to an address, and damage. */
#include "gsym/codec/inline.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static const struct gsym_tables tables = {.strp_size = 4, .strtab_size = 100, .num_files = 4};

struct tree {
	struct buf buf;
	struct gsym_decoder *decoder;
};

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	t->decoder = gsym_decoder_new();
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;
	buf_free(&t->buf);
	gsym_decoder_free(t->decoder);
	free(t);
	return 0;
}

static struct cursor bytes_of(const struct tree *t)
{
	return cursor_new(t->buf.bytes.v, t->buf.bytes.n, false);
}

static int decode(struct tree *t, struct cursor c, uint32_t size, struct gsym_func *ret,
		  struct gsym_diag *diag)
{
	struct gsym_decoder *d = t->decoder;
	d->inlines.n = d->ranges.n = 0;
	int err = inline_decode(&c, size, &tables, d, diag);
	*ret = (struct gsym_func){.size = size,
				  .inlines = d->inlines.v,
				  .n_inlines = d->inlines.n,
				  .ranges = d->ranges.v,
				  .n_ranges = d->ranges.n};
	return err;
}

/* The nodes that contain @off, outermost first, found by looking at all of them. */
static size_t expected_path(const struct gsym_func *f, uint64_t off, size_t *path)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_inlines; i++) {
		const struct gsym_inline *node = &f->inlines[i];
		bool hit = false;
		for (size_t k = 0; k < node->n_ranges; k++) {
			const struct gsym_range *r = &f->ranges[node->first_range + k];
			hit |= off >= r->off && off - r->off < r->size;
		}
		if (hit && node->depth == n + 1)
			path[n++] = i;
		else if (node->depth <= n)
			break; /* a sibling after the way down: the first hit counts */
	}
	return n;
}

static void expect_walk(struct tree *t, const struct gsym_func *f, uint64_t off)
{
	struct inline_walk walk;
	struct inline_node node;
	size_t path[INLINE_DEPTH_MAX], n = expected_path(f, off, path);
	assert_int_equal(inline_walk_init(&walk, bytes_of(t), &tables, off, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		const struct gsym_inline *want = &f->inlines[path[i]];
		assert_int_equal(inline_walk_next(&walk, &node, NULL), 1);
		assert_int_equal(node.name, want->name);
		assert_int_equal(node.call_file, want->call_file);
		assert_int_equal(node.call_line, want->call_line);
		assert_int_equal(node.first, f->ranges[want->first_range].off);
	}
	assert_int_equal(inline_walk_next(&walk, &node, NULL), 0);
}

/* Encodes, decodes, and walks to every address. */
static void expect_round_trip(struct tree *t, const struct gsym_func *f)
{
	struct gsym_func back;
	struct gsym_diag diag = {""};
	t->buf.bytes.n = 0;
	assert_int_equal(inline_encode(&t->buf, f, &tables, &diag), 0);
	assert_int_equal(decode(t, bytes_of(t), f->size, &back, &diag), 0);
	assert_string_equal(diag.text, "");
	back.name = f->name;
	assert_func_equal(f, &back);
	for (uint64_t off = 0; off < f->size + 2u; off++)
		expect_walk(t, f, off);
}

TEST_OF(worked_example, struct tree, t)
{
	static const uint8_t bytes[] = {
		0x01, 0x00, 0x32, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, /* work */
		0x01, 0x06, 0x10, 0x01, 0x0f, 0x00, 0x00, 0x00, 0x01, 0x0a, /* tw */
		0x01, 0x00, 0x07, 0x00, 0x12, 0x00, 0x00, 0x00, 0x01, 0x06, /* sq */
		0x01, 0x09, 0x03, 0x00, 0x12, 0x00, 0x00, 0x00, 0x01, 0x07, /* sq */
		0x00, 0x00,
	};
	static const struct gsym_range ranges[] = {{6, 0x10}, {6, 7}, {15, 3}};
	static const struct gsym_inline nodes[] = {
		{0xf, 1, 10, 1, 0, 1}, {0x12, 1, 6, 2, 1, 1}, {0x12, 1, 7, 2, 2, 1}};
	struct gsym_func f = {
		.name = 1, .size = 0x32, .inlines = nodes, .n_inlines = 3, .ranges = ranges, .n_ranges = 3};
	expect_round_trip(t, &f);
	assert_int_equal(t->buf.bytes.n, sizeof(bytes));
	assert_memory_equal(t->buf.bytes.v, bytes, sizeof(bytes));
}

/* Several ranges, of which the first is the base of the children, and siblings at every level. */
TEST(several_ranges)
{
	static const struct gsym_range ranges[] = {
		{10, 20},   {40, 20}, {100, 200}, /* node 0 */
		{12, 4},    {41, 3},              /* node 1 in 0 */
		{42, 1},                          /* node 2 in 1 */
		{45, 5},                          /* node 3 in 0 */
		{300, 150},                       /* node 4 */
	};
	static const struct gsym_inline nodes[] = {
		{1, 1, 10, 1, 0, 3}, {2, 2, 20, 2, 3, 2},    {3, 3, 30, 3, 5, 1},
		{0, 0, 0, 2, 6, 1},  {5, 1, 70000, 1, 7, 1},
	};
	struct gsym_func f = {
		.name = 9, .size = 500, .inlines = nodes, .n_inlines = 5, .ranges = ranges, .n_ranges = 8};
	expect_round_trip(*state, &f);
}

/* A chain of @depth nodes, each in the one before. */
static void make_chain(struct gsym_func *f, struct gsym_inline *nodes, struct gsym_range *ranges,
		       uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		ranges[i] = (struct gsym_range){i, 2 * depth - 2 * i};
		nodes[i] = (struct gsym_inline){.name = i % 90 + 1,
						.call_file = 1,
						.call_line = i,
						.depth = i + 1,
						.first_range = i,
						.n_ranges = 1};
	}
	*f = (struct gsym_func){.name = 1,
				.size = 2 * depth,
				.inlines = nodes,
				.n_inlines = depth,
				.ranges = ranges,
				.n_ranges = depth};
}

TEST_OF(deepest_nesting, struct tree, t)
{
	static struct gsym_inline nodes[INLINE_DEPTH_MAX + 1];
	static struct gsym_range ranges[INLINE_DEPTH_MAX + 1];
	struct gsym_func f;
	struct gsym_diag diag;
	make_chain(&f, nodes, ranges, INLINE_DEPTH_MAX);
	expect_round_trip(t, &f);
	make_chain(&f, nodes, ranges, INLINE_DEPTH_MAX + 1);
	assert_int_equal(inline_encode(&t->buf, &f, &tables, &diag), -EINVAL);
	assert_words(&diag, "inline node 1024|nested too deeply");
}

/* A root and @n nodes that all claim children, beginning at @first: a walk enters or passes over them. */
static void put_nest(struct buf *b, unsigned n, uint8_t first)
{
	static const uint8_t root[] = {1, 0, 100, 1, 1, 0, 0, 0, 0, 0};
	const uint8_t node[] = {1, first, 90, 1, 1, 0, 0, 0, 0, 0};
	b->bytes.n = 0;
	buf_bytes(b, root, sizeof(root));
	for (unsigned i = 0; i < n; i++)
		buf_bytes(b, node, sizeof(node));
}

/* A lookup ends at the deepest node that is read, or has passed over all of them. */
TEST_OF(too_deep_in_a_file, struct tree, t)
{
	enum { DEPTH = 100000 };
	struct gsym_func f;
	struct gsym_diag diag;
	struct inline_walk walk;
	struct inline_node node;
	for (int first = 0; first < 2; first++) {
		int err = 1;
		uint32_t n = 0;
		put_nest(&t->buf, DEPTH, first ? 50 : 0);
		buf_zeros(&t->buf, DEPTH + 1);
		assert_int_equal(decode(t, bytes_of(t), 100, &f, &diag), -EBADMSG);
		assert_words(&diag, "nested deeper than 1024|offset 0x");
		assert_int_equal(inline_walk_init(&walk, bytes_of(t), &tables, 5, NULL), 0);
		while ((err = inline_walk_next(&walk, &node, &diag)) > 0)
			n++;
		assert_int_equal(err, 0);
		assert_int_equal(n, first ? 0 : INLINE_DEPTH_MAX);
	}
}

TEST_OF(cut_off_anywhere, struct tree, t)
{
	struct gsym_func f;
	struct gsym_diag diag;
	struct inline_walk walk;
	struct inline_node node;
	static const struct gsym_range ranges[] = {{6, 0x10}, {6, 7}, {15, 3}};
	static const struct gsym_inline nodes[] = {
		{0xf, 1, 10, 1, 0, 1}, {0x12, 1, 6, 2, 1, 1}, {0x12, 1, 7, 2, 2, 1}};
	struct gsym_func whole = {
		.name = 1, .size = 0x32, .inlines = nodes, .n_inlines = 3, .ranges = ranges, .n_ranges = 3};
	assert_int_equal(inline_encode(&t->buf, &whole, &tables, NULL), 0);
	for (size_t size = 0; size < t->buf.bytes.n; size++) {
		struct cursor c = cursor_new(t->buf.bytes.v, size, false);
		assert_int_equal(decode(t, c, 0x32, &f, &diag), -EBADMSG);
		assert_words(&diag, "inline info|damaged|offset 0x");
		int err = inline_walk_init(&walk, c, &tables, 0x31, &diag);
		if (!err)
			err = inline_walk_next(&walk, &node, &diag);
		assert_int_equal(err, -EBADMSG);
	}
}

static void expect_refused(struct tree *t, const struct gsym_inline *nodes, size_t n,
			   const struct gsym_range *ranges, size_t n_ranges, const char *words)
{
	struct gsym_diag diag;
	struct gsym_func f = {.name = 1,
			      .size = 100,
			      .inlines = nodes,
			      .n_inlines = n,
			      .ranges = ranges,
			      .n_ranges = n_ranges};
	assert_int_equal(inline_encode(&t->buf, &f, &tables, &diag), -EINVAL);
	assert_words(&diag, words);
}

#define NODES(...) \
	((const struct gsym_inline[]){__VA_ARGS__}), ARRAY_SIZE(((struct gsym_inline[]){__VA_ARGS__}))
#define RANGES(...) \
	((const struct gsym_range[]){__VA_ARGS__}), ARRAY_SIZE(((struct gsym_range[]){__VA_ARGS__}))

TEST(encoder_refuses)
{
	expect_refused(*state, NODES({1, 1, 1, 2, 0, 1}), RANGES({0, 1}), "inline node 0|depth");
	expect_refused(*state, NODES({1, 1, 1, 0, 0, 1}), RANGES({0, 1}), "inline node 0|depth");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 1}, {1, 1, 1, 3, 0, 1}), RANGES({0, 1}),
		       "inline node 1|depth");
	expect_refused(*state, NODES({100, 1, 1, 1, 0, 1}), RANGES({0, 1}), "name past the string table");
	expect_refused(*state, NODES({1, 4, 1, 1, 0, 1}), RANGES({0, 1}), "call file past the file table");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 0}), RANGES({0, 1}), "no ranges");
	expect_refused(*state, NODES({1, 1, 1, 1, 1, 1}), RANGES({0, 1}), "no ranges");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 1}), RANGES({0, 0}), "ranges are empty");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 2}), RANGES({5, 5}, {9, 5}), "overlap or descend");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 1}), RANGES({0, 101}), "outside those of its parent");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 1}), RANGES({UINT32_MAX, UINT32_MAX}),
		       "outside those of its parent");
	expect_refused(*state, NODES({1, 1, 1, 1, 0, 2}, {1, 1, 1, 2, 2, 1}), RANGES({0, 5}, {10, 5}, {4, 7}),
		       "inline node 1|outside those of its parent");
}

static void expect_bad(struct tree *t, const uint8_t *bytes, size_t size, const char *words)
{
	struct gsym_func f;
	struct gsym_diag diag;
	assert_int_equal(decode(t, cursor_new(bytes, size, false), 100, &f, &diag), -EBADMSG);
	assert_words(&diag, "inline info|offset 0x");
	assert_words(&diag, words);
}

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((uint8_t[]){__VA_ARGS__})
#define ROOT       1, 0, 100, 1, 1, 0, 0, 0, 0, 0

TEST(damage)
{
	expect_bad(*state, BYTES(ROOT, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1), "node is damaged");
	expect_bad(*state, BYTES(ROOT, 1, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0), "node is damaged");
	expect_bad(*state, BYTES(ROOT, 1, 90, 11, 0, 1, 0, 0, 0, 0, 0, 0), "outside those of its parent");
	expect_bad(*state, BYTES(ROOT, 1, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 0, 1, 0, 0, 0, 0, 0, 0),
		   "node is damaged");
	expect_bad(*state, BYTES(ROOT, 1, 0, 1, 0, 200, 0, 0, 0, 0, 0, 0), "name past the string table");
	expect_bad(*state, BYTES(ROOT, 1, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0), "call file past the file table");
	expect_bad(*state, BYTES(ROOT, 1, 0, 1, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0),
		   "node is damaged");
}

TEST(nothing_inlined)
{
	struct gsym_func f;
	static const uint8_t empty[] = {0}, root[] = {1, 0, 100, 0, 1, 0, 0, 0, 0, 0};
	assert_int_equal(decode(*state, cursor_new(empty, sizeof(empty), false), 100, &f, NULL), 0);
	assert_int_equal(f.n_inlines, 0);
	assert_int_equal(decode(*state, cursor_new(root, sizeof(root), false), 100, &f, NULL), 0);
	assert_int_equal(f.n_inlines, 0);
}

EACH_TEST(setup, teardown)

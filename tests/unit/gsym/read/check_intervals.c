/*
 * Functions cut into segments say what lookups of each address say: of random line tables and trees of
 * inlined calls, most of them not what an encoder would write.
 */

#include "gsym/codec/buf.h"
#include "gsym/codec/linetab.h"
#include "gsym/read/intervals.h"
#include "tests/lib/unit.h"

enum {
	SIZE = 96, /* of the function */
	ROUNDS = 20000,
	PATH_MAX_DEPTH = INLINE_DEPTH_MAX + 1,
};

static const struct gsym_tables tables = {.strp_size = V1_STRP_SIZE, .strtab_size = 100, .num_files = 10};

static uint64_t chance_state = 1;

static uint32_t chance(uint32_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((chance_state >> 33) % below);
}

static void put_random_leb(struct buf *b, uint32_t below)
{
	buf_uleb(b, chance(200) ? chance(below) : UINT64_MAX - chance(50));
}

static void put_node(struct buf *b, unsigned depth, uint32_t *left)
{
	unsigned n = 1 + (chance(4) ? 0 : chance(3));
	buf_uleb(b, n);
	for (unsigned i = 0; i < n; i++) {
		put_random_leb(b, depth ? 24 : chance(4) ? 1 : 30);
		put_random_leb(b, depth ? 40 : 90);
	}
	bool deeper = *left && chance(depth < 3 ? 4 : 2) > 0;
	buf_u8(b, chance(100) ? deeper : (uint8_t)chance(4));
	buf_u32(b, chance(80));
	put_random_leb(b, 20);
	put_random_leb(b, 90);
	if (!deeper)
		return;
	for (uint32_t children = chance(5); children && *left; children--) {
		--*left;
		put_node(b, depth + 1, left);
	}
	if (chance(100))
		buf_u8(b, 0);
}

static void put_rows(struct buf *b)
{
	static const uint8_t ops[] = {LineOp_SetFile, LineOp_AdvancePC, LineOp_AdvanceLine};
	buf_u8(b, (uint8_t)chance(8) + 0x78); /* -8 to -1 */
	buf_u8(b, (uint8_t)chance(8));
	put_random_leb(b, 100);
	for (uint32_t i = chance(30); i; i--) {
		uint32_t which = chance(6);
		buf_u8(b,
		       which < ARRAY_SIZE(ops) ? ops[which] : (uint8_t)(LineOp_FirstSpecial + chance(100)));
		if (which < ARRAY_SIZE(ops))
			put_random_leb(b, 10);
	}
	if (chance(20))
		buf_u8(b, LineOp_EndSequence);
}

/* The path of a lookup, the innermost node last; -EBADMSG. */
static int walk(struct cursor block, uint64_t off, struct inline_node *path, size_t *ret_n)
{
	struct inline_walk walk;
	int err = inline_walk_init(&walk, block, &tables, off, NULL);
	*ret_n = 0;
	while (!err && (err = inline_walk_next(&walk, &path[*ret_n], NULL)) > 0) {
		++*ret_n;
		err = 0;
	}
	return err;
}

static void expect_path(const struct interval_set *s, uint32_t at, const struct inline_node *path, size_t n)
{
	while (n-- > 0) {
		assert_true(at > 0);
		const struct interval_node *node = &s->nodes.v[at];
		assert_int_equal(node->name, path[n].name);
		assert_int_equal(node->first, path[n].first);
		assert_int_equal(node->call_file, path[n].call_file);
		assert_int_equal(node->call_line, path[n].call_line);
		assert_true(node->parent < at);
		at = node->parent;
	}
	assert_int_equal(at, 0);
}

static void expect_segment(const struct interval_set *s, const struct interval *segment,
			   const struct function_info *record, uint32_t off)
{
	struct inline_node path[PATH_MAX_DEPTH];
	struct gsym_row row = {0};
	size_t n = 0;
	int no_row = -ENOENT, err = 0;
	if (record_has(record, InfoType_LineTable))
		no_row = linetab_lookup(record->blocks[InfoType_LineTable], off, &row, NULL);
	if (record_has(record, InfoType_InlineInfo))
		err = walk(record->blocks[InfoType_InlineInfo], off, path, &n);
	assert_int_equal(segment->node == INTERVAL_DAMAGED, err == -EBADMSG || no_row == -EBADMSG);
	if (segment->node == INTERVAL_DAMAGED)
		return;
	assert_int_equal(segment->file, no_row ? 0 : row.file);
	assert_int_equal(segment->line, no_row || !row.file ? 0 : row.line);
	expect_path(s, segment->node, path, n);
}

static void expect_all(struct interval_set *s, const struct function_info *record)
{
	assert_int_equal(intervals_cut(s, record, &tables, SIZE - 1), 0);
	for (uint32_t off = 0, at = 0; off < SIZE; off++) {
		while (at + 1 < s->v.n && s->v.v[at + 1].off <= off)
			at++;
		expect_segment(s, &s->v.v[at], record, off);
	}
	s->edges.n = 0;
	for (int i = 0; i < 20; i++)
		assert_int_equal(vec_push(&s->edges, chance(SIZE)), 0);
	assert_int_equal(intervals_at(s, record, &tables), 0);
	for (size_t i = 0; i < s->v.n; i++) {
		assert_true(!i || s->v.v[i - 1].off < s->v.v[i].off);
		expect_segment(s, &s->v.v[i], record, s->v.v[i].off);
	}
}

/* Cut off somewhere, now and then. */
static struct cursor block_of(const struct buf *b)
{
	return cursor_new(b->bytes.v, chance(8) ? b->bytes.n : chance((uint32_t)b->bytes.n), false);
}

TEST(random_records)
{
	struct interval_set s = {0};
	struct buf inlines = {0}, rows = {0};
	for (int round = 0; round < ROUNDS; round++) {
		struct function_info record = {.size = SIZE};
		uint32_t left = chance(20);
		inlines.bytes.n = rows.bytes.n = 0;
		put_node(&inlines, 0, &left);
		put_rows(&rows);
		record.blocks[InfoType_InlineInfo] = block_of(&inlines);
		record.blocks[InfoType_LineTable] = block_of(&rows);
		record.present = chance(8) << 1;
		expect_all(&s, &record);
	}
	buf_free(&inlines);
	buf_free(&rows);
	intervals_deinit(&s);
}

/* As deep as is allowed, and one level more. */
TEST(deep)
{
	for (unsigned depth = INLINE_DEPTH_MAX - 1; depth < INLINE_DEPTH_MAX + 2; depth++) {
		struct interval_set s = {0};
		struct buf b = {0};
		for (unsigned d = 0; d <= depth; d++) {
			buf_uleb(&b, 1);
			buf_uleb(&b, d && d % 8 == 0);
			buf_uleb(&b, SIZE - d / 8);
			buf_u8(&b, d < depth);
			buf_u32(&b, 1);
			buf_uleb(&b, 1);
			buf_uleb(&b, d);
		}
		buf_zeros(&b, depth);
		struct function_info record = {.size = SIZE, .present = 1 << InfoType_InlineInfo};
		record.blocks[InfoType_InlineInfo] = cursor_new(b.bytes.v, b.bytes.n, false);
		expect_all(&s, &record);
		buf_free(&b);
		intervals_deinit(&s);
	}
}

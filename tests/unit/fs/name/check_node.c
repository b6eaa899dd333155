/* Inode numbers and the table of address files. */
#include "fs/name/node.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { CONTENT_MAX = 8 << 20 };

static long allowed = -1; /* allocations until one fails; negative: none does */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);

static bool fails(void)
{
	return allowed >= 0 && allowed-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	void *grown = fails() ? NULL : __real_realloc(p, size);
	if (grown && !p)
		memset(grown, 0xa5, size); /* it is not zero, and holds no pointer of before */
	return grown;
}

static uint64_t add(struct nodes *nodes, uint64_t address, size_t size)
{
	static const char zeros[1 << 20];
	struct request request = {
		.kind = REQUEST_ADDRESS, .address = address, .format = RENDER_JSON, .raw = true};
	assert_true(size <= sizeof(zeros));
	struct node_id id = {.ino = 0};
	assert_int_equal(nodes_add(nodes, NULL, &request, content_new(zeros, size), &id), 0);
	assert_int_equal(id.generation, 0);
	return id.ino;
}

static bool exists(struct nodes *nodes, uint64_t ino)
{
	struct node node;
	bool found = nodes_get(nodes, ino, &node);
	if (found)
		content_put(node.content);
	return found;
}

TEST(numbers)
{
	uint64_t ino = ino_make(NODE_NAME_LINK, 12345, (1U << 30) - 1);
	assert_int_equal(ino_kind(ino), NODE_NAME_LINK);
	assert_int_equal(ino_a(ino), 12345);
	assert_int_equal(ino_b(ino), (1U << 30) - 1);
	assert_int_equal(ino_kind(INO_ROOT), NODE_FIXED);
	for (enum node_kind kind = NODE_FIXED; kind <= NODE_ADDRESS; kind++)
		assert_int_equal(ino_kind(ino_make(kind, (1U << 30) - 1, (1U << 30) - 1)), kind);
	assert_int_equal(ino_kind(UINT64_MAX), NODE_ADDRESS);
}

TEST(life)
{
	struct nodes nodes;
	struct node node;
	nodes_init(&nodes, CONTENT_MAX);
	uint64_t ino = add(&nodes, 0x1234, 5);
	assert_int_equal(ino_kind(ino), NODE_ADDRESS);
	assert_true(nodes_get(&nodes, ino, &node));
	assert_int_equal(node.address, 0x1234);
	assert_int_equal(node.size, 5);
	assert_int_equal(node.format, RENDER_JSON);
	assert_true(node.raw);
	assert_true(nodes_remember(&nodes, ino));
	nodes_forget(&nodes, ino, 1);
	assert_true(exists(&nodes, ino));
	nodes_forget(&nodes, ino, 1);
	assert_false(exists(&nodes, ino));
	assert_false(nodes_remember(&nodes, ino));
	nodes_forget(&nodes, ino, 1);
	/* A reader that holds the content outlives its node. */
	assert_int_equal(node.content->size, 5);
	content_put(node.content);
	nodes_deinit(&nodes);
}

/* Numbers are never used again, however many come and go, and memory does not grow with them. */
TEST(never_reused)
{
	struct nodes nodes;
	nodes_init(&nodes, CONTENT_MAX);
	uint64_t kept = add(&nodes, 7, 1), last = kept;
	for (int i = 0; i < 10 * NODE_PAGE; i++) {
		uint64_t ino = add(&nodes, (uint64_t)i, 1);
		assert_true(ino > last);
		last = ino;
		nodes_forget(&nodes, ino, 1);
		assert_false(exists(&nodes, ino));
	}
	assert_true(exists(&nodes, kept));
	size_t alive = 0;
	for (size_t i = 0; i < nodes.n_pages; i++)
		alive += nodes.pages[i] != NULL;
	assert_true(alive <= 2);
	assert_int_equal(nodes.content_bytes, 1);
	nodes_deinit(&nodes);
}

/* Nodes are allocated together; what the kernel forgets is given back all the same, in any order. */
TEST(memory_of_nodes)
{
	enum { COUNT = 3 * NODE_PAGE + 5, BYTES_MAX = 256 };
	static uint64_t inos[COUNT];
	struct nodes nodes;
	nodes_init(&nodes, CONTENT_MAX);
	const size_t before = mallinfo2().uordblks;
	for (int i = 0; i < COUNT; i++)
		inos[i] = add(&nodes, (uint64_t)i, 1);
	assert_true(mallinfo2().uordblks - before < (size_t)COUNT * BYTES_MAX);
	for (int i = 0; i < COUNT; i += 2)
		nodes_forget(&nodes, inos[i], 1);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(exists(&nodes, inos[i]), i % 2);
	assert_int_equal(nodes_count(&nodes).used, COUNT / 2);
	for (int i = COUNT - 2; i > 0; i -= 2)
		nodes_forget(&nodes, inos[i], 1);
	assert_int_equal(nodes_count(&nodes).used, 0);
	assert_int_equal(nodes.content_bytes, 0);
	/* The last page, and what the allocator keeps for this thread. */
	const size_t kept = mallinfo2().uordblks - before;
	assert_true(kept < 16 * 1024);
	nodes_deinit(&nodes);
}

TEST(content_is_bounded)
{
	enum { SIZE = 1 << 20, COUNT = CONTENT_MAX / SIZE + 20 };
	struct nodes nodes;
	struct node node;
	uint64_t inos[COUNT];
	nodes_init(&nodes, CONTENT_MAX);
	for (int i = 0; i < COUNT; i++)
		inos[i] = add(&nodes, (uint64_t)i, SIZE);
	assert_true(nodes.content_bytes <= CONTENT_MAX);
	assert_true(nodes_get(&nodes, inos[0], &node));
	assert_null(node.content);
	assert_int_equal(node.size, SIZE);
	assert_true(nodes_get(&nodes, inos[COUNT - 1], &node));
	assert_non_null(node.content);
	content_put(node.content);
	for (int i = 0; i < COUNT; i++)
		nodes_forget(&nodes, inos[i], 1);
	assert_int_equal(nodes.content_bytes, 0);
	nodes_deinit(&nodes);
}

/* A number that was asked for: the same node for the same, another number for another generation. */
TEST(wanted_numbers)
{
	enum { COUNT = 1000 };
	const struct request request = {.kind = REQUEST_ADDRESS, .address = 0x1234};
	struct nodes nodes;
	nodes_init(&nodes, CONTENT_MAX);
	for (uint32_t i = 0; i < COUNT; i++) {
		const struct node_id wanted = {ino_of_answer(i % 7, &request, i), 5};
		struct node_id id = wanted;
		for (int k = 0; k < 2; k++) {
			assert_int_equal(nodes_add(&nodes, NULL, &request, content_new("a", 1), &id), 0);
			assert_int_equal(id.ino, wanted.ino);
			assert_int_equal(id.generation, 5);
		}
		id.generation = 6;
		assert_int_equal(nodes_add(&nodes, NULL, &request, content_new("b", 1), &id), 0);
		assert_int_not_equal(id.ino, wanted.ino);
		assert_int_equal(id.generation, 0);
		nodes_forget(&nodes, id.ino, 1);
		nodes_forget(&nodes, wanted.ino, 1);
		assert_true(exists(&nodes, wanted.ino));
		nodes_forget(&nodes, wanted.ino, i % 2);
		assert_int_equal(exists(&nodes, wanted.ino), !(i % 2));
	}
	assert_int_equal(nodes_count(&nodes).used, COUNT / 2);
	nodes_deinit(&nodes);
}

/* A handle brings back the snapshot of another mount, whose number the counter meets later. */
TEST(snapshots)
{
	struct nodes nodes;
	struct node node;
	uint64_t first, again, next;
	nodes_init(&nodes, CONTENT_MAX);
	assert_int_equal(nodes_add_snapshot(&nodes, 5, NODE_ALL_READ, 0, content_new("a", 1), &first), 0);
	assert_int_equal(ino_of_snapshot(first), 5);
	assert_int_equal(nodes_add_snapshot(&nodes, 5, NODE_ALL_READ, first + 1, content_new("b", 1), &again),
			 0);
	assert_int_equal(again, first + 1);
	assert_int_equal(nodes_add_snapshot(&nodes, 5, NODE_ALL_READ, 0, content_new("c", 1), &next), 0);
	assert_true(next != again && next != first);
	assert_true(nodes_get(&nodes, again, &node));
	assert_int_equal(node.content->data[0], 'b');
	assert_int_equal(node.address, 5);
	assert_int_equal(node.reader, NODE_ALL_READ);
	content_put(node.content);
	nodes_deinit(&nodes);
}

static void round_trip(struct request request, uint64_t base, bool fits)
{
	struct answer_place place;
	uint64_t ino = ino_of_answer(0xabcdef1, &request, base);
	assert_int_equal(ino != 0, fits);
	assert_int_equal(ino_answer_place(ino, &place), fits);
	if (!fits)
		return;
	assert_int_equal(ino_kind(ino), NODE_ADDRESS);
	assert_int_equal(place.key, 0xabcdef1 & ((1U << place.bits) - 1));
	assert_int_equal(answer_place_address(&place, base), request.address);
	assert_int_equal(place.request.format, request.format);
	assert_int_equal(place.request.raw, request.raw);
	assert_true(context_equal(&place.request.context, &request.context));
}

#define ASKED(...) ((struct request){.kind = REQUEST_ADDRESS, __VA_ARGS__})

/* What numbers of answers say, and what they cannot. */
TEST(answers)
{
	const uint64_t kernel = 0xffffffff81000000, pe = 0x140000000;
	struct answer_place place;
	round_trip(ASKED(.address = 0x401234), 0x400000, true);
	round_trip(ASKED(.address = 0x1000), 0x400000, true);
	round_trip(ASKED(.address = kernel + 0x1234567), kernel, true);
	round_trip(ASKED(.address = kernel + 0x1234567), 0, true);
	round_trip(ASKED(.address = pe + 0x1000, .format = RENDER_JSON, .raw = true), pe, true);
	round_trip(ASKED(.address = pe + 0x1000, .context = {.is_return = true, .near = true}), pe, true);
	round_trip(ASKED(.address = 0x7fffffff, .context = {.space = SPACE_RVA}), pe, true);
	round_trip(ASKED(.address = 0x1000, .context = {.space = SPACE_FILE}), kernel, true);
	round_trip(ASKED(.address = pe), 0, false);
	round_trip(ASKED(.address = 0x80000000, .context = {.space = SPACE_FILE}), 0, false);
	round_trip(ASKED(.address = 0x1000, .context = {.space = SPACE_RUNTIME}), 0, false);
	round_trip((struct request){.kind = REQUEST_SYMBOL, .symbol = "f", .symbol_size = 1}, 0, false);
	assert_false(ino_answer_place(INO_ADDRESS | 5, &place));
	assert_false(ino_answer_place(INO_ROOT, &place));
	assert_false(ino_answer_place(ino_make(NODE_IMAGE, 1, 1), &place));
}

/* One allocation after the other fails; then there is a node, as if nothing had happened. */
TEST(without_memory)
{
	const struct request request = {.kind = REQUEST_ADDRESS, .address = 1};
	int err = -ENOMEM;
	long n = 0;
	for (; err; n++) {
		struct nodes nodes;
		struct node_id id = {.ino = 0};
		nodes_init(&nodes, CONTENT_MAX);
		struct content *content = content_new("x", 1);
		allowed = n;
		err = nodes_add(&nodes, NULL, &request, content, &id);
		bool failed = allowed < 0;
		allowed = -1;
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(id.ino != 0, !failed);
		assert_int_equal(ino_kind(add(&nodes, 2, 1)), NODE_ADDRESS);
		nodes_deinit(&nodes);
	}
	assert_true(n > 3); /* the table, the list of pages, a page, a chunk */
}

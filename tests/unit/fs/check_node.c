/* Inode numbers and the table of address files. */
#include "fs/name/node.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CONTENT_MAX = 8 << 20 };

static uint64_t add(struct nodes *nodes, uint64_t address, size_t size)
{
	static const char zeros[1 << 20];
	struct request request = {
		.kind = REQUEST_ADDRESS, .address = address, .format = RENDER_JSON, .raw = true};
	assert_true(size <= sizeof(zeros));
	uint64_t ino = nodes_add(nodes, NULL, &request, content_new(zeros, size));
	assert_true(ino != 0);
	return ino;
}

static bool exists(struct nodes *nodes, uint64_t ino)
{
	struct node node;
	bool found = nodes_get(nodes, ino, &node);
	if (found)
		content_put(node.content);
	return found;
}

static void numbers(void **state)
{
	(void)state;
	uint64_t ino = ino_make(NODE_NAME_LINK, 12345, (1U << 30) - 1);
	assert_int_equal(ino_kind(ino), NODE_NAME_LINK);
	assert_int_equal(ino_a(ino), 12345);
	assert_int_equal(ino_b(ino), (1U << 30) - 1);
	assert_int_equal(ino_kind(INO_ROOT), NODE_FIXED);
	for (enum node_kind kind = NODE_FIXED; kind <= NODE_ADDRESS; kind++)
		assert_int_equal(ino_kind(ino_make(kind, (1U << 30) - 1, (1U << 30) - 1)), kind);
	assert_int_equal(ino_kind(UINT64_MAX), NODE_ADDRESS);
}

static void life(void **state)
{
	struct nodes nodes;
	struct node node;
	(void)state;
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
static void never_reused(void **state) NOT_ANALYZED
{
	struct nodes nodes;
	(void)state;
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
static void memory_of_nodes(void **state) NOT_ANALYZED
{
	enum { COUNT = 3 * NODE_PAGE + 5, BYTES_MAX = 256 };
	static uint64_t inos[COUNT];
	struct nodes nodes;
	(void)state;
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

static void content_is_bounded(void **state) NOT_ANALYZED
{
	enum { SIZE = 1 << 20, COUNT = CONTENT_MAX / SIZE + 20 };
	struct nodes nodes;
	struct node node;
	uint64_t inos[COUNT];
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(life),
		cmocka_unit_test(never_reused),
		cmocka_unit_test(memory_of_nodes),
		cmocka_unit_test(content_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

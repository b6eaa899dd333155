/*
 * macho_exports.c - the exports trie, the only names that a stripped library keeps.
 *
 * A node is the size of its terminal information (flags and address, both ULEB128), the number of edges, and
 * for each a string and the offset of another node. Source: Apple's <mach-o/loader.h>, at dyld_info_command.
 */
#include "convert/object/macho/macho.h"

#include <string.h>

enum {
	NAME_MAX_SIZE = 4096,
	DEPTH_MAX = 512,
	BUDGET_FACTOR = 4, /* an intact trie is read once */
	KIND_MASK = 3,
	KIND_REGULAR = 0,
	REEXPORT = 8,
	STUB_AND_RESOLVER = 16,
};

struct trie_walk {
	struct span trie;
	int (*each)(void *user, const char *name, uint64_t addr);
	void *user;
	uint64_t budget; /* bytes left to read: nodes of a damaged trie may form cycles or be shared */
	char name[NAME_MAX_SIZE];
};

static int walk_node(struct trie_walk *w, uint64_t off, size_t length, unsigned depth);

static bool spend(struct trie_walk *w, uint64_t bytes)
{
	bool enough = w->budget >= bytes;
	w->budget -= enough ? bytes : w->budget;
	return enough;
}

static int take_terminal(struct trie_walk *w, struct cursor c, size_t length)
{
	uint64_t flags = cursor_uleb(&c);
	if (flags & REEXPORT || (flags & KIND_MASK) != KIND_REGULAR)
		return 0;
	uint64_t addr = cursor_uleb(&c);
	w->name[length] = 0;
	return cursor_ok(&c) ? w->each(w->user, w->name, addr) : 0;
}

static int walk_edges(struct trie_walk *w, struct cursor *c, size_t length, unsigned depth)
{
	uint8_t n = cursor_u8(c);
	for (uint8_t i = 0; i < n; i++) {
		const char *edge = cursor_str(c);
		uint64_t child = cursor_uleb(c);
		size_t size = cursor_ok(c) ? strlen(edge) : 0;
		if (!spend(w, size + 1) || !cursor_ok(c))
			return 0;
		if (size >= NAME_MAX_SIZE - length)
			continue;
		memcpy(w->name + length, edge, size);
		int err = walk_node(w, child, length + size, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int walk_node(struct trie_walk *w, uint64_t off, size_t length, unsigned depth)
{
	if (off >= w->trie.size || depth > DEPTH_MAX || !spend(w, 1))
		return 0;
	struct cursor c = cursor_new(w->trie.data, w->trie.size, false);
	cursor_seek(&c, off);
	uint64_t size = cursor_uleb(&c);
	if (!cursor_ok(&c) || size > cursor_left(&c))
		return 0;
	int err = size ? take_terminal(w, c, length) : 0;
	cursor_skip(&c, size);
	return err ? err : walk_edges(w, &c, length, depth);
}

int macho_walk_exports(struct span trie, int (*each)(void *user, const char *name, uint64_t addr), void *user)
{
	struct trie_walk w = {
		.trie = trie, .each = each, .user = user, .budget = (uint64_t)trie.size * BUDGET_FACTOR};
	return walk_node(&w, 0, 0, 0);
}
